// A store for ranks of this machine, hosted by the process that starts them, so that it outlives
// each of them.
#pragma once

#include <cstdint>
#include <memory>

namespace facet {

class RankStore {
 public:
  RankStore();
  ~RankStore();
  int64_t port() const;

 private:
  class Host;
  std::unique_ptr<Host> host_;
};

}  // namespace facet
