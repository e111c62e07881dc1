// Charts as pictures, for what is looked at outside of a browser: a few panels over one x axis,
// with lines, dots and a band from the lowest to the highest of what each dot is the mean of. Ticks
// and colours are those of report/chart.h.
#pragma once

#include <string>
#include <vector>

#include "facet/data/image.h"

namespace facet {

struct PlotPoint {
  double x = 0, y = 0;       ///< a y that is no number interrupts the line
  double low = 0, high = 0;  ///< the band around it; both equal to y where there is none
};

struct PlotLine {
  std::string name;
  std::vector<PlotPoint> points;  ///< with x ascending
};

struct PlotPanel {
  std::string title;
  std::vector<PlotLine> lines;
  bool from_zero = false;  ///< the y axis includes 0
};

struct PlotTick {
  double x = 0;
  std::string label;
};

struct Plot {
  std::string x_title;          ///< stands below every panel
  std::vector<PlotTick> ticks;  ///< of the x axis, ascending; labels that would touch are left out
  std::vector<PlotPanel> panels;
  std::vector<std::string> legend;  ///< names of the lines by their index; none for no legend
};

/// The panels two in a row on white, with a legend below, as an RGB picture.
Image draw_plot(const Plot& plot);

}  // namespace facet
