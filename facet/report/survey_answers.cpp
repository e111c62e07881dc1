#include "facet/report/survey_answers.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/data/csv_write.h"
#include "facet/data/text_encoding.h"
#include "facet/report/utf8.h"

namespace facet {

namespace {

constexpr std::string_view kAnswerHeader = "rater,order,item,question,answer,milliseconds\n";
constexpr size_t kAnswerCells = 6, kLongestRater = 80;
constexpr const char* kReadingAnswers = "reading the answers of a survey";
constexpr const char* kSavingAnswer = "saving an answer";

/// The cells of a line; none where its quotes are not in order.
std::optional<std::vector<std::string>> line_cells(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char letter = line[i];
    if (quoted && letter == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += '"';
      ++i;
    } else if (letter == '"') {
      if (!quoted && !cells.back().empty()) return std::nullopt;
      quoted = !quoted;
    } else if (letter == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += letter;
    }
  }
  if (quoted) return std::nullopt;
  return cells;
}

bool read_count(const std::string& text, int64_t& number) {
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped == end && number >= 0;
}

/// The answer on a line; none where the line is cut or damaged.
std::optional<SurveyAnswer> answer_on(std::string_view line) {
  const auto cells = line_cells(line);
  if (!cells || cells->size() != kAnswerCells) return std::nullopt;
  SurveyAnswer answer{(*cells)[0], 0, (*cells)[2], (*cells)[3], (*cells)[4], 0};
  if (!read_count((*cells)[1], answer.order) || !read_count((*cells)[5], answer.milliseconds) ||
      answer.rater.empty())
    return std::nullopt;
  return answer;
}

std::string answer_line(const SurveyAnswer& answer) {
  return fmt::format("{},{},{},{},{},{}\n", csv_cell(answer.rater, ','), answer.order,
                     csv_cell(answer.item, ','), csv_cell(answer.question, ','),
                     csv_cell(answer.answer, ','), answer.milliseconds);
}

/// What has to come before the next line: the header of a new file, the rest of one that was cut,
/// or an end for a line that was. The latter gets a word that no whole line ends with: it was never
/// acknowledged, and must not be taken for one that was.
std::string line_opening(std::string_view tail, int64_t size) {
  if (size < static_cast<int64_t>(kAnswerHeader.size()) && kAnswerHeader.starts_with(tail))
    return std::string(kAnswerHeader.substr(tail.size()));
  return tail.ends_with('\n') ? "" : ",cut\n";
}

/// An open file that is locked against other processes and closes itself.
class LockedFile {
 public:
  explicit LockedFile(const std::filesystem::path& path)
      : saving_{kSavingAnswer, path.string()},
        descriptor_(open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0) fail();
    if (flock(descriptor_, LOCK_EX) != 0 && errno != ENOLCK && errno != EOPNOTSUPP) fail();
  }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;
  ~LockedFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  int64_t size() const {
    struct stat facts {};
    if (fstat(descriptor_, &facts) != 0) fail();
    return facts.st_size;
  }

  /// Its last bytes, at most as many as a header has.
  std::string tail(int64_t size) const {
    const int64_t count = std::min<int64_t>(size, static_cast<int64_t>(kAnswerHeader.size()));
    std::string bytes(static_cast<size_t>(count), '\0');
    if (pread(descriptor_, bytes.data(), bytes.size(), size - count) != count) fail();
    return bytes;
  }

  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail();
      bytes.remove_prefix(static_cast<size_t>(written));
    }
  }

  void flush() const {
    if (fdatasync(descriptor_) != 0) fail();
  }

 private:
  [[noreturn]] void fail() const {
    const int error = errno;
    const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
    saving_.fail(std::strerror(error), "a file that can be written",
                 full ? "is the disk full?" : "");
  }

  Attempt saving_;
  int descriptor_;
};

