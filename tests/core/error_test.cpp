#include "facet/core/error.h"

#include <gtest/gtest.h>

#include "tests/message_of.h"

namespace facet {
namespace {

TEST(Error, MessageHasTheFivePartsInOrder) {
  EXPECT_EQ(to_string({.doing = "reading an idx file",
                       .object = "a.gz",
                       .found = "12 bytes",
                       .expected = "a header of 16",
                       .cause = "was the file cut short?"}),
            "reading an idx file 'a.gz': found 12 bytes, expected a header of 16 (was the file cut "
            "short?)");
}

TEST(Error, EmptyPartsAreLeftOut) {
  EXPECT_EQ(to_string({.doing = "saving", .object = "a", .found = "no room"}),
            "saving 'a': found no room");
  EXPECT_EQ(to_string({.doing = "saving", .expected = "room"}), "saving: expected room");
  EXPECT_EQ(to_string({.doing = "saving", .found = "none", .cause = "why?"}),
            "saving: found none (why?)");
}

TEST(Error, WhatIsTheMessage) {
  const Fault fault{.doing = "saving", .object = "a", .found = "no room"};
  EXPECT_STREQ(Error(fault).what(), to_string(fault).c_str());
}

TEST(Attempt, FailThrowsAnErrorOfAllParts) {
  const Attempt reading{"reading an idx file", "a.gz"};
  EXPECT_EQ(
      message_of([&] { reading.fail("12 bytes", "a header of 16", "was the file cut short?"); }),
      to_string({.doing = "reading an idx file",
                 .object = "a.gz",
                 .found = "12 bytes",
                 .expected = "a header of 16",
                 .cause = "was the file cut short?"}));
}

TEST(Attempt, PartsMayBeLeftOut) {
  EXPECT_EQ(message_of([] { Attempt{"saving"}.fail("no room"); }), "saving: found no room");
  EXPECT_EQ(message_of([] {
              Attempt{"saving", "a"}.fail("no room", "some");
            }),
            "saving 'a': found no room, expected some");
}

TEST(NearMatches, AreSortedByDistanceAndAtMostThree) {
  const std::vector<std::string> names = {"step_size", "steps", "stops", "stem", "slopes", "seed"};
  EXPECT_EQ(near_matches("stepp", {"seed", "steps"}), std::vector<std::string>{"steps"});
  const auto nearest = near_matches("steps", names);
  ASSERT_GE(nearest.size(), 2u);
  EXPECT_LE(nearest.size(), 3u);
  EXPECT_EQ(nearest[0], "steps");
  EXPECT_EQ(nearest[1], "stops");
}

TEST(NearMatches, APartOfAWordFindsTheWord) {
  EXPECT_EQ(near_matches("rate", {"learning_rate", "seed"}),
            std::vector<std::string>{"learning_rate"});
}

TEST(NearMatches, UnlikeWordsAndTheEmptyWordMatchNothing) {
  EXPECT_TRUE(near_matches("banana", {"steps", "seed"}).empty());
  EXPECT_TRUE(near_matches("", {"steps", "seed"}).empty());
  EXPECT_TRUE(near_matches("steps", {}).empty());
}

TEST(Suggest, NamesTheNearOnesOrElseAll) {
  EXPECT_EQ(suggest("sead", {"seed", "steps"}), "did you mean 'seed'?");
  EXPECT_EQ(suggest("stips", {"steps", "stops"}), "did you mean 'steps' or 'stops'?");
  EXPECT_EQ(suggest("banana", {"seed", "steps"}), "known: seed, steps");
}

}  // namespace
}  // namespace facet
