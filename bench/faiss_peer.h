// faiss, to compare our scan with: an index by the name that faiss's factory gives it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

class FaissPeer {
 public:
  virtual ~FaissPeer() = default;
  /// The `count` nearest of a query, nearest first.
  virtual std::vector<int64_t> search(const float* query, int64_t count) const = 0;
};

/// Trained on the first `trained` vectors of `vectors` [count, dimensions], with all of them added;
/// null if this build has no faiss.
std::unique_ptr<FaissPeer> make_faiss_peer(const std::string& name, int64_t dimensions,
                                           const float* vectors, int64_t trained, int64_t count);

/// What faiss computes with, such as "generic" or "AVX2"; empty without faiss.
std::string faiss_build();
