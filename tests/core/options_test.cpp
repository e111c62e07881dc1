#include "facet/core/options.h"

#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/json.h"
#include "tests/contains.h"
#include "tests/message_of.h"

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
  SCOPED_TRACE(text);
  expect_parts(message_of([&] { read(text); }), parts);
}

TEST(ParseConfig, AKeyTwiceInAGroupIsAnErrorAndInTwoGroupsIsNot) {
  EXPECT_EQ(message_of([] { parse_config(R"({"a": {"b": 1, "b": 2}})", "x.json"); }),
            "reading the config 'x.json': found the key 'b' twice in a group, expected once");
  EXPECT_EQ(parse_config(R"({"a": {"b": 1}, "c": [{"b": 2}, {"b": 3}]})", "x.json")["c"][1]["b"],
            3);
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
  expect_refusal(R"({"teeth": [16, "x"]})", {"'teeth.1'", "\"x\""});
  expect_refusal(R"({"spare": []})", {"'spare'", "an object in braces"});
  expect_refusal(R"({"wheels": {}})", {"'wheels'", "a list of objects"});
  expect_refusal(R"({"wheels": [3]})", {"'wheels.0'", "an object in braces"});
  expect_refusal("[]", {"an object"});
}

TEST(ReadOptions, ValuesOutOfRangeAreErrorsThatNameTheRange) {
  expect_refusal(R"({"gears": 0})", {"'gears'", "found 0", "at least 1"});
  expect_refusal(R"({"weight": 50.5})", {"'weight'", "50.5", "1 to 50"});
  expect_refusal(R"({"teeth": [16, 7]})", {"'teeth.1'", "found 7", "at least 8"});
  expect_refusal(R"({"wheels": [{}, {"spokes": 49}]})", {"'wheels.1.spokes'", "12 to 48"});
  EXPECT_EQ(read(R"({"weight": 50})").weight, 50.0) << "the limits themselves are allowed";
}

TEST(ReadOptions, ValuesThatAreNotAChoiceAreErrorsThatListTheChoices) {
  expect_refusal(R"({"spare": {"rim": "glass"}})", {"'spare.rim'", "glass", "steel, wood"});
  expect_refusal(R"({"colours": ["red", "green"]})", {"'colours.1'", "green", "red, blue"});
}

TEST(ReadOptions, AListWhereAListHasPlainElementsIsAnErrorThatNamesTheElement) {
  expect_refusal(R"({"wheels": [{}, [{}]]})", {"'wheels.1'", "found [{}]", "an object in braces"});
  expect_refusal(R"({"wheels": [[]]})", {"'wheels.0'", "found []", "an object in braces"});
  expect_refusal(R"({"teeth": [16, [18]]})", {"'teeth.1'", "found [18]", "a whole number"});
  expect_refusal(R"({"colours": [["red"]]})", {"'colours.0'", "[\"red\"]", "a text in quotes"});
  expect_refusal(R"({"gears": [3]})", {"'gears'", "found [3]", "a whole number"});
}

TEST(ReadOptions, WholeNumbersThatDoNotFitAreErrorsThatNameTheRange) {
  // 2^63, and the largest that a parser holds, with and without a limit of the option's own.
  expect_refusal(
      R"({"gears": 9223372036854775808})",
      {"'gears'", "found 9223372036854775808", "a whole number from 1 to 9223372036854775807"});
  expect_refusal(R"({"teeth": [16, 18446744073709551615]})",
                 {"'teeth.1'", "found 18446744073709551615", "a whole number from 8 to"});
  expect_refusal(R"({"gears": 99999999999999999999999})",
                 {"'gears'", "found 1e+23", "a whole number from 1 to 9223372036854775807"});
  expect_refusal(R"({"gears": -99999999999999999999999})",
                 {"'gears'", "found -1e+23", "from 1 to"});
  expect_refusal(R"({"gears": 1e300})", {"'gears'", "found 1e+300", "from 1 to"});
  expect_refusal(R"({"wheels": [{"spokes": 18446744073709551615}]})",
                 {"'wheels.0.spokes'", "a whole number from 12 to 48"});
  EXPECT_EQ(read(R"({"gears": 9223372036854775807})").gears, 9223372036854775807);
}

