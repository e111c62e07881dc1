#include "facet/report/check_files.h"

#include <algorithm>

#include "facet/core/error.h"
#include "facet/core/safetensors.h"
#include "facet/core/torch.h"
#include "facet/data/shard_names.h"

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

}  // namespace

std::vector<CheckedFile> check_files(const fs::path& path) {
  std::vector<CheckedFile> all;
  for (const fs::path& file : files_of(path)) all.push_back(check_file(file));
  return all;
}

}  // namespace facet
