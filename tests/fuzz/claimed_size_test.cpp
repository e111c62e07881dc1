// Small files that say they hold much: they are refused before the memory is taken.
#include <gtest/gtest.h>

#include "facet/core/json.h"
#include "facet/data/npy_format.h"
#include "tests/fuzz/fuzz_target.h"

namespace facet {
namespace {

/// The first seed of a target with its JSON header changed.
std::string changed_seed(const std::string& target,
                         const std::function<void(Json& header)>& change) {
  const std::string seed = fuzz_target(target).seeds().front();
  const size_t end = seed.find('\0');
  Json header = Json::parse(seed.substr(0, end));
  change(header);
  return header.dump() + seed.substr(end);
}

/// The first seed with a value changed in options that its metadata have as text.
std::string changed_options(const std::string& target, const std::string& key,
                            const std::function<void(Json& options)>& change) {
  return changed_seed(target, [&](Json& header) {
    Json options = Json::parse(header["__metadata__"][key].get<std::string>());
    change(options);
    header["__metadata__"][key] = options.dump();
  });
}

bool is_taken(const std::string& target, const std::string& input) {
  return fuzz_target(target).run(input);
}

TEST(ClaimedSize, LayersOfAModel) {
  EXPECT_FALSE(is_taken("model", changed_options("model", "model", [](Json& options) {
                          options["network"]["channels"] = std::vector<int64_t>(100000, 4);
                          options["network"]["strides"] = std::vector<int64_t>(100000, 1);
                        })));
}

TEST(ClaimedSize, SidesOfAModelsImages) {
  for (const int64_t side : {int64_t{1} << 40, std::numeric_limits<int64_t>::max()})
    EXPECT_FALSE(is_taken("model", changed_options("model", "shape", [&](Json& shape) {
                            shape["height"] = shape["width"] = side;
                          })));
}

TEST(ClaimedSize, PseudoInputsOfAModel) {
  EXPECT_FALSE(is_taken("model", changed_seed("model", [](Json& header) {
                          Json options =
                              Json::parse(header["__metadata__"]["model"].get<std::string>());
                          options["prior"] = "vamp";
                          options["network"] = {{"preset", "custom"},
                                                {"channels", std::vector<int64_t>(20, 1)},
                                                {"strides", std::vector<int64_t>(20, 2)},
                                                {"kernel", 2}};
                          header["__metadata__"]["model"] = options.dump();
                          header["__metadata__"]["shape"] =
                              R"({"channels": 1, "height": 1048576, "width": 1048576})";
                        })));
}

TEST(ClaimedSize, LevelsOfARefiner) {
  EXPECT_FALSE(is_taken("refiner", changed_options("refiner", "network", [](Json& network) {
                          network["multipliers"] = std::vector<int64_t>(10000, 16);
                          network["blocks"] = 8;
                        })));
}

/// Beyond 63 bits a number of images would read as -1, which fits tensors of any length.
TEST(ClaimedSize, ImagesOfASegment) {
  EXPECT_FALSE(is_taken("index", changed_options("index", "segments", [](Json& segments) {
                          segments[0]["images"] = std::numeric_limits<uint64_t>::max();
                        })));
}

TEST(ClaimedSize, TextsWithoutCharacters) {
  EXPECT_FALSE(is_taken("npy", npy_header("<U0", {int64_t{1} << 50})));
}

/// An .npz whose entries are all the same bytes.
TEST(ClaimedSize, EntriesThatShareTheirBytes) {
  std::string archive = fuzz_target("npz").seeds().front();
  ASSERT_TRUE(is_taken("npz", archive));
  const size_t end = archive.rfind("PK\5\6"), central = archive.find("PK\1\2");
  ASSERT_LT(central, end);
  const std::string tail = archive.substr(end);
  archive.resize(end);
  std::string entry = archive.substr(central, archive.find("PK\1\2", central + 1) - central);
  constexpr size_t kCopies = 1000, kName = 46;
  for (size_t i = 0; i < kCopies; ++i) {
    for (size_t digit = 0, rest = i; digit < 3; ++digit, rest /= 10)
      entry[kName + digit] = static_cast<char>('0' + rest % 10);
    archive += entry;
  }
  const auto number = [&](std::string text, size_t at, uint64_t value, size_t bytes) {
    for (size_t b = 0; b < bytes; ++b) text[at + b] = static_cast<char>(value >> 8 * b & 0xFF);
    return text;
  };
  const auto count = [&](size_t at) { return static_cast<uint8_t>(tail[at]); };
  archive += number(tail, 10, kCopies + count(10), 2);
  EXPECT_FALSE(is_taken("npz", archive));
}

}  // namespace
}  // namespace facet
