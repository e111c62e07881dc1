// What a resumed run makes sure of: its state, its metrics and its data are those that it was
// trained with, and where the last checkpoint is damaged it goes on from the one before. Numbers
// that are not finite, wherever they are planted, end a run and never reach a file.
#include "facet/train/checkpoint.h"

#include <gtest/gtest.h>

#include "facet/core/file.h"
#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/train/trainer.h"
#include "tests/contains.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"
#include "tests/train/runs.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

/// Two checkpoints in every phase, averaged weights, and one factor that has a name.
Config checkpointed_config() {
  Config config;
  config.data.portraits = {200, 16, 1};
  config.model.likelihood.kind = "gaussian";
  config.model.likelihood.minimum_stddev = 0.05;
  config.model.network = {"custom", {8, 8}, {2, 2}, 3};
  config.model.factors = {{"glasses", 2, 2, "glasses", {}}, {"free", 3, 2, "", {}}};
  config.train.batch_size = 16;
  config.train.pretrain.steps = 6;
  config.train.initialise.steps = 6;
  config.train.joint.steps = 12;
  config.train.average_decay = 0.9;
  config.train.log_every = 3;
  config.train.evaluate_every = 6;
  config.train.checkpoint_every = 3;
  return config;
}

class CheckpointTest : public testing::Test {
 protected:
  /// Trains until so many steps have begun, or to the end; what it said.
  std::string train(const RunFolder& run, bool resume, int64_t steps = -1) {
    std::string said;
    TrainingCallbacks callbacks;
    callbacks.notice = [&](const std::string& sentence) { said += sentence + "\n"; };
    callbacks.stop = [left = steps]() mutable { return left-- == 0; };
    Trainer(config_, pack_, run, torch::kCPU, resume, callbacks).run();
    return said;
  }
  std::string refusal(const RunFolder& run) {
    return message_of([&] { train(run, true); });
  }
  /// Writes the state anew, with right checksums, after a change.
  void change(const fs::path& path, const std::function<void(TensorFile&)>& edit) {
    TensorFile file = read_safetensors(path, "test");
    for (auto& [name, tensor] : file.tensors) tensor = tensor.clone();
    edit(file);
    write_safetensors(path, file, "test");
  }
  void flip_a_bit(const fs::path& path) {
    std::string bytes = read_text(path, "test");
    bytes[bytes.size() - 5] ^= 4;
    write_text(path, bytes, "test");
  }
  void expect_same_run(const RunFolder& one, const RunFolder& other) {
    expect_same_file(one.metrics(), other.metrics());
    expect_same_file(one.state(), other.state());
    expect_same_file(one.model(), other.model());
  }

  TemporaryFolder folder_;
  Config config_ = checkpointed_config();
  Pack pack_ = portraits(200);
  const RunFolder straight_{folder_ / "straight"}, run_{folder_ / "run"};
};

TEST_F(CheckpointTest, ADamagedOneIsReplacedByTheOneBeforeAndTheRunIsTheSame) {
  train(straight_, false);
  train(run_, false, 16);
  flip_a_bit(run_.state());
  const std::string said = train(run_, true);
  EXPECT_TRUE(contains(said, "going on from the checkpoint before the last, at step 3 of phase"))
      << said;
  EXPECT_TRUE(contains(said, "state.safetensors")) << said;
  expect_same_run(straight_, run_);
}

TEST_F(CheckpointTest, OneThatIsLostBetweenTwoRenamesIsReplacedSilently) {
  train(straight_, false);
  train(run_, false, 16);
  fs::remove(run_.state());
  EXPECT_FALSE(contains(train(run_, true), "before the last"));
  expect_same_run(straight_, run_);
}

TEST_F(CheckpointTest, TwoDamagedOnesAreAnErrorThatNamesTheLast) {
  train(run_, false, 16);
  flip_a_bit(run_.state());
  flip_a_bit(run_.previous_state());
  EXPECT_TRUE(contains(refusal(run_), "/state.safetensors'")) << refusal(run_);
}

TEST_F(CheckpointTest, ChangedMetricsAreFound) {
  config_.train.log_every = 1;  // so that the last checkpoint has more lines than the one before
  train(straight_, false);
  train(run_, false, 16);
  const std::string good = read_text(run_.metrics(), "test");
  std::string changed = good;
  changed[changed.size() - 4] ^= 1;  // a digit of a line after the checkpoint before
  write_text(run_.metrics(), changed, "test");
  const std::string said = train(run_, true);
  EXPECT_TRUE(contains(said, "metrics.jsonl': found other lines")) << said;
  expect_same_run(straight_, run_);

  const RunFolder other{folder_ / "other"};
  train(other, false, 16);
  changed = good;
  changed[20] ^= 1;  // in the first line, which both checkpoints know
  write_text(other.metrics(), changed, "test");
  EXPECT_TRUE(contains(refusal(other), "metrics.jsonl': found other lines")) << refusal(other);
}

