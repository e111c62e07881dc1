// Options and choices that have another name now: refused in what a user writes, with the new name,
// and understood in files that the program once wrote.
#include <stdexcept>

#include <gtest/gtest.h>

#include "facet/core/json.h"
#include "facet/core/options.h"
#include "tests/contains.h"
#include "tests/message_of.h"

namespace facet {
namespace {

struct Dynamo {
  int64_t volts = 6;

  void visit(OptionVisitor& visitor) { visitor.option("volts", volts, "What it gives."); }
};

/// A struct whose option, group and choices once had other names.
struct Lamp {
  double brightness = 1;
  std::string kind = "led";
  std::vector<std::string> colours;
  Dynamo dynamo;

  void visit(OptionVisitor& visitor) {
    visitor.renamed("light", "brightness");
    visitor.option("brightness", brightness, "Candela.", at_least(0));
    const Constraint kinds = one_of({"led", "bulb"}, {{"diode", "led"}, {"glass", "bulb"}});
    visitor.option("kind", kind, "What glows.", kinds);
    visitor.option("colours", colours, "Its filters.", one_of({"red"}, {{"rot", "red"}}));
    visitor.renamed("generator", "dynamo");
    visitor.option("dynamo", dynamo, "What feeds it.");
  }
};
struct Lamps {
  Lamp front;
  std::vector<Lamp> others;

  void visit(OptionVisitor& visitor) {
    visitor.option("front", front, "The one that counts.");
    visitor.option("others", others, "More of them.");
  }
};

Lamps read_lamps(const std::string& text, OldNames old_names = OldNames::refuse) {
  Lamps lamps;
  read_options(lamps, parse_config(text, "lamps.json"), "lamps.json", old_names);
  return lamps;
}

TEST(OldNames, AreRefusedWithTheNewKey) {
  const auto refusal = [](const std::string& text) {
    return message_of([&] { read_lamps(text); });
  };
  EXPECT_EQ(refusal(R"({"front": {"light": 3}})"),
            "reading option 'front.light' of the config 'lamps.json': found an old name, expected "
            "'front.brightness'");
  expect_parts(refusal(R"({"others": [{}, {"generator": {}}]})"),
               {"'others.1.generator'", "found an old name", "expected 'others.1.dynamo'"});
  expect_parts(refusal(R"({"front": {"kind": "diode"}})"),
               {"'front.kind'", "found the old name \"diode\"", "expected \"led\""});
  expect_parts(refusal(R"({"front": {"colours": ["red", "rot"]}})"),
               {"'front.colours.1'", "found the old name \"rot\"", "expected \"red\""});
}

TEST(OldNames, AreRefusedInSettingsToo) {
  Json config = Json::object();
  apply_setting(config, "front.light=3");
  Lamps lamps;
  expect_parts(message_of([&] { read_options(lamps, config, "lamps.json"); }),
               {"'front.light'", "expected 'front.brightness'"});
}

const std::string kOldLamps = R"({"front": {"light": 3, "kind": "diode", "colours": ["rot", "red"],
                                            "generator": {"volts": 12}},
                                  "others": [{"light": 4}, {"brightness": 5, "kind": "glass"}]})";

TEST(OldNames, AreTakenAsTheNewOnesWhereTheyAreAccepted) {
  const Lamps lamps = read_lamps(kOldLamps, OldNames::accept);
  EXPECT_EQ(lamps.front.brightness, 3);
  EXPECT_EQ(lamps.front.kind, "led");
  EXPECT_EQ(lamps.front.colours, (std::vector<std::string>{"red", "red"}));
  EXPECT_EQ(lamps.front.dynamo.volts, 12);
  EXPECT_EQ(lamps.others[0].brightness, 4);
  EXPECT_EQ(lamps.others[1].brightness, 5) << "new names are accepted as ever";
  EXPECT_EQ(lamps.others[1].kind, "bulb");
}

TEST(OldNames, AreNotWrittenAgainNorDescribed) {
  const Json written = write_options(read_lamps(kOldLamps, OldNames::accept));
  EXPECT_EQ(write_options(read_lamps(written.dump())), written) << "no old name is left";
  for (const OptionDescription& line : describe_options<Lamps>())
    for (const char* old_name : {"light", "generator", "diode"})
      EXPECT_EQ((line.key + " " + line.allowed).find(old_name), std::string::npos) << line.key;
}

TEST(OldNames, DoNotExcuseOtherMistakes) {
  const auto refusal = [](const std::string& text) {
    return message_of([&] { read_lamps(text, OldNames::accept); });
  };
  expect_parts(refusal(R"({"front": {"light": -1}})"), {"found -1", "at least 0"});
  expect_parts(refusal(R"({"front": {"light": 3, "brightnes": 3}})"),
               {"'front.brightnes'", "did you mean 'brightness'?"});
  expect_parts(refusal(R"({"front": {"light": 3, "brightness": 3}})"),
               {"'front.light'", "found an old name", "'front.brightness' alone"});
  expect_parts(refusal(R"({"front": {"generator": 3}})"),
               {"'front.dynamo'", "an object in braces"});
  expect_parts(refusal(R"({"front": {"kind": "candle"}})"), {"one of led, bulb"});
}

TEST(OldNames, DeclaredAfterTheirOptionAreAMistakeOfOurs) {
  struct Late {
    double brightness = 1;
    void visit(OptionVisitor& visitor) {
      visitor.option("brightness", brightness, "Candela.");
      visitor.renamed("light", "brightness");
    }
  } late;
  EXPECT_THROW(read_options(late, Json::object(), "lamps.json"), std::logic_error);
}

}  // namespace
}  // namespace facet
