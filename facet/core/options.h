// Options, declared once. A struct of options has in-class defaults and one function visit() that
// names every field with one sentence; from that single declaration come the reading of config
// files, `--set key=value`, the saved config, `--help` and the reference page of the docs.
//
//   struct AdamOptions {
//     double beta1 = 0.9;
//     void visit(OptionVisitor& visitor) {
//       visitor.option("beta1", beta1, "Decay of the gradient's running mean.", between(0, 1));
//     }
//   };
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace facet {

using Json = nlohmann::ordered_json;

/// What values an option may take; the reader refuses others.
struct Constraint {
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices;  ///< for text: the allowed words; empty allows any
};
Constraint at_least(double minimum);
Constraint between(double minimum, double maximum);
Constraint one_of(std::vector<std::string> choices);

class OptionVisitor;
template <class T>
concept OptionGroup = requires(T group, OptionVisitor& visitor) {
  group.visit(visitor);
};

/// Sees every option of a struct in turn: its name, its value, and one sentence about it.
class OptionVisitor {
 public:
  virtual ~OptionVisitor() = default;
  using Text = std::string;
  using Integers = std::vector<int64_t>;
  using Texts = std::vector<std::string>;

  void option(const char* name, bool& value, const char* help) {
    visit_value(name, value, help, {});
  }
  template <class T>
  requires std::same_as<T, int64_t> || std::same_as<T, double> || std::same_as<T, Text> ||
      std::same_as<T, Integers> || std::same_as<T, Texts>
  void option(const char* name, T& value, const char* help, const Constraint& constraint = {}) {
    visit_value(name, value, help, constraint);
  }
  template <OptionGroup T>
  void option(const char* name, T& group, const char* help) {
    if (begin_group(name, help)) {
      group.visit(*this);
      end_group();
    }
  }
  template <OptionGroup T>
  void option(const char* name, std::vector<T>& list, const char* help) {
    list.resize(begin_list(name, list.size(), help));
    for (size_t index = 0; index < list.size(); ++index) {
      begin_element(index);
      list[index].visit(*this);
      end_group();
    }
    end_list();
  }

 protected:
  virtual void visit_value(const char* name, bool&, const char* help, const Constraint&) = 0;
  virtual void visit_value(const char* name, int64_t&, const char* help, const Constraint&) = 0;
  virtual void visit_value(const char* name, double&, const char* help, const Constraint&) = 0;
  virtual void visit_value(const char* name, Text&, const char* help, const Constraint&) = 0;
  virtual void visit_value(const char* name, Integers&, const char* help, const Constraint&) = 0;
  virtual void visit_value(const char* name, Texts&, const char* help, const Constraint&) = 0;
  /// False leaves the group out.
  virtual bool begin_group(const char* name, const char* help) = 0;
  virtual void end_group() = 0;
  /// The number of elements that the list is to have.
  virtual size_t begin_list(const char* name, size_t size, const char* help) = 0;
  virtual void begin_element(size_t index) = 0;
  virtual void end_list() = 0;
};

/// One line of the reference: "train.adam.beta1", "number", "0.9", "at least 0", "Decay of ...".
struct OptionDescription {
  std::string key, type, default_value, allowed, help;
};

/// Reads JSON with comments; an Error names the line where it breaks.
Json parse_config(const std::string& text, const std::string& object);

/// Applies "a.b.0.c=value": the value is JSON where it parses as such, else text. Keys that no
/// option has are found by read_options afterwards; elements of a list must exist.
void apply_setting(Json& config, const std::string& setting);

namespace detail {
void read_options(const Json& config, const std::string& object,
                  const std::function<void(OptionVisitor&)>& visit);
Json write_options(const std::function<void(OptionVisitor&)>& visit);
std::vector<OptionDescription> describe_options(const std::function<void(OptionVisitor&)>& visit);
}  // namespace detail

/// Fills `options` from `config`: absent keys keep their defaults; unknown keys, wrong types and
/// values out of range are Errors that name the key. `object` is the file's name, for messages.
template <OptionGroup T>
void read_options(T& options, const Json& config, const std::string& object) {
  detail::read_options(config, object, [&](OptionVisitor& visitor) { options.visit(visitor); });
}

/// All options with their values, in the order of declaration.
template <OptionGroup T>
Json write_options(const T& options) {
  T copy = options;  // visit() is for reading and writing alike, so it takes a mutable struct
  return detail::write_options([&](OptionVisitor& visitor) { copy.visit(visitor); });
}

/// The reference: every option with its default. A list is described by one default element.
template <OptionGroup T>
std::vector<OptionDescription> describe_options() {
  T defaults;
  return detail::describe_options([&](OptionVisitor& visitor) { defaults.visit(visitor); });
}

}  // namespace facet
