// `facet search INDEX --like IMAGE`: the images of an index that are nearest to a given one, in all
// factors or in some, among all images or those with chosen values.
#include <fmt/format.h>

#include "cli/command.h"
#include "facet/data/image_file.h"
#include "facet/report/run_search.h"

namespace facet {

namespace {

struct SearchArguments {
  std::string output, device = "auto";
  bool json = false;
  SearchRequest request;
};

std::string values_text(const std::vector<NamedValue>& values) {
  std::string text;
  for (const auto& [name, value] : values)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

void print_hits(const SearchRequest& request, const SearchAnswer& answer) {
  fmt::print("{}: {}\n", request.like, values_text(answer.query));
  size_t widest = 5;
  for (const SearchHit& hit : answer.hits) widest = std::max(widest, hit.image.size());
  fmt::print("  rank  distance  {:<{}}  code\n", "image", widest);
  for (size_t i = 0; i < answer.hits.size(); ++i)
    fmt::print("  {:>4}  {:>8.3f}  {:<{}}  {}\n", i + 1, answer.hits[i].distance,
               answer.hits[i].image, widest, values_text(answer.hits[i].code));
  if (answer.matching < answer.images)
    fmt::print("among {} of {} images\n", answer.matching, answer.images);
}

void run_search(SearchArguments& arguments) {
  SearchRequest& request = arguments.request;
  request.sheet = !arguments.output.empty();
  const SearchAnswer answer =
      search_images(load_index_run(request.index, arguments.device), request);
  if (answer.sheet) write_picture(arguments.output, *answer.sheet);
  if (arguments.json) {
    fmt::print("{}\n", search_json(request, answer));
    return;
  }
  for (const std::string& note : answer.notes) fmt::print("note: {}\n", note);
  print_hits(request, answer);
}

}  // namespace

void add_search_command(const Command& program) {
  auto arguments = std::make_shared<SearchArguments>();
  SearchRequest& request = arguments->request;
  const Command command =
      program.command("search", "Find the images of an index that are like a given one");
  command.option("index", request.index, "An index made by `facet index`").required();
  command.option("--like", request.like, "An image file, or SPLIT:INDEX for one of the run's data")
      .required();
  command.flag("--resize", request.resize,
               "Crop, resize and convert an image of another shape to the model's");
  command.option("--factors", request.factors, "Only these factors count, NAME,...")
      .separated_by(',');
  command.repeated("--where", request.where,
                   "Only images with this value, name=value: given, or else predicted");
  command.repeated("--change", request.changes,
                   "Look for the image with this value instead, name=value");
  command.option("--top", request.top, "Images to find").range(1, 10000).show_default();
  command
      .option("--shortlist", request.shortlist,
              "Images that the scan hands over to be compared exactly")
      .range(1, 1000000)
      .show_default();
  command.flag("--exact", request.exact, "Compare all images exactly, without the scan");
  command.option("--out", arguments->output, "A sheet of the images found, .png or .jpg");
  command.flag("--json", arguments->json, "Print one JSON object");
  command.device_option(arguments->device);
  command.run([arguments] { run_search(*arguments); });
}

}  // namespace facet
