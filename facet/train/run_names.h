// Names that people give to the factors and components of a run: RUN/names.json. The model keeps
// the names that it was trained with; these replace them wherever a run is read, and the old names
// and the numbers of components still work.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace facet {

struct FactorialMixture;
struct RunFolder;

/// The names of one factor; what is empty or absent keeps the model's.
struct FactorNames {
  std::string name;
  std::map<int64_t, std::string> components;  ///< by index
};

/// By the name that the model was trained with.
using RunNames = std::map<std::string, FactorNames>;

inline constexpr size_t kLongestName = 60;  ///< bytes

/// Throws an Error if `name` cannot be one: empty, too long, or with signs that options use.
void require_usable_name(const std::string& name);

/// The names of a run; none where it has no names.json. Throws an Error if the file is damaged.
RunNames read_names(const RunFolder& folder);
/// Writes names.json completely or not at all.
void write_names(const RunFolder& folder, const RunNames& names);

/// Throws an Error if a factor or component does not exist or two would have one name.
void apply_names(FactorialMixture& prior, const RunNames& names);

}  // namespace facet
