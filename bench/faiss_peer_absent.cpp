// Stands in for faiss where it is not installed.
#include "bench/faiss_peer.h"

std::unique_ptr<FaissPeer> make_faiss_peer(const std::string&, int64_t, const float*, int64_t,
                                           int64_t) {
  return nullptr;
}

std::string faiss_build() { return ""; }
