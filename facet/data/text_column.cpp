#include "facet/data/text_column.h"

#include <algorithm>
#include <cassert>

#include "facet/core/torch.h"

namespace facet {

TextColumn::TextColumn(torch::Tensor bytes, torch::Tensor ends, int64_t begin)
    : bytes_(bytes.contiguous()), ends_(ends.contiguous()), begin_(begin), count_(ends.size(0)) {
  if (bytes_.numel() > 0) first_byte_ = bytes_.data_ptr<uint8_t>();
  if (count_ > 0) first_end_ = ends_.data_ptr<int64_t>();
}

TextColumn::TextColumn(const std::vector<std::string>& texts) {
  int64_t total = 0;
  for (const std::string& text : texts) total += static_cast<int64_t>(text.size());
  torch::Tensor bytes = torch::empty({total}, kUInt8);
  torch::Tensor ends = torch::empty({static_cast<int64_t>(texts.size())}, kInt64);
  int64_t end = 0;
  for (size_t n = 0; n < texts.size(); ++n) {
    std::copy(texts[n].begin(), texts[n].end(), bytes.data_ptr<uint8_t>() + end);
    end += static_cast<int64_t>(texts[n].size());
    ends.data_ptr<int64_t>()[n] = end;
  }
  *this = TextColumn(bytes, ends, 0);
}

TextColumn TextColumn::joined(const std::vector<TextColumn>& columns) {
  int64_t count = 0, total = 0;
  for (const TextColumn& column : columns) {
    count += column.size();
    for (int64_t n = 0; n < column.size(); ++n) total += static_cast<int64_t>(column[n].size());
  }
  torch::Tensor bytes = torch::empty({total}, kUInt8), ends = torch::empty({count}, kInt64);
  auto *const first = bytes.data_ptr<uint8_t>(), *next = first;
  int64_t* end = ends.data_ptr<int64_t>();
  for (const TextColumn& column : columns)
    for (int64_t n = 0; n < column.size(); ++n) {
      next = std::copy(column[n].begin(), column[n].end(), next);
      *end++ = next - first;
    }
  return {bytes, ends, 0};
}

TextColumn TextColumn::slice(int64_t begin, int64_t count) const {
  if (count == 0) return {};
  return {bytes_, ends_.narrow(0, begin, count), begin == 0 ? begin_ : first_end_[begin - 1]};
}

std::string_view TextColumn::operator[](int64_t n) const {
  assert(n >= 0 && n < count_);
  const int64_t begin = n == 0 ? begin_ : first_end_[n - 1];
  if (begin == first_end_[n]) return {};
  return {reinterpret_cast<const char*>(first_byte_) + begin,
          static_cast<size_t>(first_end_[n] - begin)};
}

}  // namespace facet
