// Exported models in onnxruntime, compared with LibTorch: every network preset, likelihood and
// prior, and the models of the repository. The prior's files are compared with the functions of
// prior/ and model/, and the sampler's draws with those of student_t_sample.
#include "facet/export/onnx_model.h"
#include "facet/model/editing.h"
#include "facet/model/generate.h"
#include "facet/model/model_file.h"
#include "facet/prior/point_mass.h"
#include "facet/prior/sampling.h"
#include "facet/prior/student_t.h"
#include "tests/close.h"
#include "tests/export/onnx_runtime.h"
#include "tests/parameters.h"

namespace facet {
namespace {

/// float32 rounds at 1e-7, and a network's sums of thousands of products lose two more digits.
constexpr double kTolerance = 1e-5;

torch::Tensor uniform32(const Key& key, torch::IntArrayRef shape) {
  return uniform(key, shape, kFloat32);
}

/// Compares with LibTorch in float64, whose rounding is out of the question.
void expect_same_networks(Vae& model, const torch::Tensor& pixels, const torch::Tensor& z) {
  torch::NoGradGuard no_gradient;
  const std::vector<ExportedFile> files = onnx_files(model);
  const TensorMap found =
      run_onnx(files, {{"encoder/pixels", pixels.to(kFloat32) / 255}, {"decoder/z", z}});
  to_float64(model);
  const Likelihood& likelihood = model.likelihood();
  const torch::Tensor ends = likelihood.from_pixels(torch::tensor({0, 255}, kUInt8));
  const auto black = ends[0].item<double>(), range = ends[1].item<double>() - black;
  const Encoding encoding = model.encode(black + range / 255 * pixels.to(kFloat64));
  const torch::Tensor output = model.decode(z);
  const auto expect_same = [&](const char* name, const torch::Tensor& expected) {
    EXPECT_TRUE(close(found.at(name), expected, kTolerance, kTolerance)) << name;
  };
  expect_same("encoder/mean", encoding.mean);
  expect_same("encoder/log_variance", encoding.log_variance);
  expect_same("decoder/pixels", (likelihood.mean(output) - black) / range);
  expect_same("decoder/stddev", likelihood.stddev(output) / range);
}

torch::Tensor random_pixels(const ImageShape& shape, int64_t count) {
  return (256 * uniform32(Key(3), {count, shape.channels, shape.height, shape.width})).to(kUInt8);
}

/// Moves the biases away from zero, where they start.
void disturb(Vae& model) {
  torch::NoGradGuard no_gradient;
  uint64_t number = 0;
  for (auto& [name, parameter] : model.parameters())
    if (parameter.dim() == 1)
      parameter.copy_(0.1 * standard_normal(Key(4).fold(number++), parameter.sizes(), kFloat32));
}

TEST(OnnxNetworks, EveryPresetAndLikelihoodGivesTheNumbersOfLibTorch) {
  FACET_NEEDS(missing_onnxruntime);
  NetworkOptions even, wide;  // transposed convolutions with all kinds of output padding
  even.preset = wide.preset = "custom";
  even.channels = {5, 6, 7};
  even.strides = {1, 2, 3};
  even.kernel = 4;
  wide.channels = {4, 9};
  wide.strides = {3, 2};
  wide.kernel = 5;
  const auto preset = [](const char* name) {
    NetworkOptions network;
    network.preset = name;
    return network;
  };
  const std::pair<NetworkOptions, ImageShape> networks[] = {{preset("paper28"), {1, 28, 28}},
                                                            {preset("paper64"), {3, 64, 64}},
                                                            {preset("small32"), {3, 32, 32}},
                                                            {even, {3, 19, 23}},
                                                            {wide, {1, 20, 31}}};
  for (const auto& [network, shape] : networks)
    for (const std::string& likelihood : likelihood_names()) {
      SCOPED_TRACE(network.preset + " " + likelihood);
      ModelOptions options;
      options.network = network;
      options.likelihood.kind = likelihood;
      options.factors = {{"factor", 3, 8}};
      Vae model(options, shape, Key(1));
      disturb(model);
      const torch::Tensor z = standard_normal(Key(2), {3, 8}, kFloat32);
      expect_same_networks(model, random_pixels(shape, 3), z);
    }
}

TEST(OnnxNetworks, ModelsOfTheRepositoryGiveTheNumbersOfLibTorch) {
  FACET_NEEDS(missing_onnxruntime);
  int64_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(FACET_SOURCE_FOLDER) / "models")) {
    if (!entry.is_directory()) continue;
    SCOPED_TRACE(entry.path().string());
    ++count;
    const auto model = read_model(entry.path() / "model.safetensors");
    const torch::Tensor z = sample_latents(Key(5), model->prior, 16).z.to(kFloat32);
    expect_same_networks(*model, decode_means(*model, z), z);
  }
  EXPECT_EQ(count, 4);
}