/// A new file is there for good once its folder is on the disk.
void flush_folder(const std::filesystem::path& folder) {
  const int descriptor =
      open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

std::string SurveyAnswers::notice(const std::filesystem::path& path) const {
  if (unread_lines.empty()) return "";
  const bool one = unread_lines.size() == 1;
  constexpr size_t most = 5;
  const std::vector<int64_t> first(
      unread_lines.begin(),
      unread_lines.begin() + static_cast<std::ptrdiff_t>(std::min(most, unread_lines.size())));
  return fmt::format(
      "{}: line{} {}{} {} cut or damaged and {} skipped; the file is left as it is", path.string(),
      one ? "" : "s", fmt::join(first, ", "),
      unread_lines.size() > most ? fmt::format(" and {} more", unread_lines.size() - most) : "",
      one ? "is" : "are", one ? "was" : "were");
}

std::vector<SurveyAnswer> SurveyAnswers::last() const {
  std::map<std::tuple<std::string, std::string, std::string>, size_t> places;
  std::vector<SurveyAnswer> last;
  for (const SurveyAnswer& answer : given) {
    const auto [place, is_new] =
        places.try_emplace({answer.rater, answer.item, answer.question}, last.size());
    if (is_new)
      last.push_back(answer);
    else
      last[place->second] = answer;
  }
  return last;
}

SurveyAnswers read_answers(const SurveyFolder& folder, const Survey& survey) {
  const Attempt reading{kReadingAnswers, folder.answers().string()};
  SurveyAnswers answers;
  if (!std::filesystem::exists(folder.answers())) return answers;
  const std::string text = read_text(folder.answers(), kReadingAnswers);
  if (text.size() < kAnswerHeader.size() && kAnswerHeader.starts_with(text)) return answers;
  if (!text.starts_with(kAnswerHeader))
    reading.fail(
        fmt::format("another first line, '{}'", text.substr(0, text.find('\n')).substr(0, 60)),
        fmt::format("'{}'", kAnswerHeader.substr(0, kAnswerHeader.size() - 1)));
  const std::set<std::string> items(survey.items.begin(), survey.items.end());
  int64_t number = 2;
  for (size_t begin = kAnswerHeader.size(); begin < text.size(); ++number) {
    const size_t end = text.find('\n', begin);
    const bool whole = end != std::string::npos;
    const auto answer =
        answer_on(std::string_view(text).substr(begin, whole ? end - begin : std::string::npos));
    begin = whole ? end + 1 : text.size();
    if (!answer || !whole) {
      answers.unread_lines.push_back(number);
      continue;
    }
    const SurveyQuestion* question = survey.question(answer->question);
    if (question == nullptr || items.count(answer->item) == 0)
      reading.fail(fmt::format("on line {} the item '{}' and the question '{}'", number,
                               answer->item, answer->question),
                   "items and questions of this survey", "is the file that of another survey?");
    if (question->choice_of(answer->answer) < 0)
      answers.unread_lines.push_back(number);
    else
      answers.given.push_back(*answer);
  }
  return answers;
}

std::string rater_name(const std::string& text) {
  const Attempt naming{"naming a rater"};
  std::string name(trimmed(text));
  if (name.empty()) naming.fail("no name", "one, such as R1");
  if (name.size() > kLongestRater)
    naming.fail(fmt::format("{} bytes", name.size()), fmt::format("at most {}", kLongestRater));
  const bool controls = std::any_of(
      name.begin(), name.end(), [](unsigned char letter) { return letter < 32 || letter == 127; });
  if (controls || decode_utf8(name).find(kReplacementCharacter) != std::u32string::npos)
    naming.fail("characters that no name has", "text in UTF-8");
  return name;
}

void AnswerFile::append(const SurveyAnswer& answer) {
  const std::lock_guard lock(mutex_);
  const LockedFile file(path_);
  const int64_t size = file.size();
  // One write: another reader sees the whole line or none of it.
  file.write(line_opening(file.tail(size), size) + answer_line(answer));
  file.flush();
  if (size == 0) flush_folder(path_.parent_path());
}

}  // namespace facet
