#include "facet/report/run_evaluation.h"

#include "facet/core/torch.h"
#include "facet/eval/bounds.h"
#include "facet/eval/evaluation_classifier.h"

namespace facet {

RunEvaluation evaluate_run(LoadedRun run, const EvaluationRequest& request) {
  if (!request.pack.empty()) run.config.data.pack = request.pack;
  const Pack pack = load_data(run.config.data);
  require_shape(pack, *run.model, run.config.data.pack);
  const Split split = parse_split(request.split);
  const ImageSet images = select_images(pack, {split}, run.config.data, false, run.model->device());
  RunEvaluation result;
  if (request.classify)
    result.classifier =
        classify_model_samples(*run.model, pack, run.config.data, split, request.seen_labels_only,
                               request.classifier, load_refinement(run, request.refine));
  if (request.measure_fidelity)
    result.fidelity =
        measure_run_fidelity(run, pack, request.split, request.fidelity, request.notice);
  EvaluationOptions options = request.evaluation;
  options.merge = true;
  options.mirror = run.config.data.mirror;
  result.evaluation = evaluate(*run.model, images, pack.properties, request.split, options);
  return result;
}

}  // namespace facet