/// Factors of several sizes, one of them named.
std::vector<FactorOptions> some_factors() {
  FactorOptions named{"glasses", 2, 3};
  named.property = "glasses";
  named.values = {"without", "with"};
  return {named, {"hair style", 7, 1}, {"größe", 40, 12}};
}

FactorialMixture random_prior(const std::vector<FactorOptions>& factors,
                              bool stick_breaking = false) {
  FactorialMixture prior(factors, {}, torch::kCPU, stick_breaking);
  for (size_t i = 0; i < prior.size(); ++i)
    prior.posteriors[i].assign(
        random_posterior(Key(6).fold(i), factors[i].components, factors[i].dimensions));
  return prior;
}

struct PriorCase {
  std::string name;
  FactorialMixture prior;
};

/// Every kind of prior, as it is after training.
std::vector<PriorCase> all_priors() {
  std::vector<PriorCase> cases = {{"mixture", random_prior(some_factors())},
                                  {"stick_breaking", random_prior(some_factors(), true)}};
  cases.push_back({"point_mass", random_prior(some_factors())});
  for (FactorPosterior& posterior : cases.back().prior.posteriors)
    posterior.assign(to_point_mass(posterior));
  ModelOptions options;
  options.network = {"custom", {4}, {2}};
  options.factors = {{"one", 1, 4}, {"two", 1, 3}};
  options.prior = "normal";
  Vae normal(options, {1, 8, 8}, Key(1));
  normal.strategy().begin_joint(normal);
  cases.push_back({"normal", normal.prior});
  options.factors = {{"one", 9, 5}};
  options.prior = "vamp";
  Vae vamp(options, {1, 8, 8}, Key(1));
  disturb(vamp);
  vamp.strategy().refresh(vamp);
  cases.push_back({"vamp", vamp.prior});
  EXPECT_EQ(cases.size(), prior_kinds().size() + 1) << "a prior has no case here";
  return cases;
}

std::vector<ExportedFile> prior_files(const FactorialMixture& prior) {
  return {{"assignments.onnx", assignments_onnx(prior, {})},
          {"sampler.onnx", sampler_onnx(prior, {})}};
}

/// Encodings near the prior, so that no component is certain.
Encoding encodings_near(const FactorialMixture& prior, int64_t count) {
  const torch::Tensor z = sample_latents(Key(7), prior, count).z;
  return {z.to(kFloat32), uniform32(Key(8), z.sizes()) * 4 - 3};
}

/// Inputs of the sampler: all factors drawn, at temperature 1.
TensorMap sampler_inputs(const FactorialMixture& prior, int64_t count) {
  const auto factors = static_cast<int64_t>(prior.size());
  const int64_t latents = prior.dimensions();
  return {{"sampler/components", torch::full({count, factors}, -1, kInt64)},
          {"sampler/choice", uniform32(Key(9), {count, factors})},
          {"sampler/noise", uniform32(Key(10), {count, latents, 2})},
          {"sampler/temperature", torch::ones({count, factors}, kFloat32)},
          {"sampler/offsets", torch::zeros({count, latents}, kFloat32)}};
}

