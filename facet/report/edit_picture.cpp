// Images changed by their factors: chosen factors move to other components and the rest of an image
// stays, or an image goes step by step to another one, in all factors or only in some.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/torch.h"
#include "facet/model/editing.h"
#include "facet/model/generate.h"
#include "facet/report/figures.h"
#include "facet/report/font.h"
#include "facet/report/input_images.h"

namespace facet {

namespace {

constexpr int64_t kLongestName = 120;  // pixels of a row's label

/// One row per image and labels above; `cells` is U8 [B, columns, C, H, W].
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

/// From which component to which every image goes.
std::vector<std::string> change_notes(const FactorialMixture& prior, const LikelyComponents& likely,
                                      const std::vector<int64_t>& changes,
                                      const std::vector<std::string>& names) {
  std::vector<std::string> notes;
  for (size_t n = 0; n < names.size(); ++n)
    for (size_t i = 0; i < prior.size(); ++i) {
      if (changes[i] < 0) continue;
      const auto image = static_cast<int64_t>(n), factor = static_cast<int64_t>(i);
      const auto from = likely.components[image][factor].item<int64_t>();
      notes.push_back(fmt::format("{}: {} from {} ({:.0f} % sure) to {}", names[n],
                                  prior.factors[i].name, prior.factors[i].component_name(from),
                                  100 * likely.responsibilities[image][factor].item<double>(),
                                  prior.factors[i].component_name(changes[i])));
    }
  return notes;
}

Image draw_changes(const Vae& model, const torch::Tensor& pixels,
                   const std::vector<std::string>& names, const EditRequest& request,
                   const Refinement& refinement, std::vector<std::string>& notes) {
  const std::vector<int64_t> changes = parse_fixed(model.prior, request.changes);
  const Encoding encoding = encode_pixels(model, pixels);
  const torch::Tensor edited = edit(model.prior, encoding, changes, request.keep_offset);
  for (const std::string& note :
       change_notes(model.prior, likely_components(model.prior, encoding), changes, names))
    notes.push_back(note);
  // An image and what it becomes share their noise.
  const PictureNoise noise = PictureNoise::each(Key(request.seed).fold("edit"), pixels.size(0));
  return draw_rows(
      model,
      torch::stack({pixels, decode_pictures_of(model, pixels, encoding.mean, refinement, noise),
                    decode_pictures_of(model, pixels, edited, refinement, noise)},
                   1),
      names, {"input", "reconstruction", fixed_label(model.prior, changes)}, "");
}

/// The last of `pixels` is where all others go.
Image draw_paths(const Vae& model, const torch::Tensor& pixels,
                 const std::vector<std::string>& names, const EditRequest& request,
                 const Refinement& refinement) {
  std::vector<size_t> factors;
  for (const std::string& name : request.only) factors.push_back(model.prior.index_of(name));
  const torch::Tensor z = encode_pixels(model, pixels).mean;
  const int64_t count = pixels.size(0) - 1, steps = request.steps;
  const torch::Tensor path =
      interpolate(model.prior, z.narrow(0, 0, count), z.narrow(0, count, 1), steps, factors);
  const PictureNoise noise =
      PictureNoise::by_row(Key(request.seed).fold("edit"), count * steps, steps);
  const torch::Tensor decoded =
      decode_pictures(model, path.flatten(0, 1), refinement, noise).unflatten(0, {count, steps});
  const torch::Tensor target = pixels.narrow(0, count, 1).expand_as(pixels.narrow(0, 0, count));
  std::vector<std::string> labels = {"input"};
  for (int64_t step = 0; step < steps; ++step)
    labels.push_back(fmt::format(
        "{:.0f} %", 100.0 * static_cast<double>(step) / static_cast<double>(steps - 1)));
  labels.push_back("toward");
  return draw_rows(
      model, torch::cat({pixels.narrow(0, 0, count).unsqueeze(1), decoded, target.unsqueeze(1)}, 1),
      names, labels,
      request.only.empty() ? "all factors" : fmt::format("only {}", fmt::join(request.only, ", ")));
}

}  // namespace

DrawnPicture edit_picture(const LoadedRun& run, const EditRequest& request) {
  const Vae& model = *run.model;
  parse_fixed(model.prior, request.changes);  // before images, which may take a while
  const Refinement refinement = load_refinement(run, request.refine);
  InputImages images(run, request.inputs.resize);
  const std::vector<std::string> names = images.names(request.inputs);
  std::vector<std::string> all = names;
  if (!request.toward.empty()) all.push_back(request.toward);
  const torch::Tensor pixels = images.read(all);
  DrawnPicture picture;
  picture.notes = images.notes();
  picture.image = request.toward.empty()
                      ? draw_changes(model, pixels, names, request, refinement, picture.notes)
                      : draw_paths(model, pixels, names, request, refinement);
  picture.notes.push_back(
      fmt::format("{} edited image{}", names.size(), names.size() == 1 ? "" : "s"));
  return picture;
}

}  // namespace facet
