// The place of a process among the ranks that train one model together, as torchrun, Slurm, Open
// MPI and `facet train --processes` tell it in environment variables.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

namespace facet {

/// Another rank has ended, is silent, or cannot be reached; what() names it.
class RankLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct RankPlace {
  int64_t rank = 0, size = 1;
  int64_t local_rank = 0;  ///< among those on this machine, which choose their GPUs by it
  std::string address;     ///< of the store through which ranks find each other
  int64_t port = 0;
  bool store_of_starter = false;  ///< hosted by who starts the ranks, as torchrun does
  bool hosts_store = false;       ///< whether this rank does
  std::string attempt;            ///< differs between starts that share a store
};

/// The value of an environment variable; nothing where it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// The environment of this process; a variable that is set to nothing is not set.
Environment process_environment();

/// Nothing where this process trains alone. Throws an Error where the variables contradict each
/// other.
std::optional<RankPlace> find_rank_place(const Environment& environment);

/// The first host of a Slurm list: "node03" of "node[03-05,7],login1".
std::string first_host(const std::string& list);

}  // namespace facet
