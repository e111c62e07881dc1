// facet.Model: a trained model whose calls take and return arrays. Pixels are U8 [N, C, H, W] here;
// the Python side has images as people hold them.
#include <optional>
#include <pybind11/stl.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arrays.h"
#include "bindings.h"
#include "facet/core/error.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/eval/bounds.h"
#include "facet/model/editing.h"
#include "facet/model/generate.h"
#include "facet/model/objective.h"
#include "facet/model/refiner.h"
#include "facet/prior/sampling.h"
#include "facet/report/input_images.h"
#include "facet/report/run_evaluation.h"
#include "turns.h"

namespace facet::python {

namespace py = pybind11;

namespace {

constexpr int64_t most_images = 500;  // per batch

/// A run that one thread at a time uses; others wait their turn.
class Model {
 public:
  Model(const std::string& path, const std::string& device, const std::string& precision)
      : run_(load_run(path, {device, precision})) {}

  py::tuple shape() const {
    const ImageShape& shape = run_.model->shape();
    return py::make_tuple(shape.channels, shape.height, shape.width);
  }
  std::string device() const { return run_.model->device().str(); }
  std::string folder() const { return run_.folder.path.string(); }

  py::list factors() const {
    const FactorialMixture& prior = run_.model->prior;
    py::list result;
    for (size_t i = 0; i < prior.size(); ++i) {
      const FactorOptions& factor = prior.factors[i];
      py::dict entry;
      entry["name"] = factor.name;
      entry["components"] = factor.components;
      entry["dimensions"] = factor.dimensions;
      entry["property"] = factor.named() ? py::cast(factor.property) : py::none();
      entry["values"] = factor.values;
      entry["weights"] = to_array(prior.posteriors[i].expected_weights());
      entry["images"] = to_array(prior.held_images(i));
      result.append(entry);
    }
    return result;
  }

  py::dict encode(const py::object& pixels) {
    const torch::Tensor images = to_tensor(pixels, "images");
    Encoding encoding;
    std::vector<torch::Tensor> probabilities;
    turns_.take([&] {
      encoding = encode_pixels(*run_.model, images);
      const FactorialMixture& prior = run_.model->prior;
      const auto blocks = prior.split(encoding.mean, encoding.variance());
      for (size_t i = 0; i < prior.size(); ++i)
        probabilities.push_back(e_step(blocks[i], prior.posteriors[i], {}));
    });
    py::dict result;
    result["mean"] = to_array(encoding.mean);
    result["variance"] = to_array(encoding.variance());
    py::list all;
    for (const torch::Tensor& one : probabilities) all.append(to_array(one));
    result["probabilities"] = all;
    return result;
  }

  py::array decode(const py::object& latents, const std::optional<uint64_t>& seed) {
    const torch::Tensor z = to_tensor(latents, "latent vectors");
    require_latents(z);
    torch::Tensor pixels;
    turns_.take([&] {
      const torch::Tensor own = z.to(run_.model->device());
      pixels = seed ? decode_samples(*run_.model, own, Key(*seed).fold("pixels"))
                    : decode_means(*run_.model, own);
    });
    return to_array(pixels);
  }

  /// Latent vectors that were sampled with `seed`, as pictures that the run's refiner makes sharp:
  /// those of `facet sample --refined`.
  py::array refine(const py::object& latents, const py::object& components, uint64_t seed,
                   int64_t steps, double guidance) {
    const torch::Tensor z = to_tensor(latents, "latent vectors"),
                        drawn = to_tensor(components, "components");
    require_latents(z);
    if (steps < 1 || steps > kMostRefineSteps)
      throw Error({.doing = "refining pictures",
                   .found = fmt::format("{} steps", steps),
                   .expected = fmt::format("1 to {}", kMostRefineSteps)});
    if (guidance != 0 && !(guidance >= 1 && guidance <= kMostGuidance))
      throw Error({.doing = "refining pictures",
                   .found = fmt::format("a guidance of {}", guidance),
                   .expected = fmt::format("1 to {}", kMostGuidance)});
    torch::Tensor pixels;
    turns_.take([&] {
      const Refinement refinement = load_refinement(run_, {true, steps, guidance}, refiner_);
      refiner_ = refinement.refiner;
      const torch::Device device = run_.model->device();
      pixels =
          decode_pictures(*run_.model, LatentSample{z.to(device), drawn.to(device)}, refinement,
                          PictureNoise::each(Key(seed).fold("samples"), z.size(0)));
    });
    return to_array(pixels);
  }

