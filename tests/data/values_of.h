// The values of tensors and columns, to compare with lists of them.
#pragma once

#include <string>
#include <vector>

#include "facet/core/torch.h"
#include "facet/data/text_column.h"

namespace facet {

inline std::vector<int64_t> numbers(const torch::Tensor& tensor) {
  const torch::Tensor plain = tensor.to(kInt64).contiguous();
  return {plain.data_ptr<int64_t>(), plain.data_ptr<int64_t>() + plain.numel()};
}

inline std::vector<std::string> texts(const TextColumn& column) {
  std::vector<std::string> result;
  for (int64_t n = 0; n < column.size(); ++n) result.emplace_back(column[n]);
  return result;
}

}  // namespace facet
