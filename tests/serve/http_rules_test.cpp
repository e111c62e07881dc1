// The rules of the server as functions: names of hosts, addresses with their parameters, and which
// rule a request breaks first.
#include "facet/serve/http_rules.h"

#include <gtest/gtest.h>

#include "facet/serve/http_options.h"
#include "tests/serve/stub_server.h"

namespace facet {
namespace {

RequestHead get(const std::string& target) {
  RequestHead head;
  head.method = "GET";
  head.target = target;
  head.host = "localhost:8080";
  return head;
}

/// 0 where the request is taken.
int refusal(const RequestHead& head) {
  const StubHandler handler;
  const CheckedRequest checked = RequestRules(handler, {"explorer.example"}).check(head);
  return checked.refusal ? checked.refusal->status : 0;
}

ApiRequest parsed(const std::string& target) {
  ApiRequest request;
  parse_target(target, request);
  return request;
}

TEST(HttpRules, NameAHostWithoutItsPort) {
  EXPECT_EQ(host_name("127.0.0.1:8080"), "127.0.0.1");
  EXPECT_EQ(host_name("LocalHost"), "localhost");
  EXPECT_EQ(host_name("[::1]:8080"), "::1");
  EXPECT_EQ(host_name("[::1]"), "::1");
  EXPECT_EQ(host_name("FD00::1"), "fd00::1");
  EXPECT_EQ(host_name(""), "");
  EXPECT_EQ(host_name("["), "");
}

TEST(HttpRules, DecodeAddressesAndParameters) {
  using Query = std::multimap<std::string, std::string>;
  EXPECT_EQ(parsed("/a%20b+c").path, "/a b+c");
  EXPECT_EQ(parsed("/%2e%2E/%").path, "/../%");
  EXPECT_EQ(parsed("/%zz%4").path, "/%zz%4");
  EXPECT_EQ(parsed("/%+1%-1").path, "/%+1%-1");
  EXPECT_EQ(parsed("/%00").path, std::string("/\0", 2));
  EXPECT_TRUE(parsed("/a?").query.empty());
  EXPECT_EQ(parsed("/?a=1&b=x%26y+z&a=2").query, (Query{{"a", "1"}, {"a", "2"}, {"b", "x&y z"}}));
  EXPECT_EQ(parsed("/?&a&=b&c=d=e?f").query, (Query{{"a", ""}, {"", "b"}, {"c", "d=e?f"}}));
}

TEST(HttpRules, GiveTheHandlerARequestWithoutItsBody) {
  const StubHandler handler;
  RequestHead head = get("/api/v1/model?a=1");
  head.method = "HEAD";
  head.if_none_match = "\"x\"";
  const CheckedRequest checked = RequestRules(handler, {}).check(head);
  ASSERT_FALSE(checked.refusal);
  EXPECT_EQ(checked.request.method, "GET");
  EXPECT_EQ(checked.request.path, "/api/v1/model");
  EXPECT_EQ(checked.request.query.count("a"), 1u);
  EXPECT_EQ(checked.request.if_none_match, "\"x\"");
}

TEST(HttpRules, TellWhyARequestIsRefused) {
  EXPECT_EQ(refusal(get("/")), 0);
  EXPECT_EQ(refusal(get("/api/v1/model")), 0);
  EXPECT_EQ(refusal(get("/api/v1/nothing")), 404);
  EXPECT_EQ(refusal(get("/api/v1/generate")), 405);
  EXPECT_EQ(refusal(get("/" + std::string(9000, 'a'))), 414);
  RequestHead head = get("/");
  head.host = "Explorer.example:80";
  EXPECT_EQ(refusal(head), 0);
  head.host = "other.example";
  EXPECT_EQ(refusal(head), 403);
  head = get("/");
  head.length = 0;
  EXPECT_EQ(refusal(head), 0);
  head.length = 1;
  EXPECT_EQ(refusal(head), 413);
}

TEST(HttpRules, KeepPagesOfOtherSitesFromTheApiButNotFromThePage) {
  RequestHead head = get("/api/v1/model");
  head.fetch_site = "none";  // typed by the user
  EXPECT_EQ(refusal(head), 0);
  head.fetch_site = "cross-site";
  EXPECT_EQ(refusal(head), 403);
  head.target = "/";  // a link elsewhere leads here
  EXPECT_EQ(refusal(head), 0);
}

TEST(HttpRules, AskTheHandlerAboutBodies) {
  RequestHead head = get("/api/v1/generate");
  head.method = "POST";
  EXPECT_EQ(refusal(head), 411);
  head.length = 5;
  EXPECT_EQ(refusal(head), 415);
  head.content_type = "application/json; charset=utf-8";
  EXPECT_EQ(refusal(head), 0);
  head.encoded = true;
  EXPECT_EQ(refusal(head), 411);
  head.encoded = false;
  head.length = (1 << 20) + 1;
  EXPECT_EQ(refusal(head), 413);
  head.length = ~uint64_t{0};
  EXPECT_EQ(refusal(head), 413);
}

TEST(HttpRules, ATokenIsNeededAndStandsForTheName) {
  const StubHandler handler;
  const RequestRules rules(handler, {}, "0123456789abcdef");
  const auto status = [&](const RequestHead& head) {
    const CheckedRequest checked = rules.check(head);
    return checked.refusal ? checked.refusal->status : 0;
  };
  RequestHead head = get("/");
  head.host = "any.example";
  EXPECT_EQ(status(head), 401);
  head.authorization = "Bearer 0123456789abcdef";
  EXPECT_EQ(status(head), 0);
  head.authorization = "Bearer 0123456789abcdee";
  EXPECT_EQ(status(head), 401);
  head.authorization = "";
  head.target = "/?token=0123456789abcdef";
  EXPECT_EQ(status(head), 0);
  const auto moved = rules.page_answer(rules.check(head).request);
  ASSERT_TRUE(moved.has_value());
  EXPECT_EQ(moved->status, 303);
  const std::string cookie = moved->headers.at("Set-Cookie");
  EXPECT_NE(cookie.find("HttpOnly; SameSite=Strict"), std::string::npos);
  head.target = "/app.mjs";
  EXPECT_EQ(status(head), 401);
  head.cookie = "other=1; " + cookie.substr(0, cookie.find(';'));
  EXPECT_EQ(status(head), 0);
}

TEST(HttpRules, KnowWhichAddressesOnlyThisMachineReaches) {
  for (const char* host : {"127.0.0.1", "127.3.2.1", "localhost", "::1"})
    EXPECT_TRUE(is_loopback(host)) << host;
  for (const char* host : {"0.0.0.0", "::", "192.168.1.2", "example.org"})
    EXPECT_FALSE(is_loopback(host)) << host;
  EXPECT_EQ(random_token().size(), 32u);
  EXPECT_NE(random_token(), random_token());
}

}  // namespace
}  // namespace facet
