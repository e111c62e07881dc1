#include "facet/core/options.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/error.h"

namespace facet {

Constraint at_least(double minimum) { return {.minimum = minimum}; }
Constraint between(double minimum, double maximum) {
  return {.minimum = minimum, .maximum = maximum};
}
Constraint one_of(std::vector<std::string> choices) { return {.choices = std::move(choices)}; }

namespace {

std::string describe_constraint(const Constraint& constraint) {
  if (!constraint.choices.empty()) return fmt::format("{}", fmt::join(constraint.choices, ", "));
  const bool low = std::isfinite(constraint.minimum), high = std::isfinite(constraint.maximum);
  if (low && high) return fmt::format("{} to {}", constraint.minimum, constraint.maximum);
  if (low) return fmt::format("at least {}", constraint.minimum);
  if (high) return fmt::format("at most {}", constraint.maximum);
  return "";
}

/// Where the visitor stands: a stack of JSON objects and the dotted key that leads there.
struct Position {
  const Json* object;
  std::string key;
  std::set<std::string> known;  ///< names that options have asked for
};

class Reader : public OptionVisitor {
 public:
  Reader(const Json& config, std::string object) : object_(std::move(object)) {
    if (!config.is_object()) fail("", "a JSON " + std::string(config.type_name()), "an object");
    stack_.push_back({&config, "", {}});
  }
  void finish() { check_unknown(); }

 protected:
  void visit_value(const char* name, bool& value, const char*, const Constraint&) override {
    if (const Json* json = find(name)) {
      if (!json->is_boolean()) fail(key(name), json->dump(), "true or false");
      value = json->get<bool>();
    }
  }
  void visit_value(const char* name, int64_t& value, const char*, const Constraint& c) override {
    if (const Json* json = find(name)) value = integer(*json, key(name), c);
  }
  void visit_value(const char* name, double& value, const char*, const Constraint& c) override {
    if (const Json* json = find(name)) {
      if (!json->is_number()) fail(key(name), json->dump(), "a number");
      value = json->get<double>();
      check_range(value, key(name), c);
    }
  }
  void visit_value(const char* name, Text& value, const char*, const Constraint& c) override {
    if (const Json* json = find(name)) value = text(*json, key(name), c);
  }
  void visit_value(const char* name, Integers& value, const char*, const Constraint& c) override {
    if (const Json* json = find_list(name, "a list of whole numbers")) {
      value.clear();
      for (const Json& element : *json) value.push_back(integer(element, key(name), c));
    }
  }
  void visit_value(const char* name, Texts& value, const char*, const Constraint& c) override {
    if (const Json* json = find_list(name, "a list of texts")) {
      value.clear();
      for (const Json& element : *json) value.push_back(text(element, key(name), c));
    }
  }
  bool begin_group(const char* name, const char*) override {
    const Json* json = find(name);
    if (json == nullptr) return false;
    if (!json->is_object()) fail(key(name), json->dump(), "an object in braces");
    stack_.push_back({json, key(name), {}});
    return true;
  }
  void end_group() override {
    check_unknown();
    stack_.pop_back();
  }
  size_t begin_list(const char* name, size_t size, const char*) override {
    list_ = find_list(name, "a list of objects");
    list_key_ = key(name);
    if (list_ == nullptr) {
      // An absent list keeps its default elements, which see an empty object each.
      static const Json empty = Json::object();
      default_element_ = &empty;
      return size;
    }
    default_element_ = nullptr;
    return list_->size();
  }
  void begin_element(size_t index) override {
    const Json* json = default_element_ ? default_element_ : &(*list_)[index];
    const std::string path = fmt::format("{}.{}", list_key_, index);
    if (!json->is_object()) fail(path, json->dump(), "an object in braces");
    stack_.push_back({json, path, {}});
  }
  void end_list() override {}

