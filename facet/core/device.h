// The device to compute on, chosen by name.
#pragma once

#include <cstdint>
#include <string>

namespace c10 {
struct Device;
}

namespace facet {

/// "cpu", "cuda", or "auto": the GPU if there is one, otherwise the CPU. Throws an Error for "cuda"
/// without a GPU. Processes that share a machine choose one GPU after another by their
/// `local_rank`, from which on this thread uses it.
c10::Device choose_device(const std::string& text, int64_t local_rank = 0);

/// Call it before several threads compute on one device. LibTorch loads its linear algebra for GPUs
/// at the first use, and fails if two threads do so at once.
void prepare_for_threads(const c10::Device& device);

}  // namespace facet
