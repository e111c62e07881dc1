// The explorer's API without HTTP: a run folder in, answers out. It knows which function answers
// which address (handlers.h), owns what they share, and turns what they throw into answers;
// requests come from any number of threads. docs/openapi.yaml describes the API.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "facet/data/pack.h"
#include "facet/serve/handlers.h"
#include "facet/serve/message.h"
#include "facet/serve/request_handler.h"

namespace facet {

struct ExplorerOptions {
  std::filesystem::path run;           ///< as the user gave it; commands name it so
  torch::Device device = torch::kCPU;  ///< where to compute
  std::optional<Pack> pack;            ///< to search for nearest images
  std::string program = "facet";       ///< with its version
  RefineChoice refine;                 ///< of pictures
  bool write = false;                  ///< whether names and labels may be written to the run
  NearestImages::Source data;  ///< the run's own images, where there is no pack; may be empty
};

class Explorer : public RequestHandler {
 public:
  enum class Body { none, json, image };

  /// One address of the API.
  struct Route {
    std::string_view path, method;
    Body body;
    ApiResponse (*answer)(HandlerContext&, const ApiRequest&);

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
  /// All but what reports hold, and the pages of surveys and of folders of runs, which have
  /// servers of their own (serve/survey_server.h, serve/runs_server.h).
  static std::string page_file_at(std::string_view path) {
    const bool other =
        path.starts_with("/survey/") || path.starts_with("/runs/") || path.starts_with("/report/");
    return other ? "" : std::string(path);
  }
  std::string page_file(std::string_view path) const override { return page_file_at(path); }
  void check_body(std::string_view path, const std::string& content_type,
                  size_t bytes) const override;
  /// The answer to a request, also where it is an error; throws nothing.
  ApiResponse handle(const ApiRequest& request) override;

  /// Reads the model anew if its file has changed; happens by itself every second.
  void refresh();

 private:
  ApiResponse answer(const ApiRequest& request);

  HandlerContext context_;
};

}  // namespace facet
