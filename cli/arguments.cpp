#include "cli/arguments.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "facet/core/error.h"

namespace facet {

namespace {

/// One line about arguments that cannot be, with near matches for a misspelled option or command.
std::string complaint(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App* command = &program;  // the innermost one that was named
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  if (const auto extras = program.remaining(true); !extras.empty()) {
    std::vector<std::string> known;
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    for (const CLI::App* below : command->get_subcommands([](const CLI::App*) { return true; }))
      if (!below->get_name().empty()) known.push_back(below->get_name());
    return to_string({.doing = "reading the command line",
                      .object = extras.front(),
                      .found = "an unknown option or command",
                      .expected = "a known one",
                      .cause = suggest(extras.front(), known)});
  }
  return fmt::format("reading the command line: {} (--help says more)",
                     without_control_characters(error.what()));
}

/// A whole number that fits into 64 bits. What is no number is left to others to refuse.
template <class Number>
std::string fits(const std::string& text) {
  if (text.empty()) return "No number";
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc::result_out_of_range || end != text.data() + text.size()) return "";
  return fmt::format("Value {} is too large", text);
}

CLI::Validator not_empty() {
  return CLI::Validator(
      [](const std::string& text) { return text.empty() ? "An empty text" : std::string(); }, "");
}

/// The words of a type such as "TEXT:{auto,cpu,cuda}"; none if it takes others.
std::vector<std::string> choices_of(const std::string& type) {
  const size_t begin = type.find('{'), end = type.rfind('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

OptionText text_of(const CLI::Option& option) {
  OptionText text;
  text.positional = option.get_positional();
  text.name = text.positional ? option.get_name(true) : option.get_name(false, true);
  if (const size_t comma = text.name.rfind(','); comma != std::string::npos)
    text.name.erase(0, comma + 1);                       // "-h,--help"
  text.name = text.name.substr(0, text.name.find('{'));  // "--serve{8080}"
  text.help = option.get_description();
  const bool flag = option.get_expected_max() == 0 || option.get_type_size() == 0;
  const std::string type = option.get_type_name();
  text.choices = choices_of(type);
  const size_t colon = type.find(':');
  text.value = flag ? "" : colon == std::string::npos ? type : type.substr(0, colon);
  if (!flag && text.choices.empty() && colon != std::string::npos)
    text.value = type.substr(colon + 1);  // "INT in [1 - 9]"
  text.default_value = option.get_default_str();
  text.required = option.get_required();
  return text;
}

CommandText text_of(const CLI::App& app) {
  CommandText text{app.get_name(), app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options()) text.options.push_back(text_of(*option));
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!below->get_name().empty()) text.commands.push_back(text_of(*below));
  return text;
}

}  // namespace

void complain(const std::string& line) {
  std::fputs(("facet: " + line + "\n").c_str(), stderr);  // unlike fmt::print it throws nothing
}

Option Option::required() const {
  option_->required();
  return *this;
}

Option Option::show_default() const {
  option_->capture_default_str();
  return *this;
}

Option Option::range(int64_t least, int64_t most) const {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option Option::range(double least, double most) const {
  option_->check(CLI::Validator(
      [](const std::string& text) {
        return std::isnan(std::strtod(text.c_str(), nullptr)) ? "NaN is no number" : std::string();
      },
      ""));
  option_->check(CLI::Range(least, most));
  return *this;
}

Option Option::one_of(const std::vector<std::string>& words) const {
  option_->check(CLI::IsMember(words));
  return *this;
}

Option Option::needs(const Option& other) const {
  option_->needs(other.option_);
  return *this;
}

Option Option::excludes(const Option& other) const {
  option_->excludes(other.option_);
  return *this;
}

Option Option::separated_by(char separator) const {
  option_->delimiter(separator)->allow_extra_args(false);
  return *this;
}

bool Option::given() const { return option_->count() > 0; }

Command Command::command(const std::string& name, const std::string& help) const {
  return Command(app_->add_subcommand(name, help)->group(heading_));
}

void Command::require_command() const { app_->require_subcommand(1); }

Option Command::option(const std::string& name, std::string& value, const std::string& help) const {
  return Option(app_->add_option(name, value, help)->check(not_empty()));
}

Option Command::option(const std::string& name, int& value, const std::string& help) const {
  return Option(app_->add_option(name, value, help));
}

Option Command::option(const std::string& name, int64_t& value, const std::string& help) const {
  return Option(app_->add_option(name, value, help)->check(CLI::Validator(fits<int64_t>, "")));
}

Option Command::option(const std::string& name, uint64_t& value, const std::string& help) const {
  // A negative number would else be read as a large one.
  const auto not_negative = [](const std::string& text) {
    return text.starts_with('-') ? fmt::format("Value {} is below 0", text) : std::string();
  };
  return Option(app_->add_option(name, value, help)
                    ->check(CLI::Validator(not_negative, ""))
                    ->check(CLI::Validator(fits<uint64_t>, "")));
}

Option Command::option(const std::string& name, double& value, const std::string& help) const {
  return Option(app_->add_option(name, value, help));
}

Option Command::option(const std::string& name, std::filesystem::path& value,
                       const std::string& help) const {
  return Option(app_->add_option(name, value, help)->check(not_empty()));
}

Option Command::option(const std::string& name, std::vector<std::string>& values,
                       const std::string& help) const {
  return Option(app_->add_option(name, values, help));
}

Option Command::flag(const std::string& name, bool& value, const std::string& help) const {
  return Option(app_->add_flag(name, value, help));
}

Option Command::flag(const std::string& name, int& value, const std::string& help) const {
  return Option(app_->add_flag(name, value, help));
}

Option Command::repeated(const std::string& name, std::vector<std::string>& values,
                         const std::string& help) const {
  return Option(
      app_->add_option(name, values, help + "; may be repeated")->allow_extra_args(false));
}

void Command::device_option(std::string& device) const {
  option("--device", device, "Where to compute").one_of({"auto", "cpu", "cuda"}).show_default();
}

void Command::place_options(std::string& device, std::string& precision) const {
  device_option(device);
  option("--precision", precision, "What networks multiply on a GPU; bf16 is the fastest")
      .one_of({"tf32", "bf16", "fp32"})
      .show_default();
}

CommandText Command::text() const { return text_of(*app_); }

void Command::run(const std::function<void()>& action) const { app_->callback(action); }

Program::Program(const std::string& description, const std::string& name,
                 const std::string& version)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->set_version_flag("--version", version);
  app_->require_subcommand(1);
}

Program::~Program() = default;

Command Program::root() const { return Command(app_.get()); }

int Program::run(int argc, char** argv) const {
  try {
    app_->parse(argc, argv);
    return 0;
  } catch (const ExitStatus& end) {
    return end.status;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app_->exit(error);  // --help and --version
    complain(complaint(*app_, error));
    return 2;
  }
}

}  // namespace facet
