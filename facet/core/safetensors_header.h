// The JSON header of the safetensors files that we write. Its metadata have the checksum of every
// tensor and one of the header itself, as one text that other readers pass over.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "facet/core/json.h"

namespace facet {

struct TensorEntry {
  std::string name;
  std::string type;  ///< "F32", "U8", ...
  std::vector<int64_t> shape;
  uint64_t bytes = 0;
  std::string checksum;  ///< of its bytes, 16 hexadecimal digits
};

/// The header of tensors that follow each other in this order.
std::string safetensors_header(const std::map<std::string, std::string>& metadata,
                               const std::vector<TensorEntry>& entries);

/// The checksums that a header names, by tensor; that of the header itself is under "". Empty if it
/// has none, as in files of other programs. They are removed from the header.
std::map<std::string, std::string> take_checksums(nlohmann::ordered_json& header);
/// The checksum of a header without checksums.
std::string header_checksum(const nlohmann::ordered_json& header);

}  // namespace facet
