// Safetensors files as an input that is easy to vary: the JSON header, a zero byte, the tensors'
// bytes. The length of the header is put before it, checksums are left out, and missing bytes are
// zeros, so that a varied header reaches what reads the tensors.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "facet/core/json.h"
#include "facet/core/safetensors_header.h"

namespace facet {

/// The file of an input.
inline std::string tensor_file_of(std::string_view input) {
  constexpr uint64_t kMostBytes = 1 << 20;
  const size_t end = std::min(input.find('\0'), input.size());
  const std::string header(input.substr(0, end));
  std::string data(input.substr(std::min(end + 1, input.size())));
  const Json json = Json::parse(header, nullptr, /*allow_exceptions=*/false);
  uint64_t needed = 0;
  if (json.is_object())
    for (const auto& [name, tensor] : json.items())
      if (tensor.is_object() && tensor.contains("data_offsets") &&
          tensor["data_offsets"].is_array() && tensor["data_offsets"].size() == 2 &&
          tensor["data_offsets"][1].is_number_unsigned())
        needed = std::max(needed, tensor["data_offsets"][1].get<uint64_t>());
  data.resize(std::min(needed, kMostBytes));
  uint64_t length = header.size();
  std::string file(sizeof(length), '\0');
  std::memcpy(file.data(), &length, sizeof(length));
  return file + header + data;
}

/// The input of a file of ours.
inline std::string tensor_input_of(const std::string& file) {
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof(length));
  Json header = Json::parse(file.substr(sizeof(length), length));
  take_checksums(header);
  return header.dump() + '\0' + file.substr(sizeof(length) + length);
}

}  // namespace facet
