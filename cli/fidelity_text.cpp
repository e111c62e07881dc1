// The comparison of samples with images as a table for a person.
#include <algorithm>

#include <fmt/format.h>

#include "cli/command.h"
#include "facet/eval/fidelity.h"

namespace facet {

void print_fidelity(const Fidelity& fidelity) {
  fmt::print("{} images of the {} split against as many samples\n", fidelity.count, fidelity.split);
  for (const FidelityTable& table : fidelity.tables) {
    size_t width = table.features.size();
    for (const FidelityRow& row : table.rows) width = std::max(width, row.name.size());
    fmt::print("  {:<{}}   Frechet    kernel (error)      precision  recall  density  coverage\n",
               table.features, width);
    for (const FidelityRow& row : table.rows)
      fmt::print(
          "  {:<{}}  {:>8.3f}  {:>8.4f} ({:.4f})     {:>9.3f}  {:>6.3f}  {:>7.3f}  {:>8.3f}\n",
          row.name, width, row.frechet, row.kernel.value, row.kernel.standard_error,
          row.neighbours.precision, row.neighbours.recall, row.neighbours.density,
          row.neighbours.coverage);
  }
  if (fidelity.recognised.empty()) return;
  fmt::print("  of {} samples, so many are nearest to themselves after a factor has changed:\n",
             fidelity.changed);
  for (const RecognisedRow& row : fidelity.recognised)
    fmt::print("    {}: {:.1f} % of means{}\n", row.factor, 100 * row.means,
               row.refined ? fmt::format(", {:.1f} % refined", 100 * *row.refined) : "");
}

}  // namespace facet
