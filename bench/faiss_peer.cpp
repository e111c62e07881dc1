#include "bench/faiss_peer.h"

#include <faiss/Index.h>
#include <faiss/index_factory.h>
#include <faiss/utils/utils.h>

namespace {

class Peer : public FaissPeer {
 public:
  explicit Peer(std::unique_ptr<faiss::Index> index) : index_(std::move(index)) {}

  std::vector<int64_t> search(const float* query, int64_t count) const override {
    std::vector<float> distances(static_cast<size_t>(count));
    std::vector<faiss::Index::idx_t> rows(static_cast<size_t>(count));
    index_->search(1, query, count, distances.data(), rows.data());
    return {rows.begin(), rows.end()};
  }

 private:
  std::unique_ptr<faiss::Index> index_;
};

}  // namespace

std::unique_ptr<FaissPeer> make_faiss_peer(const std::string& name, int64_t dimensions,
                                           const float* vectors, int64_t trained, int64_t count) {
  std::unique_ptr<faiss::Index> index(
      faiss::index_factory(static_cast<int>(dimensions), name.c_str()));
  index->train(trained, vectors);
  index->add(count, vectors);
  return std::make_unique<Peer>(std::move(index));
}

std::string faiss_build() { return faiss::get_compile_options(); }
