#include "facet/core/safetensors_header.h"

#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "facet/core/checksum.h"

namespace facet {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMetadata = "__metadata__";
constexpr const char* kChecksums = "xxh64";

std::string text_of(const Json& header) {
  return header.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Whether a text of the metadata ends as checksums do, with that of the header: `"":"0123..."}`.
bool ends_as_checksums(const Json& text) {
  constexpr std::string_view before = R"("":")", after = R"("})";
  constexpr size_t digits = 16, length = before.size() + digits + after.size();
  if (!text.is_string()) return false;
  const auto& whole = text.get_ref<const std::string&>();
  if (whole.size() < length) return false;
  const std::string_view end = std::string_view(whole).substr(whole.size() - length);
  return end.starts_with(before) && end.ends_with(after) &&
         end.substr(before.size(), digits).find_first_not_of("0123456789abcdef") ==
             std::string_view::npos;
}

}  // namespace

std::string safetensors_header(const std::map<std::string, std::string>& metadata,
                               const std::vector<TensorEntry>& entries) {
  Json header = {{kMetadata, metadata}};
  Json checksums = Json::object();
  uint64_t offset = 0;
  for (const TensorEntry& entry : entries) {
    header[entry.name] = {{"dtype", entry.type},
                          {"shape", entry.shape},
                          {"data_offsets", {offset, offset + entry.bytes}}};
    offset += entry.bytes;
    checksums[entry.name] = entry.checksum;
  }
  checksums[""] = header_checksum(header);
  header[kMetadata][kChecksums] = text_of(checksums);
  return text_of(header);
}

std::map<std::string, std::string> take_checksums(Json& header) {
  const std::map<std::string, std::string> damaged = {{"", "none that can be read"}};
  std::map<std::string, std::string> found;
  if (!header.contains(kMetadata) || !header[kMetadata].is_object()) return found;
  Json& metadata = header[kMetadata];
  if (!metadata.contains(kChecksums))  // under another key, they are those of a damaged header
    return std::any_of(metadata.begin(), metadata.end(), ends_as_checksums) ? damaged : found;
  if (!metadata[kChecksums].is_string()) return damaged;
  const Json checksums = Json::parse(metadata[kChecksums].get<std::string>(), nullptr,
                                     /*allow_exceptions=*/false);
  metadata.erase(kChecksums);
  if (!checksums.is_object()) return damaged;
  for (const auto& [name, value] : checksums.items())
    found[name] = value.is_string() ? value.get<std::string>() : std::string();
  return found;
}

std::string header_checksum(const Json& header) {
  const std::string text = text_of(header);
  return checksum_of(text.data(), text.size());
}

}  // namespace facet
