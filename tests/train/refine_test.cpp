// The training of a refiner: it goes on after an interruption as if there had been none, it learns,
// and it refuses what it cannot continue.
#include <cstdio>
#include <functional>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/cuda/gpu.h"
#include "facet/data/batches.h"
#include "facet/model/generate.h"
#include "facet/prior/sampling.h"
#include "facet/train/refine_trainer.h"
#include "facet/train/trainer.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"
#include "tests/train/runs.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

RefineConfig tiny_refiner(int64_t steps) {
  RefineConfig config;
  config.network = {"custom", 16, {1, 2}, 1, 8};
  config.steps = steps;
  config.batch_size = 16;
  config.learning_rate = 4e-3;
  config.warmup_steps = 5;
  config.average_decay = 0.98;
  config.log_every = 4;
  config.checkpoint_every = 0;
  return config;
}

/// A run with a model of 16x16 portraits that was trained for a moment: its means are blurred.
class RefineTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    Config config;
    config.data.portraits.count = 200;
    config.data.portraits.size = 16;
    config.model.likelihood.kind = "gaussian";
    config.model.network = {"custom", {16, 16}, {2, 2}, 3};
    config.model.factors = {{"only", 3, 8}};
    config.train.batch_size = 32;
    config.train.pretrain.steps = 600;
    config.train.pretrain.kl_weight = {0.01, 0.01, 0, "linear"};
    config.train.initialise.steps = 1;
    config.train.joint.steps = 0;
    config.train.learning_rate = {3e-3, 3e-4, 0, "cosine"};
    config.train.log_every = 1000;
    Trainer(config, portraits(200), RunFolder{*folder_ / "trained"}, torch::kCPU, false, {}).run();
  }
  static void TearDownTestSuite() {
    refined_.reset();
    delete folder_;
    folder_ = nullptr;
  }
  /// A copy of the run, to be refined.
  static LoadedRun copy(const std::string& name) {
    fs::copy(*folder_ / "trained", *folder_ / name, fs::copy_options::recursive);
    return load_run(*folder_ / name, {"cpu"});
  }
  static bool refine(const RefineConfig& config, const LoadedRun& run, bool resume,
                     std::function<bool()> stop = {}) {
    RefineCallbacks callbacks;
    callbacks.stop = std::move(stop);
    return RefineTrainer(config, run, portraits(200), resume, callbacks).run();
  }
  void TearDown() override {
    for (const auto& entry : fs::directory_iterator(folder_->path()))
      if (entry.path().filename() != "trained" && entry.path().filename() != "refined")
        fs::remove_all(entry.path());
  }
  /// A copy with a refiner that was trained for a moment, and the losses on the way.
  static const LoadedRun& refined() {
    if (refined_) return *refined_;
    refined_ = copy("refined");
    RefineConfig config = tiny_refiner(220);
    config.log_every = 22;
    RefineCallbacks callbacks;
    callbacks.report = [](const RefineReport& report) { reports_.push_back(report); };
    RefineTrainer(config, *refined_, portraits(200), false, callbacks).run();
    return *refined_;
  }

  static inline TemporaryFolder* folder_ = nullptr;
  static inline std::optional<LoadedRun> refined_;
  static inline std::vector<RefineReport> reports_;
};

TEST_F(RefineTest, AResumedRefinerIsTheSameBitForBit) {
  const RefineConfig config = tiny_refiner(11);
  const LoadedRun whole = copy("whole"), parts = copy("parts");
  ASSERT_TRUE(refine(config, whole, false));
  ASSERT_FALSE(refine(config, parts, false, [left = 6]() mutable { return left-- == 0; }));
  ASSERT_TRUE(refine(config, parts, true));
  expect_same_file(whole.folder.refiner(), parts.folder.refiner());
  expect_same_file(whole.folder.refiner_state(), parts.folder.refiner_state());
  expect_same_file(whole.folder.refiner_metrics(), parts.folder.refiner_metrics());
  expect_same_file(whole.folder.refiner_config(), parts.folder.refiner_config());
  expect_same_file(*folder_ / "trained/model.safetensors", whole.folder.model());
}

TEST_F(RefineTest, AnotherSeedGivesAnotherRefiner) {
  const LoadedRun run = copy("run");
  RefineConfig config = tiny_refiner(2);
  ASSERT_TRUE(refine(config, run, false));
  const std::string first = read_text(run.folder.refiner(), "test");
  config.seed = 2;
  ASSERT_TRUE(refine(config, run, false));
  EXPECT_NE(read_text(run.folder.refiner(), "test"), first);
}

