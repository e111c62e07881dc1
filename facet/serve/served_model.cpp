#include "facet/serve/served_model.h"

#include <sys/stat.h>

#include <fmt/format.h>

#include "facet/core/random.h"
#include "facet/core/torch.h"
#include "facet/model/model_file.h"
#include "facet/model/model_summary.h"
#include "facet/serve/model_thread.h"
#include "facet/train/loaded_run.h"

namespace facet {

namespace {

constexpr int64_t kLargestBatch = 16;  // beyond, a pass takes longer and gains nothing

}  // namespace

std::string file_version(const std::filesystem::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return "";
  const Key key = Key(static_cast<uint64_t>(status.st_size))
                      .fold(static_cast<uint64_t>(status.st_mtim.tv_sec))
                      .fold(static_cast<uint64_t>(status.st_mtim.tv_nsec))
                      .fold(static_cast<uint64_t>(status.st_ino));
  return fmt::format("{:016x}", key.value());
}

int64_t safe_batch(Vae& model) {
  torch::NoGradGuard no_gradient;
  const torch::Tensor z =
      standard_normal(Key(1).fold("batch"), {kLargestBatch, model.prior.dimensions()},
                      torch::TensorOptions().dtype(kFloat64))
          .to(model.device());
  const torch::Tensor together = model.decode(z);
  for (int64_t row = 0; row < kLargestBatch; ++row)
    if (!model.decode(z.narrow(0, row, 1))[0].equal(together[row])) return 1;
  return kLargestBatch;
}

ServedModelPointer load_served_model(const std::filesystem::path& path, const std::string& version,
                                     torch::Device device, ModelThread& thread) {
  auto model = std::make_shared<ServedModel>();
  model->version = version;
  model->weights = file_version(path);
  model->networks = read_model(path);
  model->networks->move_to(device);
  use_kernels(*model->networks, ComputePlace().precision);
  thread.run([&] { model->batch = safe_batch(*model->networks); });
  model->summary = {{"version", version}};
  model->summary.update(model_summary(*model->networks));
  return model;
}

}  // namespace facet
