// What holds for the whole process: settings of LibTorch that a program makes once, at its start,
// and what LibTorch's exceptions say.
#pragma once

#include <exception>
#include <string>

namespace facet {

/// Computes with one thread for every processor, unless OMP_NUM_THREADS says otherwise.
void use_all_processors();

/// LibTorch's convolutions on a GPU compute in float32, which is what train.precision fp32 says,
/// and not in TF32.
void use_float32_convolutions();

/// An exception of LibTorch or of the standard library in one line.
struct LibraryFailure {
  std::string line;
  bool out_of_memory = false;
};
LibraryFailure library_failure(const std::exception& error);

}  // namespace facet
