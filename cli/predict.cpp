// `facet predict RUN VECTORS --out FILE.csv`: the components and the density of new vectors.
#include <fmt/format.h>

#include "cli/command.h"
#include "facet/report/run_fitting.h"

namespace facet {

void add_predict_command(const Command& program) {
  auto request = std::make_shared<PredictRequest>();
  const Command command = program.command(
      "predict", "Say the components and the density of vectors, with a run of 'facet fit'");
  command.option("run", request->run, "A run folder of 'facet fit'").required();
  command.option("vectors", request->vectors, "Vectors, in a format of 'facet fit'").required();
  command.option("--out", request->output, "The CSV to write").required();
  command.flag("--probabilities", request->every_probability,
               "A column with the probability of every component");
  command.option("--tensor", request->tensor, "The tensor of a .safetensors file");
  command.run([request] {
    const PredictSummary summary = predict_vectors(*request);
    fmt::print("{}: {} vectors, mean log density {:.4f} nats\n", request->output.string(),
               summary.vectors, summary.log_density);
  });
}

}  // namespace facet
