#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/data/image_file.h"
#include "facet/export/page_files.h"
#include "facet/serve/explorer.h"
#include "facet/serve/http_rules.h"
#include "facet/serve/http_text.h"
#include "facet/serve/runs_server.h"
#include "facet/serve/survey_server.h"
#include "facet/train/progress_pictures.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/targets.h"
#include "tests/serve/served_run.h"
#include "tests/survey_folder.h"

namespace facet {
namespace {

std::filesystem::path served_run(const std::string& name) {
  const RunFolder folder{input_file(name + "/config.json", "{}").parent_path()};
  write_served_run(folder.path);
  input_file(name + "/metrics.jsonl", "{\"phase\": \"joint\", \"step\": 2}\n");
  std::filesystem::create_directories(folder.progress());
  write_text(progress_picture(folder, {Phase::joint, 2}), encode_png(Image::filled(1, 4, 4)),
             "test");
  return folder.path;
}

Explorer& fuzz_explorer() {
  static Explorer* explorer = [] {  // outlives what is destroyed at exit
    ExplorerOptions options;
    options.run = served_run("run");
    return new Explorer(std::move(options));
  }();
  return *explorer;
}

Pack explorer_pack() {
  Pack pack;
  pack.images = ImageRows(torch::arange(6 * 768, kInt64).view({6, 3, 16, 16}).to(kUInt8));
  pack.labels = torch::tensor({0, 1, -1, 0, -1, -1}, kInt32).view({6, 1});
  pack.split = torch::tensor({0, 0, 1, 2, 0, 2}, kUInt8);
  pack.properties = {{"glasses", {"without", "with"}}};
  return pack;
}

/// An explorer with images that may write to its run. Whatever is written is gone with the next
/// one, so that an input does the same every time.
class WritingExplorer {
 public:
  WritingExplorer() : folder_{served_run("writing")} { begin(); }

  ApiResponse handle(const ApiRequest& request) {
    const ApiResponse response = explorer_->handle(request);
    const bool writes = request.path.ends_with("/names") || request.path.ends_with("/labels");
    if (writes && response.status == 200) begin();
    return response;
  }

