// In the place of image_read.cpp where libvips is not installed. Everything that needs no picture
// from elsewhere works without it: training, sampling, reports.
#include "facet/core/error.h"
#include "facet/data/image_file.h"

namespace facet {
namespace {

[[noreturn]] void fail(const char* doing, const std::string& object) {
  throw Error({.doing = doing,
               .object = object,
               .found = "a facet that was built without libvips",
               .expected = "one built with it",
               .cause = "install libvips-dev 8.14 or later and build again"});
}

}  // namespace

Image read_image(const std::filesystem::path& path) { fail("reading an image", path.string()); }

Image read_image(const std::filesystem::path& path, int64_t, int64_t, Fit) {
  return read_image(path);
}

void require_image_reader() { fail("reading images", ""); }

Image decode_image(std::string_view, const std::filesystem::path& name, const ImageLimits&) {
  return read_image(name);
}

Image resize(const Image&, int64_t, int64_t, Fit) { fail("resizing an image", ""); }

}  // namespace facet
