// Clients that mean harm: requests mangled in every way, sent in pieces, cut off, left unread or
// begun and kept. The server must answer each with something that is right or close the connection,
// give back what it held for it, and go on answering others.
#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cli/run_program.h"
#include "tests/serve/process_usage.h"
#include "tests/serve/stub_server.h"

namespace facet {
namespace {

/// Numbers that are the same in every run of the tests.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed * 2654435761u + 1) {}
  uint64_t pick(uint64_t below) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % std::max<uint64_t>(below, 1);
  }
  template <class T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[pick(choices.size())];
  }
  std::string bytes(uint64_t count) {
    std::string text;
    for (uint64_t i = 0; i < count; ++i) text += static_cast<char>(pick(256));
    return text;
  }

 private:
  uint64_t state_;
};

/// What hostile clients send; now and then it is right.
class HostileRequests {
 public:
  explicit HostileRequests(uint64_t seed) : dice_(seed) {}

  std::string next() {
    switch (dice_.pick(10)) {
      case 0:
        return dice_.bytes(dice_.pick(2000));
      case 1:
        return mangled(good() + good());
      case 2:
        return pipelined();
      case 3:
        return long_head();
      case 4:
        return chunked();
      case 5:
        return wrong_length();
      case 6:
        return expecting();
      case 7:
        return other_protocol();
      case 8:
        return mangled(good());
      default:
        return good();
    }
  }

 private:
  std::string good() {
    const std::string body = dice_.bytes(dice_.pick(200));
    if (dice_.pick(3) == 0)
      return dice_.one_of<std::string>({"GET", "HEAD"}) + " /api/v1/model?a=%41&b HTTP/1.1\r\n" +
             "Host: localhost\r\nIf-None-Match: \"1\"\r\n\r\n";
    return head(body.size()) + "\r\n" + body;
  }
  static std::string head(uint64_t length) {
    return "POST /api/v1/generate HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
           "application/json\r\nContent-Length: " +
           std::to_string(length) + "\r\n";
  }
  std::string mangled(std::string text) {
    for (uint64_t i = 1 + dice_.pick(6); i > 0; --i) {
      const uint64_t place = dice_.pick(text.size());
      switch (dice_.pick(4)) {
        case 0:
          text[place] = static_cast<char>(dice_.pick(256));
          break;
        case 1:
          text.erase(place, dice_.pick(20));
          break;
        case 2:
          text.insert(place, text.substr(dice_.pick(text.size()), dice_.pick(60)));
          break;
        default:
          text.insert(place, dice_.one_of<std::string>({"\r\n", "\n", "\r", " ", ":", "\r\n ",
                                                        std::string(1, '\0'), "\t", ",", "%"}));
      }
      if (text.empty()) return "\r\n\r\n";
    }
    return text;
  }
  std::string pipelined() {
    std::string all;
    for (uint64_t i = dice_.pick(30); i > 0; --i)
      all += dice_.pick(8) == 0 ? mangled(good()) : good();
    return all;
  }
  std::string long_head() {
    const uint64_t size = dice_.pick(70000);
    switch (dice_.pick(4)) {
      case 0:
        return "GET /" + std::string(size, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
      case 1:
        return head(0) + "X: " + std::string(size, ' ') + "\r\n\r\n";
      case 2:
        return std::string(size, 'G');
      default: {
        std::string text = head(0);
        while (text.size() < size) text += "A: b\r\n";
        return text + "\r\n";
      }
    }
  }
  std::string chunked() {
    const std::string encoding =
        dice_.one_of<std::string>({"chunked", "gzip, chunked", "chunked, gzip", "identity", "",
                                   "chunked\r\nTransfer-Encoding: chunked", "\x01"});
    std::string text =
        "POST /api/v1/generate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    if (dice_.pick(3) == 0) text += "Content-Length: 5\r\n";
    text += "Transfer-Encoding: " + encoding + "\r\n\r\n";
    for (uint64_t i = dice_.pick(5); i > 0; --i)
      text += dice_.one_of<std::string>({"5\r\nhello\r\n", "ffffffffffffffffff\r\n", "-1\r\n\r\n",
                                         "0\r\n\r\n", "5;a=\"\r\n", "g\r\n", "3\r\nhello\r\n"});
    return text;
  }
  std::string wrong_length() {
    const std::string length = dice_.one_of<std::string>(
        {"0", "1", "70000", "8388608", "8388609", "18446744073709551615", "18446744073709551616",
         "-1", "+5", "5, 5", "5, 6", "0x10", "1e3", "", " 5 ", "5\r\nContent-Length: 5"});
    return "POST /api/v1/encode HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\n"
           "Content-Length: " +
           length + "\r\n\r\n" + dice_.bytes(dice_.pick(300));
  }
  std::string expecting() {
    const std::string body = dice_.bytes(dice_.pick(100));
    return head(body.size()) +
           "Expect: " + dice_.one_of<std::string>({"100-continue", "100-Continue", "200-ok", ""}) +
           "\r\n\r\n" + (dice_.pick(2) == 0 ? body : "");
  }
  std::string other_protocol() {
    return dice_.one_of<std::string>(
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET /\r\n",
         "GET / HTTP/1.2\r\nHost: localhost\r\n\r\n",
         std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + dice_.bytes(500),
         "GET /api/v1/model HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n",
         "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", "\r\n\r\n\r\n\r\n",
         "GET /api/v1/model HTTP/1.1\nHost: localhost\n\n",
         "GET /api/v1/model HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: "
         "Upgrade\r\n\r\n"});
  }

