#include "facet/train/best_bound.h"

#include <sstream>

#include "facet/core/file.h"
#include "facet/core/json.h"

namespace facet {

BestBound::BestBound(const std::filesystem::path& metrics) {
  std::istringstream lines(read_text(metrics, "reading metrics"));
  for (std::string line; std::getline(lines, line);) {
    const Json record = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!record.is_object() || !record.contains("valid") || !record["valid"].is_object()) continue;
    const Json bound = record["valid"].value("elbo", Json(value_)),
               step = record.value("step", Json(0));
    if (bound.is_number() && step.is_number_integer())
      add(bound.get<double>(), step.get<int64_t>());
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