TEST_F(CheckpointTest, OtherDataAreRefused) {
  train(run_, false, 4);
  pack_.labels = pack_.labels.clone();
  pack_.labels[7][0] = 1 - pack_.labels[7][0].item<int64_t>();
  EXPECT_TRUE(contains(refusal(run_), "the labels that it was begun with")) << refusal(run_);
  pack_ = portraits(200);
  torch::Tensor pixels = pack_.images.all().clone();
  pixels[3][0][0][0] = 255 - pixels[3][0][0][0].item<int64_t>();
  pack_.images = pixels;
  EXPECT_TRUE(contains(refusal(run_), "the data that it was begun with")) << refusal(run_);
}

TEST_F(CheckpointTest, StepsBeyondTheEndAreRefused) {
  train(run_, false);
  fs::remove(run_.previous_state());
  for (const int64_t phase : {0, 1, 2, 3}) {
    change(run_.state(), [&](TensorFile& file) {
      file.tensors["progress"][0] = phase;
      file.tensors["progress"][1] = int64_t{1} << 62;
    });
    EXPECT_TRUE(contains(refusal(run_), "4611686018427387904")) << phase << refusal(run_);
  }
}

TEST_F(CheckpointTest, AKillBetweenALongerConfigAndItsFirstStateLosesNoStep) {
  config_.train.joint.steps = 18;
  train(straight_, false);
  config_.train.joint.steps = 12;
  train(run_, false);
  config_.train.joint.steps = 18;
  // The trainer writes the config when it is made; the process is killed before a step.
  { const Trainer killed(config_, pack_, run_, torch::kCPU, true, {}); }
  train(run_, true);
  EXPECT_EQ(read_safetensors(run_.state(), "test").tensors["progress"][1].item<int64_t>(), 18);
}

TEST_F(CheckpointTest, ANanInAStateIsRefusedByName) {
  train(run_, false, 20);
  const std::string good = read_text(run_.state(), "test");
  fs::remove(run_.previous_state());
  for (const char* name : {"average.0", "average.1", "adam.second", "network.encoder.head.bias",
                           "prior.free.m0", "metrics.sums"}) {
    write_text(run_.state(), good, "test");
    change(run_.state(), [&](TensorFile& file) { file.tensors.at(name).view({-1})[0] = NAN; });
    EXPECT_THROW(train(run_, true), NotFinite) << name;
    EXPECT_TRUE(contains(refusal(run_), name)) << refusal(run_);
  }
}

/// A NaN or an infinity, planted by `plant` after so many steps of a phase, ends the run within
/// one check; the message has one of the names, and the checkpoint is the last good one.
struct Planted {
  Phase phase;
  std::function<void(Vae&)> plant;
  std::vector<std::string> names;
};

TEST_F(CheckpointTest, ANumberThatIsNotFiniteEndsTheRunInEveryPhase) {
  const auto weight = [](double value) {
    return [value](Vae& model) {
      torch::NoGradGuard no_gradient;
      model.parameters()[1].second.view({-1})[0] = value;
    };
  };
  const auto posterior = [](Vae& model) {
    model.prior.posteriors[1].tensors()[0].second.view({-1})[0] = NAN;
  };
  const auto hyperprior = [](Vae& model) {
    model.prior.hyperpriors[1].tensors()[0].second.view({-1})[0] = NAN;
  };
  const Planted cases[] = {
      {Phase::pretrain, weight(NAN), {"encoder", "KL[z]", "reconstruction"}},
      {Phase::pretrain, weight(INFINITY), {"encoder", "KL[z]", "reconstruction"}},
      {Phase::initialise, weight(NAN), {"encodings", "encoder"}},
      {Phase::initialise, posterior, {"factor 'free'"}},
      {Phase::initialise, hyperprior, {"factor 'free'", "prior.free"}},
      {Phase::joint, weight(NAN), {"encoder", "KL[z]", "reconstruction"}},
      {Phase::joint, posterior, {"factor 'free'"}},
      {Phase::joint, hyperprior, {"factor 'free'", "prior.free"}},
  };
  int number = 0;
  for (const Planted& one : cases) {
    const RunFolder run{folder_ / std::to_string(number++)};
    Trainer* running = nullptr;
    TrainingCallbacks callbacks;
    callbacks.stop = [&] {
      const Progress& now = running->progress();
      if (now.phase == one.phase && now.step == 1) one.plant(running->model());
      return false;
    };
    Trainer trainer(config_, pack_, run, torch::kCPU, false, callbacks);
    running = &trainer;
    std::string found = "no error";
    try {
      trainer.run();
    } catch (const NotFinite& error) {
      found = error.what();
    }
    const bool named = std::any_of(one.names.begin(), one.names.end(),
                                   [&](const std::string& name) { return contains(found, name); });
    EXPECT_TRUE(named) << number << ": " << found;
    EXPECT_TRUE(contains(found, "the last good checkpoint") ||
                contains(found, "The last good checkpoint"))
        << found;
    for (const auto& [name, tensor] : read_safetensors(run.state(), "test").tensors)
      EXPECT_TRUE(torch::isfinite(tensor).all().item<bool>()) << name;
    EXPECT_NO_THROW(train(run, true)) << number;
  }
}

}  // namespace
}  // namespace facet