/// How much images differ from each other, in [-1, 1]: the means of a model differ too little.
double spread(const torch::Tensor& pixels) {
  return to_unit_range(pixels).std(0, /*unbiased=*/true).mean().item<double>();
}

/// The mean squared distance of images.
double distance(const torch::Tensor& one, const torch::Tensor& other) {
  return (to_unit_range(one) - to_unit_range(other)).square().mean().item<double>();
}

TEST_F(RefineTest, RefinedReconstructionsVaryAsImagesDoAndResembleTheirOwn) {
  const LoadedRun& run = refined();
  ASSERT_EQ(reports_.size(), 10u);
  EXPECT_LT(reports_.back().loss, 0.4 * reports_.front().loss);
  const torch::Tensor images = portraits(200).images.slice(0, 60);
  const torch::Tensor z = encode_pixels(*run.model, images).mean;
  const PictureNoise noise = PictureNoise::each(Key(1), 60);
  const torch::Tensor means = decode_pictures(*run.model, z, {}, noise);
  const torch::Tensor refined =
      decode_pictures(*run.model, z, load_refinement(run, {true, 8}), noise);
  EXPECT_LT(spread(means), 0.8 * spread(images)) << "otherwise this test says nothing";
  // Noise has a spread of 0.8.
  EXPECT_NEAR(spread(refined), spread(images), 0.35 * (spread(images) - spread(means)));
  // Nothing but chance would make the distances equal.
  EXPECT_LT(distance(refined, images), 0.95 * distance(refined, images.roll(1, 0)));
}

/// The covariance of latent vectors within their components, in units of the components' scales.
torch::Tensor covariance_within(const Vae& model, const LatentSample& latents) {
  const GaussianRows rows = gaussian_rows(model.prior, latents.components);
  return torch::cov(((latents.z - rows.centre) / rows.scale).t());
}

TEST_F(RefineTest, SamplesAreMovedToWhereEncodingsLie) {
  const LoadedRun& run = refined();
  EXPECT_LT(reports_.back().latent_loss, 0.9 * reports_.front().latent_loss);
  torch::NoGradGuard no_gradient;
  const Vae& model = *run.model;
  const Encoding encoding = encode_pixels(model, portraits(200).images.slice(0, 200));
  std::vector<torch::Tensor> draws;
  for (uint64_t n = 0; n < 10; ++n) draws.push_back(encoding.sample(Key(1).fold(n)));
  const torch::Tensor wanted =
      covariance_within(model, with_probable_components(model.prior, torch::cat(draws)));
  const LatentSample samples = sample_latents(Key(2), model.prior, 2000);
  const torch::Tensor moved = likely_latents(model.prior, samples, load_refinement(run, {true, 8}));
  const auto error = [&](const torch::Tensor& z) {
    return (covariance_within(model, {z, samples.components}) - wanted).norm().item<double>();
  };
  EXPECT_LT(error(moved), 0.6 * error(samples.z));
  // They stay in their components, but for those at the edge.
  const torch::Tensor found = with_probable_components(model.prior, moved).components;
  EXPECT_GT(found.eq(samples.components).all(1).to(kFloat64).mean().item<double>(), 0.9);
}

TEST_F(RefineTest, HiddenMeansTeachTheFlowWithoutMeans) {
  const auto error_without_means = [&](double dropout) {
    const LoadedRun run = copy(dropout > 0 ? "with" : "without");
    RefineConfig config = tiny_refiner(150);
    config.mean_dropout = dropout;
    EXPECT_TRUE(refine(config, run, false));
    torch::NoGradGuard no_gradient;
    const Refinement refinement = load_refinement(run, {true, 2});
    EXPECT_EQ(refinement.refiner->guidance(), dropout > 0 ? config.guidance : 0);
    const torch::Tensor images = to_unit_range(portraits(200).images.slice(0, 200)),
                        noise = standard_normal(Key(1), images.sizes(), kFloat32),
                        times = 0.2 * uniform(Key(2), {images.size(0)}, kFloat32);
    return (refinement.refiner->velocity(mix_noise(images, noise, times), torch::zeros_like(images),
                                         times) -
            (images - noise))
        .square()
        .mean()
        .item<double>();
  };
  EXPECT_LT(error_without_means(0.5), 0.95 * error_without_means(0));
  const LoadedRun without = load_run(*folder_ / "without", {"cpu"});
  EXPECT_NE(message_of([&] {
              load_refinement(without, {true, 2, 1.5});
            }).find("without means"),
            std::string::npos);
  EXPECT_EQ(load_refinement(without, {true, 2, 1}).strength(), 1);
}

