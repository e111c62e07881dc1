// The explorer and the program over real connections: what the API answers and refuses there, that
// malformed requests neither end it nor make it grow, and that a training can be watched. What HTTP
// itself promises is tested without a model in http_server_test.cpp.
#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/data/image_file.h"
#include "facet/serve/http_server.h"
#include "tests/cli/run_program.h"
#include "tests/serve/http_client.h"
#include "tests/serve/process_usage.h"
#include "tests/serve/served_run.h"

namespace facet {
namespace {

constexpr const char* kOneState = R"({"states": [{"seed": 1}]})";

/// The server in a thread of its own for as long as this lives.
class RunningServer {
 public:
  explicit RunningServer(HttpOptions options = {}) {
    torch::set_num_threads(1);
    write_served_run(folder_ / "run");
    ExplorerOptions explorer;
    explorer.run = folder_ / "run";
    explorer_ = std::make_unique<Explorer>(std::move(explorer));
    options.port = 0;
    server_ = std::make_unique<HttpServer>(*explorer_, options);
    thread_ = std::thread([this] { server_->run([this] { return ending_.load(); }); });
  }
  ~RunningServer() {
    ending_ = true;
    thread_.join();
  }
  int port() const { return server_->port(); }
  const TemporaryFolder& folder() const { return folder_; }
  bool answers() const {
    return HttpClient(port()).post("/api/v1/generate", kOneState).status == 200;
  }

 private:
  TemporaryFolder folder_;
  std::unique_ptr<Explorer> explorer_;
  std::unique_ptr<HttpServer> server_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

TEST(HttpExplorer, AnswersManyRequestsOnOneConnection) {
  RunningServer server;
  HttpClient client(server.port());
  for (int i = 0; i < 20; ++i) {
    const HttpAnswer answer = client.post("/api/v1/generate", kOneState);
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(Json::parse(answer.body)["images"].size(), 1u);
    EXPECT_EQ(answer.header("Content-Type"), "application/json");
    EXPECT_EQ(answer.header("X-Content-Type-Options"), "nosniff");
  }
  EXPECT_EQ(client.get("/api/v1/model").status, 200);
  EXPECT_EQ(client.get("/api/v1/openapi.yaml").header("Content-Type"), "application/yaml");
  EXPECT_EQ(client.get("/").header("Content-Type"), "text/html; charset=utf-8");
}

TEST(HttpExplorer, RefusesBodiesBeforeReadingThem) {
  RunningServer server;
  const auto status_of = [&](const std::string& path, const std::string& headers) {
    HttpClient client(server.port());
    client.send("POST /api/v1/" + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
    return client.receive().status;  // although no byte of the body was sent
  };
  const std::string json = "Content-Type: application/json\r\n",
                    png = "Content-Type: image/png\r\n";
  EXPECT_EQ(status_of("encode", png + "Content-Length: 8388609\r\n"), 413);
  EXPECT_EQ(status_of("generate", json + "Content-Length: 1048577\r\n"), 413);
  EXPECT_EQ(status_of("generate", png + "Content-Length: 2\r\n"), 415);
  EXPECT_EQ(status_of("encode", json + "Content-Length: 2\r\n"), 415);
  EXPECT_EQ(status_of("model", json + "Content-Length: 2\r\n"), 405);
  EXPECT_EQ(status_of("encode", png), 411);
}

TEST(HttpExplorer, EncodesAnUploadedImage) {
  RunningServer server;
  HttpClient client(server.port());
  const std::string png = encode_png(Image::filled(3, 16, 16, 90));
  EXPECT_EQ(client.post("/api/v1/encode?scale=2", png, "image/png").status, 200);
  EXPECT_EQ(client.post("/api/v1/encode", png.substr(0, 50), "image/png").status, 400);
}

TEST(HttpExplorer, KnowsNoOtherAddresses) {
  RunningServer server;
  for (const char* path :
       {"/index.html", "/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
        "/web/index.html", "/api/v1/", "/api/v1/model/", "/api/v1/model%00", "/api/v1/../v1/model",
        "/config.json", "/api/v1/files?path=/etc/passwd", "http://localhost/", "*"})
    EXPECT_EQ(HttpClient(server.port()).get(path).status, 404) << path;
}

TEST(HttpExplorer, SaysWhenAPortIsTaken) {
  RunningServer server;
  const ProgramResult result = run_facet(
      {"serve", (server.folder() / "run").string(), "--port", std::to_string(server.port())});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("--port"), std::string::npos) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
}

TEST(HttpExplorer, EndsCleanlyAndLeavesTheRunAsItWas) {
  TemporaryFolder folder;
  write_served_run(folder / "run");
  const auto before = files_below(folder.path());
  RunningProgram program(facet_command({"serve", "run", "--port", "0"}), {.folder = folder.path()});
  ASSERT_TRUE(wait_until([&] { return program.printed().find("Ctrl-C") != std::string::npos; }));
  program.send(SIGTERM);
  const ProgramResult result = program.wait();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("serving run at http://127.0.0.1:"), std::string::npos) << result.out;
  EXPECT_EQ(files_below(folder.path()), before);
}

/// A port that was free a moment ago.
int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bind(socket, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(socket);
  return ntohs(address.sin_port);
}

TEST(TrainServe, LeavesTheTrainingAsItIs) {
  TemporaryFolder folder;
  write_text(folder / "config.json", quick_config(), "test");
  const ProgramResult alone =
      run_facet({"train", "config.json", "--out", "alone"}, {.folder = folder.path()});
  const ProgramResult served = run_facet({"train", "config.json", "--out", "served", "--serve=0"},
                                         {.folder = folder.path()});
  ASSERT_EQ(alone.status, 0) << alone.err;
  ASSERT_EQ(served.status, 0) << served.err;
  EXPECT_EQ(alone.out.find("serving"), std::string::npos) << alone.out;
  for (const char* file : {"metrics.jsonl", "model.safetensors"})
    EXPECT_EQ(read_text(folder / "alone" / file, "test"),
              read_text(folder / "served" / file, "test"));
}

TEST(TrainServe, ShowsTheRunWhileItTrainsAndEndsWithIt) {
  TemporaryFolder folder;
  write_text(folder / "config.json",
             tiny_config(R"("pretrain": {"steps": 10000000}, "log_every": 5)"), "test");
  const int port = free_port();
  RunningProgram training(
      facet_command({"train", "config.json", "--out", "run", "--serve=" + std::to_string(port)}),
      {.folder = folder.path()});
  const auto has_lines = [&] {
    try {
      const HttpAnswer answer = HttpClient(port).get("/api/v1/metrics");
      return answer.status == 200 && Json::parse(answer.body)["lines"] > 0;
    } catch (const std::runtime_error&) {  // it does not listen yet
      return false;
    }
  };
  EXPECT_TRUE(wait_until(has_lines));
  training.send(SIGINT);
  EXPECT_EQ(training.wait().status, 130);
  EXPECT_THROW(HttpClient{port}, std::runtime_error);
}

/// Requests that are wrong in some way, and now and then one that is right.
class Fuzz {
 public:
  explicit Fuzz(uint64_t seed) : state_(seed * 2654435761u + 1) {}

