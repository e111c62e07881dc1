// `facet edit RUN IMAGE...`: changes images by their factors. With --change chosen factors move to
// other components and the rest of an image stays; with --toward an image goes step by step to
// another one, in all factors or only in some.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/pictures.h"
#include "facet/core/error.h"
#include "facet/data/image_file.h"
#include "facet/model/editing.h"
#include "facet/model/generate.h"
#include "facet/report/font.h"

namespace facet {

namespace {

constexpr int64_t kLongestName = 120;  // pixels of a row's label

struct EditArguments : PictureArguments {
  InputArguments inputs;
  std::vector<std::string> changes, only;
  std::string toward;
  int64_t steps = 7;
  bool no_offset = false;
};

/// One row an image and labels above; `cells` is U8 [B, columns, C, H, W].
Image draw_rows(const Vae& model, const torch::Tensor& cells, const std::vector<std::string>& names,
                const std::vector<std::string>& column_labels, const std::string& title) {
  GridOptions options;
  options.columns = cells.size(1);
  options.column_labels = column_labels;
  for (const std::string& name : names)
    options.row_labels.push_back(shorten_text(short_name(name), kLongestName));
  options.scale = magnification(model.shape(), column_labels);
  options.title = title;
  return draw_grid(to_images(cells.flatten(0, 1)), options);
}

/// Says for every image from which component to which it goes.
void print_changes(const FactorialMixture& prior, const LikelyComponents& likely,
                   const std::vector<int64_t>& changes, const std::vector<std::string>& names) {
  for (size_t n = 0; n < names.size(); ++n)
    for (size_t i = 0; i < prior.size(); ++i) {
      if (changes[i] < 0) continue;
      const auto image = static_cast<int64_t>(n), factor = static_cast<int64_t>(i);
      fmt::print("{}: {} from {} ({:.0f} % sure) to {}\n", names[n], prior.factors[i].name,
                 prior.factors[i].component_name(likely.components[image][factor].item<int64_t>()),
                 100 * likely.responsibilities[image][factor].item<double>(),
                 prior.factors[i].component_name(changes[i]));
    }
}

Image draw_changes(Vae& model, const torch::Tensor& pixels, const std::vector<std::string>& names,
                   const EditArguments& arguments) {
  const std::vector<int64_t> changes = parse_fixed(model.prior, arguments.changes);
  const Encoding encoding = encode_pixels(model, pixels);
  const torch::Tensor edited = edit(model.prior, encoding, changes, !arguments.no_offset);
  print_changes(model.prior, likely_components(model.prior, encoding), changes, names);
  return draw_rows(
      model,
      torch::stack({pixels, decode_means(model, encoding.mean), decode_means(model, edited)}, 1),
      names, {"input", "reconstruction", fixed_label(model.prior, changes)}, "");
}

/// The last of `pixels` is where all others go.
Image draw_paths(Vae& model, const torch::Tensor& pixels, const std::vector<std::string>& names,
                 const EditArguments& arguments) {
  std::vector<size_t> factors;
  for (const std::string& name : arguments.only) factors.push_back(model.prior.index_of(name));
  const torch::Tensor z = encode_pixels(model, pixels).mean;
  const int64_t count = pixels.size(0) - 1, steps = arguments.steps;
  const torch::Tensor path =
      interpolate(model.prior, z.narrow(0, 0, count), z.narrow(0, count, 1), steps, factors);
  const torch::Tensor decoded =
      decode_means(model, path.flatten(0, 1)).unflatten(0, {count, steps});
  const torch::Tensor target = pixels.narrow(0, count, 1).expand_as(pixels.narrow(0, 0, count));
  std::vector<std::string> labels = {"input"};
  for (int64_t step = 0; step < steps; ++step)
    labels.push_back(fmt::format(
        "{:.0f} %", 100.0 * static_cast<double>(step) / static_cast<double>(steps - 1)));
  labels.push_back("toward");
  return draw_rows(
      model, torch::cat({pixels.narrow(0, 0, count).unsqueeze(1), decoded, target.unsqueeze(1)}, 1),
      names, labels,
      arguments.only.empty() ? "all factors"
                             : fmt::format("only {}", fmt::join(arguments.only, ", ")));
}

void run_edit(const EditArguments& arguments) {
  if (arguments.changes.empty() && arguments.toward.empty())
    throw Error({.doing = "editing images",
                 .found = "nothing to change",
                 .expected = "--change name=value or --toward IMAGE"});
  const LoadedRun run = load_run(arguments.run, choose_device(arguments.device));
  parse_fixed(run.model->prior, arguments.changes);  // before images, which may take a while
  InputImages images(run, arguments.inputs.resize);
  const std::vector<std::string> names = images.names(arguments.inputs);
  std::vector<std::string> all = names;
  if (!arguments.toward.empty()) all.push_back(arguments.toward);
  const torch::Tensor pixels = images.read(all);
  write_picture(arguments.output, arguments.toward.empty()
                                      ? draw_changes(*run.model, pixels, names, arguments)
                                      : draw_paths(*run.model, pixels, names, arguments));
  fmt::print("{} edited image{} in {}\n", names.size(), names.size() == 1 ? "" : "s",
             arguments.output);
}

}  // namespace

void add_edit_command(CLI::App& program) {
  auto arguments = std::make_shared<EditArguments>();
  CLI::App* command = program.add_subcommand("edit", "Change properties of images");
  add_picture_options(*command, *arguments);
  add_input_options(*command, arguments->inputs);
  CLI::Option* change = add_repeated_option(*command, "--change", arguments->changes,
                                            "Move a factor to a component, name=value");
  command
      ->add_flag("--no-offset", arguments->no_offset,
                 "Put it at the component's mean; else an image keeps its place within")
      ->needs(change);
  CLI::Option* toward =
      command->add_option("--toward", arguments->toward, "Go step by step to this image")
          ->excludes(change);
  command->add_option("--steps", arguments->steps, "Images on the way, with both ends")
      ->check(CLI::Range(2, 100))
      ->needs(toward)
      ->capture_default_str();
  add_repeated_option(*command, "--only", arguments->only, "Only this factor goes")->needs(toward);
  command->callback([arguments] { run_edit(*arguments); });
}

}  // namespace facet
