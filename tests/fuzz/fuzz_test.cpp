// Readers of untrusted bytes: what they take, what libFuzzer has found, and variations.
#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

#include "paths.h"
#include "tests/fuzz/fuzz_target.h"

namespace facet {
namespace {

std::string from_base64(const std::string& text) {
  static const std::string letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char letter : text) {
    if (letter == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(letters.find(letter));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
  return bytes;
}

class Fuzz : public testing::TestWithParam<std::string> {
 protected:
  const FuzzTarget& target() const { return fuzz_target(GetParam()); }

  /// Inputs in tests/fuzz/FOLDER, a line of base64 each.
  std::vector<std::string> stored(const std::string& folder) const {
    std::vector<std::string> inputs;
    std::ifstream file(std::filesystem::path(FACET_SOURCE_FOLDER) / "tests/fuzz" / folder /
                       (GetParam() + ".txt"));
    for (std::string line; std::getline(file, line);) inputs.push_back(from_base64(line));
    return inputs;
  }
};

TEST_P(Fuzz, TakesItsSeeds) {
  const std::vector<std::string> seeds = target().seeds();
  EXPECT_FALSE(seeds.empty());
  for (size_t i = 0; i < seeds.size(); ++i) EXPECT_TRUE(target().run(seeds[i])) << "seed " << i;
}

TEST_P(Fuzz, RefusesWhatItMust) {
  const std::vector<std::string> inputs = refused_inputs(GetParam());
  for (size_t i = 0; i < inputs.size(); ++i)
    EXPECT_FALSE(target().run(inputs[i]))
        << "input " << i << ": " << testing::PrintToString(inputs[i].substr(0, 200));
}

/// Those that reached a new place, which `scripts/fuzz --keep` has written, and files that other
/// programs have made.
TEST_P(Fuzz, BearsWhatIsKept) {
  const std::vector<std::string> inputs = stored("inputs");
  if (inputs.empty()) GTEST_SKIP() << "none yet: scripts/fuzz --keep " << GetParam();
  for (const std::string& input : inputs) EXPECT_NO_THROW(target().run(input));
  for (const std::string& input : stored("seeds")) EXPECT_NO_THROW(target().run(input));
}

TEST_P(Fuzz, BearsWhatOnceDidHarm) {
  for (const std::string& input : stored("findings")) EXPECT_NO_THROW(target().run(input));
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
  EXPECT_GT(refused, 0u) << "variations that are all taken show nothing";
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const FuzzTarget& target : fuzz_targets()) names.push_back(target.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Readers, Fuzz, testing::ValuesIn(target_names()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace facet
