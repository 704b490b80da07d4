#pragma once
// What became of a model call, to be awaited by a test.

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/model/client.hpp"
#include "tests/http/client_recorder.hpp"

namespace ratchet::tests {

class ModelRecord {
 public:
  struct Seen {
    std::vector<std::string> deltas;  ///< "index:text"
    std::string text;                 ///< of all deltas
    std::optional<ModelOutcome> outcome;
    std::size_t ends = 0;

    ModelReply reply() const {
      if (const auto* reply = std::get_if<ModelReply>(&outcome.value().value)) return *reply;
      ADD_FAILURE() << "the call failed: " << std::get<ModelFailure>(outcome->value).text;
      return {};
    }

    ModelFailure failure() const {
      if (const auto* failure = std::get_if<ModelFailure>(&outcome.value().value)) return *failure;
      ADD_FAILURE() << "the call did not fail";
      return {};
    }
  };

  ModelClient::OnDelta on_delta() {
    return [state = state_](std::uint64_t index, std::string_view text) {
      state->change([&](Seen& seen) {
        EXPECT_EQ(index, seen.text.size());
        seen.deltas.push_back(std::to_string(index) + ":" + std::string(text));
        seen.text += text;
      });
    };
  }

  ModelClient::OnDone on_done() {
    return [state = state_](ModelOutcome outcome) {
      state->change([&](Seen& seen) {
        seen.outcome = std::move(outcome);
        ++seen.ends;
      });
    };
  }

  Seen await_done() {
    return await([](const Seen& seen) { return seen.outcome.has_value(); });
  }

  Seen await_text(std::size_t bytes) {
    return await([bytes](const Seen& seen) { return seen.text.size() >= bytes; });
  }

  Seen seen() {
    return await([](const Seen&) { return true; });
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    Seen seen;

    template <class Change>
    void change(Change&& change) {
      {
        const std::lock_guard lock(mutex);
        change(seen);
      }
      changed.notify_all();
    }
  };

  template <class Condition>
  Seen await(Condition&& condition) {
    std::unique_lock lock(state_->mutex);
    if (!state_->changed.wait_for(lock, std::chrono::minutes(1), [&] { return condition(state_->seen); }))
      ADD_FAILURE() << "never happened; text so far: " << state_->seen.text;
    return state_->seen;
  }

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace ratchet::tests
