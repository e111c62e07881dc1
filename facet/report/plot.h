// Charts as one picture, for what is looked at outside of a browser.
#pragma once

#include <string>
#include <vector>

#include "facet/data/image.h"
#include "facet/report/chart.h"

namespace facet {

struct ChartSheet {
  std::vector<Chart> charts;
  std::vector<std::string> legend;  ///< names of the lines by their index; none for no legend
};

/// The charts two in a row on white, each below its title, with the legend below them all, as an
/// RGB picture.
Image draw_plot(const ChartSheet& sheet);

}  // namespace facet
