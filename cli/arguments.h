// The command line as our commands declare it: options with their help, checks and relations. A
// thin front for CLI11, which takes five seconds to read and is read in arguments.cpp alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace facet {

/// A declared option, to be narrowed; a handle that is copied freely.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required() const;
  /// Shows the value it has now as its default in --help.
  Option show_default() const;
  Option range(int least, int most) const { return range(int64_t{least}, int64_t{most}); }
  Option range(int64_t least, int64_t most) const;
  Option range(double least, double most) const;
  Option one_of(const std::vector<std::string>& words) const;
  /// Only beside the other one.
  Option needs(const Option& other) const;
  /// Not beside the other one.
  Option excludes(const Option& other) const;
  /// A list in one word.
  Option separated_by(char separator) const;
  /// Whether the user gave it.
  bool given() const;

 private:
  CLI::Option* option_;
};

/// An option as it was declared, for the manual page and for completion.
struct OptionText {
  std::string name;  ///< "--out", or that of a positional argument
  std::string help;
  std::string value;                 ///< what it takes: "TEXT", "INT in [1 - 9]"; empty for a flag
  std::string default_value;         ///< where --help shows one
  std::vector<std::string> choices;  ///< the words that it takes, if only these
  bool positional = false, required = false;
};

/// A command as it was declared, with those below it.
struct CommandText {
  std::string name, help;
  std::vector<OptionText> options;
  std::vector<CommandText> commands;
};

/// A command, or the program with its commands; a handle.
class Command {
 public:
  explicit Command(CLI::App* app, std::string heading = "Commands")
      : app_(app), heading_(std::move(heading)) {}

  /// The same command; --help lists those that are added below it under a heading.
  Command under(const std::string& heading) const { return Command(app_, heading); }
  /// A command below this one.
  Command command(const std::string& name, const std::string& help) const;
  /// One of the commands below must be named.
  void require_command() const;

  /// An option that takes a value. A name without dashes is a positional argument.
  Option option(const std::string& name, std::string& value, const std::string& help) const;
  Option option(const std::string& name, int& value, const std::string& help) const;
  Option option(const std::string& name, int64_t& value, const std::string& help) const;
  Option option(const std::string& name, uint64_t& value, const std::string& help) const;
  Option option(const std::string& name, double& value, const std::string& help) const;
  Option option(const std::string& name, std::filesystem::path& value,
                const std::string& help) const;
  Option option(const std::string& name, std::vector<std::string>& values,
                const std::string& help) const;
  Option flag(const std::string& name, bool& value, const std::string& help) const;
  /// A flag that may be given a number: "--serve{8080}" is 8080 unless --serve=PORT says otherwise.
  Option flag(const std::string& name, int& value, const std::string& help) const;
  /// An option that takes one value each time it is given, so that it swallows no image.
  Option repeated(const std::string& name, std::vector<std::string>& values,
                  const std::string& help) const;
  /// `--device auto|cpu|cuda`.
  void device_option(std::string& device) const;
  /// The same, and `--precision tf32|bf16|fp32`.
  void place_options(std::string& device, std::string& precision) const;

  /// All that was declared so far, with the commands below.
  CommandText text() const;

  /// What the command does once its arguments are read.
  void run(const std::function<void()>& action) const;

 private:
  CLI::App* app_;
  std::string heading_;
};

/// The whole program.
class Program {
 public:
  Program(const std::string& description, const std::string& name, const std::string& version);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Command root() const;
  /// Reads the arguments and runs the command that they name. The exit status: 0; 2 for arguments
  /// that cannot be, with a line on stderr; or what a command throws as ExitStatus. Other
  /// exceptions pass.
  int run(int argc, char** argv) const;

 private:
  std::unique_ptr<CLI::App> app_;
};

/// Prints "facet: " and the line to standard error, if it can be printed to.
void complain(const std::string& line);

/// What a command throws to end with a status of its own, once all is said.
struct ExitStatus {
  int status;
};

}  // namespace facet