TEST_F(RefineTest, RefusesWhatItCannotContinue) {
  const LoadedRun run = copy("run");
  EXPECT_NE(message_of([&] {
              load_refinement(run, {true, 8});
            }).find("facet refine"),
            std::string::npos);
  EXPECT_FALSE(load_refinement(run, {}));
  ASSERT_TRUE(refine(tiny_refiner(2), run, false));
  const auto message = [&](const std::function<void()>& action) { return message_of(action); };
  EXPECT_NE(message([&] {
              RefineTrainer(tiny_refiner(4), run, portraits(100), true, {});
            }).find("the data that it was begun with"),
            std::string::npos);
  EXPECT_NE(message([&] {
              RefineTrainer(tiny_refiner(1), run, portraits(200), true, {});
            }).find("found 2 steps"),
            std::string::npos);
  EXPECT_NE(message([&] {
              RefineTrainer(tiny_refiner(4), run, make_portraits({50, 24, 1}), false, {});
            }).find("images of 24x24"),
            std::string::npos);
  {
    torch::NoGradGuard no_gradient;
    run.model->parameters().front().second.add_(0.1);
  }
  EXPECT_NE(message([&] {
              load_refinement(run, {true, 8});
            }).find("another model"),
            std::string::npos);
  EXPECT_NE(message([&] {
              RefineTrainer(tiny_refiner(4), run, portraits(200), true, {});
            }).find("another model"),
            std::string::npos);
}

/// The refiner's losses on a GPU.
std::vector<double> losses_on_gpu(const RefineConfig& config, const fs::path& run,
                                  const StepOptions& options) {
  std::vector<double> losses;
  RefineCallbacks callbacks;
  callbacks.report = [&](const RefineReport& report) { losses.push_back(report.loss); };
  RefineTrainer(config, load_run(run, {"cuda"}), portraits(200), false, callbacks, options).run();
  return losses;
}

TEST_F(RefineTest, StepsOnAGpuAreTheSameCapturedAndStreamed) {
  if (!cuda::available()) {
    std::fprintf(stderr, "*** NOT TESTED: a refiner on a GPU needs a GPU, none found\n");
    GTEST_SKIP() << "no GPU";
  }
  const LoadedRun run = copy("run");
  RefineConfig config = tiny_refiner(12);
  config.log_every = 1;
  const std::vector<double> plain = losses_on_gpu(config, run.folder.path, {.capture = false});
  for (const StepOptions& options : {StepOptions{true, false}, StepOptions{true, true}}) {
    const std::vector<double> other = losses_on_gpu(config, run.folder.path, options);
    ASSERT_EQ(other.size(), plain.size());
    // Gradients of convolutions are summed in any order, in bfloat16.
    for (size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(other[i], plain[i], 0.03 * plain[i]) << i;
  }
  const auto on_gpu = load_run(run.folder.path, {"cuda"}),
             on_cpu = load_run(run.folder.path, {"cpu"});
  const torch::Tensor z = encode_pixels(*on_cpu.model, portraits(200).images.slice(0, 8)).mean;
  const PictureNoise noise = PictureNoise::each(Key(1), 8);
  const torch::Tensor one =
      decode_pictures(*on_cpu.model, z, load_refinement(on_cpu, {true, 4}), noise);
  const torch::Tensor two = decode_pictures(*on_gpu.model, z.to(on_gpu.model->device()),
                                            load_refinement(on_gpu, {true, 4}), noise);
  EXPECT_LT((one.to(kFloat32) - two.to(kFloat32)).abs().mean().item<float>(), 3.0f);  // bfloat16
}

TEST(RefineConfig, TheLearningRateRisesAndFalls) {
  RefineConfig config;
  config.steps = 100;
  config.warmup_steps = 10;
  config.learning_rate = 1;
  config.final_rate = 0.05;
  EXPECT_NEAR(config.rate_at(0), 0.1, 1e-12);
  EXPECT_NEAR(config.rate_at(9), 0.91, 1e-12);
  EXPECT_NEAR(config.rate_at(50), 0.5, 1e-12);
  EXPECT_NEAR(config.rate_at(99), 0.05, 1e-12);
}

}  // namespace
}  // namespace facet
