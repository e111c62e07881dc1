#include "facet/train/refit.h"

#include "facet/train/phase.h"

namespace facet {

namespace {

constexpr int64_t last_passes = 5;

bool refit(Vae& model, EncodedImages& encoded, const TrainingLabels& labels,
           const JointOptions& joint, Refit refit, const Key& run_key, int64_t step) {
  PriorStrategy& prior = model.strategy();
  if (!prior.bayesian()) return false;
  const Key key = run_key.fold(phase_name(Phase::joint)).fold(static_cast<uint64_t>(step));
  refit.move_goal = move_goal(joint.move_goal);
  refit.supervised = joint.label_weight.at(step, joint.steps) > 0 && labels.any_known();
  encoded.renew(key.fold("encodings"));
  prior.refit(model, encoded.data(), refit, key.fold("moves"));
  encoded.clear();
  return true;
}

}  // namespace

bool maintain_prior(Vae& model, EncodedImages& encoded, const TrainingLabels& labels,
                    const TrainOptions& options, const Key& key, int64_t step) {
  const JointOptions& joint = options.joint;
  if (step <= joint.freeze_prior_steps) return false;
  const bool learn = options.hyperprior_every > 0;
  if (learn && step % options.hyperprior_every == 0) model.strategy().learn_hyperpriors(model);
  if (joint.refit_every == 0 || step % joint.refit_every != 0) return false;
  // Judged by the evidence, moves pause in the last quarter, so that the networks settle. Judged by
  // images left out they go on: without them components die there that such images need.
  const bool pause = move_goal(joint.move_goal) == MoveGoal::evidence && 4 * step > 3 * joint.steps;
  const bool moves = joint.merge_and_split && !pause;
  return refit(model, encoded, labels, joint, {.learn_hyperprior = learn, .merge_and_split = moves},
               key, step);
}

void finish_prior(Vae& model, EncodedImages& encoded, const TrainingLabels& labels,
                  const TrainOptions& options, const Key& key) {
  const JointOptions& joint = options.joint;
  if (joint.refit_every == 0 || joint.steps <= joint.freeze_prior_steps) return;
  refit(model, encoded, labels, joint,
        {.passes = last_passes,
         .learn_hyperprior = options.hyperprior_every > 0,
         .merge_and_split = joint.merge_and_split},
        key, joint.steps);
}

}  // namespace facet
