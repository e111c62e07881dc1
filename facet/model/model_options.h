// The options of the model: networks, likelihood and prior.
#pragma once

#include <string>
#include <vector>

#include "facet/core/options.h"
#include "facet/model/likelihood_options.h"
#include "facet/nets/network_options.h"
#include "facet/prior/factor_options.h"

namespace facet {

struct ModelOptions {
  LikelihoodOptions likelihood;
  NetworkOptions network;
  std::vector<FactorOptions> factors = {FactorOptions{}};
  std::string prior = "mixture";
  std::string weights = "dirichlet";
  Hyperprior hyperprior;

  bool stick_breaking() const { return weights == "stick_breaking"; }
  void visit(OptionVisitor& visitor);
};

}  // namespace facet
