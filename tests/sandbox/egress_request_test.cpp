// What a proxy makes of requests, honest and not.

#include <gmock/gmock.h>

#include "sandbox/egress/request.hpp"

namespace ratchet::sandbox {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string outcome(std::string_view head) {
  const auto request = parse_proxy_request(head);
  if (!request) return std::to_string(request.error().status);
  return (request->tunnel ? "tunnel to " : "plain to ") + request->endpoint;
}

std::string connect(std::string_view target) {
  return outcome("CONNECT " + std::string(target) + " HTTP/1.1\r\n\r\n");
}

std::string get(std::string_view target, std::string_view fields = {}) {
  return outcome("GET " + std::string(target) + " HTTP/1.1\r\n" + std::string(fields) + "\r\n");
}

TEST(ProxyRequest, ATargetHasOneSpelling) {
  EXPECT_EQ(connect("API.Example.:443"), "tunnel to api.example:443");
  EXPECT_EQ(connect("192.0.2.1:443"), "tunnel to 192.0.2.1:443");
  EXPECT_EQ(connect("[::FFFF:127.0.0.1]:80"), "tunnel to [::ffff:127.0.0.1]:80");
  EXPECT_EQ(connect("0x7f000001:80"), "tunnel to 0x7f000001:80") << "a name, which no list has";
  EXPECT_EQ(get("http://API.example/a?b=c"), "plain to api.example:80");
  EXPECT_EQ(get("HTTP://api.example:8080"), "plain to api.example:8080");
}

TEST(ProxyRequest, WhatCouldBeUnderstoodInTwoWaysIsRefused) {
  for (const char* target : {"api.example",
                             "api.example:",
                             "api.example:0",
                             "api.example:0443",
                             "api.example:65536",
                             "api.example:44 3",
                             "user@api.example:443",
                             "api.example:443/x",
                             "http://api.example:443",
                             ":443",
                             "..:443 ",
                             "a b:443",
                             "[::1:443",
                             "[127.0.0.1]:443",
                             "[::1%25lo]:80",
                             "ex\xc3\xa4mple.com:443",
                             "api.example:443:80"})
    EXPECT_EQ(connect(target), "400") << target;
  for (const char* target : {"/a",
                             "*",
                             "https://api.example/",
                             "ftp://api.example/",
                             "http://",
                             "http:///a",
                             "http://user@api.example/",
                             "http://api.example@evil.example/",
                             "http://api.example/#a",
                             "http://api.example:80:80/"})
    EXPECT_EQ(get(target), "400") << target;
}

TEST(ProxyRequest, AnotherHostThanTheTargetIsALie) {
  EXPECT_EQ(get("http://api.example/", "Host: api.example\r\n"), "plain to api.example:80");
  EXPECT_EQ(get("http://api.example/", "Host: API.EXAMPLE.:80\r\n"), "plain to api.example:80");
  EXPECT_EQ(get("http://api.example/", "Host: evil.example\r\n"), "400");
  EXPECT_EQ(get("http://api.example/", "Host: api.example:81\r\n"), "400");
  EXPECT_EQ(get("http://api.example/", "Host: api.example\r\nHost: evil.example\r\n"), "400");
  EXPECT_EQ(outcome("CONNECT api.example:443 HTTP/1.1\r\nHost: api.example\r\n\r\n"),
            "tunnel to api.example:443");
  EXPECT_EQ(outcome("CONNECT api.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n"), "400");
}

TEST(ProxyRequest, AHeadIsLinesThatEndAsTheyShould) {
  EXPECT_EQ(outcome("GET http://a.example/ HTTP/1.1\nHost: a.example\n\n"), "400");
  EXPECT_EQ(get("http://a.example/", "A: b\nX: y\r\n"), "400");
  EXPECT_EQ(get("http://a.example/", "A: b\rX: y\r\n"), "400");
  EXPECT_EQ(get("http://a.example/", std::string_view("A: b\0c\r\n", 8)), "400");
  EXPECT_EQ(get("http://a.example/", "A : b\r\n"), "400");
  EXPECT_EQ(get("http://a.example/", " A: b\r\n"), "400") << "no folded lines";
  EXPECT_EQ(get("http://a.example/", "A\r\n"), "400");
  EXPECT_EQ(outcome("GET http://a.example/ HTTP/2\r\n\r\n"), "505");
  EXPECT_EQ(outcome("GET  http://a.example/ HTTP/1.1\r\n\r\n"), "400");
  EXPECT_EQ(outcome(""), "400");
}

TEST(ProxyRequest, TheLengthOfABodyIsToldOnce) {
  EXPECT_EQ(get("http://a.example/", "Content-Length: 1\r\nContent-Length: 1\r\n"), "400");
  EXPECT_EQ(get("http://a.example/", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), "400");
  EXPECT_EQ(get("http://a.example/", "Content-Length: +1\r\n"), "400");
  EXPECT_EQ(get("http://a.example/", "Content-Length: 99999999999999999999\r\n"), "400");
  EXPECT_EQ(get("http://a.example/", "Transfer-Encoding: gzip, chunked\r\n"), "400");
}

TEST(ProxyRequest, TheOriginIsSentARequestOfItsOwnAndAskedToClose) {
  const auto request = parse_proxy_request(
      "POST http://A.example/p?q HTTP/1.1\r\nhost: a.example\r\nProxy-Authorization: x\r\nX-Mine: 1\r\n"
      "Connection: keep-alive, X-Hop\r\nX-Hop: 2\r\nContent-Length: 3\r\n\r\n");
  ASSERT_TRUE(request);
  EXPECT_EQ(
      request->head,
      "POST /p?q HTTP/1.1\r\nHost: a.example\r\nX-Mine: 1\r\nContent-Length: 3\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(
      parse_proxy_request("GET http://a.example?x HTTP/1.1\r\nConnection: content-length\r\nContent-Length: "
                          "3\r\n\r\n")
          ->head,
      HasSubstr("GET /?x HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\n"));
}

std::size_t taken(RequestBody body, std::string_view bytes, bool* broken = nullptr) {
  std::size_t whole = body.take(bytes);
  if (broken) *broken = body.broken();
  return whole;
}

TEST(ProxyRequest, WhatFollowsTheBodyIsNoPartOfIt) {
  EXPECT_EQ(taken(RequestBody::none(), "GET /"), 0u);
  EXPECT_EQ(taken(RequestBody::of_length(3), "abcGET /"), 3u);
  const std::string chunked = "3;x=y\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nT: v\r\n\r\n";
  EXPECT_EQ(taken(RequestBody::chunked(), chunked + "GET /"), chunked.size());
  RequestBody slowly = RequestBody::chunked();
  std::size_t each = 0;
  for (const char c : chunked + "GET /")
    each += slowly.take({&c, 1});
  EXPECT_EQ(each, chunked.size()) << "however it arrives";
  for (const char* bad :
       {"x\r\n", "-1\r\n", "\r\n", "3\nabc\r\n", "1\r\nabc\r\n", "ffffffffffffffffff\r\n"}) {
    bool broken = false;
    taken(RequestBody::chunked(), bad, &broken);
    EXPECT_TRUE(broken) << bad;
  }
}

}  // namespace
}  // namespace ratchet::sandbox
