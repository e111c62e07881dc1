#include "facet/core/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/error.h"
#include "facet/core/json.h"

namespace facet {

Constraint at_least(double minimum) { return {.minimum = minimum}; }
Constraint between(double minimum, double maximum) {
  return {.minimum = minimum, .maximum = maximum};
}
Constraint one_of(std::vector<std::string> choices, std::vector<Renamed> renamed) {
  return {.choices = std::move(choices), .renamed = std::move(renamed)};
}

namespace {

std::string describe_constraint(const Constraint& constraint) {
  if (!constraint.choices.empty()) return fmt::format("{}", fmt::join(constraint.choices, ", "));
  const bool low = std::isfinite(constraint.minimum), high = std::isfinite(constraint.maximum);
  if (low && high) return fmt::format("{} to {}", constraint.minimum, constraint.maximum);
  if (low) return fmt::format("at least {}", constraint.minimum);
  if (high) return fmt::format("at most {}", constraint.maximum);
  return "";
}

/// A value as a message shows it: at most 60 bytes, cut between characters. A NaN, which JSON
/// cannot write, is not called null.
std::string shown(const Json& json) {
  if (json.is_number_float()) return fmt::format("{}", json.get<double>());
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() <= 60) return text;
  size_t end = 57;
  while ((static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

/// Reads one value; `attempt` names the option for messages.
struct ValueReader {
  const Json& json;
  const Constraint& constraint;
  OldNames old_names;
  Attempt attempt;

  void read(bool& value) const {
    if (!json.is_boolean()) fail("true or false");
    value = json.get<bool>();
  }
  void read(double& value) const {
    if (!json.is_number()) fail("a number");
    value = json.get<double>() + 0.0;  // makes a plain zero of -0
    if (!std::isfinite(value)) fail("a finite number");
    check_range(value);
  }
  void read(int64_t& value) const {
    if (json.is_number_float()) {
      // 1e3 is a whole number too; beyond 2^53 a double stands for several of them.
      const double number = json.get<double>();
      if (number != std::floor(number)) fail("a whole number");
      if (std::abs(number) > 0x1p53)
        fail(whole_range(), std::abs(number) < 0x1p63 ? "beyond 2^53 write all digits" : "");
      value = static_cast<int64_t>(number);
    } else {
      if (!json.is_number()) fail("a whole number");
      if (json.is_number_unsigned() && json.get<uint64_t>() > most) fail(whole_range());
      value = json.get<int64_t>();
    }
    check_range(static_cast<double>(value));
  }
  void read(std::string& value) const {
    if (!json.is_string()) fail("a text in quotes");
    value = json.get<std::string>();
    for (const auto& [old_name, new_name] : constraint.renamed) {
      if (value != old_name) continue;
      if (old_names == OldNames::refuse)
        attempt.fail(fmt::format("the old name {}", shown(json)), fmt::format("\"{}\"", new_name));
      value = new_name;
      return;
    }
    const auto& choices = constraint.choices;
    if (!choices.empty() && std::find(choices.begin(), choices.end(), value) == choices.end())
      fail("one of " + describe_constraint(constraint));
  }

 private:
  static constexpr uint64_t most = std::numeric_limits<int64_t>::max();

  [[noreturn]] void fail(const std::string& expected, const std::string& cause = "") const {
    attempt.fail(shown(json), expected, cause);
  }
  void check_range(double value) const {
    if (value < constraint.minimum || value > constraint.maximum)
      fail(describe_constraint(constraint));
  }
  std::string whole_range() const {
    const auto text = [](double limit, int64_t otherwise) {
      return std::isfinite(limit) ? fmt::format("{}", limit) : fmt::format("{}", otherwise);
    };
    return fmt::format("a whole number from {} to {}",
                       text(constraint.minimum, std::numeric_limits<int64_t>::min()),
                       text(constraint.maximum, std::numeric_limits<int64_t>::max()));
  }
};

class Reader : public OptionVisitor {
 public:
  Reader(const Json& config, std::string object, OldNames old_names)
      : object_(std::move(object)), old_names_(old_names) {
    if (!config.is_object())
      attempt("").fail(fmt::format("a JSON {}", config.type_name()), "an object");
    stack_.push_back({&config, "", {}, {}});
  }
  void finish() const { check_unknown(); }

  void renamed(const char* old_name, const char* new_name) override {
    Position& position = stack_.back();
    if (position.known.count(new_name) != 0)
      throw std::logic_error(
          fmt::format("renamed(\"{}\", \"{}\") must stand before the option", old_name, new_name));
    if (!position.json->contains(old_name)) return;
    if (old_names_ == OldNames::refuse)
      attempt(key(old_name)).fail("an old name", fmt::format("'{}'", key(new_name)));
    if (position.json->contains(new_name))
      attempt(key(old_name)).fail("an old name", fmt::format("'{}' alone", key(new_name)));
    position.old_names[new_name] = old_name;
  }

 protected:
  void visit_value(const char* name, Value value, const char*, const Constraint& c) override {
    std::visit([&](auto* place) { read(name, *place, c); }, value);
  }
  bool begin_group(const char* name, const char*) override {
    const Json* json = find(name);
    if (json != nullptr) enter(*json, key(name));
    return json != nullptr;
  }
  void end_group() override {
    check_unknown();
    stack_.pop_back();
  }
  size_t begin_list(const char* name, size_t size, const char*) override {
    const Json* json = find_list(name, "a list of objects");
    stack_.push_back({json, key(name), {}, {}});
    return json != nullptr ? json->size() : size;
  }
  void begin_element(size_t index) override {
    // An absent list keeps its default elements, which see an empty object each.
    static const Json empty = Json::object();
    const Position& list = stack_.back();
    enter(list.json != nullptr ? (*list.json)[index] : empty,
          fmt::format("{}.{}", list.key, index));
  }
  void end_list() override { stack_.pop_back(); }

 private:
  /// An object or a list that the visitor is in, and the dotted key that leads there.
  struct Position {
    const Json* json;  ///< null for a list that the config does not have
    std::string key;
    std::set<std::string> known;                   ///< names that options have asked for
    std::map<std::string, std::string> old_names;  ///< by new name, where the config has the old
  };

  Attempt attempt(const std::string& where) const {
    return {where.empty() ? "reading the config"
                          : fmt::format("reading option '{}' of the config", where),
            object_};
  }
  std::string key(const std::string& name) const {
    const std::string& parent = stack_.back().key;
    return parent.empty() ? name : fmt::format("{}.{}", parent, name);
  }
  void enter(const Json& json, std::string where) {
    if (!json.is_object()) attempt(where).fail(shown(json), "an object in braces");
    stack_.push_back({&json, std::move(where), {}, {}});
  }
  const Json* find(const char* name) {
    Position& position = stack_.back();
    position.known.insert(name);
    const auto old_name = position.old_names.find(name);
    const auto found =
        position.json->find(old_name == position.old_names.end() ? name : old_name->second);
    return found == position.json->end() ? nullptr : &*found;
  }
  const Json* find_list(const char* name, const char* expected) {
    const Json* json = find(name);
    if (json != nullptr && !json->is_array()) attempt(key(name)).fail(shown(*json), expected);
    return json;
  }
  template <class T>
  void read(const char* name, T& value, const Constraint& constraint) {
    if (const Json* json = find(name))
      ValueReader{*json, constraint, old_names_, attempt(key(name))}.read(value);
  }
  template <class T>
  void read(const char* name, std::vector<T>& values, const Constraint& constraint) {
    const Json* json =
        find_list(name, std::is_same_v<T, int64_t> ? "a list of whole numbers" : "a list of texts");
    if (json == nullptr) return;
    values.resize(json->size());
    for (size_t i = 0; i < values.size(); ++i)
      ValueReader{(*json)[i], constraint, old_names_, attempt(fmt::format("{}.{}", key(name), i))}
          .read(values[i]);
  }
  void check_unknown() const {
    const Position& position = stack_.back();
    std::set<std::string> allowed = position.known;
    for (const auto& [new_name, old_name] : position.old_names) allowed.insert(old_name);
    for (const auto& [name, value] : position.json->items())
      if (allowed.count(name) == 0)
        attempt(key(name)).fail("an unknown option", "a known one",
                                suggest(name, {position.known.begin(), position.known.end()}));
  }

  std::string object_;
  OldNames old_names_;
  std::vector<Position> stack_;
};

class Writer : public OptionVisitor {
 public:
  Writer() { stack_.push_back({"", Json::object()}); }
  Json finish() { return std::move(stack_.back().json); }

 protected:
  void visit_value(const char* name, Value value, const char*, const Constraint&) override {
    std::visit([&](const auto* place) { stack_.back().json[name] = *place; }, value);
  }
  bool begin_group(const char* name, const char*) override {
    stack_.push_back({name, Json::object()});
    return true;
  }
  void end_group() override { close(); }
  size_t begin_list(const char* name, size_t size, const char*) override {
    stack_.push_back({name, Json::array()});
    return size;
  }
  void begin_element(size_t) override { stack_.push_back({"", Json::object()}); }
  void end_list() override { close(); }

 private:
  /// An object or a list that is being written; elements of lists have no name.
  struct Open {
    std::string name;
    Json json;
  };

  void close() {
    Open done = std::move(stack_.back());
    stack_.pop_back();
    Json& parent = stack_.back().json;
    if (parent.is_array())
      parent.push_back(std::move(done.json));
    else
      parent[done.name] = std::move(done.json);
  }

  std::vector<Open> stack_;
};

const char* type_name(bool) { return "true or false"; }
const char* type_name(int64_t) { return "whole number"; }
const char* type_name(double) { return "number"; }
const char* type_name(const OptionVisitor::Text&) { return "text"; }
const char* type_name(const OptionVisitor::Integers&) { return "list of whole numbers"; }
const char* type_name(const OptionVisitor::Texts&) { return "list of texts"; }

class Describer : public OptionVisitor {
 public:
  std::vector<OptionDescription> finish() { return std::move(lines_); }

 protected:
  void visit_value(const char* name, Value value, const char* help, const Constraint& c) override {
    std::visit(
        [&](const auto* place) {
          lines_.push_back({prefixes_.back() + name, type_name(*place), Json(*place).dump(),
                            describe_constraint(c), help});
        },
        value);
  }
  bool begin_group(const char* name, const char* help) override {
    lines_.push_back({prefixes_.back() + name, "group", "", "", help});
    prefixes_.push_back(prefixes_.back() + name + ".");
    return true;
  }
  void end_group() override { prefixes_.pop_back(); }
  size_t begin_list(const char* name, size_t, const char* help) override {
    lines_.push_back({prefixes_.back() + name, "list of groups", "", "", help});
    prefixes_.push_back(prefixes_.back() + name + ".N.");
    return 1;
  }
  void begin_element(size_t) override { prefixes_.push_back(prefixes_.back()); }
  void end_list() override { prefixes_.pop_back(); }

 private:
  std::vector<OptionDescription> lines_;
  std::vector<std::string> prefixes_ = {""};
};

/// What is refused while a value is read: lists and groups deeper than any config has, because
/// printing recurses into them, and a key that a group has twice, of which the first would be lost.
Json::parser_callback_t value_check(const Attempt& attempt) {
  std::vector<std::set<std::string>> groups;  // the keys so far of those that are open
  return [&attempt, groups](int depth, Json::parse_event_t event, const Json& value) mutable {
    if (depth > 64) attempt.fail("lists or groups nested too deep", "at most 64 levels");
    if (event == Json::parse_event_t::object_start) groups.emplace_back();
    if (event == Json::parse_event_t::object_end) groups.pop_back();
    if (event == Json::parse_event_t::key && !groups.back().insert(value.get<std::string>()).second)
      attempt.fail(fmt::format("the key '{}' twice in a group", value.get<std::string>()), "once");
    return true;
  };
}

/// The element of a list that a part of a key stands for.
Json& element_of(Json& list, const std::string& part, const Attempt& attempt) {
  size_t index = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
  if (error != std::errc() || end != part.data() + part.size() || index >= list.size())
    attempt.fail(fmt::format("index '{}' into a list of {}", part, list.size()),
                 "an index into the list, from 0");
  return list[index];
}

}  // namespace

Json parse_config(const std::string& text, const std::string& object) {
  const Attempt reading{"reading the config", object};
  try {
    return Json::parse(text, value_check(reading), true, /*ignore_comments=*/true);
  } catch (const Json::out_of_range&) {
    reading.fail("a number too large to hold", "numbers below 1e308");
  } catch (const Json::parse_error& error) {
    const auto read = static_cast<std::ptrdiff_t>(std::min(error.byte, text.size()));
    reading.fail(fmt::format("no valid JSON at line {}",
                             1 + std::count(text.begin(), text.begin() + read, '\n')),
                 "JSON, where // and /* */ comments are allowed",
                 "is a comma, a quote or a brace missing?");
  }
}

void apply_setting(Json& config, const std::string& setting) {
  const Attempt applying{"applying a setting", setting};
  const auto equals = setting.find('=');
  if (equals == std::string::npos || equals == 0) applying.fail("no key before a '='", "key=value");
  const std::string key = setting.substr(0, equals), text = setting.substr(equals + 1);
  Json value = Json::parse(text, value_check(applying), /*allow_exceptions=*/false);
  if (value.is_discarded()) value = text;
  try {
    value.dump();
  } catch (const Json::type_error&) {
    applying.fail("bytes that are no UTF-8", "text in UTF-8");
  }

  Json* position = &config;
  for (size_t start = 0; start <= key.size();) {
    const size_t dot = std::min(key.find('.', start), key.size());
    const std::string part = key.substr(start, dot - start);
    start = dot + 1;
    if (part.empty()) applying.fail("an empty part of the key", "names joined by single dots");
    if (!position->is_array() && !position->is_object() && !position->is_null())
      applying.fail(fmt::format("a plain value before '.{}'", part), "a group");
    position = position->is_array() ? &element_of(*position, part, applying) : &(*position)[part];
  }
  *position = std::move(value);
}

namespace detail {

void read_options(const Json& config, const std::string& object, OldNames old_names,
                  const std::function<void(OptionVisitor&)>& visit) {
  Reader reader(config, object, old_names);
  visit(reader);
  reader.finish();
}

std::vector<OptionDescription> describe_options(const AnyOptions& defaults) {
  Describer describer;
  defaults.show_to(describer);
  return describer.finish();
}

}  // namespace detail

Json write_options(const AnyOptions& options) {
  Writer writer;
  options.show_to(writer);
  return writer.finish();
}

}  // namespace facet
