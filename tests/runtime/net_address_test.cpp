// Addresses: what is read as one, what each is for, and where a call may end.

#include <gtest/gtest.h>

#include "runtime/net/address.hpp"
#include "runtime/net/reach.hpp"

namespace ratchet {
namespace {

using Kind = AddressKind;

TEST(IpAddress, IsReadInItsOneSpellingOnly) {
  for (const char* text : {"192.0.2.7", "0.0.0.0", "255.255.255.255"}) {
    ASSERT_TRUE(parse_ip(text)) << text;
    EXPECT_EQ(to_string(*parse_ip(text)), text);
  }
  EXPECT_EQ(to_string(*parse_ip("[2001:DB8:0::0:1]")), "2001:db8::1");
  EXPECT_EQ(parse_ip("::1"), parse_ip("[::1]"));
  EXPECT_NE(parse_ip("::7f00:1"), parse_ip("127.0.0.1"));
  for (const std::string text : {"",
                                 "localhost",
                                 "127.1",
                                 "2130706433",
                                 "0x7f.0.0.1",
                                 "0177.0.0.1",
                                 "127.0.0.1.",
                                 " 127.0.0.1",
                                 "127.0.0.256",
                                 "[127.0.0.1]",
                                 "fe80::1%eth0",
                                 "[::1",
                                 "::1]",
                                 "[]",
                                 "[::1]:80",
                                 "127.0.0.1:80",
                                 "1::2::3"})
    EXPECT_FALSE(parse_ip(text)) << text;
  EXPECT_FALSE(parse_ip(std::string("127.0.0.1\0.example", 18)));
}

TEST(IpAddress, IsUnmappedWhereTheKernelWouldDialIPv4) {
  EXPECT_EQ(unmapped(*parse_ip("::ffff:10.0.0.1")), parse_ip("10.0.0.1"));
  for (const char* text : {"10.0.0.1", "::10.0.0.1", "::fffe:10.0.0.1", "1::ffff:10.0.0.1", "2002:a00:1::"})
    EXPECT_EQ(unmapped(*parse_ip(text)), parse_ip(text));
}

/// The first and the last address of each block, and their neighbours outside.
TEST(IpAddress, IsOfTheKindThatTheRegistriesSay) {
  const std::pair<const char*, Kind> table[] = {
      {"0.0.0.0", Kind::unspecified},
      {"0.255.255.255", Kind::unspecified},
      {"1.0.0.0", Kind::global},
      {"9.255.255.255", Kind::global},
      {"10.0.0.0", Kind::private_use},
      {"10.255.255.255", Kind::private_use},
      {"11.0.0.0", Kind::global},
      {"100.63.255.255", Kind::global},
      {"100.64.0.0", Kind::shared},
      {"100.100.100.200", Kind::shared},
      {"100.127.255.255", Kind::shared},
      {"100.128.0.0", Kind::global},
      {"126.255.255.255", Kind::global},
      {"127.0.0.0", Kind::loopback},
      {"127.255.255.255", Kind::loopback},
      {"128.0.0.0", Kind::global},
      {"168.63.129.15", Kind::global},
      {"168.63.129.16", Kind::link_local},
      {"168.63.129.17", Kind::global},
      {"169.253.255.255", Kind::global},
      {"169.254.0.0", Kind::link_local},
      {"169.254.169.254", Kind::link_local},
      {"169.254.255.255", Kind::link_local},
      {"169.255.0.0", Kind::global},
      {"172.15.255.255", Kind::global},
      {"172.16.0.0", Kind::private_use},
      {"172.31.255.255", Kind::private_use},
      {"172.32.0.0", Kind::global},
      {"191.255.255.255", Kind::global},
      {"192.0.0.0", Kind::reserved},
      {"192.0.0.192", Kind::reserved},
      {"192.0.0.255", Kind::reserved},
      {"192.0.1.0", Kind::global},
      {"192.0.2.0", Kind::documentation},
      {"192.0.2.255", Kind::documentation},
      {"192.0.3.0", Kind::global},
      {"192.31.196.1", Kind::global},
      {"192.88.99.0", Kind::reserved},
      {"192.88.100.0", Kind::global},
      {"192.167.255.255", Kind::global},
      {"192.168.0.0", Kind::private_use},
      {"192.168.255.255", Kind::private_use},
      {"192.169.0.0", Kind::global},
      {"198.17.255.255", Kind::global},
      {"198.18.0.0", Kind::benchmarking},
      {"198.19.255.255", Kind::benchmarking},
      {"198.20.0.0", Kind::global},
      {"198.51.100.0", Kind::documentation},
      {"198.51.101.0", Kind::global},
      {"203.0.113.255", Kind::documentation},
      {"203.0.114.0", Kind::global},
      {"223.255.255.255", Kind::global},
      {"224.0.0.0", Kind::multicast},
      {"239.255.255.255", Kind::multicast},
      {"240.0.0.0", Kind::reserved},
      {"255.255.255.255", Kind::reserved},
      {"::", Kind::unspecified},
      {"::1", Kind::loopback},
      {"::2", Kind::embedded},
      {"::127.0.0.1", Kind::embedded},
      {"::1:0:0:0", Kind::reserved},
      {"::ffff:127.0.0.1", Kind::loopback},
      {"::ffff:169.254.169.254", Kind::link_local},
      {"::ffff:8.8.8.8", Kind::global},
      {"64:ff9b::10.1.2.3", Kind::private_use},
      {"64:ff9b::169.254.169.254", Kind::link_local},
      {"64:ff9b::8.8.8.8", Kind::global},
      {"64:ff9b:0:0:0:1::", Kind::reserved},
      {"64:ff9b:1::8.8.8.8", Kind::embedded},
      {"64:ff9b:2::", Kind::reserved},
      {"100::", Kind::reserved},
      {"1fff:ffff::", Kind::reserved},
      {"2001::1", Kind::embedded},
      {"2001:0:ffff::", Kind::embedded},
      {"2001:1::1", Kind::reserved},
      {"2001:2::", Kind::benchmarking},
      {"2001:20::", Kind::reserved},
      {"2001:1ff:ffff::", Kind::reserved},
      {"2001:200::", Kind::global},
      {"2001:db8::", Kind::documentation},
      {"2001:db8:ffff::", Kind::documentation},
      {"2001:db9::", Kind::global},
      {"2002:808:808::1", Kind::embedded},
      {"2002:a9fe:a9fe::", Kind::embedded},
      {"2003::", Kind::global},
      {"2606:4700::1111", Kind::global},
      {"3ffe::", Kind::global},
      {"3fff::", Kind::documentation},
      {"3fff:fff::", Kind::documentation},
      {"3fff:1000::", Kind::global},
      {"4000::", Kind::reserved},
      {"5f00::1", Kind::reserved},
      {"fbff::", Kind::reserved},
      {"fc00::", Kind::unique_local},
      {"fd00:ec2::254", Kind::unique_local},
      {"fdff:ffff::", Kind::unique_local},
      {"fe00::", Kind::reserved},
      {"fe80::1", Kind::link_local},
      {"febf:ffff::", Kind::link_local},
      {"fec0::", Kind::private_use},
      {"ff00::", Kind::multicast},
      {"ff02::1", Kind::multicast},
      {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Kind::multicast},
  };
  for (const auto& [text, kind] : table) {
    ASSERT_TRUE(parse_ip(text)) << text;
    EXPECT_EQ(name(kind_of(*parse_ip(text))), name(kind)) << text;
  }
}

TEST(Reach, IsSaidByHowTheTargetWasNamed) {
  const std::vector<std::string> private_hosts = {"shop.internal:8080"};
  EXPECT_EQ(reach_of("127.0.0.1:9000", private_hosts), Reach::anywhere);
  EXPECT_EQ(reach_of("[fd00::1]:9000", private_hosts), Reach::anywhere);
  EXPECT_EQ(reach_of("localhost:9000", private_hosts), Reach::loopback);
  EXPECT_EQ(reach_of("shop.internal:8080", private_hosts), Reach::inside);
  for (const char* endpoint : {"shop.internal:8081",
                               "a.shop.internal:8080",
                               "shop.internal.:8080",
                               "shop.internal",
                               "localhost.:9000",
                               "a.localhost:9000",
                               "127.1:9000",
                               "2130706433:9000",
                               "127.0.0.1.example:9000"})
    EXPECT_EQ(reach_of(endpoint, private_hosts), Reach::global) << endpoint;
}

TEST(Reach, HoldsOfTheAddressThatIsDialled) {
  struct Row {
    const char* address;
    bool global, loopback, inside;
  };

  const Row table[] = {{"8.8.8.8", true, false, true},
                       {"2606:4700::1111", true, false, true},
                       {"127.0.0.1", false, true, true},
                       {"::1", false, true, true},
                       {"::ffff:127.0.0.1", false, true, true},
                       {"10.0.0.1", false, false, true},
                       {"100.64.0.1", false, false, true},
                       {"fd00::1", false, false, true},
                       {"64:ff9b::10.0.0.1", false, false, true},
                       {"0.0.0.0", false, false, false},
                       {"169.254.169.254", false, false, false},
                       {"64:ff9b::169.254.169.254", false, false, false},
                       {"fe80::1", false, false, false},
                       {"2002:a00:1::", false, false, false},
                       {"192.0.2.1", false, false, false},
                       {"ff02::1", false, false, false}};
  for (const auto& [text, global, loopback, inside] : table) {
    const IpAddress address = *parse_ip(text);
    EXPECT_EQ(reaches(Reach::global, address), global) << text;
    EXPECT_EQ(reaches(Reach::loopback, address), loopback) << text;
    EXPECT_EQ(reaches(Reach::inside, address), inside) << text;
    EXPECT_TRUE(reaches(Reach::anywhere, address)) << text;
  }
}

}  // namespace
}  // namespace ratchet
