#include "facet/serve/nearest.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "facet/core/torch.h"
#include "facet/model/generate.h"
#include "facet/serve/message.h"

namespace facet {

namespace {

constexpr int64_t kEncodeAtOnce = 16;  // few, because requests wait that long
constexpr int64_t kCompareAtOnce = 8192;

}  // namespace

NearestImages::NearestImages(Pack pack) : loaded_(true), pack_(std::move(pack)) {}

NearestImages::NearestImages(Source source) : source_(std::move(source)) {}

NearestImages::~NearestImages() {
  ending_ = true;
  if (thread_.joinable()) thread_.join();
}

int64_t NearestImages::count() const {
  return loaded_ ? std::min(pack_.count(), kMostSearchedImages) : 0;
}

std::string NearestImages::notice() const {
  const std::lock_guard lock(mutex_);
  return notice_;
}

/// Once: what cannot be had is not tried again.
void NearestImages::load(const ImageShape& shape) {
  if (loaded_ || !notice().empty()) return;
  try {
    pack_ = source_(shape);
    loaded_ = true;
  } catch (const std::exception& error) {
    const std::lock_guard lock(mutex_);
    notice_ = fmt::format("the run's data cannot be read: {}", error.what());
  }
}

bool NearestImages::ready(const std::string& weights) const {
  const std::lock_guard lock(mutex_);
  return weights_ == weights;
}

void NearestImages::encode_with(const std::shared_ptr<ServedModel>& model, ModelThread& thread) {
  if (wanted_ == model->weights) return;
  wanted_ = model->weights;
  ending_ = true;
  if (thread_.joinable()) thread_.join();
  ending_ = false;
  encoded_ = 0;
  {
    const std::lock_guard lock(mutex_);
    weights_.clear();
  }
  thread_ = std::thread([this, model, &thread] {
    try {
      load(model->shape());
      if (loaded_) encode_all(model, thread);
    } catch (const std::exception&) {  // stays not ready, which requests are told
    }
  });
}

void NearestImages::encode_all(std::shared_ptr<ServedModel> model, ModelThread& thread) {
  torch::NoGradGuard no_gradient;
  const torch::Tensor latents = torch::empty({count(), model->prior().dimensions()}, kFloat32);
  const auto table = std::make_shared<ImageTable>(count(), model->prior().size());
  while (encoded_ < count() && !ending_) {
    const int64_t start = encoded_, size = std::min(kEncodeAtOnce, count() - start);
    try {
      const torch::Tensor pixels = pack_.images.slice(start, size);
      Encoding encoding;
      thread.run_in_pause([&] { encoding = encode_pixels(*model->networks, pixels); });
      latents.narrow(0, start, size).copy_(encoding.mean);
      // Not on the thread of the networks: with many components it takes longer than encoding.
      table->take(model->prior(), encoding, start);
      encoded_ += size;
    } catch (const ApiError&) {  // too busy: people come first
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }
  if (encoded_ < count()) return;
  measure_errors(*model, thread, latents, *table);
  if (ending_) return;
  table->finish(pack_);
  const torch::Tensor stddev = latents.std(0, /*unbiased=*/false).clamp_min(1e-6);
  const std::lock_guard lock(mutex_);
  latents_ = latents / stddev;
  stddev_ = stddev;
  table_ = table;
  weights_ = model->weights;
}

/// The reconstruction errors of some test images, or of others where there are none.
void NearestImages::measure_errors(const ServedModel& model, ModelThread& thread,
                                   const torch::Tensor& latents, ImageTable& table) {
  const std::vector<int64_t> rows = reference_rows(pack_, count());
  for (size_t first = 0; first < rows.size() && !ending_;) {
    const size_t size = std::min<size_t>(kEncodeAtOnce, rows.size() - first);
    const torch::Tensor chosen =
        torch::tensor(std::vector<int64_t>(rows.begin() + static_cast<int64_t>(first),
                                           rows.begin() + static_cast<int64_t>(first + size)));
    try {
      thread.run_in_pause([&] {
        const Vae& networks = *model.networks;
        const torch::Tensor means = decode_means(
            networks, latents.index_select(0, chosen).to(kFloat64).to(networks.device()));
        const torch::Tensor errors = image_errors(pack_.images.gather(chosen), means);
        for (int64_t n = 0; n < errors.size(0); ++n)
          table.errors.push_back(errors[n].item<double>());
      });
      first += size;
    } catch (const ApiError&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }
}

std::shared_ptr<const ImageTable> NearestImages::table(const std::string& weights) const {
  const std::lock_guard lock(mutex_);
  return weights_ == weights ? table_ : nullptr;
}

Neighbours NearestImages::find(const torch::Tensor& z, const torch::Tensor& counts, int64_t count_,
                               const std::string& weights) const {
  torch::NoGradGuard no_gradient;
  torch::Tensor latents, stddev;
  {
    const std::lock_guard lock(mutex_);
    if (weights_ != weights) throw ApiError(503, "the pack is being encoded with a new model");
    latents = latents_;
    stddev = stddev_;
  }
  const torch::Tensor shares = counts.to(kFloat32) / counts.sum().to(kFloat32);
  const torch::Tensor query = z.to(kFloat32) / stddev;
  std::vector<torch::Tensor> parts;  // in slices: a difference of all would be as large as they are
  for (const torch::Tensor& slice : latents.split(kCompareAtOnce))
    parts.push_back((slice - query).square_().matmul(shares));
  const torch::Tensor squared = torch::cat(parts);  // [N]
  const auto [smallest, rows] =
      squared.topk(std::min(count_, count()), 0, /*largest=*/false, /*sorted=*/true);
  Neighbours neighbours;
  for (int64_t i = 0; i < rows.size(0); ++i) {
    neighbours.rows.push_back(rows[i].item<int64_t>());
    neighbours.distances.push_back(std::sqrt(smallest[i].item<double>()));
  }
  return neighbours;
}

NearestImages::Block NearestImages::block(const torch::Tensor& rows, int64_t first, int64_t count_,
                                          const std::string& weights) const {
  const std::lock_guard lock(mutex_);
  if (weights_ != weights) throw ApiError(503, "the pack is being encoded with a new model");
  return {latents_.index_select(0, rows).narrow(1, first, count_),
          stddev_.narrow(0, first, count_)};
}

}  // namespace facet
