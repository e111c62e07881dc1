#include "facet/data/batch_part.h"

#include <algorithm>

namespace facet {

std::vector<BatchPart> parts_of_batch(int64_t total, int64_t parts) {
  std::vector<BatchPart> result;
  const int64_t most = std::min(parts, total);
  const auto draws = std::make_shared<SharedDraws>();
  for (int64_t index = 0; index < most; ++index) result.push_back({index, most, total, draws});
  return result;
}

}  // namespace facet
