// Options, declared once. A struct of options has in-class defaults and one function visit() that
// names every field with one sentence; from that single declaration come the reading of config
// files, `--set key=value`, the saved config, `--help` and the reference page of the docs.
//
//   struct AdamOptions {
//     double beta1 = 0.9;
//     void visit(OptionVisitor& visitor) {
//       visitor.renamed("decay", "beta1");
//       visitor.option("beta1", beta1, "Decay of the gradient's running mean.", between(0, 1));
//     }
//   };
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace facet {

/// Only declared here; .cpp files that look into it include facet/core/json.h.
using Json = nlohmann::ordered_json;

/// A word that configs once had, and the one that stands for it now.
struct Renamed {
  std::string old_name, new_name;
};

/// What values an option may take; the reader refuses others.
struct Constraint {
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};  ///< for text: the allowed words; empty allows any
  std::vector<Renamed> renamed = {};      ///< choices that have another name now
};
Constraint at_least(double minimum);
Constraint between(double minimum, double maximum);
/// one_of({"mixture", "point_mass"}, {{"points", "point_mass"}}): 'points' is the old name.
Constraint one_of(std::vector<std::string> choices, std::vector<Renamed> renamed = {});

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
  using Value = std::variant<bool*, int64_t*, double*, Text*, Integers*, Texts*>;

  template <class T>
  requires std::constructible_from<Value, T*>
  void option(const char* name, T& value, const char* help, const Constraint& constraint = {}) {
    visit_value(name, &value, help, constraint);
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
  /// The option or group `new_name` of this struct was once called `old_name`. Stands before the
  /// option itself.
  virtual void renamed(const char* /*old_name*/, const char* /*new_name*/) {}

 protected:
  virtual void visit_value(const char* name, Value value, const char* help, const Constraint&) = 0;
  /// False leaves the group out.
  virtual bool begin_group(const char* name, const char* help) = 0;
  virtual void end_group() = 0;
  /// The number of elements that the list is to have.
  virtual size_t begin_list(const char* name, size_t size, const char* help) = 0;
  /// Ends with end_group().
  virtual void begin_element(size_t index) = 0;
  virtual void end_list() = 0;
};

/// A copy of any struct of options: visit() is for reading and writing alike and may change it.
class AnyOptions {
 public:
  template <OptionGroup T>
  AnyOptions(const T& options)
      : visit_([copy = options](OptionVisitor& visitor) mutable { copy.visit(visitor); }) {}
  void show_to(OptionVisitor& visitor) const { visit_(visitor); }

 private:
  std::function<void(OptionVisitor&)> visit_;
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

/// What to do about old names of options and of choices. A config that a user wrote is to be mended
/// by the user; files that the program once wrote itself must stay readable. To apply settings to
/// such a file, apply them to what write_options makes of the options read from it.
enum class OldNames { refuse, accept };

namespace detail {
void read_options(const Json& config, const std::string& object, OldNames old_names,
                  const std::function<void(OptionVisitor&)>& visit);
std::vector<OptionDescription> describe_options(const AnyOptions& defaults);
}  // namespace detail

/// Fills `options` from `config`: absent keys keep their defaults; unknown keys, wrong types and
/// values out of range are Errors that name the key. `object` is the file's name, for messages.
template <OptionGroup T>
void read_options(T& options, const Json& config, const std::string& object,
                  OldNames old_names = OldNames::refuse) {
  detail::read_options(config, object, old_names,
                       [&](OptionVisitor& visitor) { options.visit(visitor); });
}

/// All options with their values, in the order of declaration.
Json write_options(const AnyOptions& options);

/// The reference: every option with its default. A list is described by one default element.
template <OptionGroup T>
std::vector<OptionDescription> describe_options() {
  return detail::describe_options(T());
}

}  // namespace facet
