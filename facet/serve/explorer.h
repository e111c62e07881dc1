// The explorer's API without HTTP: a run folder in, answers out. Holds the model that the folder
// has now, reads it anew when its file changes, and answers requests from any number of threads;
// the networks themselves belong to one thread (model_thread.h). docs/openapi.yaml describes the
// API.
#pragma once

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>

#include "facet/data/pack.h"
#include "facet/serve/message.h"
#include "facet/serve/model_thread.h"
#include "facet/serve/nearest.h"
#include "facet/serve/request_handler.h"
#include "facet/serve/run_watch.h"

namespace facet {

struct ExplorerOptions {
  std::filesystem::path run;           ///< as the user gave it; commands name it so
  torch::Device device = torch::kCPU;  ///< where to compute
  std::optional<Pack> pack;            ///< to search for nearest images
  std::string program = "facet";       ///< with its version
};

class Explorer : public RequestHandler {
 public:
  enum class Body { none, json, image };

  /// One address of the API.
  struct Route {
    std::string_view path, method;
    Body body;
    ApiResponse (Explorer::*answer)(const ApiRequest&);

    /// An ApiError for a body of another type or of too many bytes.
    void check_body(const std::string& content_type, size_t bytes) const;
  };

  /// An Error where the folder holds no run, or a model that cannot be read.
  explicit Explorer(ExplorerOptions options);
  Explorer(const Explorer&) = delete;
  Explorer& operator=(const Explorer&) = delete;
  ~Explorer() override;

  /// The route at a path; null where there is none.
  static const Route* route(std::string_view path);

  std::string_view method_at(std::string_view path) const override;
  void check_body(std::string_view path, const std::string& content_type,
                  size_t bytes) const override;
  /// The answer to a request, also where it is an error; throws nothing.
  ApiResponse handle(const ApiRequest& request) override;

  /// Reads the model anew if its file has changed; happens by itself every second.
  void refresh();

 private:
  struct Model;
  struct Upload;
  using ModelPointer = std::shared_ptr<Model>;

  ApiResponse answer(const ApiRequest& request);
  ApiResponse summary(const ApiRequest& request);
  ApiResponse generate(const ApiRequest& request);
  ApiResponse decode(const ApiRequest& request);
  ApiResponse encode(const ApiRequest& request);
  ApiResponse reconstruct(const ApiRequest& request);
  ApiResponse edit_latents(const ApiRequest& request);
  ApiResponse atlas(const ApiRequest& request);
  ApiResponse directions(const ApiRequest& request);
  ApiResponse nearest(const ApiRequest& request);
  ApiResponse metrics(const ApiRequest& request);
  ApiResponse document(const ApiRequest& request);

  ModelPointer load();
  void take(const ModelPointer& fresh);
  ModelPointer model() const;
  ModelPointer required_model() const;
  Upload read_upload(const Model& model, const std::string& bytes);
  std::string sprite(const ModelPointer& model, size_t factor, int64_t scale);
  Json measured_directions(const ModelPointer& model, size_t factor, int64_t component);
  torch::Tensor decode_all(const ModelPointer& model, const torch::Tensor& z);
  void watch();

  ExplorerOptions options_;
  RunFolder folder_;
  RunWatch run_;
  ModelThread thread_;
  std::unique_ptr<NearestImages> nearest_;
  std::counting_semaphore<8> image_readers_{2};  ///< large images take much memory

  mutable std::mutex model_mutex_;
  ModelPointer model_;
  std::string trouble_;  ///< why the file that is there cannot be used
  std::mutex refresh_mutex_;
  std::string seen_;  ///< version of the file that was looked at last
  std::condition_variable ending_changed_;
  bool ending_ = false;
  std::thread watcher_;
};

}  // namespace facet
