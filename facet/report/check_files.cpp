#include "facet/report/check_files.h"

#include <algorithm>

#include "facet/core/error.h"
#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/data/shard_names.h"
#include "facet/train/run_folder.h"

namespace facet {

namespace {

namespace fs = std::filesystem;

constexpr const char* kChecking = "checking";

std::vector<fs::path> files_of(const fs::path& path) {
  if (names_shards(path)) return shard_files(path);
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  if (files.empty())
    Attempt{kChecking, path.string()}.fail("no file to check", "a run, a pack or a model");
  return files;
}

CheckedFile check_file(const fs::path& path) {
  CheckedFile checked{.path = path};
  try {
    checked.has_checksums = has_checksums(path, kChecking);
    for (const auto& [name, tensor] : read_safetensors(path, kChecking).tensors) {
      ++checked.tensors;
      checked.bytes += tensor.nbytes();
    }
  } catch (const Error& error) {
    checked.damage = error.what();
  }
  return checked;
}

/// The metrics that a whole state knows, against its count and checksum of them.
void check_metrics(const fs::path& state, const fs::path& metrics, std::vector<CheckedFile>& all) {
  if (!fs::exists(state)) return;
  CheckedFile checked{.path = metrics, .has_checksums = true};
  try {
    const TensorFile file = read_safetensors(state, kChecking);
    const auto found = file.metadata.find("metrics");
    if (found == file.metadata.end()) return;  // of version 0.1
    const auto lines = file.get("progress", kInt64, {4}, state.string())[2].item<int64_t>();
    require_metrics(metrics, {lines, found->second});
    checked.bytes = fs::file_size(metrics);
  } catch (const Error& error) {
    checked.damage = error.what();
  }
  const bool told = std::any_of(all.begin(), all.end(), [&](const CheckedFile& each) {
    return each.path == state && !each.damage.empty();
  });
  if (!told) all.push_back(checked);
}

}  // namespace

std::vector<CheckedFile> check_files(const fs::path& path) {
  std::vector<CheckedFile> all;
  for (const fs::path& file : files_of(path)) all.push_back(check_file(file));
  if (fs::is_directory(path)) {
    const RunFolder run{path};
    check_metrics(run.state(), run.metrics(), all);
    check_metrics(run.refiner_state(), run.refiner_metrics(), all);
  }
  return all;
}

}  // namespace facet
