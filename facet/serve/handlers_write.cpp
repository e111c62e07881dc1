// What people add to a run: names of factors and components, and labels of images. Without --write
// nothing is changed.
#include <fmt/format.h>

#include "facet/model/model_file.h"
#include "facet/model/vae.h"
#include "facet/serve/handlers.h"
#include "facet/serve/reading.h"
#include "facet/train/run_names.h"

namespace facet {

namespace {

constexpr int64_t kMostLabelled = 100000;  // images in a request
constexpr size_t kLongestLabel = 200;      // bytes

void require_write(const HandlerContext& context) {
  if (!context.write)
    throw ApiError(403, "this server changes nothing: start it with facet serve RUN --write");
}

}  // namespace

ApiResponse answer_names(HandlerContext& context, const ApiRequest& request) {
  require_write(context);
  const Json json = parse_body(request.body);
  const RequestValue body(json);
  body.require_keys({"factor", "component", "name"});
  const ServedModelPointer model = context.model.required();
  const FactorialMixture& prior = model->prior();
  const size_t i = at_place("factor", [&] { return prior.index_of(body.at("factor").text()); });
  const FactorOptions& factor = prior.factors[i];
  const std::string name = body.at("name").text();  // empty: the model's own again
  if (!name.empty())
    at_place("name", [&] {
      require_usable_name(name);
      return 0;
    });
  {
    const std::lock_guard lock(context.names_mutex);
    const RunFolder folder = RunFolder::open(context.run);
    RunNames names = read_names(folder);
    FactorNames& known = names[factor.original.empty() ? factor.name : factor.original];
    if (body.has("component")) {
      const int64_t k = read_component(factor, body.at("component"));
      if (name.empty())
        known.components.erase(k);
      else
        known.components[k] = name;
    } else {
      known.name = name;
    }
    at_place("name", [&] {
      apply_names(read_model(folder.model())->prior, names);
      return 0;
    });
    write_names(folder, names);
  }
  context.model.refresh();
  return json_response({{"version", context.model.required()->version}});
}

ApiResponse answer_labels(HandlerContext& context, const ApiRequest& request) {
  require_write(context);
  const NearestImages& images = context.images();
  const Json json = parse_body(request.body);
  const RequestValue body(json);
  body.require_keys({"property", "value", "rows", "factor", "component"});
  const std::string property = body.at("property").text(), value = body.at("value").text();
  at_place("property", [&] {
    require_usable_name(property);
    return 0;
  });
  if (value.size() > kLongestLabel) body.at("value").fail("at most 200 letters");
  std::vector<int64_t> rows;
  if (body.has("rows")) {
    for (const RequestValue& row : body.at("rows").elements(1, kMostLabelled))
      rows.push_back(row.integer(0, images.count() - 1));
  } else {
    const ServedModelPointer model = context.model.required();
    const auto table = images.table(model->weights);
    if (!table) throw ApiError(503, "the images are being encoded");
    const FactorialMixture& prior = model->prior();
    const size_t i = at_place("factor", [&] { return prior.index_of(body.at("factor").text()); });
    ImageChoice choice;
    choice.factor = static_cast<int64_t>(i);
    choice.component = read_component(prior.factors[i], body.at("component"));
    rows = chosen_images(*table, images.pack().labels, choice);
  }
  context.labels.set(property, value, rows);
  return json_response({{"images", rows.size()}, {"given", context.labels.counts()}});
}

ApiResponse answer_labels_csv(HandlerContext& context, const ApiRequest& request) {
  Query(request, {});
  const NearestImages& images = context.images();
  ApiResponse response;
  response.type = "text/csv; charset=utf-8";
  response.headers["Content-Disposition"] = "attachment; filename=\"labels.csv\"";
  response.body = context.labels.csv(images.pack());
  return response;
}

}  // namespace facet