TEST(OnnxPrior, AssignmentsAreThoseOfTheEStep) {
  FACET_NEEDS(missing_onnxruntime);
  for (const auto& [name, prior] : all_priors()) {
    SCOPED_TRACE(name);
    const Encoding encoding = encodings_near(prior, 50);
    const TensorMap found = run_onnx(
        prior_files(prior),
        {{"assignments/mean", encoding.mean}, {"assignments/log_variance", encoding.log_variance}});
    const auto blocks = prior.split(encoding.mean, encoding.variance());
    for (size_t i = 0; i < prior.size(); ++i)
      EXPECT_TRUE(close(found.at("assignments/probabilities." + prior.factors[i].name),
                        e_step(blocks[i], prior.posteriors[i], {}), 0, kTolerance))
          << prior.factors[i].name;
    EXPECT_TRUE(found.at("assignments/code").equal(likely_components(prior, encoding).components));
  }
}

TEST(OnnxPrior, ModelsOfTheRepositoryAssignAsLibTorchDoes) {
  FACET_NEEDS(missing_onnxruntime);
  for (const char* name : {"mnist", "omniglot", "portraits"}) {
    SCOPED_TRACE(name);
    const auto model = read_model(std::filesystem::path(FACET_SOURCE_FOLDER) / "models" / name /
                                  "model.safetensors");
    const torch::Tensor z = sample_latents(Key(5), model->prior, 32).z;
    const Encoding encoding = encode_pixels(*model, decode_means(*model, z));
    const TensorMap found = run_onnx(
        prior_files(model->prior),
        {{"assignments/mean", encoding.mean}, {"assignments/log_variance", encoding.log_variance}});
    const auto blocks = model->prior.split(encoding.mean, encoding.variance());
    for (size_t i = 0; i < model->prior.size(); ++i)
      EXPECT_TRUE(close(found.at("assignments/probabilities." + model->prior.factors[i].name),
                        e_step(blocks[i], model->prior.posteriors[i], {}), 0, kTolerance));
  }
}

TEST(OnnxPrior, AnEditIsTheCodesOffsetsAtOtherComponents) {
  FACET_NEEDS(missing_onnxruntime);
  const FactorialMixture prior = random_prior(some_factors());
  const Encoding encoding = encodings_near(prior, 20);
  const TensorMap read = run_onnx(
      prior_files(prior),
      {{"assignments/mean", encoding.mean}, {"assignments/log_variance", encoding.log_variance}});
  TensorMap inputs = sampler_inputs(prior, 20);
  inputs["sampler/components"] = read.at("assignments/code").clone();
  inputs["sampler/components"].select(1, 0).fill_(1);
  inputs["sampler/components"].select(1, 2).fill_(17);
  inputs["sampler/temperature"].zero_();
  inputs["sampler/offsets"] = read.at("assignments/offsets");
  const TensorMap edited = run_onnx(prior_files(prior), inputs);
  EXPECT_TRUE(
      close(edited.at("sampler/z"), edit(prior, encoding, {1, -1, 17}), kTolerance, kTolerance));
  EXPECT_TRUE(edited.at("sampler/code").equal(inputs["sampler/components"]));
}

/// The sampler's formula, in float64 and in LibTorch.
torch::Tensor expected_z(const FactorialMixture& prior, const TensorMap& inputs,
                         const torch::Tensor& code) {
  std::vector<torch::Tensor> blocks;
  const auto noise = prior.split(inputs.at("sampler/noise").select(2, 0));
  const auto angle = prior.split(inputs.at("sampler/noise").select(2, 1));
  const auto offsets = prior.split(inputs.at("sampler/offsets"));
  for (size_t i = 0; i < prior.size(); ++i) {
    const auto column = static_cast<int64_t>(i);
    const NormalGamma q = chosen_components(prior.posteriors[i], code.select(1, column));
    const torch::Tensor t = torch::sqrt(2 * q.a * torch::expm1(-torch::log(noise[i]) / q.a)) *
                            torch::cos(2 * std::numbers::pi * angle[i]);
    const torch::Tensor heat =
        inputs.at("sampler/temperature").select(1, column).unsqueeze(1).to(kFloat64);
    blocks.push_back(q.m + torch::sqrt(squared_scale(q)) * (heat * t + offsets[i]));
  }
  return torch::cat(blocks, 1);
}

