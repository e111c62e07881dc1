// A model as it is served: the networks with the version of their file, what is computed once when
// the file is read, and the answers that are kept for as long as the model is served.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "facet/core/json.h"
#include "facet/core/tensor.h"
#include "facet/model/refiner.h"
#include "facet/model/vae.h"

namespace facet {

class ModelThread;

/// Answers about a factor by (factor, scale) or (factor, component). A full cache starts over:
/// computing an answer again is rare and costs a second at most.
template <typename Answer>
class AnswerCache {
 public:
  using Place = std::pair<size_t, int64_t>;

  explicit AnswerCache(size_t capacity) : capacity_(capacity) {}

  std::optional<Answer> find(const Place& place) const {
    const std::lock_guard lock(mutex_);
    std::optional<Answer> answer;
    if (const auto found = answers_.find(place); found != answers_.end())
      answer.emplace(found->second);
    return answer;
  }

  void insert(const Place& place, const Answer& answer) {
    const std::lock_guard lock(mutex_);
    if (answers_.size() >= capacity_) answers_.clear();
    answers_[place] = answer;
  }

 private:
  size_t capacity_;
  mutable std::mutex mutex_;
  std::map<Place, Answer> answers_;
};

struct ServedModel {
  std::shared_ptr<Vae> networks;  ///< for the model's thread alone, except for what is constant
  Refinement refinement;          ///< of pictures; none shows means
  std::string version;            ///< of the file and of the names
  std::string weights;            ///< version of the file alone: names change no picture
  /// Pictures in one forward pass; 1 where the machine computes a picture differently in a batch,
  /// because it has to be the same as `facet sample` makes.
  int64_t batch = 1;
  Json summary;  ///< "model" of /model

  std::mutex atlas_mutex;                ///< one sprite at a time: each takes much memory
  AnswerCache<std::string> sprites{32};  ///< PNGs by factor and scale
  AnswerCache<Json> directions{4096};    ///< by factor and component

  const FactorialMixture& prior() const { return networks->prior; }
  const ImageShape& shape() const { return networks->shape(); }
};

using ServedModelPointer = std::shared_ptr<ServedModel>;

/// Changes whenever the file does; empty where there is none.
std::string file_version(const std::filesystem::path& path);

/// The largest batch in which a picture is the same as alone, or 1.
int64_t safe_batch(Vae& model);

/// Reads a model file to serve it from `device`; an Error where it cannot be read.
ServedModelPointer load_served_model(const std::filesystem::path& path, const std::string& version,
                                     torch::Device device, ModelThread& thread);

}  // namespace facet
