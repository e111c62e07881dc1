#include "facet/core/rank_place.h"

#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include "facet/core/error.h"

namespace facet {

namespace {

constexpr int64_t kStorePort = 29500;  // torchrun's

/// A whole number of the environment.
std::optional<int64_t> number_of(const Environment& environment, const std::string& name,
                                 int64_t least, int64_t most) {
  const auto text = environment(name);
  if (!text) return {};
  int64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto read = std::from_chars(text->data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number < least || number > most)
    Attempt{"joining the ranks with the environment variable", name}.fail(
        fmt::format("'{}'", *text), fmt::format("a whole number from {} to {}", least, most));
  return number;
}

/// The names under which a starter tells a process its place.
struct Starter {
  std::string rank, size, local_rank;
};

/// Nothing where this starter has not set both.
std::optional<RankPlace> place_by(const Starter& starter, const Environment& environment) {
  constexpr int64_t most = 1 << 20;
  const auto size = number_of(environment, starter.size, 1, most);
  const auto rank = number_of(environment, starter.rank, 0, most);
  if (!size || !rank) return {};
  if (*rank >= *size)
    Attempt{"joining the ranks with the environment variable", starter.rank}.fail(
        fmt::format("{}", *rank),
        fmt::format("at most {}, as {} is {}", *size - 1, starter.size, *size));
  return RankPlace{.rank = *rank,
                   .size = *size,
                   .local_rank = number_of(environment, starter.local_rank, 0, most).value_or(0)};
}

std::optional<RankPlace> place_by_torchrun(const Environment& environment) {
  const auto place = place_by({"RANK", "WORLD_SIZE", "LOCAL_RANK"}, environment);
  const bool only_rank = environment("RANK").has_value();
  if (!place && (only_rank || environment("WORLD_SIZE")))
    Attempt{"joining the ranks with the environment variable", only_rank ? "RANK" : "WORLD_SIZE"}
        .fail(fmt::format("no {} beside it", only_rank ? "WORLD_SIZE" : "RANK"), "both or neither",
              "unset it to train in one process");
  return place;
}

std::optional<RankPlace> place_by_slurm(const Environment& environment) {
  // A batch script has the variables of a task, but it is not one: srun starts those.
  if (environment("SLURM_JOB_ID") && !environment("SLURM_STEP_ID")) return {};
  const bool step = environment("SLURM_STEP_NUM_TASKS").has_value();
  auto place =
      place_by({"SLURM_PROCID", step ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS", "SLURM_LOCALID"},
               environment);
  if (!place) return {};
  const auto hosts = environment(environment("SLURM_STEP_NODELIST") ? "SLURM_STEP_NODELIST"
                                                                    : "SLURM_JOB_NODELIST");
  if (hosts) place->address = first_host(*hosts);
  // Jobs that share a node must not share a port.
  if (const auto job = number_of(environment, "SLURM_JOB_ID", 0, INT64_MAX))
    place->port = kStorePort + 1 + *job % 10000;
  return place;
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return {};
    return value;
  };
}

std::optional<RankPlace> find_rank_place(const Environment& environment) {
  auto place = place_by_torchrun(environment);
  if (!place)
    place = place_by({"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
                     environment);
  if (!place) place = place_by_slurm(environment);
  if (!place || place->size == 1) return {};
  if (const auto address = environment("MASTER_ADDR")) place->address = *address;
  if (const auto port = number_of(environment, "MASTER_PORT", 1, 65535)) place->port = *port;
  if (place->port == 0) place->port = kStorePort;
  const bool one_host =
      environment("OMPI_COMM_WORLD_LOCAL_SIZE") == environment("OMPI_COMM_WORLD_SIZE");
  if (place->address.empty() && environment("OMPI_COMM_WORLD_SIZE") && one_host)
    place->address = "127.0.0.1";
  if (place->address.empty())
    Attempt{"joining the ranks with the environment variable", "MASTER_ADDR"}.fail(
        "nothing", "the host of rank 0");
  place->store_of_starter = environment("TORCHELASTIC_USE_AGENT_STORE") == "True";
  place->hosts_store = place->rank == 0 && !place->store_of_starter;
  place->attempt = environment("TORCHELASTIC_RESTART_COUNT").value_or("0");
  return place;
}

std::string first_host(const std::string& list) {
  const size_t end = list.find_first_of(",[");
  std::string host = list.substr(0, end);
  if (end == std::string::npos || list[end] == ',') return host;
  return host + list.substr(end + 1, list.find_first_of("-,]", end + 1) - end - 1);
}

}  // namespace facet
