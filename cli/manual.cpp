// `facet manual`: the manual page, in the format of man, written from the declarations of the
// commands. The build writes it to share/man.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "facet/core/version.h"

namespace facet {

namespace {

/// Text for man: a backslash or hyphen is itself, and a dot at the beginning is no request.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  if (!result.empty() && (result.front() == '.' || result.front() == '\'')) result = "\\&" + result;
  return result;
}

void print_option(const OptionText& option) {
  std::string value = option.value;
  if (!option.choices.empty()) value = fmt::format("{}", fmt::join(option.choices, "|"));
  fmt::print(
      ".TP\n\\fB{}\\fR{}\n{}{}{}\n", escaped(option.name),
      value.empty() || option.positional ? "" : " \\fI" + escaped(value) + "\\fR",
      escaped(option.help), option.required ? " (required)" : "",
      option.default_value.empty() ? "" : " (default " + escaped(option.default_value) + ")");
}

/// The arguments that a command must have.
std::string synopsis(const CommandText& command) {
  std::string text;
  for (const OptionText& option : command.options)
    if (option.positional)
      text += (option.required ? " \\fI" : " [\\fI") + escaped(option.name) +
              (option.required ? "\\fR" : "\\fR]");
  for (const OptionText& option : command.options)
    if (option.required && !option.positional)
      text += fmt::format(" {} \\fI{}\\fR", escaped(option.name), escaped(option.value));
  return text;
}

void print_command(const CommandText& command, const std::string& path) {
  if (command.commands.empty()) {
    fmt::print(".SS {}\n\\fB{}\\fR{} [options]\n.PP\n{}.\n", path, path, synopsis(command),
               escaped(command.help));
    for (const OptionText& option : command.options)
      if (option.name != "--help") print_option(option);
  }
  for (const CommandText& below : command.commands) print_command(below, path + " " + below.name);
}

void print_manual(const CommandText& program) {
  fmt::print(
      ".TH FACET 1 \"\" \"facet {}\" \"Facet\"\n"
      ".SH NAME\nfacet \\- learns what images are made of\n"
      ".SH SYNOPSIS\n.B facet\n\\fIcommand\\fR [\\fIarguments\\fR]\n"
      ".SH DESCRIPTION\n"
      "Facet trains deep generative models of images whose latent vector is split into factors, "
      "each a\n"
      "Bayesian mixture. A few labels give some factors a name; the others find properties by\n"
      "themselves. \\fBfacet\\fR \\fIcommand\\fR \\fB\\-\\-help\\fR says what a command takes.\n"
      ".SH COMMANDS\n",
      version());
  for (const CommandText& command : program.commands)
    print_command(command, program.name + " " + command.name);
  fmt::print(
      ".SH EXIT STATUS\n0 for success, 2 for a mistake in arguments or data, with one sentence on\n"
      "standard error, 1 for a defect of the program, 128 and the number of the signal for what "
      "was\nstopped by one (130 by Ctrl\\-C); a run is saved then.\n"
      ".SH ENVIRONMENT\n.TP\n.B OMP_NUM_THREADS\nThe number of threads on the CPU; all processors "
      "by default.\n"
      ".SH FILES\nA run folder has config.json, metrics.jsonl, model.safetensors, "
      "state.safetensors, eval.json,\n"
      "samples.png and report.html.\n");
}

}  // namespace

void add_manual_command(const Command& program) {
  const Command command =
      program.command("manual", "Print the manual page: facet manual | man -l -");
  command.run([program] { print_manual(program.text()); });
}

}  // namespace facet
