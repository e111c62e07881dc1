// What happens to the prior between the steps of phase 3: its hyperpriors are learned, and its
// components are fitted exactly to new encodings of many images (prior/exact_fit.h), with merges
// and splits (prior/moves.h). Which parts there are depends on the kind of prior.
#pragma once

#include "facet/core/random.h"
#include "facet/model/vae.h"
#include "facet/train/config.h"
#include "facet/train/encoded_images.h"
#include "facet/train/training_data.h"

namespace facet {

/// Does what is due before joint step `step`. True if components were fitted, and may have changed
/// places.
bool maintain_prior(Vae& model, EncodedImages& encoded, const TrainingLabels& labels,
                    const TrainOptions& options, const Key& key, int64_t step);

/// The exact updates after the last step, for the model as it is then.
void finish_prior(Vae& model, EncodedImages& encoded, const TrainingLabels& labels,
                  const TrainOptions& options, const Key& key);

}  // namespace facet
