// Exchanges through the store: a rank sets a key for what it has to say, and whoever wants it waits
// for the key. A rank reads from all others in every exchange, so when it has ended one, all have
// ended the one before, and its keys of that one can go.
#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "facet/core/rank_exchange.h"
#include "facet/core/torch.h"

namespace facet {

namespace {

/// Bytes of a value, of which stores take at most 8 MiB.
constexpr size_t kChunk = size_t{4} << 20;
/// The first byte of a value.
constexpr uint8_t kMessage = 1, kFarewell = 0;

class StoreExchange : public RankExchange {
 public:
  StoreExchange(RankStorePointer store, const RankPlace& place)
      : store_(std::move(store)), rank_(place.rank), size_(place.size) {}

  void all_gather(torch::Tensor& all, torch::Tensor own) override {
    publish("all", own);
    for (int64_t rank = 0; rank < size_; ++rank) {
      torch::Tensor part = all[rank];
      if (rank == rank_)
        part.copy_(own);
      else
        fetch(rank, "all", part);
    }
    end_exchange();
  }

  void all_to_all(torch::Tensor& received, torch::Tensor sent, std::vector<int64_t> received_rows,
                  std::vector<int64_t> sent_rows) override {
    const auto from = received.split_with_sizes(received_rows, 0),
               to = sent.split_with_sizes(sent_rows, 0);
    for (int64_t rank = 0; rank < size_; ++rank)
      if (rank != rank_) publish(fmt::format("{}", rank), to[static_cast<size_t>(rank)]);
    for (int64_t rank = 0; rank < size_; ++rank) {
      torch::Tensor part = from[static_cast<size_t>(rank)];
      if (rank == rank_)
        part.copy_(to[static_cast<size_t>(rank)]);
      else
        fetch(rank, fmt::format("{}", rank_), part);
    }
    end_exchange();
  }

  void sum(torch::Tensor& values) override {
    std::vector<int64_t> shape = values.sizes().vec();
    shape.insert(shape.begin(), size_);
    torch::Tensor all = torch::empty(shape, values.options());
    all_gather(all, values);
    values.copy_(all[0]);
    for (int64_t rank = 1; rank < size_; ++rank) values.add_(all[rank]);
  }

  void leave() override {
    // In the exchange for which others wait, or will.
    set(key(rank_, "all", 0), kFarewell, nullptr, 0);
    for (int64_t rank = 0; rank < size_; ++rank)
      set(key(rank_, fmt::format("{}", rank), 0), kFarewell, nullptr, 0);
  }

 private:
  std::string key(int64_t from, const std::string& to, size_t chunk) const {
    return fmt::format("exchange/{}/{}/{}/{}", exchange_, from, to, chunk);
  }

  void set(const std::string& name, uint8_t kind, const uint8_t* bytes, size_t count) {
    std::vector<uint8_t> value = {kind};
    value.insert(value.end(), bytes, bytes + count);
    store_->set(name, value);
    now_.push_back(name);
  }

  void publish(const std::string& to, const torch::Tensor& tensor) {
    const auto* const bytes = static_cast<const uint8_t*>(tensor.data_ptr());
    const size_t count = tensor.nbytes();
    for (size_t begin = 0; begin < std::max<size_t>(count, 1); begin += kChunk)
      set(key(rank_, to, begin / kChunk), kMessage, bytes + begin, std::min(kChunk, count - begin));
  }

  void fetch(int64_t from, const std::string& to, torch::Tensor& tensor) {
    auto* const bytes = static_cast<uint8_t*>(tensor.data_ptr());
    const size_t count = tensor.nbytes();
    for (size_t begin = 0; begin < std::max<size_t>(count, 1); begin += kChunk) {
      const std::vector<uint8_t> value = store_->get(key(from, to, begin / kChunk));
      const size_t expected = std::min(kChunk, count - begin);
      if (value.empty() || value[0] == kFarewell)
        throw std::runtime_error(fmt::format("rank {} has ended", from));
      if (value.size() != expected + 1)
        throw std::runtime_error(fmt::format("{} bytes of rank {} where {} were expected",
                                             value.size() - 1, from, expected));
      std::copy(value.begin() + 1, value.end(), bytes + begin);
    }
  }

  void end_exchange() {
    for (const std::string& name : before_) store_->deleteKey(name);
    before_ = std::move(now_);
    now_.clear();
    ++exchange_;
  }

  RankStorePointer store_;
  int64_t rank_, size_;
  int64_t exchange_ = 0;
  std::vector<std::string> before_, now_;  ///< the keys of the last exchange and of this one
};

}  // namespace

std::unique_ptr<RankExchange> make_store_exchange(const RankStorePointer& store,
                                                  const RankPlace& place) {
  return std::make_unique<StoreExchange>(store, place);
}

}  // namespace facet