TEST(ReadOptions, AWholeNumberMayHaveAPointOrAnExponentWhileThatIsExact) {
  EXPECT_EQ(read(R"({"gears": 1e3})").gears, 1000);
  EXPECT_EQ(read(R"({"gears": 21.0})").gears, 21);
  EXPECT_EQ(read(R"({"gears": 9007199254740992.0})").gears, 9007199254740992) << "2^53";
  EXPECT_EQ(read(R"({"gears": 9007199254740993})").gears, 9007199254740993) << "in digits";
  // As doubles, 2^53 + 2 and 2^53 + 3 look alike.
  expect_refusal(R"({"gears": 9007199254740994.0})", {"'gears'", "write all digits"});
  expect_refusal(R"({"gears": 1e18})", {"'gears'", "found 1e+18", "write all digits"});
}

TEST(ReadOptions, MinusZeroIsZero) {
  struct Place {
    int64_t floor = 3;
    double height = 1;
    void visit(OptionVisitor& visitor) {
      visitor.option("floor", floor, "Stairs.");
      visitor.option("height", height, "Metres.", at_least(0));
    }
  };
  for (const char* text :
       {R"({"floor": -0, "height": -0})", R"({"floor": -0.0, "height": -0.0})"}) {
    Place place;
    read_options(place, parse_config(text, "place.json"), "place.json");
    EXPECT_EQ(place.floor, 0);
    EXPECT_EQ(write_options(place).dump(), R"({"floor":0,"height":0.0})") << "without a sign";
  }
}

TEST(ReadOptions, NumbersThatAreNotFiniteAreErrorsHoweverTheyAreSpelled) {
  for (const char* spelled : {"NaN", "nan", "Infinity", "-Infinity", "inf", "1e400"}) {
    const std::string bare = fmt::format("{{\"weight\": {}}}", spelled);
    EXPECT_THROW(parse_config(bare, "bike.json"), Error) << bare;
    expect_refusal(fmt::format("{{\"weight\": \"{}\"}}", spelled), {"'weight'", "a number"});
    Json config = Json::object();
    apply_setting(config, fmt::format("weight={}", spelled));
    Bicycle bicycle;
    expect_parts(message_of([&] { read_options(bicycle, config, "bike.json"); }),
                 {"'weight'", spelled, "a number"});
  }
  struct Anything {
    double value = 0;
    int64_t whole = 0;
    void visit(OptionVisitor& visitor) {
      visitor.option("value", value, "Any number.");
      visitor.option("whole", whole, "Any whole number.");
    }
  };
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    Anything anything;
    expect_parts(message_of([&] {
                   read_options(anything, Json{{"value", value}}, "made");
                 }),
                 {"'value'", fmt::format("found {}", value), "a finite number"});
    expect_parts(message_of([&] {
                   read_options(anything, Json{{"whole", value}}, "made");
                 }),
                 {"'whole'", fmt::format("found {}", value), "a whole number"});
  }
}

TEST(ReadOptions, LongValuesAreCutBetweenCharacters) {
  std::string long_text;
  for (int i = 0; i < 50; ++i) long_text += "ä";
  const std::string found = message_of([&] { read("{\"gears\": \"" + long_text + "\"}"); });
  EXPECT_NE(found.find("ä..."), std::string::npos) << found;
  EXPECT_NO_THROW(Json(found).dump()) << "is UTF-8";
}

/// Lists of groups that have lists of their own, two deep, beside other options.
struct Shed {
  std::string name = "shed";
  std::vector<Bicycle> bicycles = {Bicycle{}};
  int64_t doors = 1;

  void visit(OptionVisitor& visitor) {
    visitor.option("name", name, "What it is called.");
    visitor.option("bicycles", bicycles, "What stands in it.");
    visitor.option("doors", doors, "Ways in.", at_least(1));
  }
};
struct Street {
  std::vector<Shed> sheds;

  void visit(OptionVisitor& visitor) { visitor.option("sheds", sheds, "Along the street."); }
};

Street read_street(const std::string& text) {
  Street street;
  read_options(street, parse_config(text, "street.json"), "street.json");
  return street;
}

const std::string kThreeDeep = R"({"sheds": [
    {"bicycles": [{"wheels": [{"spokes": 20}, {"spokes": 21}, {"rim": "wood"}], "gears": 5},
                  {"teeth": [11]}], "doors": 2},
    {"name": "empty", "bicycles": []},
    {"bicycles": [{}, {"wheels": []}, {"wheels": [{"spokes": 30}]}]}]})";

