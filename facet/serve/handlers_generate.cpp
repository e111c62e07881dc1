// Pictures from latent vectors: drawn by a recipe, given as numbers, or edited. Each comes with the
// command that makes the same picture, where there is one.
#include <fmt/format.h>

#include "facet/core/base64.h"
#include "facet/core/shell.h"
#include "facet/core/torch.h"
#include "facet/model/editing.h"
#include "facet/model/recipe.h"
#include "facet/report/recipe_text.h"
#include "facet/serve/answer_parts.h"
#include "facet/serve/handlers.h"
#include "facet/serve/reading.h"
#include "facet/serve/upload.h"

namespace facet {

namespace {

constexpr double kPointMassLogVariance = -12;
constexpr double kLargestLogVariance = 20;

/// The encoding of a latent vector that is given without a variance.
Encoding point_mass(const torch::Tensor& z) {
  return {z, torch::full_like(z, kPointMassLogVariance)};
}

/// Latent vectors [B, Z] with the components that they are most likely in.
LatentSample with_components(const FactorialMixture& prior, const torch::Tensor& z,
                             torch::Device device) {
  return {z, likely_components(prior, point_mass(z.to(device))).components.to(torch::kCPU)};
}

/// The photograph that an edit is of, in the model's shape; undefined where the request has none.
torch::Tensor read_photograph(HandlerContext& context, const ImageShape& shape,
                              const RequestValue& body) {
  if (!body.has("image")) return {};
  const RequestValue image = body.at("image");
  return at_place(image.where(),
                  [&] { return read_upload(context, shape, from_base64(image.text())).pixels; });
}

std::string sample_command(const HandlerContext& context, const ServedModel& model,
                           const State& state, int64_t scale) {
  return fmt::format(
      "facet sample {} --bare --count 1 --seed {}{}{}{} --device {} --out sample.png",
      shell_quoted(context.run.string()), state.seed,
      recipe_options(model.prior(), state.recipe, state.seed),
      scale == 1 ? "" : fmt::format(" --scale {}", scale), refine_options(model.refinement),
      context.device.is_cpu() ? "cpu" : "cuda");
}

std::string edit_command(const HandlerContext& context, const ServedModel& model,
                         const std::vector<int64_t>& changes, bool keep_offset) {
  const FactorialMixture& prior = model.prior();
  std::string options;
  for (size_t i = 0; i < changes.size(); ++i)
    if (changes[i] >= 0)
      options += " --change " + shell_quoted(prior.factors[i].name + "=" +
                                             prior.factors[i].component_name(changes[i]));
  return fmt::format("facet edit {} IMAGE{}{}{} --resize --out edit.png",
                     shell_quoted(context.run.string()), options,
                     keep_offset || options.empty() ? "" : " --no-offset",
                     refine_options(model.refinement));
}

}  // namespace

ApiResponse answer_generate(HandlerContext& context, const ApiRequest& request) {
  const ServedModelPointer model = context.model.required();
  const FactorialMixture& prior = model->prior();
  const Json json = parse_body(request.body);
  const RequestValue body(json);
  body.require_keys({"states", "scale", "command_scale", "format"});
  std::vector<State> states;
  for (const RequestValue& value : body.at("states").elements(1, kMostStates))
    states.push_back(read_state(prior, value));
  const Look look = read_look(body, model->shape(), static_cast<int64_t>(states.size()));

  // A page may show pictures at scale 1 and enlarge them itself.
  const int64_t command_scale = body.has("command_scale")
                                    ? body.at("command_scale").integer(1, kLargestPictureScale)
                                    : look.scale;
  std::vector<torch::Tensor> z, components;
  std::vector<std::string> commands;
  PictureNoise noise;
  for (const State& state : states) {
    const LatentSample drawn = draw_recipe(prior, state.recipe, 1);
    z.push_back(drawn.z);
    components.push_back(drawn.components);
    commands.push_back(sample_command(context, *model, state, command_scale));
    noise.keys.push_back(PictureNoise::each(Key(state.seed).fold("samples"), 1).keys.front());
  }
  const LatentSample latents{torch::cat(z), torch::cat(components)};
  return pictures_response(*model, look, context.thread.pictures(model, latents, noise), latents,
                           commands);
}

ApiResponse answer_decode(HandlerContext& context, const ApiRequest& request) {
  const ServedModelPointer model = context.model.required();
  const FactorialMixture& prior = model->prior();
  const Json json = parse_body(request.body);
  const RequestValue body(json);
  body.require_keys({"z", "scale", "format"});
  std::vector<torch::Tensor> rows;
  for (const RequestValue& value : body.at("z").elements(1, kMostStates))
    rows.push_back(read_row(value, prior.dimensions(), kLargestLatent));
  const Look look = read_look(body, model->shape(), static_cast<int64_t>(rows.size()));
  const LatentSample latents = with_components(prior, torch::cat(rows), context.device);
  return pictures_response(*model, look,
                           context.thread.pictures(model, latents, edit_noise(latents.z.size(0))),
                           latents, {});
}

ApiResponse answer_edit(HandlerContext& context, const ApiRequest& request) {
  const ServedModelPointer model = context.model.required();
  const FactorialMixture& prior = model->prior();
  const Json json = parse_body(request.body);
  const RequestValue body(json);
  body.require_keys({"z", "log_variance", "edits", "image", "scale", "format"});
  Encoding encoding = point_mass(read_row(body.at("z"), prior.dimensions(), kLargestLatent));
  if (body.has("log_variance"))
    encoding.log_variance =
        read_row(body.at("log_variance"), prior.dimensions(), kLargestLogVariance);
  encoding = {encoding.mean.to(context.device), encoding.log_variance.to(context.device)};

  std::vector<torch::Tensor> rows;
  std::vector<std::string> commands;
  for (const RequestValue& value : body.at("edits").elements(1, kMostStates)) {
    value.require_keys({"changes", "keep_offset"});
    const std::vector<int64_t> changes = read_changes(prior, value.at("changes"));
    const bool keep_offset = !value.has("keep_offset") || value.at("keep_offset").boolean();
    rows.push_back(edit(prior, encoding, changes, keep_offset));
    commands.push_back(edit_command(context, *model, changes, keep_offset));
  }
  const Look look = read_look(body, model->shape(), static_cast<int64_t>(rows.size()));
  const LatentSample latents = with_components(prior, torch::cat(rows), context.device);
  const torch::Tensor pictures =
      context.thread.pictures(model, latents.z, edit_noise(latents.z.size(0)),
                              read_photograph(context, model->shape(), body));
  return pictures_response(*model, look, pictures, latents, commands);
}

}  // namespace facet
