// What can be known of a PNG or JPEG file without unpacking it: whether it is whole, and what it
// would cost. Decoders stop at the last pixel that they are asked for, forgive what comes after,
// and unpack comments of any size; these checks do not.
#pragma once

#include <string>
#include <string_view>

namespace facet {

/// Thrown where a file is damaged; who knows its name makes an Error of it.
struct DamagedImage {
  std::string damage;  ///< "the file ends too early"
};

/// Checks every checksum of a PNG up to its end mark, and leaves out all that says nothing about
/// its pixels: a comment of some kilobytes may unpack to fifty megabytes.
std::string essential_png(std::string_view bytes);

/// Follows the markers of a JPEG to its end mark. A progressive file may come in many scans, of
/// which each costs a pass over all pixels: more than `most_scans` are refused.
void check_jpeg(std::string_view bytes, int most_scans);

}  // namespace facet