 private:
  [[noreturn]] void fail(const std::string& where, const std::string& found,
                         const std::string& expected, const std::string& cause = "") const {
    const std::string shown = found.size() > 60 ? found.substr(0, 57) + "..." : found;
    throw Error({.doing = where.empty() ? "reading the config"
                                        : fmt::format("reading option '{}' of the config", where),
                 .object = object_,
                 .found = shown,
                 .expected = expected,
                 .cause = cause});
  }
  std::string key(const char* name) const {
    const std::string& parent = stack_.back().key;
    return parent.empty() ? name : fmt::format("{}.{}", parent, name);
  }
  const Json* find(const char* name) {
    Position& position = stack_.back();
    position.known.insert(name);
    const auto found = position.object->find(name);
    return found == position.object->end() ? nullptr : &*found;
  }
  const Json* find_list(const char* name, const char* expected) {
    const Json* json = find(name);
    if (json != nullptr && !json->is_array()) fail(key(name), json->dump(), expected);
    return json;
  }
  void check_range(double value, const std::string& where, const Constraint& constraint) const {
    if (!(value >= constraint.minimum && value <= constraint.maximum))
      fail(where, fmt::format("{}", value), describe_constraint(constraint));
  }
  int64_t integer(const Json& json, const std::string& where, const Constraint& constraint) const {
    const bool whole = json.is_number_integer() ||
                       (json.is_number_float() && std::abs(json.get<double>()) < 9e15 &&
                        json.get<double>() == std::floor(json.get<double>()));
    if (!whole) fail(where, json.dump(), "a whole number");
    const int64_t value =
        json.is_number_float() ? static_cast<int64_t>(json.get<double>()) : json.get<int64_t>();
    check_range(static_cast<double>(value), where, constraint);
    return value;
  }
  std::string text(const Json& json, const std::string& where, const Constraint& constraint) const {
    if (!json.is_string()) fail(where, json.dump(), "a text in quotes");
    const auto value = json.get<std::string>();
    const auto& choices = constraint.choices;
    if (!choices.empty() && std::find(choices.begin(), choices.end(), value) == choices.end())
      fail(where, fmt::format("\"{}\"", value),
           fmt::format("one of {}", describe_constraint(constraint)));
    return value;
  }
  void check_unknown() const {
    const Position& position = stack_.back();
    for (const auto& [name, value] : position.object->items()) {
      if (position.known.count(name) != 0) continue;
      const std::vector<std::string> known(position.known.begin(), position.known.end());
      fail(position.key.empty() ? name : position.key + "." + name, "an unknown option",
           "a known one", suggest(name, known));
    }
  }

  std::string object_;
  std::vector<Position> stack_;
  const Json* list_ = nullptr;
  const Json* default_element_ = nullptr;
  std::string list_key_;
};

class Writer : public OptionVisitor {
 public:
  Writer() { stack_.push_back(Json::object()); }
  Json finish() { return stack_.back(); }

 protected:
  template <class T>
  void write(const char* name, const T& value) {
    stack_.back()[name] = value;
  }
  void visit_value(const char* n, bool& v, const char*, const Constraint&) override { write(n, v); }
  void visit_value(const char* n, int64_t& v, const char*, const Constraint&) override {
    write(n, v);
  }
  void visit_value(const char* n, double& v, const char*, const Constraint&) override {
    write(n, v);
  }
  void visit_value(const char* n, Text& v, const char*, const Constraint&) override { write(n, v); }
  void visit_value(const char* n, Integers& v, const char*, const Constraint&) override {
    write(n, v);
  }
  void visit_value(const char* n, Texts& v, const char*, const Constraint&) override {
    write(n, v);
  }
  bool begin_group(const char* name, const char*) override {
    names_.push_back(name);
    stack_.push_back(Json::object());
    return true;
  }
  void end_group() override {
    Json group = std::move(stack_.back());
    stack_.pop_back();
    if (stack_.back().is_array()) {
      stack_.back().push_back(std::move(group));
    } else {
      stack_.back()[names_.back()] = std::move(group);
      names_.pop_back();
    }
  }
  size_t begin_list(const char* name, size_t size, const char*) override {
    names_.push_back(name);
    stack_.push_back(Json::array());
    return size;
  }
  void begin_element(size_t) override { stack_.push_back(Json::object()); }
  void end_list() override {
    Json list = std::move(stack_.back());
    stack_.pop_back();
    stack_.back()[names_.back()] = std::move(list);
    names_.pop_back();
  }

 private:
  std::vector<Json> stack_;
  std::vector<std::string> names_;
};

class Describer : public OptionVisitor {
 public:
  std::vector<OptionDescription> finish() { return std::move(lines_); }

