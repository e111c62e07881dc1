// A short text that tells two models apart, for files that only make sense with the model that made
// them: codes and indexes.
#pragma once

#include <string>

#include "facet/model/vae.h"

namespace facet {

/// A checksum of the networks, the prior and the factors' names: equal for a model that is read
/// twice from one file, on whichever device it is.
std::string fingerprint(const Vae& model);

}  // namespace facet
