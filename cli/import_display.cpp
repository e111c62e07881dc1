#include "cli/import_display.h"

#include <cstdio>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/progress.h"
#include "facet/data/csv.h"
#include "facet/data/shard_names.h"
#include "facet/data/split.h"

namespace facet {

namespace {

constexpr int kBarWidth = 24;
constexpr size_t kShownValues = 12;
constexpr size_t kShownRemarks = 12;

std::string plural(int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

/// "  table       text".
void print_entry(const std::string& name, const std::string& text) {
  fmt::print("  {:<12}{}\n", name, text);
}

void print_files(const ImportSummary& summary) {
  if (summary.files == 0) return;
  std::string text = plural(summary.images, "picture read", "pictures read");
  if (summary.damaged > 0)
    text +=
        fmt::format(", {} skipped; first: {}",
                    plural(summary.damaged, "damaged one", "damaged ones"), summary.first_damaged);
  print_entry("files", text);
  if (summary.grey_files > 0)
    print_entry("colour", plural(summary.grey_files, "grey picture", "grey pictures") +
                              " among colours, kept grey in three channels");
}

void print_table(const ImportSummary& summary) {
  if (!summary.has_table) return;
  std::string text = fmt::format("{}, {}, separated by {}s", plural(summary.rows, "row", "rows"),
                                 summary.encoding, separator_name(summary.separator));
  if (summary.unmatched_rows > 0)
    text += fmt::format("; {} no picture, first '{}'",
                        plural(summary.unmatched_rows, "row matches", "rows match"),
                        summary.first_unmatched);
  print_entry("table", text);
  if (summary.unlabelled > 0)
    print_entry("unlabelled",
                plural(summary.unlabelled, "image has", "images have") + " no label at all");
}

void print_duplicates(const ImportSummary& summary) {
  if (summary.duplicates == 0) return;
  std::string text =
      plural(summary.duplicates, "image has", "images have") + " the same pixels as an earlier one";
  text += summary.divided_duplicates == 0
              ? "; each is in the split of that one"
              : fmt::format("; {} in another split than that one, as the table says",
                            plural(summary.divided_duplicates, "is", "are"));
  print_entry("duplicates", text);
}

void print_properties(const ImportSummary& summary) {
  for (const ImportSummary::PropertyCounts& property : summary.properties) {
    std::string values;
    for (size_t v = 0; v < property.values.size() && v < kShownValues; ++v)
      values += fmt::format("{}{} {}", v == 0 ? "" : ", ", property.values[v].first,
                            property.values[v].second);
    if (property.values.size() > kShownValues)
      values += fmt::format(", ... ({} values)", property.values.size());
    fmt::print("  property '{}': {}; unknown {}\n", property.name, values, property.unknown);
  }
}

}  // namespace

ImportProgress::ImportProgress() : terminal_(isatty(STDOUT_FILENO) != 0), start_(Clock::now()) {}

void ImportProgress::report(int64_t done, int64_t files) {
  const Clock::time_point now = Clock::now();
  if (!terminal_ || (done < files && now - last_ < std::chrono::milliseconds(100))) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  const auto filled = static_cast<size_t>(done * kBarWidth / files);
  fmt::print("\r\x1b[K[{}{}] {} of {}", std::string(filled, '#'),
             std::string(kBarWidth - filled, '.'), done, files);
  if (seconds > 1)
    fmt::print("  {:.{}f} per second, {} left", rate, rate < 10 ? 1 : 0,
               duration_text(static_cast<double>(files - done) / rate));
  std::fflush(stdout);
  pending_ = true;
}

void ImportProgress::finish() {
  if (pending_) fmt::print("\r\x1b[K");
  std::fflush(stdout);
  pending_ = false;
}

void print_summary(const std::string& output, const ImportSummary& summary) {
  std::string splits;
  for (size_t s = 0; s < summary.splits.size(); ++s)
    splits += fmt::format("{}{} {}", s == 0 ? "" : ", ", summary.splits[s], split_names[s]);
  const std::string name = summary.shards == 0 ? output : shard_pattern(output).string();
  const std::string files =
      summary.shards == 0 ? "" : ", in " + plural(summary.shards, "file", "files");
  fmt::print("{}: {} of {}x{} in {} ({}), {}{}\n", name, plural(summary.images, "image", "images"),
             summary.shape.width, summary.shape.height,
             plural(summary.shape.channels, "channel", "channels"), splits,
             plural(static_cast<int64_t>(summary.properties.size()), "property", "properties"),
             files);
  print_files(summary);
  print_table(summary);
  print_duplicates(summary);
  print_properties(summary);
  for (size_t r = 0; r < summary.remarks.size() && r < kShownRemarks; ++r)
    print_entry("note", summary.remarks[r]);
  if (summary.remarks.size() > kShownRemarks)
    print_entry("note", fmt::format("{} more such notes", summary.remarks.size() - kShownRemarks));
}

}  // namespace facet
