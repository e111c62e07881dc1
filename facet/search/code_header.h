// What the writer and the reader of codes share: the names of columns and arrays, and the metadata,
// from which anyone can unpack the bits.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "facet/model/vae.h"

namespace facet {

inline constexpr const char* kCodesFormat = "facet-codes-1";
inline constexpr const char *kFileColumn = "file", *kNumberColumn = "image",
                            *kPackedColumn = "code";
inline constexpr const char *kCodesArray = "codes", *kPackedArray = "packed",
                            *kFilesArray = "files";

/// K of every factor.
std::vector<int64_t> components_of(const FactorialMixture& prior);

/// The format, the model's fingerprint, and the factors: name, components, bits, dimensions and
/// values of each, as JSON.
std::map<std::string, std::string> code_metadata(const Vae& model, bool packed);

}  // namespace facet
