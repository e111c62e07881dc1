// Errors that the user can act on. Every one is told in the same grammar: what was being done, on
// what, what was found, what was expected, and the likely cause, so that a message can be read
// without knowing the code. The program answers an Error with exit status 2; numbers that
// are not finite, and anything else that is thrown, which is a defect of ours, end with status 1.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace facet {

/// The parts of an error message; empty parts are left out.
struct Fault {
  std::string doing;     ///< "reading an idx file"
  std::string object;    ///< "train-images.gz": a path, an option, a tensor
  std::string found;     ///< "12 bytes"
  std::string expected;  ///< "a header of 16 bytes"
  std::string cause;     ///< "was the download cut short?": the likely cause or the way out
};

/// "reading an idx file 'a.gz': found 12 bytes, expected a header of 16 (was the file cut short?)"
std::string to_string(const Fault& fault);

/// In one line: line ends as "\n", other control characters as "\x1b".
std::string without_control_characters(const std::string& text);

/// The user's mistake, or a fault of the machine's that only the user can mend (a full disk).
class Error : public std::runtime_error {
 public:
  explicit Error(const Fault& fault) : std::runtime_error(to_string(fault)) {}
};

/// NaN or infinity where training or an evaluation has computed: the user may know why (a learning
/// rate), but it may as well be our defect. The program answers with status 1.
class NotFinite : public Error {
 public:
  using Error::Error;
};

/// What is being done, on what: the part of a message that the checks of one place share.
///   const Attempt reading{"reading a pack", path};
///   if (count == 0) reading.fail("no image", "at least one");
struct Attempt {
  std::string doing;
  std::string object = {};

  /// Throws the Error with the rest of the message.
  [[noreturn]] void fail(std::string found, std::string expected = {},
                         std::string cause = {}) const;
};

/// The candidates closest in spelling to `word`, nearest first, at most three; for "did you mean".
std::vector<std::string> near_matches(std::string_view word,
                                      const std::vector<std::string>& candidates);

/// "did you mean 'a' or 'b'?", or "known: a, b, c" when nothing is close; for Fault::cause.
std::string suggest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace facet
