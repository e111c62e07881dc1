// A run folder: one training run on disk. It knows the names of its files, refuses to overwrite
// another run, and keeps metrics.jsonl consistent with the checkpoint that a resumed run starts
// from. Who writes in it has its lock (train/run_lock.h).
#pragma once

#include <filesystem>
#include <string>

#include "facet/core/checksum.h"
#include "facet/core/options.h"

namespace facet {

struct RunFolder {
  std::filesystem::path path;

  std::filesystem::path config() const { return path / "config.json"; }
  std::filesystem::path metrics() const { return path / "metrics.jsonl"; }
  std::filesystem::path model() const { return path / "model.safetensors"; }
  std::filesystem::path best() const { return path / "best.safetensors"; }
  std::filesystem::path state() const { return path / "state.safetensors"; }
  /// The checkpoint before that of state().
  std::filesystem::path previous_state() const { return path / "state-previous.safetensors"; }
  std::filesystem::path evaluation() const { return path / "eval.json"; }
  std::filesystem::path samples() const { return path / "samples.png"; }
  /// Samples at checkpoints (train/progress_pictures.h).
  std::filesystem::path progress() const { return path / "progress"; }
  /// Names that people gave to factors and components (train/run_names.h).
  std::filesystem::path names() const { return path / "names.json"; }
  /// Labels that people gave in the explorer.
  std::filesystem::path labels() const { return path / "labels.json"; }
  std::filesystem::path report() const { return path / "report.html"; }
  std::filesystem::path events() const { return path / "events"; }
  /// What `facet eval --fidelity` adds to a run.
  std::filesystem::path features() const { return path / "features.safetensors"; }
  std::filesystem::path fidelity() const { return path / "fidelity.json"; }
  /// Where `facet report` looks for a survey of people.
  std::filesystem::path survey() const { return path / "survey"; }
  /// What `facet refine` adds to a run.
  std::filesystem::path refiner() const { return path / "refiner.safetensors"; }
  std::filesystem::path refiner_state() const { return path / "refiner-state.safetensors"; }
  std::filesystem::path refiner_previous_state() const {
    return path / "refiner-state-previous.safetensors";
  }
  std::filesystem::path refiner_config() const { return path / "refiner-config.json"; }
  std::filesystem::path refiner_metrics() const { return path / "refiner-metrics.jsonl"; }
  /// Not in events(), which tells when the model was trained.
  std::filesystem::path refiner_events() const { return path / "refiner-events"; }
  std::filesystem::path refiner_samples() const { return path / "refiner-samples.png"; }

  /// The folder of a run that is given by its path or by that of one of its model files.
  static RunFolder of(const std::filesystem::path& path);
  bool has_checkpoint() const;
  /// state(), or the previous one where a kill between two renames left only that.
  std::filesystem::path newest_state() const;
  /// Whether a run was begun here and ended before its first checkpoint: there is nothing to lose.
  bool never_saved() const;
  /// Removes the temporary files that killed processes have left; for who has the run's lock.
  void remove_temporary_files() const;

  /// Makes the folder. Throws an Error if it already has a run, unless that has never saved
  /// anything, or if it cannot be made.
  static RunFolder create(const std::filesystem::path& path);
  /// Throws an Error if there is no run in `path`, or one without networks that `facet fit` made.
  static RunFolder open(const std::filesystem::path& path);
};

/// Whether `path` is the folder of a mixture that `facet fit` made, or its model file.
bool is_fit_run(const std::filesystem::path& path);

/// What a checkpoint knows of metrics.jsonl.
struct MetricsMark {
  int64_t lines = 0;
  std::string checksum;  ///< of these lines; empty in states of version 0.1
};

/// Throws an Error if the file does not begin with the lines of the mark.
void require_metrics(const std::filesystem::path& path, const MetricsMark& mark);

/// Appends records to metrics.jsonl, one JSON object per line; write() gives each to the operating
/// system.
class MetricsFile {
 public:
  /// Keeps the first `lines` lines of an existing file and drops the rest, which a killed run wrote
  /// after its last checkpoint and a resumed one writes again.
  MetricsFile(const std::filesystem::path& path, int64_t lines);
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;
  ~MetricsFile();

  void write(const Json& record);
  /// Flushes to the disk: a checkpoint must not be ahead of its metrics.
  void sync();
  MetricsMark mark() const { return {lines_, checksum_.text()}; }

 private:
  [[noreturn]] void fail(const char* call) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  int64_t lines_ = 0;
  Checksum checksum_;
};

}  // namespace facet
