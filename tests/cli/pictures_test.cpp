// The commands that draw: pictures of the right layout that follow their options and the seed, and
// one line with nothing written for what cannot be drawn. The model is a random one: what is drawn
// is the library's matter, where it stands is the commands'.
#include <algorithm>

#include <gtest/gtest.h>

#include "facet/data/image_file.h"
#include "facet/model/model_file.h"
#include "tests/cli/run_program.h"
#include "tests/close.h"
#include "tests/contains.h"

namespace facet {
namespace {

/// Writes a run whose model was never trained but has a prior with spread-out components.
void write_run(const std::filesystem::path& folder, bool named) {
  ModelOptions options;
  options.likelihood.kind = "gaussian";
  options.network = {"custom", {8, 8}, {2, 2}, 3};
  options.factors = {{"glasses", 2, 2}, {"smile", 2, 2}, {"hair", 5, 3}};
  if (named) {
    options.factors[0].property = "glasses";
    options.factors[0].values = {"without", "with"};
    options.factors[1].property = "smile";
    options.factors[1].values = {"grave", "smiling"};
  }
  Vae model(options, {3, 16, 16}, Key(1));
  for (size_t i = 0; i < model.prior.size(); ++i) {
    const FactorOptions& factor = model.prior.factors[i];
    model.prior.posteriors[i] =
        random_posterior(Key(2).fold(i), factor.components, factor.dimensions);
  }
  model.prior.posteriors[2].counts[3] = 1.0;  // as the hyperprior has it: dead
  std::filesystem::create_directories(folder);
  write_text(folder / "config.json", quick_config(), "test");
  write_model(folder / "model.safetensors", model);
}

class Pictures : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    write_run(*folder_ / "run", true);
    write_run(*folder_ / "plain", false);
    Image image = Image::filled(3, 16, 16);
    for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(7 * i);
    write_png(*folder_ / "a.png", image);
    write_png(*folder_ / "b.png", Image::filled(3, 16, 16, 90));
    write_png(*folder_ / "large.png", Image::filled(3, 20, 30, 90));
    write_png(*folder_ / "grey.png", Image::filled(1, 16, 16, 90));
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static ProgramResult in_folder(std::vector<std::string> arguments, const std::string& out) {
    arguments.insert(arguments.end(), {"--out", out, "--device", "cpu"});
    return run_facet(arguments, {.folder = folder_->path()});
  }
  /// The picture that a command draws; `printed` is what it says.
  static Image draw(const std::vector<std::string>& arguments, std::string* printed = nullptr) {
    const ProgramResult result = in_folder(arguments, "new.png");
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_TRUE(contains(result.out, "new.png")) << result.out;
    if (printed != nullptr) *printed = result.out;
    const Image picture = read_image(*folder_ / "new.png");
    std::filesystem::remove(*folder_ / "new.png");
    return picture;
  }
  static void expect_refusal(const std::vector<std::string>& arguments,
                             const std::vector<std::string>& parts) {
    const auto before = files_below(folder_->path());
    const ProgramResult result = in_folder(arguments, "new.png");
    EXPECT_EQ(result.status, 2) << result.out << result.err;
    EXPECT_EQ(result.err.rfind("facet: ", 0), 0u) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    for (const std::string& part : parts)
      EXPECT_TRUE(contains(result.err, part)) << result.err << "  has no " << part;
    EXPECT_TRUE(files_below(folder_->path()) == before);
  }
  /// Images of 16 pixels are magnified four times, with gaps of 2 between.
  static bool holds(const Image& picture, int64_t rows, int64_t columns) {
    const int64_t height = rows * 66, width = columns * 66;
    return picture.height >= height && picture.height < height + 66 && picture.width >= width &&
           picture.width < width + 200;  // labels of rows
  }
  /// Cell (row, column) counted from the lower right corner, where no label stands.
  static Image cell_from_end(const Image& picture, int64_t row, int64_t column) {
    Image cell = Image::filled(3, 64, 64);
    const int64_t margin = 6, top = picture.height - margin - 64 - row * 66,
                  left = picture.width - margin - 64 - column * 66;
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t y = 0; y < 64; ++y)
        for (int64_t x = 0; x < 64; ++x) cell.at(c, y, x) = picture.at(c, top + y, left + x);
    return cell;
  }

  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_F(Pictures, HelpNamesEveryOption) {
  const struct {
    const char* command;
    std::vector<const char*> options;
  } cases[] = {
      {"sample",
       {"--count", "--fix", "--merge", "--pixels", "--refined", "--refine-steps",
        "--refine-guidance"}},
      {"grid",
       {"--rows", "--cols", "--fix", "--merge", "--average", "--blocks", "--combinations",
        "--limit", "--refined", "--refine-steps", "--refine-guidance"}},
      {"clusters",
       {"--factor", "--components", "--limit", "--average", "--merge", "--tree", "--leaves"}},
      {"reconstruct", {"images", "--split", "--count", "--resize", "--refined", "--refine-steps"}},
      {"edit",
       {"images", "--change", "--no-offset", "--toward", "--steps", "--only", "--resize",
        "--refined", "--refine-steps"}}};
  for (const auto& one : cases) {
    const std::string help = run_facet({one.command, "--help"}).out;
    for (const char* option : {"run", "--out", "--seed", "--device"})
      EXPECT_TRUE(contains(help, option)) << one.command << " " << option;
    for (const char* option : one.options)
      EXPECT_TRUE(contains(help, option)) << one.command << " " << option;
  }
}

TEST_F(Pictures, SampleHoldsFactorsAndDrawsPixels) {
  const std::vector<std::string> sample = {"sample", "run", "--count", "4"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = sample;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return draw(arguments).pixels;
  };
  EXPECT_EQ(with({"--fix", "glasses=with"}), with({"--fix", "glasses=1", "--fix", "glasses=with"}));
  EXPECT_NE(with({"--fix", "glasses=with"}), with({"--fix", "glasses=without"}));
  EXPECT_NE(with({"--pixels", "sample"}), with({"--pixels", "mean"}));
  EXPECT_EQ(with({"--pixels", "mean"}), with({}));
}

TEST_F(Pictures, SampleShowsTheDistributionOfPixelsInThreeRows) {
  const Image sheet = draw({"sample", "run", "--count", "4", "--pixels", "distribution"});
  EXPECT_TRUE(holds(sheet, 3, 4));
  EXPECT_NE(cell_from_end(sheet, 2, 0).pixels, cell_from_end(sheet, 0, 0).pixels)
      << "a sample has noise that the mean has not";
  expect_refusal({"sample", "run", "--count", "101", "--pixels", "distribution"}, {"--count 101"});
  expect_refusal({"sample", "run", "--bare", "--pixels", "distribution"}, {"--bare"});
}

TEST_F(Pictures, AJpegIsWrittenWhereTheNameAsksForOne) {
  const std::vector<std::string> grid = {"grid", "run", "--rows", "hair", "--cols", "glasses"};
  const Image exact = draw(grid);
  const ProgramResult result = in_folder(grid, "new.jpg");
  ASSERT_EQ(result.status, 0) << result.err;
  const std::string bytes = read_text(*folder_ / "new.jpg", "test");
  EXPECT_TRUE(bytes.starts_with("\xff\xd8\xff"));
  const Image picture = read_image(*folder_ / "new.jpg");
  std::filesystem::remove(*folder_ / "new.jpg");
  EXPECT_EQ(picture.width, exact.width);
  EXPECT_EQ(picture.height, exact.height);
}

TEST_F(Pictures, GridHasARowAndAColumnForEachComponent) {
  const std::vector<std::string> grid = {"grid",   "run",  "--rows",    "glasses",
                                         "--cols", "hair", "--average", "3"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = grid;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return draw(arguments);
  };
  EXPECT_TRUE(holds(with({}), 2, 5));
  std::string printed;
  EXPECT_TRUE(holds(
      draw({"grid", "run", "--rows", "hair", "--cols", "glasses", "--limit", "3", "--average", "3"},
           &printed),
      3, 2));
  EXPECT_TRUE(contains(printed, "the 3 heaviest of 5 components of 'hair'")) << printed;
  EXPECT_TRUE(holds(with({"--col-range", "1:2"}), 2, 2));
  EXPECT_NE(with({"--fix", "smile=smiling"}).pixels, with({"--fix", "smile=grave"}).pixels);
  EXPECT_NE(with({"--seed", "2"}).pixels, with({"--seed", "3"}).pixels);
}

TEST_F(Pictures, ACellDoesNotDependOnItsNeighbours) {
  // Cells share random numbers: they differ in what their labels say and in nothing else.
  const std::vector<std::string> whole = {"grid",   "run",  "--rows",    "glasses",
                                          "--cols", "hair", "--average", "1"};
  std::vector<std::string> part = whole;
  part.insert(part.end(), {"--row-range", "1:1"});
  EXPECT_EQ(cell_from_end(draw(whole), 0, 0).pixels, cell_from_end(draw(part), 0, 0).pixels);
}

TEST_F(Pictures, BlocksStandBesideEachOther) {
  const Image picture =
      draw({"grid", "run", "--rows", "glasses", "--cols", "smile", "--blocks", "3"});
  EXPECT_GE(picture.width, 3 * 2 * 66);
  EXPECT_GE(picture.height, 2 * 66);
  EXPECT_LT(picture.height, 4 * 66);
}

TEST_F(Pictures, CombinationsAreColumnsOfTheNamedFactors) {
  // "without, smiling" needs 5 times 16 pixels and more, so that nothing of it is cut.
  const Image picture = draw({"grid", "run", "--combinations", "--rows-count", "3"});
  EXPECT_GE(picture.width, 4 * 5 * 16);
  const Image held =
      draw({"grid", "run", "--combinations", "--rows-count", "3", "--fix", "glasses=with"});
  EXPECT_LT(held.width, picture.width * 2 / 3) << "half the columns";
  expect_refusal({"grid", "plain", "--combinations"}, {"without named factors", "--rows NAME"});
}

TEST_F(Pictures, ClustersHaveARowForEachComponent) {
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"clusters", "run", "--factor", "hair", "--average", "6"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return draw(arguments);
  };
  EXPECT_TRUE(holds(with({}), 5, 7));
  EXPECT_TRUE(holds(with({"--limit", "2"}), 2, 7));
  EXPECT_TRUE(holds(with({"--components", "1,3,4"}), 3, 7));
  // The dead component 3 is the lightest: it stands last in the whole picture.
  EXPECT_EQ(cell_from_end(with({}), 0, 0).pixels,
            cell_from_end(with({"--components", "3"}), 0, 0).pixels);
}

