// A scatter plot of points in two dimensions with ellipses around groups of them, as SVG for a
// page. It shows the components of a mixture on two axes of the data.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace facet {

struct ScatterPoint {
  double x = 0, y = 0;
  size_t group = 0;  ///< decides the colour; the colours come round again
};

/// The curve at two standard deviations of a Gaussian.
struct ScatterEllipse {
  double x = 0, y = 0;            ///< the centre
  double xx = 0, xy = 0, yy = 0;  ///< the covariance
  size_t group = 0;
};

struct Scatter {
  std::string title, x_title, y_title;
  std::vector<ScatterPoint> points;
  std::vector<ScatterEllipse> ellipses;
};

/// The drawing, with a description for those who do not see it. The axes cover all but the most
/// distant hundredth of the points, in equal units.
std::string scatter_svg(const Scatter& scatter);

}  // namespace facet
