// The targets by what they read.
#pragma once

#include "facet/core/error.h"
#include "tests/fuzz/fuzz_target.h"

namespace facet {

/// Pictures, tables, arrays, configs.
std::vector<FuzzTarget> file_targets();
/// Safetensors files and what is kept in them: packs, models, refiners, mixtures, indexes.
std::vector<FuzzTarget> tensor_targets();
/// The rest of a run folder: training state, metrics, names and labels; plans of sweeps.
std::vector<FuzzTarget> run_targets();
/// Surveys, their keys and what raters answered.
std::vector<FuzzTarget> survey_targets();
/// HTTP, and the requests of the three servers: explorer, runs, survey.
std::vector<FuzzTarget> request_targets();

/// True if `read` returns, false if it throws an Error.
template <class Read>
bool taken(const Read& read) {
  try {
    read();
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace facet
