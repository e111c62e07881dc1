// One function for each address of the API: from a request to its answer. They are free functions
// of what the explorer owns, grouped into files by subject; requests come from many threads, so
// whatever they share is safe to use from all of them. An ApiError or an Error is the answer to a
// request that cannot be met. docs/openapi.yaml describes the API.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>

#include "facet/data/pack.h"
#include "facet/serve/label_book.h"
#include "facet/serve/message.h"
#include "facet/serve/model_reloader.h"
#include "facet/serve/model_thread.h"
#include "facet/serve/nearest.h"
#include "facet/serve/run_watch.h"

namespace facet {

/// What requests are answered from. Threads of later members use earlier ones, so the order
/// matters.
struct HandlerContext {
  /// An Error where the folder has no run, or a model that cannot be read.
  HandlerContext(const std::filesystem::path& run_, torch::Device device_,
                 const std::string& program_, std::optional<Pack> pack, const RefineChoice& refine_,
                 bool write_ = false, NearestImages::Source data = {});

  std::filesystem::path run;  ///< as the user gave it; commands name it so
  torch::Device device;
  std::string program;  ///< with its version
  RefineChoice refine;  ///< of pictures
  bool write;           ///< whether names and labels may be written to the run
  RunWatch run_watch;
  ModelThread thread;
  std::unique_ptr<NearestImages> nearest;  ///< null without a pack
  ModelReloader model;
  LabelBook labels;
  std::mutex names_mutex;
  /// The images of the pack or of the run; an ApiError where there are none, or none yet.
  const NearestImages& images() const;

  std::counting_semaphore<8> image_readers{2};  ///< large images take much memory
};

// handlers_model.cpp: the run and its model.
ApiResponse answer_model(HandlerContext& context, const ApiRequest& request);
ApiResponse answer_metrics(HandlerContext& context, const ApiRequest& request);
ApiResponse answer_progress(HandlerContext& context, const ApiRequest& request);
ApiResponse answer_progress_picture(HandlerContext& context, const ApiRequest& request);
ApiResponse answer_openapi(HandlerContext& context, const ApiRequest& request);

// handlers_generate.cpp: pictures from latent vectors.
ApiResponse answer_generate(HandlerContext& context, const ApiRequest& request);
ApiResponse answer_decode(HandlerContext& context, const ApiRequest& request);
ApiResponse answer_edit(HandlerContext& context, const ApiRequest& request);

// handlers_images.cpp: images that are sent, and images of the pack.
ApiResponse answer_encode(HandlerContext& context, const ApiRequest& request);
ApiResponse answer_reconstruct(HandlerContext& context, const ApiRequest& request);
ApiResponse answer_nearest(HandlerContext& context, const ApiRequest& request);

// handlers_data.cpp: images of the pack, as the model sees them.
ApiResponse answer_images(HandlerContext& context, const ApiRequest& request);
ApiResponse answer_image(HandlerContext& context, const ApiRequest& request);
ApiResponse answer_statements(HandlerContext& context, const ApiRequest& request);
ApiResponse answer_map(HandlerContext& context, const ApiRequest& request);
ApiResponse answer_reconstructions(HandlerContext& context, const ApiRequest& request);

// handlers_write.cpp: what people add to a run.
ApiResponse answer_names(HandlerContext& context, const ApiRequest& request);
ApiResponse answer_labels(HandlerContext& context, const ApiRequest& request);
ApiResponse answer_labels_csv(HandlerContext& context, const ApiRequest& request);

// handlers_components.cpp: what the components of a factor look like.
ApiResponse answer_atlas(HandlerContext& context, const ApiRequest& request);
ApiResponse answer_directions(HandlerContext& context, const ApiRequest& request);

}  // namespace facet
