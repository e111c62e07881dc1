#include "facet/report/given_images.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/torch.h"
#include "facet/data/image_file.h"
#include "facet/data/import.h"
#include "facet/data/pack_shards.h"
#include "facet/data/pack_writer.h"
#include "facet/data/read_ahead.h"
#include "facet/data/text_encoding.h"
#include "facet/train/loaded_run.h"

namespace facet {

namespace {

namespace fs = std::filesystem;
using Notice = std::function<void(const std::string&)>;

/// The images of a folder, or of a CSV's own folder, in the model's size. They go through a pack
/// that is deleted at once: its pages are mapped, so that memory does not grow with their number.
GivenImages import_for(const ImageShape& shape, const fs::path& path, const Notice& notice) {
  FolderOptions options;
  const bool folder = fs::is_directory(path);
  if (!folder) options.table = path;
  options.resize = ImageShape{0, shape.height, shape.width};
  options.colour = shape.channels == 1 ? Colour::grey : Colour::rgb;
  options.skip_damaged = true;
  const fs::path from = folder ? path : fs::absolute(path).parent_path();
  const ScratchFolder place("facet-images");
  const fs::path file = place.path() / "images.safetensors";
  const auto summary = import_folder(from, options, file);
  if (summary->damaged > 0)
    notice(fmt::format("{} damaged files of {} are left out", summary->damaged, summary->files));
  return {read_pack(file), fs::absolute(from), false};
}

/// Image files one by one, in their order; a damaged one is an Error.
GivenImages import_files(const ImageShape& shape, const std::vector<std::string>& names) {
  const ScratchFolder place("facet-images");
  const fs::path output = place.path() / "images.safetensors";
  PackWriter writer(output);
  Pack pack;
  pack.origin = "image files";
  writer.begin(pack);
  const std::vector<fs::path> files(names.begin(), names.end());
  read_ahead(
      files, std::max(1U, std::thread::hardware_concurrency()),
      [&](const fs::path& file) {
        return with_channels(read_image(file, shape.height, shape.width), shape.channels);
      },
      [&](size_t file, ReadPicture&& picture) {
        if (!picture.error.empty()) read_image(files[file]);  // throws the Error once more
        writer.add(picture.image);
      });
  const auto count = static_cast<int64_t>(files.size());
  pack.labels = torch::empty({count, 0}, kInt32);
  pack.split = torch::zeros({count}, kUInt8);
  pack.files = TextColumn(names);
  writer.finish(pack);
  return {read_pack(output), fs::current_path(), false};
}

bool is_picture(const fs::path& path) {
  const std::string ending = lower_case(path.extension().string());
  return std::find(kPictureEndings.begin(), kPictureEndings.end(), ending) != kPictureEndings.end();
}

}  // namespace

GivenImages given_images(const Vae& model, const std::vector<std::string>& paths,
                         const std::string& doing, const Notice& notice) {
  for (const std::string& path : paths)
    if (!names_shards(path) && !fs::exists(path))
      throw Error({.doing = doing,
                   .object = path,
                   .found = "no such file or folder",
                   .expected = "a pack, a folder of images, a CSV or image files"});
  if (std::all_of(paths.begin(), paths.end(), [](const std::string& path) {
        return !fs::is_directory(path) && is_picture(path);
      }))
    return import_files(model.shape(), paths);
  if (paths.size() > 1)
    throw Error({.doing = doing,
                 .object = paths[1],
                 .found = fmt::format("{} arguments that are not all image files", paths.size()),
                 .expected = "one pack, folder or CSV, or image files"});
  const fs::path path = paths[0];
  const bool from_pack = path.extension() == ".safetensors" || names_shards(path);
  GivenImages images = from_pack ? GivenImages{read_pack(path), fs::absolute(path), true}
                                 : import_for(model.shape(), path, notice);
  require_shape(images.pack, model, path.string());
  return images;
}

}  // namespace facet
