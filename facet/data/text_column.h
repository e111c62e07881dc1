// N short texts, such as file names or the cells of one column of a table, as one block of bytes
// and the positions where each text ends. This is how a pack stores them, so that a million names
// are mapped from the file and cost no string each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "facet/core/tensor.h"

namespace facet {

class TextColumn {
 public:
  TextColumn() = default;
  explicit TextColumn(const std::vector<std::string>& texts);
  /// Views of stored tensors: text n is bytes[ends[n - 1] .. ends[n]), where the first one begins
  /// at `begin`. The caller has checked that the ends ascend and stay inside the bytes.
  TextColumn(torch::Tensor bytes, torch::Tensor ends, int64_t begin);

  /// The texts of all columns, one after the other.
  static TextColumn joined(const std::vector<TextColumn>& columns);
  /// `count` texts from `begin` on, without copying them.
  TextColumn slice(int64_t begin, int64_t count) const;

  int64_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  /// Text n; valid as long as a copy of this column lives.
  std::string_view operator[](int64_t n) const;

 private:
  torch::Tensor bytes_;  ///< U8 [bytes]
  torch::Tensor ends_;   ///< I64 [N]
  const uint8_t* first_byte_ = nullptr;
  const int64_t* first_end_ = nullptr;
  int64_t begin_ = 0;
  int64_t count_ = 0;
};

}  // namespace facet