TEST(OnnxPrior, TheSamplerFollowsItsFormulaForChosenAndDrawnComponents) {
  FACET_NEEDS(missing_onnxruntime);
  for (const auto& [name, prior] : all_priors()) {
    SCOPED_TRACE(name);
    TensorMap inputs = sampler_inputs(prior, 30);
    inputs["sampler/components"].narrow(0, 0, 10).fill_(0);
    inputs["sampler/temperature"].copy_(
        2 * uniform32(Key(11), {30, inputs["sampler/temperature"].size(1)}));
    inputs["sampler/offsets"].copy_(
        standard_normal(Key(12), inputs["sampler/offsets"].sizes(), kFloat32));
    const TensorMap found = run_onnx(prior_files(prior), inputs);
    const torch::Tensor& code = found.at("sampler/code");
    EXPECT_TRUE(code.narrow(0, 0, 10).eq(0).all().item<bool>());
    EXPECT_TRUE(
        close(found.at("sampler/z"), expected_z(prior, inputs, code), kTolerance, kTolerance));
  }
}

TEST(OnnxPrior, ComponentsAreDrawnByTheirWeights) {
  FACET_NEEDS(missing_onnxruntime);
  for (const bool stick_breaking : {false, true}) {
    const FactorialMixture prior = random_prior(some_factors(), stick_breaking);
    const int64_t count = 100000;
    TensorMap inputs = sampler_inputs(prior, count);
    // An even grid in place of random numbers: frequencies are then exact to 1 / count.
    inputs["sampler/choice"].copy_(
        ((torch::arange(count, kFloat32) + 0.5) / static_cast<double>(count)).unsqueeze(1));
    const torch::Tensor code = run_onnx(prior_files(prior), inputs).at("sampler/code");
    for (size_t i = 0; i < prior.size(); ++i) {
      const torch::Tensor frequencies =
          torch::bincount(code.select(1, static_cast<int64_t>(i)), {}, prior.factors[i].components)
              .to(kFloat64) /
          static_cast<double>(count);
      EXPECT_TRUE(close(frequencies, prior.posteriors[i].expected_weights(), 0, 3e-5));
    }
  }
}

/// The largest distance between the empirical distributions of two samples of the same size, at
/// values below `largest`.
double kolmogorov_smirnov(const torch::Tensor& a, const torch::Tensor& b, double largest) {
  const auto [values, order] = torch::cat({a, b}).sort();
  const torch::Tensor step =
      torch::cat({torch::ones_like(a), -torch::ones_like(b)}).index_select(0, order);
  const torch::Tensor distance = step.cumsum(0).abs() * values.abs().lt(largest);
  return distance.max().item<double>() / static_cast<double>(a.size(0));
}

