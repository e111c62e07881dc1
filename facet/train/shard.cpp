#include "facet/train/shard.h"

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "facet/core/error.h"

namespace facet {

namespace {

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (text.empty() || read.ec != std::errc() || read.ptr != end || number < 0) return {};
  return number;
}

Shard shard_of(int64_t number, int64_t count, const Attempt& reading, const std::string& cause) {
  if (count == 0) reading.fail("no shards at all", "at least one", cause);
  if (number < 1 || number > count)
    reading.fail(fmt::format("shard {} of {}", number, count),
                 fmt::format("one from 1 to {}", count), cause);
  return {static_cast<size_t>(number - 1), static_cast<size_t>(count)};
}

int64_t slurm_number(const char* name) {
  const char* const text = std::getenv(name);
  const auto number = text == nullptr ? std::nullopt : whole_number(text);
  if (!number)
    Attempt{"reading --shard", "slurm"}.fail(
        text == nullptr ? fmt::format("no variable {}", name)
                        : fmt::format("{} with '{}'", name, text),
        "the environment of a task of a job array", "was the job submitted with 'sbatch --array'?");
  return *number;
}

}  // namespace

Shard parse_shard(const std::string& text) {
  const Attempt reading{"reading --shard", text};
  if (text == "slurm") {
    const int64_t number =
        slurm_number("SLURM_ARRAY_TASK_ID") - slurm_number("SLURM_ARRAY_TASK_MIN") + 1;
    return shard_of(number, slurm_number("SLURM_ARRAY_TASK_COUNT"), reading,
                    "are the ids of the array consecutive, as in --array=1-8?");
  }
  const size_t slash = text.find('/');
  const auto number = whole_number(text.substr(0, slash));
  const auto count =
      slash == std::string::npos ? std::nullopt : whole_number(text.substr(slash + 1));
  if (!number || !count) reading.fail("no two numbers", "i/n, such as 1/4, or slurm");
  return shard_of(*number, *count, reading, "");
}

}  // namespace facet
