// The server over real connections: what it answers, what it refuses before reading it, and that
// neither slow nor silent clients nor slow handlers keep others waiting.
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/export/page_files.h"
#include "tests/cli/run_program.h"
#include "tests/message_of.h"
#include "tests/serve/process_usage.h"
#include "tests/serve/stub_server.h"

namespace facet {
namespace {

using Clients = std::vector<std::unique_ptr<HttpClient>>;

const std::string kModel = "GET /api/v1/model HTTP/1.1\r\nHost: localhost\r\n";
const std::string kWait = "GET /api/v1/wait HTTP/1.1\r\nHost: localhost\r\n\r\n";
const std::string kUpload =
    "POST /api/v1/encode HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\n";
/// Without the empty line that ends the head.
const std::string kGenerateRequest =
    "POST /api/v1/generate HTTP/1.1\r\nHost: 127.0.0.1:80\r\nContent-Type: application/json\r\n"
    "Content-Length: 4\r\n";

/// Waits until so many requests are being worked on.
bool wait_for_work(const StubServer& server, int count) {
  return wait_until([&] { return server.handler.waiting == count; });
}

/// Limits under which nothing ends by itself.
HttpOptions patient(size_t connections) {
  HttpOptions options;
  options.connections = connections;
  options.request_seconds = options.idle_seconds = 600;
  return options;
}

TEST(HttpServer, AnswersManyRequestsOnOneConnection) {
  StubServer server;
  HttpClient client(server.port());
  for (int i = 0; i < 20; ++i) {
    const HttpAnswer answer = client.post("/api/v1/generate?b=1%202&a=x+y", "{\"a\": 1}");
    ASSERT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "POST /api/v1/generate {\"a\": 1}a=x y;b=1 2;");
    EXPECT_EQ(answer.header("Content-Type"), "application/json");
    EXPECT_EQ(answer.header("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(answer.header("Cache-Control"), "no-store");
  }
}

TEST(HttpServer, TakesRequestsThatComeInOnePacketOrByteByByte) {
  StubServer server;
  const std::string request = kGenerateRequest + "\r\n{ab}";
  HttpClient both(server.port());
  both.send(request + request);
  EXPECT_EQ(both.receive().body, "POST /api/v1/generate {ab}");
  EXPECT_EQ(both.receive().body, "POST /api/v1/generate {ab}");
  HttpClient drops(server.port());
  for (const char letter : request) drops.send(std::string(1, letter));
  EXPECT_EQ(drops.receive().body, "POST /api/v1/generate {ab}");
}

TEST(HttpServer, InvitesABodyThatWaitsForIt) {
  StubServer server;
  HttpClient client(server.port());
  client.send(kGenerateRequest + "Expect: 100-Continue\r\n\r\n");
  EXPECT_EQ(client.receive_head().status, 100);
  client.send("{ab}");
  EXPECT_EQ(client.receive().body, "POST /api/v1/generate {ab}");
  HttpClient refused(server.port());
  refused.send(kUpload + "Content-Length: 52428800\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(refused.receive_head().status, 413);
}

TEST(HttpServer, AnswersHeadWithTheLengthAlone) {
  StubServer server;
  HttpClient client(server.port());
  client.send("HEAD /api/v1/model HTTP/1.1\r\nHost: localhost\r\n\r\n" + kModel + "\r\n");
  const HttpAnswer head = client.receive(/*has_body=*/false), whole = client.receive();
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.head, whole.head);
  EXPECT_EQ(whole.body, "GET /api/v1/model ");
  client.send("HEAD /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n" + kModel + "\r\n");
  EXPECT_EQ(client.receive(/*has_body=*/false).status, 404);
  EXPECT_EQ(client.receive().status, 200);
}

TEST(HttpServer, ServesThePageWithAPolicy) {
  StubServer server;
  HttpClient client(server.port());
  const HttpAnswer page = client.get("/");
  ASSERT_EQ(page.status, 200);
  EXPECT_EQ(page.header("Content-Type"), "text/html; charset=utf-8");
  EXPECT_NE(page.header("Content-Security-Policy").find("default-src 'self'"), std::string::npos);
  EXPECT_EQ(client.get("/", "If-None-Match: " + page.header("ETag") + "\r\n").status, 304);
  for (const PageFile& file : page_files())
    EXPECT_EQ(client.get(std::string(file.path)).body, file.bytes) << file.path;
  EXPECT_EQ(server.handler.handled, 0);
}

TEST(HttpServer, KnowsNoOtherAddresses) {
  StubServer server;
  for (const char* path :
       {"/index.html", "/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
        "/web/index.html", "/api/v1/", "/api/v1/model/", "/api/v1/model%00", "/api/v1/../v1/model",
        "/config.json", "/api/v1/files?path=/etc/passwd", "http://localhost/", "*"})
    EXPECT_EQ(HttpClient(server.port()).get(path).status, 404) << path;
}

TEST(HttpServer, RefusesOtherHostsSitesAndMethods) {
  StubServer server;
  const int port = server.port();
  EXPECT_EQ(status_of(port, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 403);
  EXPECT_EQ(status_of(port, "GET / HTTP/1.1\r\n\r\n"), 403);
  EXPECT_EQ(status_of(port, "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"), 403);
  EXPECT_EQ(status_of(port, "GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n"), 200);
  EXPECT_EQ(status_of(port, kModel + "Sec-Fetch-Site: cross-site\r\n\r\n"), 403);
  EXPECT_EQ(status_of(port, kModel + "Sec-Fetch-Site: same-site\r\n\r\n"), 403);
  EXPECT_EQ(status_of(port, kModel + "Sec-Fetch-Site: same-origin\r\n\r\n"), 200);
  EXPECT_EQ(status_of(port, "DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n"), 405);
  EXPECT_EQ(status_of(port, "OPTIONS /api/v1/generate HTTP/1.1\r\nHost: localhost\r\n\r\n"), 405);
  EXPECT_EQ(HttpClient(port).post("/api/v1/generate", "{}", "text/plain").status, 415);
  EXPECT_EQ(HttpClient(port).get("/api/v1/generate").header("Allow"), "POST");
  EXPECT_EQ(server.handler.handled, 1);
}

TEST(HttpServer, LetsNamesInThatWereAllowed) {
  HttpOptions options;
  options.allowed_hosts = {"explorer.example", "fd00::1"};
  StubServer server(options);
  const int port = server.port();
  EXPECT_EQ(status_of(port, "GET / HTTP/1.1\r\nHost: Explorer.example:1\r\n\r\n"), 200);
  EXPECT_EQ(status_of(port, "GET / HTTP/1.1\r\nHost: [fd00::1]:8080\r\n\r\n"), 200);
  EXPECT_EQ(status_of(port, "GET / HTTP/1.1\r\nHost: fd00\r\n\r\n"), 403);
}

TEST(HttpServer, RefusesBodiesBeforeReadingThem) {
  StubServer server;
  const int port = server.port();
  // The answer comes although no byte of the body was sent.
  EXPECT_EQ(status_of(port, kUpload + "Content-Length: 52428800\r\n\r\n"), 413);
  EXPECT_EQ(status_of(port, kUpload + "\r\n"), 411);
  EXPECT_EQ(status_of(port, kUpload + "Transfer-Encoding: chunked\r\n\r\n"), 411);
  EXPECT_EQ(status_of(port, kUpload + "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\n"), 411);
  EXPECT_EQ(status_of(port, kUpload + "Content-Length: -5\r\n\r\n"), 400);
  EXPECT_EQ(status_of(port, kUpload + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n"), 400);
  EXPECT_EQ(status_of(port, kUpload + "Content-Length: 99999999999999999999\r\n\r\n"), 400);
  EXPECT_EQ(status_of(port, kUpload + "X: " + std::string(20000, 'x') + "\r\n\r\n"), 400);
  EXPECT_EQ(status_of(port, kModel + "Content-Length: 5\r\n\r\n"), 413);
  // And it reaches a client that sends all of it.
  EXPECT_EQ(
      status_of(port, kUpload + "Content-Length: 52428800\r\n\r\n" + std::string(100000, 'x')),
      413);
  EXPECT_EQ(server.handler.handled, 0);
}

TEST(HttpServer, TakesLittleOfAHugeUpload) {
  StubServer server;
  HttpClient client(server.port());
  client.send(kUpload + "Content-Length: 52428800\r\n\r\n");
  const std::string piece(1 << 16, 'x');
  int sent = 0;
  while (sent < 800 && client.send(piece)) ++sent;
  EXPECT_LT(sent, 400);  // some are in the buffers of both sides
  EXPECT_TRUE(server.answers());
}

TEST(HttpServer, TakesNothingBehindABodyThatItRefusedForARequest) {
  StubServer server;
  for (const char* wrong :
       {"Content-Length: 52428800\r\n\r\n", "Transfer-Encoding: gzip\r\n\r\n"}) {
    HttpClient client(server.port());
    client.send(kUpload + wrong + kModel + "\r\n");
    const HttpAnswer answer = client.receive();
    EXPECT_GE(answer.status, 411);
    EXPECT_EQ(answer.header("Connection"), "close");
    EXPECT_TRUE(client.is_closed());
  }
  EXPECT_EQ(server.handler.handled, 0);
}

TEST(HttpServer, KeepsAConnectionUnlessAskedToCloseIt) {
  StubServer server;
  HttpClient client(server.port());
  EXPECT_EQ(client.get("/nothing").status, 404);  // a refusal without a body is an answer as others
  EXPECT_EQ(client.get("/api/v1/model").header("Connection"), "keep-alive");
  EXPECT_EQ(client.get("/api/v1/model", "Connection: close\r\n").header("Connection"), "close");
  EXPECT_TRUE(client.is_closed());
  HttpClient old(server.port());
  old.send("GET /api/v1/model HTTP/1.0\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(old.receive().status, 200);
  EXPECT_TRUE(old.is_closed());
}

TEST(HttpServer, AnswersAClientThatSaysThatNothingMoreComes) {
  StubServer server;
  HttpClient whole(server.port()), cut(server.port());
  whole.send(kModel + "\r\n");
  whole.finish();
  EXPECT_EQ(whole.receive().status, 200);
  EXPECT_TRUE(whole.is_closed());
  cut.send(kGenerateRequest + "\r\n{a");
  cut.finish();
  EXPECT_EQ(cut.receive().status, 400);
  EXPECT_TRUE(cut.is_closed());
}

TEST(HttpServer, AnswersOthersWhileHandlersWork) {
  StubServer server(patient(32));
  Clients waiting;
  for (int i = 0; i < 30; ++i) {
    waiting.push_back(std::make_unique<HttpClient>(server.port()));
    waiting.back()->send(kWait);
  }
  ASSERT_TRUE(wait_for_work(server, 30));
  EXPECT_TRUE(server.answers());
  server.handler.release();
  for (auto& client : waiting) EXPECT_EQ(client->receive().status, 200);
}

TEST(HttpServer, AnswersOthersWhileClientsAreSlow) {
  StubServer server(patient(8));
  Clients slow;
  for (int i = 0; i < 40; ++i) {
    slow.push_back(std::make_unique<HttpClient>(server.port()));
    slow.back()->send("POST /api/v1/generate HTTP/1.1\r\nHost: localh");
  }
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(server.answers());
}

TEST(HttpServer, AnswersOthersWhileClientsDoNotTakeTheirAnswers) {
  StubServer server(patient(4));
  Clients deaf;
  for (int i = 0; i < 4; ++i) {
    deaf.push_back(std::make_unique<HttpClient>(server.port()));
    deaf.back()->send("GET /api/v1/large HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(wait_until([&] { return server.answers(); }));
}

TEST(HttpServer, AnswersOthersWhileLargeBodiesAreAnnouncedAndNotSent) {
  StubServer server(patient(128));
  const std::string upload = kUpload + "Content-Length: 8388608\r\n\r\n";
  Clients silent;
  for (int i = 0; i < 4; ++i) {
    silent.push_back(std::make_unique<HttpClient>(server.port()));
    silent.back()->send(upload);
  }
  EXPECT_TRUE(wait_until([&] {  // all memory for large bodies is taken
    HttpClient client(server.port());
    client.send(upload);
    client.finish();
    return client.receive().status == 503;
  }));
  EXPECT_TRUE(server.answers());
  silent.clear();
  const std::string body(8 << 20, 'x');
  EXPECT_TRUE(wait_until([&] {  // and it comes back
    return HttpClient(server.port()).post("/api/v1/encode", body, "image/png").status == 200;
  }));
}

TEST(HttpServer, GivesTheMemoryOfABodyBackWithItsAnswer) {
  HttpOptions options;
  options.bytes_in_flight = 1 << 20;
  StubServer server(options);
  HttpClient client(server.port());
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(client.post("/api/v1/encode", std::string(700000, 'x'), "image/png").status, 200);
  EXPECT_EQ(client.post("/api/v1/encode", std::string(1100000, 'x'), "image/png").status, 503);
}

TEST(HttpServer, EndsTheConnectionThatHasBeenSilentLongest) {
  StubServer server(patient(3));
  HttpClient first(server.port());
  EXPECT_EQ(first.get("/api/v1/model").status, 200);
  HttpClient second(server.port());
  EXPECT_EQ(second.get("/api/v1/model").status, 200);
  HttpClient third(server.port());
  EXPECT_EQ(third.get("/api/v1/model").status, 200);
  EXPECT_EQ(first.get("/api/v1/model").status, 200);
  EXPECT_TRUE(server.answers());  // a fourth
  EXPECT_TRUE(second.is_closed());
  EXPECT_EQ(first.get("/api/v1/model").status, 200);
  EXPECT_EQ(third.get("/api/v1/model").status, 200);
}

TEST(HttpServer, SaysThatItIsBusyWhenAllConnectionsAreWorkedFor) {
  StubServer server(patient(2));
  HttpClient first(server.port()), second(server.port());
  first.send(kWait);
  second.send(kWait);
  ASSERT_TRUE(wait_for_work(server, 2));
  HttpClient third(server.port());
  const HttpAnswer busy = third.receive();
  EXPECT_EQ(busy.status, 503);
  EXPECT_EQ(busy.header("Retry-After"), "1");
  server.handler.release();
  EXPECT_EQ(first.receive().status, 200);
  EXPECT_EQ(second.receive().status, 200);
  EXPECT_TRUE(server.answers());
}

TEST(HttpServer, EndsRequestsThatTakeTooLong) {
  HttpOptions options;
  options.request_seconds = options.idle_seconds = 0.3;
  StubServer server(options);
  HttpClient silent(server.port()), dripping(server.port()), used(server.port());
  EXPECT_EQ(used.get("/api/v1/model").status, 200);
  bool open = true;
  for (int i = 0; i < 3000 && open; ++i) {  // a byte every 20 ms keeps no request alive
    open = dripping.send("G");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_FALSE(open);
  EXPECT_TRUE(silent.is_closed());
  EXPECT_TRUE(used.is_closed());
  EXPECT_TRUE(wait_until([&] { return server.answers(); }));  // a busy machine may take longer too
}

TEST(HttpServer, EndsAnswersThatAreNotTaken) {
  HttpOptions options;
  options.request_seconds = 0.3;
  StubServer server(options);
  const int64_t files = open_files();
  HttpClient client(server.port());
  client.send("GET /api/v1/large HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(wait_until([&] { return server.handler.handled == 1; }));
  ASSERT_TRUE(wait_until([&] { return open_files() == files + 1; }));  // the client's alone
  const HttpAnswer answer = client.receive();
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.body.empty());  // only what was in the buffers of both sides has come
}

TEST(HttpServer, TakesAsLongForAnAnswerAsItNeeds) {
  HttpOptions options;
  options.request_seconds = options.idle_seconds = 0.1;
  StubServer server(options);
  HttpClient client(server.port());
  client.send(kWait);
  ASSERT_TRUE(wait_for_work(server, 1));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  server.handler.release();
  EXPECT_EQ(client.receive().status, 200);
}

TEST(HttpServer, SurvivesAHandlerThatThrows) {
  StubServer server;
  HttpClient client(server.port());
  EXPECT_EQ(client.get("/api/v1/throw").status, 500);
  EXPECT_EQ(client.get("/api/v1/model").status, 200);
}

TEST(HttpServer, AnswersWhatIsUnderWayWhenItEnds) {
  auto server = std::make_unique<StubServer>(patient(8));
  HttpClient working(server->port()), idle(server->port()), begun(server->port());
  EXPECT_EQ(idle.get("/api/v1/model").status, 200);
  begun.send("GET /api");
  working.send(kWait + kWait);
  ASSERT_TRUE(wait_for_work(*server, 1));
  server->end();
  EXPECT_TRUE(idle.is_closed());
  EXPECT_TRUE(begun.is_closed());
  server->handler.release();
  const HttpAnswer answer = working.receive();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("Connection"), "close");
  EXPECT_TRUE(working.is_closed());
  const int port = server->port();
  server.reset();
  EXPECT_THROW(HttpClient{port}, std::runtime_error);
}

TEST(HttpServer, SaysWhenAPortIsTaken) {
  StubServer server;
  StubHandler handler;
  HttpOptions options;
  options.port = server.port();
  const std::string message = message_of([&] { HttpServer second(handler, options); });
  EXPECT_NE(message.find("--port"), std::string::npos) << message;
  options.host = "192.0.2.1";  // for documents: no machine has it
  EXPECT_NE(message_of([&] { HttpServer second(handler, options); }).find("192.0.2.1"),
            std::string::npos);
}

}  // namespace
}  // namespace facet
