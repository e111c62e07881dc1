#include "facet/core/options.h"

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "tests/files.h"

namespace facet {
namespace {

struct Wheel {
  int64_t spokes = 36;
  std::string rim = "steel";

  void visit(OptionVisitor& visitor) {
    visitor.option("spokes", spokes, "Wires from hub to rim.", between(12, 48));
    visitor.option("rim", rim, "What the rim is made of.", one_of({"steel", "wood"}));
  }
};

struct Bicycle {
  bool lights = false;
  int64_t gears = 3;
  double weight = 12.5;
  std::string owner = "nobody";
  std::vector<int64_t> teeth = {16, 18};
  std::vector<std::string> colours = {"red"};
  Wheel spare;
  std::vector<Wheel> wheels = {Wheel{}, Wheel{32, "wood"}};

  void visit(OptionVisitor& visitor) {
    visitor.option("lights", lights, "Whether it has lamps.");
    visitor.option("gears", gears, "Number of gears.", at_least(1));
    visitor.option("weight", weight, "Kilograms.", between(1, 50));
    visitor.option("owner", owner, "Who rides it.");
    visitor.option("teeth", teeth, "Teeth of the cogs.", at_least(8));
    visitor.option("colours", colours, "Its paint.", one_of({"red", "blue"}));
    visitor.option("spare", spare, "The wheel in the shed.");
    visitor.option("wheels", wheels, "Its wheels, front first.");
  }
};

Json written_defaults() {
  const Bicycle bicycle;
  return write_options(bicycle);
}

Bicycle read(const std::string& text) {
  Bicycle bicycle;
  read_options(bicycle, parse_config(text, "bike.json"), "bike.json");
  return bicycle;
}

/// The message contains every part.
void expect_refusal(const std::string& text, const std::vector<std::string>& parts) {
  const std::string found = message([&] { read(text); });
  for (const std::string& part : parts)
    EXPECT_NE(found.find(part), std::string::npos) << text << "\n  " << found << "\n  " << part;
}

TEST(ReadOptions, AbsentKeysKeepTheirDefaults) {
  const Bicycle bicycle = read(R"({"gears": 7, "spare": {"rim": "wood"}})");
  EXPECT_EQ(bicycle.gears, 7);
  EXPECT_EQ(bicycle.spare.rim, "wood");
  EXPECT_EQ(bicycle.spare.spokes, 36);
  EXPECT_EQ(bicycle.weight, 12.5);
  EXPECT_EQ(bicycle.teeth, (std::vector<int64_t>{16, 18}));
  ASSERT_EQ(bicycle.wheels.size(), 2u);
  EXPECT_EQ(bicycle.wheels[1].spokes, 32);
}

TEST(ReadOptions, EveryTypeIsRead) {
  const Bicycle bicycle = read(R"({"lights": true, "gears": 1e1, "weight": 9, "owner": "Ä",
      "teeth": [], "colours": ["blue", "red"], "wheels": [{"spokes": 20}]})");
  EXPECT_TRUE(bicycle.lights);
  EXPECT_EQ(bicycle.gears, 10) << "a whole number may be written as 1e1";
  EXPECT_EQ(bicycle.weight, 9.0);
  EXPECT_EQ(bicycle.owner, "Ä");
  EXPECT_TRUE(bicycle.teeth.empty());
  EXPECT_EQ(bicycle.colours, (std::vector<std::string>{"blue", "red"}));
  ASSERT_EQ(bicycle.wheels.size(), 1u);
  EXPECT_EQ(bicycle.wheels[0].spokes, 20);
  EXPECT_EQ(bicycle.wheels[0].rim, "steel");
}

TEST(ReadOptions, CommentsAreAllowed) {
  EXPECT_EQ(read("// mine\n{\"gears\": /* many */ 21}").gears, 21);
}

TEST(ReadOptions, UnknownKeysAreErrorsWithTheDottedKeyAndANearMatch) {
  // Two swapped letters are the most common typo.
  expect_refusal(R"({"gaers": 3})",
                 {"'gaers'", "bike.json", "unknown option", "did you mean 'gears'?"});
  expect_refusal(R"({"spare": {"rims": "wood"}})", {"'spare.rims'", "did you mean 'rim'?"});
  expect_refusal(R"({"wheels": [{}, {"spoks": 20}]})",
                 {"'wheels.1.spoks'", "did you mean 'spokes'?"});
  expect_refusal(R"({"basket": 1})", {"'basket'", "known: "});
}

TEST(ReadOptions, WrongTypesAreErrorsThatNameTheKeyAndTheValue) {
  expect_refusal(R"({"lights": 1})", {"'lights'", "found 1", "true or false"});
  expect_refusal(R"({"gears": "three"})", {"'gears'", "\"three\"", "a whole number"});
  expect_refusal(R"({"gears": 2.5})", {"'gears'", "2.5", "a whole number"});
  expect_refusal(R"({"gears": null})", {"'gears'", "null"});
  expect_refusal(R"({"weight": "light"})", {"'weight'", "\"light\"", "a number"});
  expect_refusal(R"({"owner": 3})", {"'owner'", "a text in quotes"});
  expect_refusal(R"({"teeth": 16})", {"'teeth'", "a list of whole numbers"});
  expect_refusal(R"({"teeth": [16, "x"]})", {"'teeth'", "\"x\""});
  expect_refusal(R"({"spare": []})", {"'spare'", "an object in braces"});
  expect_refusal(R"({"wheels": {}})", {"'wheels'", "a list of objects"});
  expect_refusal(R"({"wheels": [3]})", {"'wheels.0'", "an object in braces"});
  expect_refusal("[]", {"an object"});
}

TEST(ReadOptions, ValuesOutOfRangeAreErrorsThatNameTheRange) {
  expect_refusal(R"({"gears": 0})", {"'gears'", "found 0", "at least 1"});
  expect_refusal(R"({"weight": 50.5})", {"'weight'", "50.5", "1 to 50"});
  expect_refusal(R"({"teeth": [16, 7]})", {"'teeth'", "found 7", "at least 8"});
  expect_refusal(R"({"wheels": [{}, {"spokes": 49}]})", {"'wheels.1.spokes'", "12 to 48"});
  expect_refusal(R"({"gears": 99999999999999999999999})", {"'gears'"});
  EXPECT_EQ(read(R"({"weight": 50})").weight, 50.0) << "the limits themselves are allowed";
}

TEST(ReadOptions, ValuesThatAreNotAChoiceAreErrorsThatListTheChoices) {
  expect_refusal(R"({"spare": {"rim": "glass"}})", {"'spare.rim'", "glass", "steel, wood"});
  expect_refusal(R"({"colours": ["red", "green"]})", {"'colours'", "green", "red, blue"});
}

TEST(ParseConfig, BrokenJsonNamesTheLine) {
  const auto broken = [](const std::string& text) {
    return message([&] { parse_config(text, "bike.json"); });
  };
  EXPECT_NE(broken("{\n\"gears\": 3,\n\"weight\" 4\n}").find("line 3"), std::string::npos);
  EXPECT_NE(broken("{\n\"gears\": 3").find("line 2"), std::string::npos);
  EXPECT_NE(broken("").find("line 1"), std::string::npos);
  EXPECT_NE(broken("{} trailing").find("line 1"), std::string::npos);
  EXPECT_NE(broken("{\n\"owner\": \"\xff\"}").find("line 2"), std::string::npos);
}

TEST(ParseConfig, ANumberTooLargeForADoubleIsAnError) {
  EXPECT_THROW(parse_config(R"({"weight": 1e400})", "bike.json"), Error);
}

TEST(ParseConfig, EveryTruncationIsAnError) {
  const std::string whole = written_defaults().dump(1);
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_THROW(parse_config(whole.substr(0, length), "bike.json"), Error) << length;
}

TEST(ParseConfigDeathTest, DeepNestingIsAnErrorNotACrash) {
  const size_t depth = 300000;
  const std::string text = "{\"gears\": " + std::string(depth, '[') + std::string(depth, ']') + "}";
  const auto exit_status = [&] { std::_Exit(message([&] { read(text); }) == "no error" ? 1 : 0); };
  EXPECT_EXIT(exit_status(), testing::ExitedWithCode(0), "");
}

TEST(ApplySetting, ReachesNestedKeysAndListElements) {
  Json config = parse_config(R"({"wheels": [{"spokes": 20}, {"spokes": 24}]})", "bike.json");
  for (const char* setting : {"gears=5", "spare.rim=wood", "wheels.1.spokes=30", "weight=8.25",
                              "lights=true", "teeth=[11, 13]", "colours=[\"blue\"]"})
    apply_setting(config, setting);
  Bicycle bicycle;
  read_options(bicycle, config, "bike.json");
  EXPECT_EQ(bicycle.gears, 5);
  EXPECT_EQ(bicycle.spare.rim, "wood");
  EXPECT_EQ(bicycle.wheels[0].spokes, 20);
  EXPECT_EQ(bicycle.wheels[1].spokes, 30);
  EXPECT_EQ(bicycle.weight, 8.25);
  EXPECT_TRUE(bicycle.lights);
  EXPECT_EQ(bicycle.teeth, (std::vector<int64_t>{11, 13}));
  EXPECT_EQ(bicycle.colours, std::vector<std::string>{"blue"});
}

TEST(ApplySetting, ValuesThatAreNotJsonAreText) {
  Json config = Json::object();
  apply_setting(config, "owner=Ada = Lovelace");
  apply_setting(config, "spare.rim=");
  EXPECT_EQ(config["owner"], "Ada = Lovelace");
  EXPECT_EQ(config["spare"]["rim"], "");
}

TEST(ApplySetting, BadSettingsAreErrorsThatQuoteThem) {
  for (const char* setting :
       {"gears", "=5", "spare..rim=wood", ".gears=1", "spare.=1", "wheels.2.spokes=30",
        "wheels.first.spokes=30", "wheels.-1.spokes=30", "gears.high=1"}) {
    Json config = parse_config(R"({"gears": 3, "wheels": [{}, {}]})", "bike.json");
    const std::string found = message([&] { apply_setting(config, setting); });
    EXPECT_NE(found.find(setting), std::string::npos) << found;
  }
}

TEST(ApplySetting, UnknownKeysAreFoundByReading) {
  Json config = Json::object();
  apply_setting(config, "spare.spokse=20");
  Bicycle bicycle;
  const std::string found = message([&] { read_options(bicycle, config, "bike.json"); });
  EXPECT_NE(found.find("'spare.spokse'"), std::string::npos) << found;
  EXPECT_NE(found.find("did you mean 'spokes'?"), std::string::npos) << found;
}

TEST(ApplySetting, TextThatIsNotUtf8IsAnErrorOrCanBeSaved) {
  Json config = Json::object();
  Bicycle bicycle;
  try {
    apply_setting(config, "owner=\xff\xfe");
    read_options(bicycle, config, "bike.json");
  } catch (const Error&) {
    return;
  }
  EXPECT_NO_THROW(write_options(bicycle).dump()) << "a config that was read must be savable";
}

TEST(WriteOptions, ReadingBackGivesTheSameOptions) {
  Bicycle bicycle;
  bicycle.lights = true;
  bicycle.gears = 27;
  bicycle.weight = 0.1 + 0.2 + 9;  // a double that needs all its digits
  bicycle.owner = "quote \" backslash \\ newline \n";
  bicycle.teeth = {};
  bicycle.colours = {"blue", "red"};
  bicycle.spare.spokes = 13;
  bicycle.wheels = {Wheel{}, Wheel{20, "wood"}, Wheel{48, "steel"}};
  const Json written = write_options(bicycle);
  const Bicycle back = read(written.dump(2));
  EXPECT_EQ(write_options(back), written);
  EXPECT_EQ(back.weight, bicycle.weight);
  EXPECT_EQ(back.wheels.size(), 3u);
}

TEST(WriteOptions, KeysAreInTheOrderOfDeclaration) {
  std::vector<std::string> keys;
  const Json written = written_defaults();
  for (const auto& entry : written.items()) keys.push_back(entry.key());
  EXPECT_EQ(keys, (std::vector<std::string>{"lights", "gears", "weight", "owner", "teeth",
                                            "colours", "spare", "wheels"}));
}

TEST(DescribeOptions, CoversEveryOptionThatIsWritten) {
  std::vector<std::string> keys;
  for (const OptionDescription& line : describe_options<Bicycle>()) {
    keys.push_back(line.key);
    EXPECT_FALSE(line.help.empty()) << line.key;
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"lights", "gears", "weight", "owner", "teeth",
                                            "colours", "spare", "spare.spokes", "spare.rim",
                                            "wheels", "wheels.N.spokes", "wheels.N.rim"}));
}

TEST(DescribeOptions, SaysTypeDefaultAndAllowedValues) {
  const auto lines = describe_options<Bicycle>();
  EXPECT_EQ(lines[1].type, "whole number");
  EXPECT_EQ(lines[1].default_value, "3");
  EXPECT_EQ(lines[1].allowed, "at least 1");
  EXPECT_EQ(lines[2].default_value, "12.5");
  EXPECT_EQ(lines[2].allowed, "1 to 50");
  EXPECT_EQ(lines[4].default_value, "[16,18]");
  EXPECT_EQ(lines[8].allowed, "steel, wood");
}

}  // namespace
}  // namespace facet
