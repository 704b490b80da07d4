#include "bench/load/approver.hpp"

#include <fmt/format.h>

#include "bench/load/json.hpp"

namespace ratchet::bench {

namespace {

constexpr std::int64_t look_every_ns = 200'000'000;

}  // namespace

void Approver::look() {
  testbed_.server().send(
      {.target = "/v1/approvals?status=pending&limit=200"}, [this](const HttpReply& reply) {
        const auto count = size_at(reply.body, "/items").value_or(0);
        for (std::size_t i = 0; i < count; ++i) {
          const auto run = text_at(reply.body, fmt::format("/items/{}/run_id", i));
          const auto approval = text_at(reply.body, fmt::format("/items/{}/approval_id", i));
          if (run && approval) approve(*run, *approval);
        }
        look_again();
      });
}

void Approver::look_again() {
  if (!looking_) return;
  testbed_.loop().call_at(now_ns() + look_every_ns, [this] { look(); });
}

void Approver::approve(const std::string& run_id, const std::string& approval_id) {
  testbed_.server().send({.method = "POST",
                          .target = fmt::format("/v1/runs/{}/approvals/{}", run_id, approval_id),
                          .body = R"({"decision":"approve"})"},
                         [this](const HttpReply& reply) {
                           if (reply.status == 200) {
                             ++approved_;
                           } else {
                             ++troubles_[text_at(reply.body, "/code").value_or("no answer to an approval")];
                           }
                         });
}

}  // namespace ratchet::bench
