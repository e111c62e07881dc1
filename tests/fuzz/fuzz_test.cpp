// Readers of untrusted bytes: what they take, what once did harm, and variations of both.
#include <filesystem>
#include <random>

#include <gtest/gtest.h>

#include "paths.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/input_file.h"

namespace facet {
namespace {

class Fuzz : public testing::TestWithParam<std::string> {
 protected:
  const FuzzTarget& target() const { return fuzz_target(GetParam()); }

  /// Inputs that are kept because one of them once did harm or reached a new place.
  std::vector<std::string> kept() const {
    std::vector<std::string> inputs;
    const std::filesystem::path folder =
        std::filesystem::path(FACET_SOURCE_FOLDER) / "tests/fuzz/inputs" / GetParam();
    if (std::filesystem::exists(folder))
      for (const auto& entry : std::filesystem::directory_iterator(folder))
        inputs.push_back(bytes_of(entry.path()));
    return inputs;
  }
};

TEST_P(Fuzz, TakesItsSeeds) {
  const std::vector<std::string> seeds = target().seeds();
  EXPECT_FALSE(seeds.empty());
  for (size_t i = 0; i < seeds.size(); ++i) EXPECT_TRUE(target().run(seeds[i])) << "seed " << i;
}

TEST_P(Fuzz, BearsWhatOnceDidHarm) {
  for (const std::string& input : kept()) EXPECT_NO_THROW(target().run(input));
}

/// A byte changed, bytes left out, bytes doubled, or the end cut off.
std::string varied(std::string input, std::mt19937_64& random) {
  const auto below = [&](size_t end) { return random() % std::max<size_t>(end, 1); };
  const size_t place = below(input.size()), length = 1 + below(16);
  switch (random() % 4) {
    case 0:
      if (!input.empty()) input[place] = static_cast<char>(random());
      break;
    case 1:
      input.erase(place, length);
      break;
    case 2:
      input.insert(place, input.substr(place, length));
      break;
    default:
      input.resize(place);
  }
  return input;
}

TEST_P(Fuzz, RefusesOrTakesVariations) {
  std::mt19937_64 random(1);
  size_t refused = 0;
  for (const std::string& seed : target().seeds())
    for (int i = 0; i < 100; ++i) {
      const std::string input = varied(varied(seed, random), random);
      bool taken = false;
      EXPECT_NO_THROW(taken = target().run(input)) << testing::PrintToString(input.substr(0, 400));
      if (!taken) ++refused;
    }
  if (GetParam() != "api") EXPECT_GT(refused, 0u) << "variations that are all taken show nothing";
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const FuzzTarget& target : fuzz_targets()) names.push_back(target.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Readers, Fuzz, testing::ValuesIn(target_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace facet
