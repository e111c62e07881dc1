// What a run folder holds besides its model: the training state, metrics, and what people have
// added to it.
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/report/curves.h"
#include "facet/report/sweep_summary.h"
#include "facet/serve/label_book.h"
#include "facet/serve/run_watch.h"
#include "facet/train/best_bound.h"
#include "facet/train/checkpoint.h"
#include "facet/train/config.h"
#include "facet/train/metrics.h"
#include "facet/train/run_names.h"
#include "facet/train/sweep_plan.h"
#include "tests/fuzz/fuzz_model.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/tensor_input.h"

namespace facet {
namespace {

/// A training between two checkpoints.
struct FuzzTraining {
  std::shared_ptr<Vae> model = fuzz_model("point_mass");
  Adam adam{model->parameters(), {}};
  WeightAverage average{adam, &model->prior, 0.9};
  NamedTensors state = {{"learner.counts", torch::zeros({3}, kFloat64)}};
  TrainedOn data{"6 images", "of some labels"};

  FuzzTraining() { model->strategy().begin(*model, {}, 6); }
};

bool read_state_bytes(std::string_view bytes) {
  static FuzzTraining training;
  const std::filesystem::path path = input_file("state.safetensors", tensor_file_of(bytes));
  return taken([&] {
    read_checkpoint(path, *training.model, training.adam, &training.average, training.state,
                    training.data);
  });
}
std::vector<std::string> state_seeds() {
  const FuzzTraining training;
  const RunFolder folder{input_file("state-seed/config.json", "{}").parent_path()};
  Progress progress{.phase = Phase::joint, .step = 3, .metrics = {.lines = 2}};
  progress.sums = make_sums(1, torch::kCPU);
  progress.state = training.state;
  progress.joint_steps = 10;
  write_checkpoint(folder, *training.model, training.adam, &training.average, progress,
                   training.data);
  return {tensor_input_of(bytes_of(folder.state()))};
}

bool read_sweep_bytes(std::string_view bytes) {
  const std::filesystem::path folder = input_file("swept/sweep.json", bytes).parent_path();
  input_file("swept/seed-1/config.json", R"({"seed": 2})");
  return taken([&] {
    const SweepPlan plan = plan_of_json(parse_config(std::string(bytes), "sweep.json"), "sweep");
    first_difference(plan.variations, {parse_variation("seed=1,3")});
    taken([&] { require_same_configs(plan, folder); });
  });
}
std::vector<std::string> sweep_seeds() {
  const Variation seeds = parse_variation("seed=1,2"),
                  steps = parse_variation("train.joint.steps=5,10");
  return {to_json(plan_sweep({}, {seeds, steps}, "seed")).dump(),
          R"({"config": {}, "vary": [{"key": "data.pack", "values": ["a", "b"]}]})",
          R"({"config": {}, "vary": [{"key": "seed", "values": [1, 3]}]})",
          R"({"config": {}, "vary": [{"key": "model.factors.0.name", "values": ["a?", "a!"]}]})"};
}

/// What a sweep knows of its runs.
SweepPlan fuzz_sweep() {
  return plan_sweep({}, {parse_variation("seed=1,2"), parse_variation("train.batch_size=5,10")},
                    "test");
}
bool read_sweep_record_bytes(std::string_view bytes) {
  static const SweepPlan plan = fuzz_sweep();
  const Json record = Json::parse(bytes, nullptr, /*allow_exceptions=*/false);
  const std::vector<RunOutcome> outcomes =
      known_outcomes(plan, record, input_file("sweep/sweep.json", bytes).parent_path());
  sweep_csv(plan, outcomes);
  sweep_table(plan, outcomes);
  sweep_plot(plan, outcomes);
  return record.is_object();
}
std::vector<std::string> sweep_record_seeds() {
  const SweepPlan plan = fuzz_sweep();
  std::vector<RunOutcome> outcomes(plan.runs.size());
  outcomes[0].state = RunState::failed;
  outcomes[0].failure = "a reason";
  outcomes[1].state = RunState::stopped;
  return {sweep_record(plan, outcomes).dump()};
}

RunFolder fuzz_run(const std::string& name, std::string_view bytes) {
  static const RunFolder folder{
      input_file("fuzz-run/config.json", R"({"train": {"joint": {"steps": 30}}})").parent_path()};
  for (const char* file : {"names.json", "labels.json", "metrics.jsonl"})
    std::filesystem::remove(folder.path / file);
  input_file("fuzz-run/" + name, bytes);
  return folder;
}

bool read_names_bytes(std::string_view bytes) {
  return taken([&] {
    const RunFolder folder = fuzz_run("names.json", bytes);
    const RunNames names = read_names(folder);
    FactorialMixture prior = known_model().prior;
    apply_names(prior, names);
    write_names(folder, names);
  });
}
std::vector<std::string> names_seeds() {
  return {R"({"factors": {"first": {"name": "hair", "components": {"0": "red", "2": "black"}}}})",
          R"({"factors": {}})"};
}

bool read_labels_bytes(std::string_view bytes) {
  return taken([&] {
    LabelBook book(fuzz_run("labels.json", bytes));
    book.of_image(0);
    book.csv(fuzz_pack());
    book.set("hair", "red", {0, 1});
    book.set("hair", "", {0, 1});
  });
}
std::vector<std::string> labels_seeds() {
  return {R"({"labels": {"hair": {"0": "red", "3": "dark, \"brown\""}, "hat": {"2": "yes"}}})"};
}

/// Metrics of a run that goes on: half of the lines are there when it is looked at first.
bool read_metrics_bytes(std::string_view bytes) {
  const RunFolder folder = fuzz_run("metrics.jsonl", bytes.substr(0, bytes.size() / 2));
  RunWatch watch(folder);
  watch.summary();
  std::ofstream(folder.metrics(), std::ios::binary | std::ios::app)
      << bytes.substr(bytes.size() / 2);
  watch.training();
  watch.metrics(0);
  watch.metrics(1);
  BestBound{folder.metrics()};
  return taken([&] {
    const TrainingLog log = read_training_log(folder.metrics(), {10, 20, 30});
    log.steps_done();
    log.phase_step();
    training_charts(log);
  });
}
std::vector<std::string> metrics_seeds() {
  return {
      R"({"phase": "pretrain", "step": 1, "elbo": -3.5, "kl_z": 1.0, "gradient_norm": 2})"
      "\n"
      R"({"phase": "joint", "step": 2, "elbo": -3, "kl_r": 0.5, "factors": [{"name": "first", "living": 3, "perplexity": 2.5}]})"
      "\n"
      R"({"phase": "joint", "step": 4, "valid": {"elbo": -2}})"
      "\n",
      R"({"phase": "joint", "step": 2})"
      "\n"
      R"({"phase": "joint", "step": 5})"
      "\n"};
}

}  // namespace

std::vector<FuzzTarget> run_targets() {
  return {{"state", read_state_bytes, state_seeds},
          {"sweep", read_sweep_bytes, sweep_seeds},
          {"sweep_record", read_sweep_record_bytes, sweep_record_seeds},
          {"names", read_names_bytes, names_seeds},
          {"labels", read_labels_bytes, labels_seeds},
          {"metrics", read_metrics_bytes, metrics_seeds}};
}

}  // namespace facet