 private:
  void begin() {
    explorer_.reset();
    std::filesystem::remove(folder_.names());
    std::filesystem::remove(folder_.labels());
    ExplorerOptions options;
    options.run = folder_.path;
    options.pack = explorer_pack();
    options.write = true;
    explorer_ = std::make_unique<Explorer>(std::move(options));
    while (explorer_->handle(get_request("statements")).status == 503)  // they are being encoded
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  RunFolder folder_;
  std::unique_ptr<Explorer> explorer_;
};

/// All that a connection does with a head before it reads a body; false where it is refused.
bool take_head(const RequestRules& rules, const RequestHead& head) {
  is_loopback(head.host);
  const CheckedRequest checked = rules.check(head);
  if (checked.refusal) {
    answer_head(*checked.refusal, head.keep_alive);
    return false;
  }
  rules.page_answer(checked.request);
  return true;
}

/// HTTP in pieces of seven bytes, as a slow client sends it.
bool take_http(const RequestRules& rules, std::string_view bytes) {
  try {
    RequestParser parser;
    std::string waiting;
    while (!parser.is_done()) {
      if (bytes.empty()) return false;
      waiting += bytes.substr(0, 7);
      bytes.remove_prefix(std::min<size_t>(bytes.size(), 7));
      for (size_t used = 1; used > 0 && !waiting.empty() && !parser.is_done();) {
        const bool in_head = !parser.has_head();
        used = parser.take(waiting);
        waiting.erase(0, used);
        if (in_head && parser.has_head() && !take_head(rules, parser.head())) return false;
      }
    }
    parser.take_body();
    return true;
  } catch (const ApiError&) {
    return false;
  }
}

/// With and without a token.
bool read_http_bytes(std::string_view bytes) {
  static const RequestRules rules(fuzz_explorer(), {"example.org"});
  static const RequestRules guarded(fuzz_explorer(), {}, "secret");
  const bool taken_here = take_http(rules, bytes);
  return take_http(guarded, bytes) || taken_here;
}
std::vector<std::string> http_seeds() {
  const std::string cookie =
                        fmt::format("facet-{:016x}=secret", std::hash<std::string>()("secret")),
                    tag = fmt::format("\"{:016x}\"", std::hash<std::string_view>()(
                                                         find_page_file("/icon.svg")->bytes));
  return {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
          "GET /api/v1/atlas?factor=hair%20x&n=3 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n"
          "If-None-Match: \"a\"\r\nConnection: close\r\n\r\n",
          "GET /?token=secret HTTP/1.1\r\nHost: a\r\n\r\n",
          "GET /app.mjs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer secret\r\n\r\n",
          "GET /icon.svg HTTP/1.0\r\nHost: example.org\r\nSec-Fetch-Site: none\r\n"
          "Cookie: a=b; " +
              cookie + "\r\nIf-None-Match: " + tag + "\r\n\r\n",
          "POST /api/v1/generate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
          "Content-Type: Application/JSON ; charset=utf-8\r\n\r\n{}",
          "POST /api/v1/generate HTTP/1.1\r\nHost: [::1]:80\r\nContent-Type: application/json\r\n"
          "Content-Length: 2\r\n\r\n{}"};
}

/// The first line is an address below /api/v1/, what follows the body of a POST.
ApiRequest request_of(std::string_view bytes, const std::string& before,
                      const RequestHandler& handler) {
  const size_t end = std::min(bytes.find('\n'), bytes.size());
  ApiRequest request;
  parse_target(before + std::string(bytes.substr(0, end)), request);
  request.method = handler.method_at(request.path);
  if (request.method.empty()) request.method = "GET";
  request.content_type = "application/json";
  request.body = bytes.substr(std::min(end + 1, bytes.size()));
  return request;
}

/// Whether a request was answered with what it asks for; one that shows a defect is a finding.
bool good_answer(const ApiResponse& response) {
  if (response.status >= 500 && response.status != 503)
    throw std::runtime_error("answered with " + response.body);
  ApiResponse complete = response;
  complete_headers(complete);
  answer_head(complete, true);
  return response.status == 200;
}

bool answer_api_bytes(std::string_view bytes) {
  static WritingExplorer* explorer = new WritingExplorer;  // outlives what is destroyed at exit
  ApiRequest request = request_of(bytes, "/api/v1/", fuzz_explorer());
  const Explorer::Route* route = Explorer::route(request.path);
  if (route != nullptr && route->body == Explorer::Body::image) request.content_type = "image/png";
  return good_answer(explorer->handle(request));
}
std::vector<std::string> api_seeds() {
  const std::string z = "[0.5, 0, 0, 0, 0, 0, 1]", picture = encode_png(Image::filled(3, 16, 16));
  return {"model",
          "atlas?factor=hair&scale=2&v=1",
          "directions?factor=hair&component=1",
          "generate\n{\"states\": [{\"seed\": 3}], \"scale\": 2, \"command_scale\": 1}",
          "generate\n{\"states\": [{\"seed\": 3, \"temperature\": 0.5, \"factors\": {\"hair\": "
          "{\"component\": 1, \"seed\": 2, \"temperature\": 1, \"offsets\": [{\"dimension\": 0, "
          "\"stddevs\": 1}]}, \"glasses\": {\"component\": \"draw\"}, \"smile\": {\"component\": "
          "\"grave\"}}}], \"format\": \"png\"}",
          "decode\n{\"z\": [" + z + "], \"format\": \"json\"}",
          "edit\n{\"z\": " + z + ", \"log_variance\": " + z +
              ", \"edits\": [{\"changes\": {\"glasses\": \"with\"}, \"keep_offset\": false}]}",
          "nearest\n{\"z\": " + z + ", \"count\": 2, \"factors\": [\"hair\"]}",
          "encode?scale=2\n" + picture,
          "encode\n" + encode_png(Image::filled(1, 9, 5)),
          "reconstruct?seed=4\n" + picture,
          "images?factor=hair&component=0&order=typical&unlabelled=hat&offset=0&count=3",
          "images?order=borderline",
          "images?order=outliers&factor=glasses",
          "image?index=3&scale=2",
          "statements",
          "reconstructions",
          "names\n{\"factor\": \"hair\", \"name\": \"colour\"}",
          "names\n{\"factor\": \"hair\", \"component\": 2, \"name\": \"red\"}",
          "labels\n{\"property\": \"hat\", \"value\": \"yes\", \"rows\": [0, 3]}",
          "labels\n{\"property\": \"hat\", \"value\": \"\", \"factor\": \"hair\", "
          "\"component\": 0}",
          "labels.csv",
          "metrics?after=0",
          "progress",
          "progress.png?phase=joint&step=2&v=1",
          "openapi.yaml"};
}

/// A folder of two runs, of which the second has a damaged model.
bool answer_runs_bytes(std::string_view bytes) {
  static RunsHandler* handler = [] {
    input_file("runs/two/config.json", "{}");
    input_file("runs/two/model.safetensors", "damaged");
    return new RunsHandler(served_run("runs/one").parent_path(), torch::kCPU, "facet");
  }();
  const ApiRequest request = request_of(bytes, "/", *handler);
  handler->page_file(request.path);
  try {
    handler->check_body(request.path, request.content_type, request.body.size());
  } catch (const ApiError&) {
    return false;
  }
  const ApiResponse response = handler->handle(request);
  if (request.path.starts_with("/run/two/")) return response.status == 200;
  return good_answer(response);
}
std::vector<std::string> runs_seeds() {
  return {"api/v1/runs", "api/v1/metrics?run=one&after=0", "run/one/api/v1/model",
          "run/one/api/v1/generate\n{\"states\": [{\"seed\": 3}]}"};
}

/// The input as the evaluation of one run and as the config of another, in a list of both.
bool read_evaluation_bytes(std::string_view bytes) {
  static const std::filesystem::path run = served_run("evaluated/one");
  input_file("evaluated/one/eval.json", bytes);
  input_file("evaluated/two/config.json", bytes);
  input_file("evaluated/two/metrics.jsonl", "");
  RunsHandler handler(run.parent_path(), torch::kCPU, "facet");
  const ApiResponse response = handler.handle(get_request("runs"));
  good_answer(response);
  return !Json::parse(response.body)["runs"][0].contains("error");
}
std::vector<std::string> evaluation_seeds() {
  return {
      "{\"elbo\": -3.5, \"factors\": [{\"name\": \"hair\", \"used\": 3, \"components\": 5, "
      "\"accuracy\": 0.5}]}"};
}

/// A survey without answers, and with two, of which the last was cut while it was written.
bool answer_survey_bytes(std::string_view bytes) {
  static const TestSurvey survey;
  bool all = true;
  for (const bool begun : {false, true}) {
    std::filesystem::remove(survey.folder.answers());
    if (begun) survey.answers("anna,1,a0,hair,long,9\nanna,2,a1,ha");
    SurveyHandler handler(survey.folder.path);
    const ApiRequest request = request_of(bytes, "/api/v1/", handler);
    handler.page_file(request.path);
    all &= good_answer(handler.handle(request));
  }
  return all;
}
std::vector<std::string> survey_api_seeds() {
  return {"survey", "survey?rater=anna", "picture?item=a0",
          "answer\n{\"rater\": \"anna\", \"item\": \"a1\", \"question\": \"hair\", "
          "\"answer\": \"long\", \"milliseconds\": 900}"};
}

}  // namespace

std::vector<FuzzTarget> request_targets() {
  return {{"http", read_http_bytes, http_seeds},
          {"api", answer_api_bytes, api_seeds},
          {"runs_api", answer_runs_bytes, runs_seeds},
          {"evaluation", read_evaluation_bytes, evaluation_seeds},
          {"survey_api", answer_survey_bytes, survey_api_seeds}};
}

}  // namespace facet