TEST_F(Pictures, ClustersHaveARowForEachGroup) {
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"clusters", "run", "--factor", "hair", "--average", "6"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return draw(arguments);
  };
  std::string printed;
  EXPECT_TRUE(holds(draw({"clusters", "run", "--factor", "hair", "--merge", "2"}, &printed), 2, 7));
  EXPECT_TRUE(contains(printed, "2 of 2 groups of the 4 living components of 'hair'")) << printed;
  EXPECT_TRUE(holds(with({"--merge", "3", "--limit", "2"}), 2, 7));
  // The lightest group is the last one.
  EXPECT_EQ(cell_from_end(with({"--merge", "3"}), 0, 0).pixels,
            cell_from_end(with({"--merge", "3", "--components", "2"}), 0, 0).pixels);
}

TEST_F(Pictures, GroupsStandWhereComponentsDo) {
  const auto sample = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"sample", "run", "--count", "9"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return draw(arguments).pixels;
  };
  EXPECT_NE(sample({"--fix", "hair=0", "--merge", "2"}),
            sample({"--fix", "hair=1", "--merge", "2"}));
  EXPECT_NE(sample({"--fix", "hair=0", "--merge", "1"}), sample({"--fix", "hair=0"}));
  EXPECT_TRUE(holds(draw({"grid", "run", "--rows", "hair", "--cols", "glasses", "--merge", "3",
                          "--average", "3"}),
                    3, 2));
  EXPECT_TRUE(holds(draw({"grid", "run", "--rows", "hair", "--cols", "glasses", "--merge", "3",
                          "--average", "3", "--row-range", "1:2"}),
                    2, 2));
}

