// Importers: they make a pack from idx files or from a folder of images with a table of labels.
// Any label may be missing; a label that is present but invalid is an error.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "facet/data/import_options.h"
#include "facet/data/pack.h"

namespace facet {

/// Property `name` gets the values "0", "1", ... up to the largest label. A file without pixel
/// values above 1 counts as binary and is scaled to 0 and 255.
Pack import_idx(const std::vector<IdxPart>& parts, const std::string& name);

/// One idx file of images; row r of the table describes image r. Sentences about columns and values
/// are added to `remarks`.
Pack import_idx_with_table(const std::filesystem::path& images, const std::filesystem::path& table,
                           const TableOptions& options, std::vector<std::string>& remarks);

/// Every picture in `folder` and its subfolders, by the endings of names (image_file.h), written to
/// a pack at `output` image by image: memory does not grow with their number. Names that begin with
/// a dot are passed over. An image without a row in the table has unknown labels; rows without an
/// image are counted. Images with the same pixels come into one split. Nothing, if events.stop()
/// said so.
std::optional<ImportSummary> import_folder(const std::filesystem::path& folder,
                                           const FolderOptions& options,
                                           const std::filesystem::path& output,
                                           const ImportEvents& events = {});

/// How many images a pack has, of which shape, in which splits and with which values.
ImportSummary summary_of(const Pack& pack);
/// The same of a pack that was written to `output`, or to its shards if `shard_size` is not 0.
ImportSummary summary_of_written(const std::filesystem::path& output, int64_t shard_size);

/// The built-in portraits: 80 % train, 10 % valid, 10 % test, in this order, as portraits are
/// independent of each other. They are drawn by several threads.
Pack make_portraits(const PortraitSetOptions& options);
/// `count` of them from `begin` on.
Pack make_some_portraits(const PortraitSetOptions& options, int64_t begin, int64_t count);

}  // namespace facet
