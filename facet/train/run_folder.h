// A run folder: one training run on disk. Knows the names of its files, refuses to overwrite
// another run, and keeps metrics.jsonl in step with the checkpoint that a resumed run starts from.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "facet/core/options.h"

namespace facet {

struct RunFolder {
  std::filesystem::path path;

  std::filesystem::path config() const { return path / "config.json"; }
  std::filesystem::path metrics() const { return path / "metrics.jsonl"; }
  std::filesystem::path model() const { return path / "model.safetensors"; }
  std::filesystem::path state() const { return path / "state.safetensors"; }
  std::filesystem::path evaluation() const { return path / "eval.json"; }
  std::filesystem::path samples() const { return path / "samples.png"; }
  std::filesystem::path report() const { return path / "report.html"; }
  std::filesystem::path events() const { return path / "events"; }

  /// Makes the folder. An Error where it holds a run already, or cannot be made.
  static RunFolder create(const std::filesystem::path& path);
  /// An Error where `path` holds no run.
  static RunFolder open(const std::filesystem::path& path);
};

/// Appends records to metrics.jsonl, one JSON object a line, each handed to the system when write()
/// returns.
class MetricsFile {
 public:
  /// Keeps the first `lines` lines of an existing file: what a killed run wrote after its last
  /// checkpoint is written again.
  MetricsFile(const std::filesystem::path& path, int64_t lines);

  void write(const Json& record);
  /// Waits until the disk has it: a checkpoint must not be ahead of its metrics.
  void sync();
  int64_t lines() const { return lines_; }

 private:
  std::filesystem::path path_;
  std::ofstream stream_;
  int64_t lines_ = 0;
};

}  // namespace facet
