// A run to serve: an untrained model with a prior of spread-out components, made in no time, and
// what the tests of the explorer ask of it.
#pragma once

#include <filesystem>
#include <string>

#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/model/model_file.h"
#include "facet/serve/explorer.h"
#include "tests/close.h"
#include "tests/temporary_folder.h"

namespace facet {

/// Glasses and smile are named, hair is free and its component 3 dead; 16x16, 7 latents.
inline std::shared_ptr<Vae> small_model(uint64_t seed = 1) {
  ModelOptions options;
  options.likelihood.kind = "gaussian";
  options.network = {"custom", {8, 8}, {2, 2}, 3};
  options.factors = {{"glasses", 2, 2}, {"smile", 2, 2}, {"hair", 5, 3}};
  options.factors[0].property = "glasses";
  options.factors[0].values = {"without", "with"};
  options.factors[1].property = "smile";
  options.factors[1].values = {"grave", "smiling"};
  auto model = std::make_shared<Vae>(options, ImageShape{3, 16, 16}, Key(seed));
  for (size_t i = 0; i < model->prior.size(); ++i) {
    const FactorOptions& factor = model->prior.factors[i];
    model->prior.posteriors[i] =
        random_posterior(Key(seed + 1).fold(i), factor.components, factor.dimensions);
  }
  model->prior.posteriors[2].counts[3] = 1.0;  // as the hyperprior has it: dead
  return model;
}

inline void write_served_run(const std::filesystem::path& folder, bool with_model = true) {
  std::filesystem::create_directories(folder);
  write_text(folder / "config.json", R"({"train": {"pretrain": {"steps": 30}}})", "test");
  if (with_model) write_model(folder / "model.safetensors", *small_model());
}

inline ApiRequest get_request(const std::string& path,
                              const std::multimap<std::string, std::string>& query = {}) {
  ApiRequest request;
  request.method = "GET";
  request.path = "/api/v1/" + path;
  request.query = query;
  return request;
}

inline ApiRequest post_request(const std::string& path, const std::string& body,
                               const std::string& type = "application/json") {
  ApiRequest request;
  request.method = "POST";
  request.path = "/api/v1/" + path;
  request.content_type = type;
  request.body = body;
  return request;
}

/// The answer as JSON after a check of its status.
inline Json ask(Explorer& explorer, const ApiRequest& request, int status = 200) {
  const ApiResponse response = explorer.handle(request);
  EXPECT_EQ(response.status, status) << request.path << ": " << response.body.substr(0, 300);
  EXPECT_EQ(response.type, "application/json");
  return Json::parse(response.body);
}

}  // namespace facet
