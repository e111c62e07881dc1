// `facet completion bash`: what the shell needs to complete commands, options and the words that an
// option takes, written from the declarations of the commands.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"

namespace facet {

namespace {

/// A command with the names above it, "import images"; the program itself has no name.
struct Entry {
  std::string path;
  const CommandText* command;
};
void collect(const CommandText& command, const std::string& path, std::vector<Entry>& entries) {
  entries.push_back({path, &command});
  for (const CommandText& below : command.commands)
    collect(below, path.empty() ? below.name : path + " " + below.name, entries);
}

std::vector<std::string> names_of(const CommandText& command) {
  std::vector<std::string> names;
  for (const CommandText& below : command.commands) names.push_back(below.name);
  return names;
}

std::vector<std::string> options_of(const CommandText& command) {
  std::vector<std::string> names;
  for (const OptionText& option : command.options)
    if (!option.positional) names.push_back(option.name);
  return names;
}

void print_bash(const CommandText& program) {
  std::vector<Entry> entries;
  collect(program, "", entries);
  fmt::print(
      "# Completion of facet for bash; `facet completion bash` writes it.\n"
      "_facet() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}\n"
      "  local path= word words= options=\n"
      "  for word in \"${{COMP_WORDS[@]:1:COMP_CWORD - 1}}\"; do\n"
      "    case \"${{path:+$path }}$word\" in\n");
  for (const Entry& entry : entries)
    if (!entry.path.empty()) fmt::print("      '{}') path='{}' ;;\n", entry.path, entry.path);
  fmt::print("    esac\n  done\n  case \"$path:$previous\" in\n");
  for (const Entry& entry : entries)
    for (const OptionText& option : entry.command->options)
      if (!option.choices.empty() && !option.positional)
        fmt::print("    '{}:{}') words='{}' ;;\n", entry.path, option.name,
                   fmt::join(option.choices, " "));
  fmt::print("  esac\n  if [ -z \"$words\" ]; then\n    case \"$path\" in\n");
  for (const Entry& entry : entries)
    fmt::print("      '{}') words='{}' options='{}' ;;\n", entry.path,
               fmt::join(names_of(*entry.command), " "),
               fmt::join(options_of(*entry.command), " "));
  fmt::print(
      "    esac\n"
      "    [[ $current == -* ]] && words=$options\n"
      "  fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "}}\n"
      "complete -o default -F _facet facet\n");
}

}  // namespace

void add_completion_command(const Command& program) {
  auto shell = std::make_shared<std::string>();
  const Command command = program.command(
      "completion", "Print completion for a shell: source <(facet completion bash)");
  command.option("shell", *shell, "The shell; zsh reads it after 'bashcompinit'")
      .required()
      .one_of({"bash"});
  command.run([program, shell] { print_bash(program.text()); });
}

}  // namespace facet