TEST(OnnxPrior, DrawsHaveTheDistributionOfTheStudentTPredictive) {
  FACET_NEEDS(missing_onnxruntime);
  const std::vector<double> shapes = {0.05, 0.5, 2, 10, 1e7};  // half the degrees of freedom
  const auto dimensions = static_cast<int64_t>(shapes.size());
  FactorialMixture prior({{"factor", 1, dimensions}}, {});
  const torch::Tensor a = torch::tensor(shapes, kFloat64).unsqueeze(0);
  const torch::Tensor ones = torch::ones_like(a);
  const NormalGamma q{0.3 * ones, 4 * ones, a, 1.7 * a};
  prior.posteriors[0].assign(FactorPosterior::from_mean(q, torch::ones({1}, kFloat64)));
  const int64_t count = 100000;
  const torch::Tensor found =
      run_onnx(prior_files(prior), sampler_inputs(prior, count)).at("sampler/z").to(kFloat64);
  EXPECT_TRUE(found.isfinite().all().item<bool>());
  const torch::Tensor expected =
      student_t_sample(Key(13), {q.m.expand({count, -1}), q.s.expand({count, -1}),
                                 q.a.expand({count, -1}), q.b.expand({count, -1})});
  for (int64_t d = 0; d < dimensions; ++d)
    // Further out, both keep draws finite each in its way. Equal distributions exceed this with a
    // probability of 1e-6: sqrt(ln(2e6) / count).
    EXPECT_LT(kolmogorov_smirnov(found.select(1, d), expected.select(1, d), 1e5),
              std::sqrt(std::log(2e6) / static_cast<double>(count)))
        << "2a = " << 2 * shapes[static_cast<size_t>(d)];
}

TEST(OnnxPrior, DrawsAtTheEndsOfTheUniformRangeAreFinite) {
  FACET_NEEDS(missing_onnxruntime);
  const FactorialMixture prior(some_factors(), {});  // no data: almost no degrees of freedom
  TensorMap inputs = sampler_inputs(prior, 2);
  inputs["sampler/noise"][0].zero_();
  inputs["sampler/noise"][1].fill_(1);
  inputs["sampler/choice"].fill_(1);
  const TensorMap found = run_onnx(prior_files(prior), inputs);
  EXPECT_TRUE(found.at("sampler/z").isfinite().all().item<bool>());
  EXPECT_TRUE(
      found.at("sampler/code").equal(torch::tensor({1, 6, 39, 1, 6, 39}, kInt64).view({2, 3})));
}

TEST(OnnxFiles, PassTheCheckerAndShapeInference) {
  FACET_NEEDS(missing_onnx_checker);
  const TemporaryFolder folder;
  std::string files;
  for (const std::string& likelihood : likelihood_names()) {
    ModelOptions options;
    options.likelihood.kind = likelihood;
    options.factors = some_factors();
    const Vae model(options, {3, 32, 32}, Key(1));
    std::filesystem::create_directory(folder / likelihood);
    write_files(folder / likelihood, onnx_files(model));
    for (const char* name : {"encoder", "decoder", "assignments", "sampler"})
      files += " " + (folder / likelihood / (std::string(name) + ".onnx")).string();
  }
  const std::string command =
      onnx_python() + " '" + FACET_SOURCE_FOLDER + "/tests/export/check_onnx.py'" + files;
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(OnnxFiles, TheDescriptionNamesFactorsValuesWeightsAndUnits) {
  ModelOptions options;
  options.factors = some_factors();
  Vae model(options, {3, 32, 32}, Key(1));
  model.prior.posteriors[0].counts.copy_(torch::tensor({30.0, 10.0}, kFloat64));
  const std::vector<ExportedFile> files = onnx_files(model);
  ASSERT_EQ(files.back().name, "model.json");
  const Json description = Json::parse(files.back().bytes);
  EXPECT_EQ(description["format"], "facet-onnx-1");
  EXPECT_EQ(description["pixels"]["largest"], 1);
  EXPECT_EQ(description["shape"]["width"], 32);
  const Json& glasses = description["factors"][0];
  EXPECT_EQ(glasses["property"], "glasses");
  EXPECT_EQ(glasses["components"][1]["name"], "with");
  EXPECT_NEAR(glasses["components"][0]["weight"].get<double>(), 0.75, 1e-12);
  EXPECT_EQ(description["factors"][2]["first"], 4);
  EXPECT_NE(files.front().bytes.find(description.dump()), std::string::npos)
      << "the same is in the metadata of every file";
}

}  // namespace
}  // namespace facet
