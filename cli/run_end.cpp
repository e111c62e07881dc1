#include "cli/run_end.h"

#include <csignal>

#include "facet/core/file.h"
#include "facet/data/image_file.h"
#include "facet/report/figures.h"

namespace facet {

namespace {

volatile std::sig_atomic_t interruption = 0;

}  // namespace

void save_on_interrupt() {
  std::signal(SIGINT, [](int signal) {
    interruption = 1;
    std::signal(signal, SIG_DFL);
  });
  std::signal(SIGTERM, [](int) { interruption = 1; });
}

void end_on_interrupt() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool interrupted() { return interruption != 0; }

Evaluation finish_run(Trainer& trainer, const Pack& pack, const Config& config,
                      const RunFolder& folder, torch::Device device) {
  const bool has_test = pack.split.eq(static_cast<int64_t>(Split::test)).any().item<bool>();
  const std::string split = has_test ? "test" : "train";
  const ImageSet images = select_images(pack, {parse_split(split)}, config.data, false, device);
  const Evaluation evaluation = evaluate(trainer.model(), images, pack.properties, split, {});
  write_png(folder.samples(), draw(sample_figure(trainer.model(), {})));
  // Last: a run with an evaluation is a finished one.
  write_text(folder.evaluation(), to_json(evaluation).dump(2) + "\n", "saving the evaluation");
  return evaluation;
}

}  // namespace facet
