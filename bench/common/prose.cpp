#include "bench/common/prose.hpp"

#include <array>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace ratchet::bench {

namespace {

constexpr unsigned variants = 256;

constexpr std::array<std::string_view, 96> words{
    "the",       "order",     "was",      "shipped",  "from",      "depot",    "and",       "customer",
    "asked",     "whether",   "invoice",  "number",   "matches",   "amount",   "paid",      "in",
    "full",      "by",        "transfer", "on",       "Tuesday",   "a",        "second",    "parcel",
    "left",      "warehouse", "with",     "carrier",  "tracking",  "says",     "delivered", "to",
    "neighbour", "because",   "nobody",   "answered", "door",      "refund",   "of",        "delivery",
    "fee",       "is",        "possible", "within",   "fourteen",  "days",     "after",     "arrival",
    "I",         "will",      "look",     "up",       "status",    "next",     "compare",   "it",
    "record",    "system",    "shows",    "no",       "complaint", "yet",      "but",       "earlier",
    "one",       "closed",    "without",  "reply",    "team",      "should",   "call",      "back",
    "before",    "friday",    "address",  "changed",  "since",     "last",     "purchase",  "so",
    "label",     "may",       "be",       "wrong",    "stock",     "at",       "region",    "low",
    "another",   "shipment",  "expected", "early",    "morning",   "priority", "normal",    "today"};

std::size_t variant_of(std::uint64_t run, unsigned step) {
  return (run * 31 + step * 7) % variants;
}

std::string sentence(std::mt19937& random, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    text += words[random() % words.size()];
    text += random() % 12 == 0 ? ". " : " ";
  }
  text.resize(bytes);
  return text;
}

std::string records(std::mt19937& random, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes)
    text += fmt::format("order {} 2026-{:02}-{:02} {:3}.{:02} EUR {}\n",
                        100'000 + random() % 900'000,
                        1 + random() % 12,
                        1 + random() % 28,
                        random() % 900,
                        random() % 100,
                        sentence(random, 40 + random() % 60));
  text.resize(bytes);
  return text;
}

template <class Make>
std::vector<std::string> make_variants(unsigned seed, Make&& make) {
  std::mt19937 random(seed);
  std::vector<std::string> texts;
  for (unsigned i = 0; i < variants; ++i)
    texts.push_back(make(random));
  return texts;
}

}  // namespace

std::string_view said(std::uint64_t run, unsigned step) {
  static const auto texts = make_variants(1, [](auto& random) { return sentence(random, said_bytes); });
  return texts[variant_of(run, step)];
}

std::string_view found(std::uint64_t run, unsigned step) {
  static const auto texts = make_variants(2, [](auto& random) { return records(random, result_bytes); });
  return texts[variant_of(run, step)];
}

std::string filler(unsigned seed, std::size_t bytes) {
  std::mt19937 random(seed);
  return sentence(random, bytes);
}

}  // namespace ratchet::bench
