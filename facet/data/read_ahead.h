// Pictures read by several threads and handed over one by one, in the order of the files. Only a
// few wait at a time, so that memory does not grow with their number.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "facet/data/image.h"

namespace facet {

struct ReadPicture {
  Image image;
  std::string error;  ///< the message of an Error, where the file could not be read
};

/// Calls `read` for every file in one of `threads` threads, and `take` in this one. Exceptions of
/// `take`, and those of `read` that are no Error, end the reading and are thrown here.
void read_ahead(const std::vector<std::filesystem::path>& files, size_t threads,
                const std::function<Image(const std::filesystem::path&)>& read,
                const std::function<void(size_t, ReadPicture&&)>& take);

}  // namespace facet