 protected:
  template <class T>
  void add(const char* name, const T& value, const char* type, const char* help,
           const Constraint& constraint) {
    lines_.push_back(
        {prefix_ + name, type, Json(value).dump(), describe_constraint(constraint), help});
  }
  void visit_value(const char* n, bool& v, const char* help, const Constraint& c) override {
    add(n, v, "true or false", help, c);
  }
  void visit_value(const char* n, int64_t& v, const char* help, const Constraint& c) override {
    add(n, v, "whole number", help, c);
  }
  void visit_value(const char* n, double& v, const char* help, const Constraint& c) override {
    add(n, v, "number", help, c);
  }
  void visit_value(const char* n, Text& v, const char* help, const Constraint& c) override {
    add(n, v, "text", help, c);
  }
  void visit_value(const char* n, Integers& v, const char* help, const Constraint& c) override {
    add(n, v, "list of whole numbers", help, c);
  }
  void visit_value(const char* n, Texts& v, const char* help, const Constraint& c) override {
    add(n, v, "list of texts", help, c);
  }
  bool begin_group(const char* name, const char* help) override {
    lines_.push_back({prefix_ + name, "group", "", "", help});
    prefixes_.push_back(prefix_);
    prefix_ += std::string(name) + ".";
    return true;
  }
  void end_group() override {
    prefix_ = prefixes_.back();
    prefixes_.pop_back();
  }
  size_t begin_list(const char* name, size_t, const char* help) override {
    lines_.push_back({prefix_ + name, "list of groups", "", "", help});
    list_prefix_ = prefix_ + std::string(name) + ".N.";
    return 1;
  }
  void begin_element(size_t) override {
    prefixes_.push_back(prefix_);
    prefix_ = list_prefix_;
  }
  void end_list() override {}

 private:
  std::vector<OptionDescription> lines_;
  std::string prefix_, list_prefix_;
  std::vector<std::string> prefixes_;
};

/// Printing a value recurses into it: deeper ones than any config has are refused while they are
/// read.
constexpr int deepest_nesting = 64;

}  // namespace

Json parse_config(const std::string& text, const std::string& object) {
  const auto fail = [&](const char* found, const char* expected) {
    throw Error(
        {.doing = "reading the config", .object = object, .found = found, .expected = expected});
  };
  const auto check_depth = [&](int depth, Json::parse_event_t, const Json&) {
    if (depth > deepest_nesting) fail("lists or groups nested too deep", "a config");
    return true;
  };
  try {
    return Json::parse(text, check_depth, true, /*ignore_comments=*/true);
  } catch (const Json::out_of_range&) {
    fail("a number too large to hold", "numbers below 1e308");
  } catch (const Json::parse_error& error) {
    const auto line =
        1 +
        std::count(text.begin(),
                   text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size())),
                   '\n');
    throw Error({.doing = "reading the config",
                 .object = object,
                 .found = fmt::format("no valid JSON at line {}", line),
                 .expected = "JSON, where // and /* */ comments are allowed",
                 .cause = "is a comma, a quote or a brace missing?"});
  }
  return {};
}

void apply_setting(Json& config, const std::string& setting) {
  const auto equals = setting.find('=');
  const auto fail = [&](const std::string& found, const std::string& expected) {
    throw Error(
        {.doing = "applying --set", .object = setting, .found = found, .expected = expected});
  };
  if (equals == std::string::npos || equals == 0) fail("no key before a '='", "key=value");
  const std::string key = setting.substr(0, equals), text = setting.substr(equals + 1);
  const auto check_depth = [&](int depth, Json::parse_event_t, const Json&) {
    if (depth > deepest_nesting) fail("a value nested too deep", "a plain value or a list");
    return true;
  };
  Json value = Json::parse(text, check_depth, /*allow_exceptions=*/false);
  if (value.is_discarded()) value = text;
  try {
    value.dump();
  } catch (const Json::type_error&) {
    fail("bytes that are no UTF-8", "text in UTF-8");
  }

  Json* position = &config;
  for (size_t start = 0; start <= key.size();) {
    const size_t dot = std::min(key.find('.', start), key.size());
    const std::string part = key.substr(start, dot - start);
    start = dot + 1;
    if (part.empty()) fail("an empty part of the key", "names joined by single dots");
    if (position->is_array()) {
      size_t index = 0;
      const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
      if (error != std::errc() || end != part.data() + part.size() || index >= position->size())
        fail(fmt::format("index '{}' into a list of {}", part, position->size()),
             "an index into the list, from 0");
      position = &(*position)[index];
    } else {
      if (!position->is_object() && !position->is_null())
        fail(fmt::format("a plain value before '.{}'", part), "a group");
      position = &(*position)[part];
    }
  }
  *position = std::move(value);
}

namespace detail {

void read_options(const Json& config, const std::string& object,
                  const std::function<void(OptionVisitor&)>& visit) {
  Reader reader(config, object);
  visit(reader);
  reader.finish();
}

Json write_options(const std::function<void(OptionVisitor&)>& visit) {
  Writer writer;
  visit(writer);
  return writer.finish();
}

std::vector<OptionDescription> describe_options(const std::function<void(OptionVisitor&)>& visit) {
  Describer describer;
  visit(describer);
  return describer.finish();
}

}  // namespace detail

}  // namespace facet