  std::string next() {
    switch (pick(12)) {
      case 0:
        return bytes(pick(300));
      case 1:
        return "GET " + target() + " HTTP/1.1\r\nHost: localhost\r\n" + bytes(pick(60)) +
               "\r\n\r\n";
      case 2:
        return "GET " + target() + " HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-1" +
               repeated(",0-1", pick(1990)) + "\r\n\r\n";
      case 3:
        return upload(png().substr(0, pick(200)));
      case 4: {
        std::string damaged = png();
        for (int i = 0; i < 5; ++i)
          damaged[pick(damaged.size())] ^= static_cast<char>(1 + pick(255));
        return upload(damaged);
      }
      case 5:  // announces much and sends little
        return "POST /api/v1/encode HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\n"
               "Content-Length: " +
               std::to_string(uint64_t{1} << pick(62)) + "\r\n\r\n" + bytes(pick(100));
      default:
        return post(json());
    }
  }

 private:
  uint64_t pick(uint64_t below) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % std::max<uint64_t>(below, 1);
  }
  std::string bytes(uint64_t count) {
    std::string text;
    for (uint64_t i = 0; i < count; ++i) text += static_cast<char>(pick(256));
    return text;
  }
  static std::string repeated(const std::string& part, uint64_t count) {
    std::string text;
    for (uint64_t i = 0; i < count; ++i) text += part;
    return text;
  }
  const std::string& png() {
    static const std::string bytes = encode_png(Image::filled(3, 16, 16, 90));
    return bytes;
  }
  std::string target() {
    static const std::vector<std::string> parts = {"/",          "api",     "v1",
                                                   "model",      "atlas",   "?factor=hair",
                                                   "&scale=99",  "..",      "%2e",
                                                   "%",          "%00",     "?",
                                                   "metrics",    "?after=", "999999999999999999999",
                                                   "directions", "\xff",    "&component=-1"};
    std::string text = "/api/v1/";
    for (uint64_t i = pick(6); i > 0; --i) text += parts[pick(parts.size())];
    return text;
  }
  std::string number() {
    static const std::vector<std::string> numbers = {"0",       "-1",
                                                     "1e308",   "-1e308",
                                                     "1e999",   "NaN",
                                                     "null",    "18446744073709551616",
                                                     "0.1",     "true",
                                                     "\"x\"",   "[]",
                                                     "{}",      "9007199254740993",
                                                     "-0",      "1e-400",
                                                     "3",       "\"with\"",
                                                     "\"draw\""};
    return numbers[pick(numbers.size())];
  }
  std::string json() {
    static const std::vector<std::string> keys = {
        "states",  "seed", "factors", "glasses", "hair",  "component", "temperature",
        "offsets", "z",    "edits",   "changes", "scale", "format",    "count"};
    switch (pick(6)) {
      case 0:
        return std::string(pick(3000), "[{"[pick(2)]);
      case 1:
        return "{\"states\": [{\"" + keys[pick(keys.size())] + "\": " + number() + "}]}";
      case 2:
        return "{\"states\": [{\"factors\": {\"hair\": {\"" + keys[pick(keys.size())] +
               "\": " + number() + "}}}], \"scale\": " + number() + "}";
      case 3: {
        std::string row = "[";
        for (uint64_t i = pick(9); i > 0; --i) row += number() + (i > 1 ? "," : "");
        return "{\"z\": " + row + "], \"edits\": [{\"changes\": {\"hair\": " + number() + "}}]}";
      }
      case 4:
        return "{\"" + keys[pick(keys.size())] + "\": " + bytes(pick(20)) + "}";
      default:
        return kOneState;
    }
  }
  std::string post(const std::string& body) {
    static const std::vector<std::string> paths = {"generate", "decode", "edit", "nearest",
                                                   "generate", "encode", "model"};
    return "POST /api/v1/" + paths[pick(paths.size())] +
           " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  std::string upload(const std::string& body) {
    return "POST /api/v1/encode HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\n"
           "Content-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  uint64_t state_;
};

/// FACET_FUZZ_REQUESTS asks for more than the few thousand of a normal test.
TEST(HttpExplorer, SurvivesMalformedRequests) {
  const char* asked = std::getenv("FACET_FUZZ_REQUESTS");
  const int requests = asked != nullptr ? std::atoi(asked) : 2000;
  constexpr int kThreads = 8;
  HttpOptions options;
  options.request_seconds = 2;
  RunningServer server(options);
  std::atomic<int> defects = 0, answered = 0;
  const auto attack = [&](int count, int salt) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        Fuzz fuzz(static_cast<uint64_t>(salt * kThreads + t));
        std::vector<std::unique_ptr<HttpClient>> unfinished;
        for (int i = 0; i < count / kThreads; ++i) {
          HttpClient client(server.port());
          client.send(fuzz.next());
          client.finish();
          const HttpAnswer answer = client.receive();
          if (i % 8 == 0) {  // and some that begin a request and stay
            if (unfinished.size() == 16) unfinished.clear();
            const std::string request = fuzz.next();
            unfinished.push_back(std::make_unique<HttpClient>(server.port()));
            unfinished.back()->send(request.substr(0, request.size() / 2));
          }
          if (answer.status != 0) ++answered;
          if (answer.status == 500) {
            ++defects;
            ADD_FAILURE() << answer.body;
          }
        }
      });
    for (std::thread& thread : threads) thread.join();
  };
  attack(requests / 4, 1);  // fills caches and pools
  const int64_t before = resident_kilobytes(), files = open_files();
  attack(requests, 2);
  EXPECT_EQ(defects, 0);
  EXPECT_GT(answered, requests / 2);
  EXPECT_TRUE(server.answers());
  EXPECT_TRUE(wait_until([&] { return open_files() <= files; }));
  // Pools and fragmentation stay below; leaks of a few kilobytes do not in bench/serve_fuzz.
  EXPECT_LT(resident_kilobytes() - before, kGrowthKilobytes);
}

}  // namespace
}  // namespace facet
