// `facet label RUN DATA`: every image with the values of its named factors, beside the user's own
// columns; or the given labels that the model doubts, or the images to label next.
#include <fmt/format.h>

#include "cli/command.h"
#include "facet/data/csv_write.h"
#include "facet/report/run_labelling.h"

namespace facet {

namespace {

struct LabelArguments {
  std::string run, output;
  ComputePlace place;
  LabelRequest request;
};

void print_property(const PropertySummary& property) {
  fmt::print("{}: {} given, {} predicted", property.property, property.given, property.predicted);
  if (property.left_empty > 0) fmt::print(", {} left empty", property.left_empty);
  fmt::print("\n");
  if (property.tested_with > 0)
    fmt::print(
        "  {:.1f} % right on {} labelled test images; probabilities are off by {:.1f} points on "
        "average ({:.1f} before calibration with {} labels, temperature {:.2f})\n",
        100 * property.accuracy, property.tested_with, 100 * property.calibration_error,
        100 * property.uncalibrated_error, property.calibrated_with, property.temperature);
}

void run_label(const LabelArguments& arguments) {
  const LabelRequest& request = arguments.request;
  const LabelTable table =
      label_images(load_run(arguments.run, arguments.place), request,
                   [](const std::string& sentence) { fmt::print("note: {}\n", sentence); });
  write_csv(arguments.output, table.columns, table.rows, table.separator);
  for (const PropertySummary& property : table.properties) print_property(property);
  const char* const what = request.suspicious ? "labels that the model doubts"
                           : request.ask > 0  ? "images whose labels would help most"
                                              : "images";
  fmt::print("{}: {} {} of {}\n", arguments.output, table.rows.size(), what,
             fmt::format("{} images", table.images));
}

}  // namespace

void add_label_command(const Command& program) {
  auto arguments = std::make_shared<LabelArguments>();
  const Command command = program.command(
      "label", "Name the values of every image, with probabilities, as a table beside your own");
  command.option("run", arguments->run, "A run folder, with named factors").required();
  command
      .option("data", arguments->request.data, "A pack, a folder of images, or a CSV beside them")
      .required();
  command.option("--out", arguments->output, "The CSV to write").required();
  const Option least = command
                           .option("--min-probability", arguments->request.min_probability,
                                   "Leave out values that are less probable")
                           .range(0.0, 1.0);
  command.flag("--every-value", arguments->request.every_value,
               "A column with the probability of every value");
  const Option suspicious = command.flag("--suspicious", arguments->request.suspicious,
                                         "Only given labels that the model doubts, worst first");
  command
      .option("--ask", arguments->request.ask,
              "Only so many images: those whose labels would help most")
      .range(1, 1000000000)
      .excludes(suspicious);
  suspicious.excludes(least);
  command.option("--seed", arguments->request.seed, "Seed of the draws").show_default();
  command.place_options(arguments->place.device, arguments->place.precision);
  command.run([arguments] { run_label(*arguments); });
}

}  // namespace facet