TEST_F(Pictures, TheTreeOfAFactorIsDrawn) {
  std::string printed;
  const Image all = draw({"clusters", "run", "--factor", "hair", "--tree"}, &printed);
  EXPECT_TRUE(contains(printed, "hair: 4 living components")) << printed;
  EXPECT_GT(all.height, 4 * 48) << "a row for each";
}

TEST_F(Pictures, MergingWhatCannotBeMergedIsRefused) {
  expect_refusal({"clusters", "run", "--factor", "hair", "--merge", "5"}, {"5 groups", "1 to 4"});
  expect_refusal({"clusters", "run", "--factor", "hair", "--merge", "0"}, {"--merge"});
  expect_refusal({"clusters", "run", "--factor", "glasses", "--merge", "2"}, {"no free factor"});
  expect_refusal({"clusters", "run", "--factor", "hair", "--merge", "3", "--components", "3"},
                 {"'3'", "0 to 2"});
  expect_refusal({"clusters", "run", "--factor", "hair", "--merge", "3", "--tree"}, {"--tree"});
  expect_refusal({"clusters", "run", "--factor", "glasses", "--tree"}, {"named factor"});
  expect_refusal({"clusters", "run", "--factor", "hair", "--leaves", "3"}, {"--tree"});
  expect_refusal({"sample", "run", "--merge", "3"}, {"--fix"});
  expect_refusal({"sample", "run", "--fix", "glasses=with", "--merge", "3"}, {"no free factor"});
  expect_refusal({"sample", "run", "--fix", "hair=3", "--merge", "3"}, {"hair=3", "0 to 2"});
  expect_refusal({"grid", "run", "--rows", "glasses", "--cols", "smile", "--merge", "2"},
                 {"no free factor"});
}

