#include "facet/train/best_bound.h"

#include <sstream>

#include "facet/core/file.h"
#include "facet/core/json.h"

namespace facet {

BestBound::BestBound(const std::filesystem::path& metrics) {
  std::istringstream lines(read_text(metrics, "reading metrics"));
  for (std::string line; std::getline(lines, line);) {
    const Json record = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (record.is_object() && record.contains("valid"))
      add(record["valid"].value("elbo", value_), record.value("step", int64_t{0}));
  }
}

bool BestBound::add(double bound, int64_t step) {
  if (!(bound > value_)) {
    ++since_;
    return false;
  }
  value_ = bound;
  step_ = step;
  since_ = 0;
  return true;
}

}  // namespace facet