TEST(NestedLists, AreRead) {
  const Street street = read_street(kThreeDeep);
  ASSERT_EQ(street.sheds.size(), 3u);
  const Shed& first = street.sheds[0];
  ASSERT_EQ(first.bicycles.size(), 2u);
  ASSERT_EQ(first.bicycles[0].wheels.size(), 3u);
  EXPECT_EQ(first.bicycles[0].wheels[1].spokes, 21);
  EXPECT_EQ(first.bicycles[0].wheels[2].rim, "wood");
  EXPECT_EQ(first.bicycles[0].gears, 5) << "an option after a list";
  EXPECT_EQ(first.bicycles[1].wheels.size(), 2u) << "an absent list keeps its default";
  EXPECT_EQ(first.bicycles[1].wheels[1].spokes, 32);
  EXPECT_EQ(first.bicycles[1].teeth, std::vector<int64_t>{11});
  EXPECT_EQ(first.doors, 2) << "an option after a list of lists";
  EXPECT_EQ(street.sheds[1].name, "empty");
  EXPECT_TRUE(street.sheds[1].bicycles.empty());
  ASSERT_EQ(street.sheds[2].bicycles.size(), 3u);
  EXPECT_TRUE(street.sheds[2].bicycles[1].wheels.empty());
  EXPECT_EQ(street.sheds[2].bicycles[2].wheels[0].spokes, 30);
}

TEST(NestedLists, ErrorsNameEveryIndex) {
  const auto refusal = [](const std::string& text) {
    return message_of([&] { read_street(text); });
  };
  expect_parts(refusal(R"({"sheds": [{}, {"bicycles": [{}, {"wheels": [{}, {"spoke": 20}]}]}]})"),
               {"'sheds.1.bicycles.1.wheels.1.spoke'", "did you mean 'spokes'?"});
  expect_parts(refusal(R"({"sheds": [{"bicycles": [{"wheels": []}], "dors": 2}]})"),
               {"'sheds.0.dors'", "did you mean 'doors'?"});
  expect_parts(refusal(R"({"sheds": [{"bicycles": [[]]}]})"),
               {"'sheds.0.bicycles.0'", "found []", "an object in braces"});
}

TEST(NestedLists, ReadingWhatWasWrittenGivesTheSame) {
  const Json written = write_options(read_street(kThreeDeep));
  EXPECT_EQ(written["sheds"][0]["bicycles"][0]["wheels"][1]["spokes"], 21);
  EXPECT_EQ(written["sheds"][0]["doors"], 2);
  EXPECT_EQ(written["sheds"][1]["bicycles"], Json::array());
  EXPECT_EQ(write_options(read_street(written.dump())), written);
}

TEST(NestedLists, AreDescribedByOneElementEach) {
  std::vector<std::string> keys;
  for (const OptionDescription& line : describe_options<Street>())
    if (line.type.rfind("list of", 0) == 0 || line.key.find("doors") != std::string::npos)
      keys.push_back(line.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"sheds", "sheds.N.bicycles", "sheds.N.bicycles.N.teeth",
                                            "sheds.N.bicycles.N.colours",
                                            "sheds.N.bicycles.N.wheels", "sheds.N.doors"}));
}

TEST(NestedLists, SettingsReachThem) {
  Json config = parse_config(kThreeDeep, "street.json");
  apply_setting(config, "sheds.0.bicycles.0.wheels.2.spokes=40");
  Street street;
  read_options(street, config, "street.json");
  EXPECT_EQ(street.sheds[0].bicycles[0].wheels[2].spokes, 40);
}

TEST(ParseConfig, BrokenJsonNamesTheLine) {
  const auto broken = [](const std::string& text) {
    return message_of([&] { parse_config(text, "bike.json"); });
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
  const auto exit_status = [&] {
    std::_Exit(message_of([&] { read(text); }) == "no error" ? 1 : 0);
  };
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
    const std::string found = message_of([&] { apply_setting(config, setting); });
    EXPECT_NE(found.find(setting), std::string::npos) << found;
  }
}

TEST(ApplySetting, UnknownKeysAreFoundByReading) {
  Json config = Json::object();
  apply_setting(config, "spare.spokse=20");
  Bicycle bicycle;
  const std::string found = message_of([&] { read_options(bicycle, config, "bike.json"); });
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