TEST_F(Pictures, ReconstructShowsInputMeanDeviationAndSample) {
  const Image picture = draw({"reconstruct", "run", "b.png", "a.png"});
  EXPECT_TRUE(holds(picture, 4, 2));
  const Image input = cell_from_end(picture, 3, 0), source = read_image(*folder_ / "a.png");
  for (int64_t c = 0; c < 3; ++c)
    for (int64_t y = 0; y < 64; ++y)
      for (int64_t x = 0; x < 64; ++x)
        ASSERT_EQ(input.at(c, y, x), source.at(c, y / 4, x / 4)) << "the input as it is";
  EXPECT_TRUE(holds(draw({"reconstruct", "run", "--split", "test", "--count", "3"}), 4, 3));
  EXPECT_EQ(draw({"reconstruct", "run", "--split", "test", "--count", "2"}).pixels,
            draw({"reconstruct", "run", "test:0", "test:10"}).pixels)
      << "spread over the 20 of the split";
  EXPECT_TRUE(holds(draw({"reconstruct", "run", "--split", "test", "--count", "30"}), 4, 20))
      << "no more than there are";
}

TEST_F(Pictures, EditShowsInputReconstructionAndEdit) {
  std::string printed;
  const std::vector<std::string> edit = {"edit", "run", "--change", "glasses=with", "a.png"};
  const Image picture = draw(edit, &printed);
  EXPECT_TRUE(contains(printed, "a.png: glasses from ")) << printed;
  EXPECT_TRUE(contains(printed, "to with")) << printed;
  EXPECT_GE(picture.width, 3 * 66);
  std::vector<std::string> to_mean = edit;
  to_mean.push_back("--no-offset");
  EXPECT_NE(draw(to_mean).pixels, picture.pixels);
}