  Dice dice_;
};

/// Sends in one piece, in several, or byte by byte.
void send_somehow(HttpClient& client, const std::string& request, Dice& dice) {
  const std::vector<size_t> sizes = {request.size(), request.size(), 1 + dice.pick(500), 1};
  const size_t size = std::max<size_t>(dice.one_of(sizes), 1 + request.size() / 400);
  for (size_t from = 0; from < request.size(); from += size)
    if (!client.send(request.substr(from, size))) return;
}

/// One client after another; says how many answers came and what was wrong with them.
struct Attack {
  int port;
  std::atomic<int> answers = 0, defects = 0;

  void run(uint64_t seed, int count) {
    static const std::set<int> expected = {100, 200, 400, 403, 404, 405, 411, 413, 414, 415, 503};
    Dice dice(seed);
    HostileRequests requests(seed + 1000);
    std::vector<std::unique_ptr<HttpClient>> kept;
    for (int i = 0; i < count; ++i) {
      auto client = std::make_unique<HttpClient>(port);
      const std::string request = requests.next();
      send_somehow(*client, request, dice);
      const uint64_t manner = dice.pick(8);
      if (manner == 0) continue;  // goes without listening
      if (manner == 1) {          // begins, and stays
        if (kept.size() == 10) kept.clear();
        kept.push_back(std::move(client));
        continue;
      }
      client->finish();
      for (HttpAnswer answer; (answer = client->receive_head()).status != 0;) {
        ++answers;
        if (expected.contains(answer.status)) continue;
        // A body may hold what looks like the end of a head.
        if (!answer.head.starts_with("HTTP/1.1 ")) continue;
        ++defects;
        ADD_FAILURE() << answer.head;
      }
    }
  }
};

/// FACET_FUZZ_REQUESTS asks for more than the few thousand of a normal test.
TEST(HttpServer, SurvivesHostileClients) {
  const char* asked = std::getenv("FACET_FUZZ_REQUESTS");
  const int requests = asked != nullptr ? std::atoi(asked) : 2000;
  constexpr int kThreads = 8;
  HttpOptions options;
  options.request_seconds = options.idle_seconds = 2;
  StubServer server(options);
  const auto attack = [&](int count, uint64_t salt) {
    Attack all{server.port()};
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] { all.run(salt * kThreads + t, count / kThreads); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(all.defects, 0);
    return all.answers.load();
  };
  attack(requests / 4, 1);  // fills caches and pools
  EXPECT_TRUE(server.answers());
  const int64_t before = resident_kilobytes(), files = open_files();
  EXPECT_GT(attack(requests, 2), requests / 2);
  EXPECT_TRUE(server.answers());
  EXPECT_TRUE(wait_until([&] { return open_files() <= files; }));
  EXPECT_LT(resident_kilobytes() - before, kGrowthKilobytes);
  // What is left of large bodies that were announced would keep this one out.
  const std::string body(8 << 20, 'x');
  EXPECT_EQ(HttpClient(server.port()).post("/api/v1/encode", body, "image/png").status, 200);
}

TEST(HttpServer, HoldsNoMoreConnectionsThanItMay) {
  HttpOptions options;
  options.request_seconds = options.idle_seconds = 600;
  StubServer server(options);
  const int64_t before = open_files();
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 300; ++i) clients.push_back(std::make_unique<HttpClient>(server.port()));
  EXPECT_TRUE(wait_until([&] { return open_files() == before + 300 + 128; }));
  int open = 0;
  for (auto& client : clients)
    if (client->get("/api/v1/model").status == 200) ++open;
  EXPECT_EQ(open, 128);
}

}  // namespace
}  // namespace facet
