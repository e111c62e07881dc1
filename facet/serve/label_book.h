// Labels that people give to images in the explorer, beside those of the pack: they are kept in
// RUN/labels.json, written completely or not at all, and exported as the table that `facet import
// images --labels` reads.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "facet/core/json.h"
#include "facet/data/pack.h"
#include "facet/train/run_folder.h"

namespace facet {

class LabelBook {
 public:
  /// Reads what is there; an Error where the file is damaged.
  explicit LabelBook(const RunFolder& folder);

  /// The values that people gave to an image, by property.
  std::map<std::string, std::string> of_image(int64_t row) const;
  /// The images that people gave a value of a property.
  std::vector<int64_t> labelled(const std::string& property) const;
  /// Gives a value to images and saves; an empty value takes what was given away.
  void set(const std::string& property, const std::string& value, const std::vector<int64_t>& rows);
  /// How many images have a value of each property, from people.
  Json counts() const;

  /// All labels of a pack with these on top of them: one row per image that has any.
  std::string csv(const Pack& pack) const;

 private:
  void save() const;

  RunFolder folder_;
  mutable std::mutex mutex_;
  std::map<std::string, std::map<int64_t, std::string>> labels_;  // by property and row
};

/// The file's name of an image, or one made of its number where the pack knows none.
std::string image_file(const Pack& pack, int64_t row);

}  // namespace facet