TEST_F(Pictures, EditGoesTowardAnotherImage) {
  const std::vector<std::string> toward = {"edit",  "run",     "a.png", "--toward",
                                           "b.png", "--steps", "3"};
  const Image all = draw(toward);
  EXPECT_TRUE(holds(all, 1, 5));
  std::vector<std::string> some = toward;
  some.insert(some.end(), {"--only", "hair"});
  const Image only = draw(some);
  EXPECT_EQ(cell_from_end(only, 0, 3).pixels, cell_from_end(all, 0, 3).pixels) << "the same start";
  EXPECT_NE(cell_from_end(only, 0, 1).pixels, cell_from_end(all, 0, 1).pixels) << "other ends";
}

TEST_F(Pictures, ImagesOfAnotherShapeAreConvertedOnlyWhenAsked) {
  for (const char* name : {"large.png", "grey.png"}) {
    expect_refusal({"reconstruct", "run", name}, {name, "16x16 RGB", "--resize"});
    std::string printed;
    draw({"reconstruct", "run", name, "--resize"}, &printed);
    EXPECT_TRUE(contains(printed, std::string(name) + ": ")) << printed;
    EXPECT_TRUE(contains(printed, "made 16x16 RGB")) << printed;
  }
  expect_refusal({"edit", "run", "a.png", "--toward", "grey.png"}, {"grey.png", "16x16 grey"});
}

TEST_F(Pictures, WhatCannotBeIsRefused) {
  const std::vector<std::string> grid = {"grid", "run", "--rows", "glasses", "--cols", "hair"};
  const auto grid_with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), grid.begin(), grid.end());
    return more;
  };
  expect_refusal({"sample", "run", "--fix", "glases=with"}, {"did you mean 'glasses'?"});
  expect_refusal({"sample", "run", "--fix", "hair=1", "--fix", "hair=2"}, {"'hair' at '1'"});
  expect_refusal({"grid", "run", "--rows", "hair"}, {"--cols", "no factor"});
  expect_refusal({"grid", "run"}, {"--rows", "--combinations"});
  expect_refusal({"grid", "run", "--rows", "hair", "--cols", "hair"}, {"one factor twice"});
  expect_refusal(grid_with({"--fix", "hair=1"}), {"'hair'", "fixed"});
  for (const char* range : {"0:5", "3:1", ":"})
    expect_refusal(grid_with({std::string("--col-range=") + range}), {range, "0:4"});
  expect_refusal(grid_with({"--combinations"}), {"--combinations"});
  expect_refusal({"clusters", "run", "--factor", "hairs"}, {"did you mean 'hair'?"});
  expect_refusal({"clusters", "run", "--factor", "hair", "--components", "1,7"}, {"'7'", "0 to 4"});
  expect_refusal({"reconstruct", "run"}, {"choosing images", "--split"});
  expect_refusal({"reconstruct", "run", "absent.png"}, {"absent.png"});
  expect_refusal({"reconstruct", "run", "test:20"}, {"test:20", "20 images"});
  expect_refusal({"reconstruct", "run", "--split", "tset"}, {"'tset'"});
  expect_refusal({"edit", "run", "a.png"}, {"--change name=value"});
  expect_refusal({"edit", "run", "--change", "glasses=with"}, {"choosing images"});
  expect_refusal({"edit", "run", "a.png", "--change", "glasses=none"}, {"glasses"});
  expect_refusal({"edit", "run", "a.png", "--toward", "b.png", "--only", "hairs"}, {"'hair'"});
  expect_refusal({"edit", "run", "a.png", "--toward", "b.png", "--steps", "1"}, {"--steps"});
}

}  // namespace
}  // namespace facet
