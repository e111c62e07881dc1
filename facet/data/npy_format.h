// What the writer and the reader of NumPy's files share: the header of a .npy and the records of a
// zip file.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "facet/core/tensor.h"

namespace facet {

/// The .npy header of an array of elements `descr`, such as "<i4"; a multiple of 64 bytes long.
std::string npy_header(const std::string& descr, const std::vector<int64_t>& shape);

/// NumPy's name of a type; empty if it has none.
std::string numpy_type(torch::ScalarType type);

/// UTF-8 as the code points that NumPy stores; damage becomes U+FFFD.
std::vector<uint32_t> code_points(std::string_view utf8);
/// The inverse; zeros at the end are padding.
std::string utf8_of(const uint32_t* points, size_t count);

/// Marks of a zip file's records.
inline constexpr uint32_t kZipLocal = 0x04034b50, kZipCentral = 0x02014b50, kZipEnd = 0x06054b50,
                          kZip64End = 0x06064b50, kZip64Locator = 0x07064b50;
/// In a field of 32 bits: the number is in the 64-bit extra field.
inline constexpr uint32_t kZip64Marker = 0xFFFFFFFF;

}  // namespace facet