  py::tuple sample(int64_t count, const std::vector<std::string>& settings, uint64_t seed) {
    const std::vector<int64_t> fixed = parse_fixed(run_.model->prior, settings);
    LatentSample draw;
    turns_.take(
        [&] { draw = sample_latents(Key(seed).fold("samples"), run_.model->prior, count, fixed); });
    return py::make_tuple(to_array(draw.z), to_array(draw.components));
  }

  py::array edit(const py::object& pixels, const std::vector<std::string>& settings,
                 bool keep_offset) {
    const torch::Tensor images = to_tensor(pixels, "images");
    const std::vector<int64_t> changes = parse_fixed(run_.model->prior, settings);
    torch::Tensor z;
    turns_.take([&] {
      z = facet::edit(run_.model->prior, encode_pixels(*run_.model, images), changes, keep_offset);
    });
    return to_array(z);
  }

  py::array score(const py::object& pixels, uint64_t seed) {
    const torch::Tensor images = to_tensor(pixels, "images");
    std::vector<torch::Tensor> bounds;
    turns_.take([&] {
      Vae& model = *run_.model;
      for (const torch::Tensor& batch : images.split(model.images_at_once(most_images)))
        bounds.push_back(bound_terms(model,
                                     model.likelihood().from_pixels(batch.to(model.device())), {},
                                     Key(seed).fold("score").fold(bounds.size()))
                             .bound());
    });
    return to_array(torch::cat(bounds));
  }

  py::array read(const std::vector<std::string>& names, bool resize) {
    torch::Tensor pixels;
    turns_.take([&] { pixels = InputImages(run_, resize).read(names); });
    return to_array(pixels);
  }

  std::string evaluate(const std::string& split, const std::string& pack, int64_t samples) {
    EvaluationRequest request;
    request.split = split;
    request.pack = pack;
    request.evaluation.samples = samples;
    std::string json;
    turns_.take([&] { json = to_json(evaluate_run(run_, request).evaluation).dump(); });
    return json;
  }

 private:
  void require_latents(const torch::Tensor& z) const {
    const int64_t wanted = run_.model->prior.dimensions();
    if (z.dim() == 2 && z.size(1) == wanted && z.is_floating_point() && z.size(0) > 0) return;
    throw Error({.doing = "decoding latent vectors",
                 .found = fmt::format("an array of shape [{}]", fmt::join(z.sizes(), ", ")),
                 .expected = fmt::format("floating-point numbers of shape [N, {}]", wanted)});
  }

  LoadedRun run_;
  std::shared_ptr<const Refiner> refiner_;  ///< read when first asked for
  Turns turns_;
};

}  // namespace

void bind_model(py::module_& module) {
  using py::arg;
  py::class_<Model, std::shared_ptr<Model>>(module, "Model")
      .def(py::init([](const std::string& path, const std::string& device,
                       const std::string& precision) {
             const py::gil_scoped_release release;
             return std::make_shared<Model>(path, device, precision);
           }),
           arg("path"), arg("device"), arg("precision"))
      .def_property_readonly("shape", &Model::shape)
      .def_property_readonly("device", &Model::device)
      .def_property_readonly("folder", &Model::folder)
      .def_property_readonly("factors", &Model::factors)
      .def("encode", &Model::encode, arg("pixels"))
      .def("decode", &Model::decode, arg("z"), arg("seed"))
      .def("refine", &Model::refine, arg("z"), arg("components"), arg("seed"), arg("steps"),
           arg("guidance"))
      .def("sample", &Model::sample, arg("count"), arg("settings"), arg("seed"))
      .def("edit", &Model::edit, arg("pixels"), arg("settings"), arg("keep_offset"))
      .def("score", &Model::score, arg("pixels"), arg("seed"))
      .def("read", &Model::read, arg("names"), arg("resize"))
      .def("evaluate", &Model::evaluate, arg("split"), arg("pack"), arg("samples"));
}

}  // namespace facet::python
