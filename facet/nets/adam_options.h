// The options of the networks' optimizer.
#pragma once

#include "facet/core/options.h"

namespace facet {

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double clip_grad_norm = 0.0;
  double weight_decay = 0.0;

  void visit(OptionVisitor& visitor);
};

}  // namespace facet
