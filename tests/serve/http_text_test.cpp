// Requests as text: the parser takes any split of the bytes, stops after the head, and refuses what
// is no HTTP; an answer's head says what the client needs to find its end.
#include "facet/serve/http_text.h"

#include <gtest/gtest.h>

namespace facet {
namespace {

const std::string kPost =
    "POST /a?b=c HTTP/1.1\r\nhost: here\r\nContent-Type: text/x\r\nContent-Length: 5\r\n"
    "Expect: 100-Continue\r\n\r\n";

/// The head of a request that is complete.
RequestHead head_of(const std::string& text) {
  RequestParser parser;
  for (size_t place = 0; !parser.has_head();) {
    const size_t used = parser.take(std::string_view(text).substr(place));
    if (used == 0) throw std::runtime_error("needs more");
    place += used;
  }
  return parser.head();
}

/// The status that a request is refused with; 0 where it is not, or needs more.
int refusal(const std::string& text) {
  RequestParser parser;
  try {
    for (size_t place = 0, used = 1; used > 0 && place < text.size() && !parser.is_done();)
      place += used = parser.take(std::string_view(text).substr(place));
  } catch (const ApiError& error) {
    return error.status;
  }
  return 0;
}

TEST(RequestParser, StopsAfterTheHeadAndAfterTheBody) {
  RequestParser parser;
  std::string text = kPost + "helloGET / HTTP/1.1\r\n";
  const auto take = [&] { text.erase(0, parser.take(text)); };
  while (!parser.has_head()) take();
  EXPECT_EQ(text.substr(0, 5), "hello");
  EXPECT_FALSE(parser.is_done());
  take();
  EXPECT_TRUE(parser.is_done());
  EXPECT_EQ(parser.take_body(), "hello");
  EXPECT_EQ(text, "GET / HTTP/1.1\r\n");
}

TEST(RequestParser, TakesByteAfterByte) {
  RequestParser parser;
  std::string waiting;
  for (const char letter : kPost + "hello") {
    EXPECT_FALSE(parser.is_done());
    waiting += letter;
    waiting.erase(0, parser.take(waiting));
  }
  ASSERT_TRUE(parser.is_done());
  EXPECT_EQ(parser.head().target, "/a?b=c");
  EXPECT_EQ(parser.take_body(), "hello");
}

TEST(RequestParser, TellsWhatTheHeadersSay) {
  const RequestHead head = head_of(kPost);
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.host, "here");
  EXPECT_EQ(head.content_type, "text/x");
  EXPECT_EQ(head.length, 5u);
  EXPECT_TRUE(head.awaits_continue);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_FALSE(head.encoded);
  const RequestHead old = head_of("GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_FALSE(old.keep_alive);
  EXPECT_FALSE(old.awaits_continue);
  EXPECT_FALSE(old.length);
  EXPECT_TRUE(head_of("GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n").encoded);
  EXPECT_TRUE(head_of("GET / HTTP/1.1\r\nContent-Encoding: gzip\r\n\r\n").encoded);
  EXPECT_FALSE(head_of("GET / HTTP/1.1\r\nConnection: close\r\n\r\n").keep_alive);
  EXPECT_EQ(head_of("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n").host, "");
}

TEST(RequestParser, RefusesWhatIsNoRequest) {
  EXPECT_EQ(refusal("hello\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET / HTTP/2.0\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET /\x01 HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nA b\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
            400);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\n\r\n"), 0);
}

TEST(RequestParser, BoundsTheHead) {
  const auto request = [](size_t target, size_t header) {
    return "GET /" + std::string(target, 'a') + " HTTP/1.1\r\nA: " + std::string(header, 'b') +
           "\r\n\r\n";
  };
  EXPECT_EQ(refusal(request(100, kMostHeadBytes - 200)), 0);
  EXPECT_EQ(refusal(request(100, kMostHeadBytes)), 400);
  EXPECT_EQ(refusal(request(kMostHeadBytes, 100)), 400);
  EXPECT_EQ(refusal(request(kMostHeadBytes - 1000, kMostHeadBytes - 1000)), 400);
  EXPECT_EQ(refusal(std::string(kMostHeadBytes + 1, 'G')), 400);
}

TEST(RequestParser, TakesNoMemoryForABodyThatDoesNotCome) {
  const RequestHead head =
      head_of("POST / HTTP/1.1\r\nContent-Length: 18446744073709551614\r\n\r\n");
  EXPECT_EQ(head.length, 18446744073709551614u);
}

TEST(AnswerHead, SaysWhereTheAnswerEnds) {
  ApiResponse answer;
  answer.body = "{}";
  answer.headers["ETag"] = "\"1\"";
  EXPECT_EQ(answer_head(answer, true),
            "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nETag: \"1\"\r\n"
            "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n");
  answer.body = "";
  answer.status = 304;
  EXPECT_EQ(answer_head(answer, false),
            "HTTP/1.1 304 Not Modified\r\nConnection: close\r\nETag: \"1\"\r\n\r\n");
}

}  // namespace
}  // namespace facet
