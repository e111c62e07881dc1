// Pictures of a model as it learns: few of a long run, the same draws in each, and the last of
// them what the finished model draws.
#include "facet/train/progress_pictures.h"

#include <fstream>

#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/data/image_file.h"
#include "facet/data/pack.h"
#include "facet/model/generate.h"
#include "facet/model/model_file.h"
#include "facet/prior/sampling.h"
#include "facet/train/trainer.h"
#include "tests/temporary_folder.h"
#include "tests/train/runs.h"

namespace facet {
namespace {

/// Few steps of every phase on small portraits.
Config brief_config() {
  Config config;
  config.model.likelihood.kind = "gaussian";
  config.model.network = {"custom", {8, 8}, {2, 2}, 3};
  config.model.factors = {{"first", 3, 2}, {"second", 2, 2}};
  config.train.batch_size = 16;
  config.train.pretrain.steps = 8;
  config.train.initialise.steps = 4;
  config.train.joint.steps = 10;
  config.train.checkpoint_every = 4;
  return config;
}

TEST(ProgressPictures, AreOfSomeCheckpointsOnly) {
  TrainOptions options;
  options.checkpoint_every = 100;
  options.joint.steps = 5000;
  EXPECT_EQ(progress_interval(options, Phase::joint), 100);
  options.joint.steps = 1000000;
  const int64_t interval = progress_interval(options, Phase::joint);
  EXPECT_EQ(interval % 100, 0);
  EXPECT_LE(1000000 / interval, kMostProgressPictures);
  EXPECT_GE(1000000 / interval, kMostProgressPictures / 2);
  options.joint.steps = 0;
  EXPECT_EQ(progress_interval(options, Phase::joint), 100);
}

TEST(ProgressPictures, OtherFilesAreNone) {
  const TemporaryFolder folder;
  const RunFolder run{folder / "run"};
  std::filesystem::create_directories(run.progress());
  for (const char* name : {"joint-20.png", "joint-3.png", "pretrain-100.png", "joint-.png",
                           "joint-4x.png", "joint-5.txt", "done-1.png", "joint--1.png"})
    std::ofstream(run.progress() / name) << "x";
  const std::vector<ProgressPicture> found = progress_pictures(run);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].phase, Phase::pretrain);
  EXPECT_EQ(found[1].step, 3);
  EXPECT_EQ(found[2].step, 20);
}

TEST(ProgressPictures, TheLastIsOfTheFinishedModel) {
  const TemporaryFolder folder;
  const Config config = brief_config();
  const RunFolder run = RunFolder::create(folder / "run");
  Trainer trainer(config, portraits(300), run, torch::kCPU, false, {});
  ASSERT_TRUE(trainer.run());
  const std::vector<ProgressPicture> pictures = progress_pictures(run);
  ASSERT_GE(pictures.size(), 3u);
  EXPECT_EQ(pictures.front().phase, Phase::pretrain);
  EXPECT_EQ(pictures.back().phase, Phase::joint);
  EXPECT_EQ(pictures.back().step, config.train.joint.steps);
  torch::NoGradGuard no_gradient;
  const auto model = read_model(run.model());
  const torch::Tensor pixels = decode_means(
      *model, sample_latents(Key(1).fold("samples"), model->prior, kProgressSamples).z);
  const Image sheet = read_image(progress_picture(run, pictures.back()));
  const ImageShape& shape = model->shape();
  EXPECT_EQ(sheet.width, 4 * shape.width);
  EXPECT_EQ(sheet.height, 2 * shape.height);
  const torch::Tensor drawn = to_tensor({sheet})[0];  // [C, 2 H, 4 W]
  for (int64_t i = 0; i < kProgressSamples; ++i)
    EXPECT_TRUE(drawn.narrow(1, i / 4 * shape.height, shape.height)
                    .narrow(2, i % 4 * shape.width, shape.width)
                    .equal(pixels[i]))
        << i;
}

}  // namespace
}  // namespace facet
