#pragma once
// With what a replay answers calls that it does not execute: the results of the record, taken by tool and
// arguments in the order in which the record made such calls, or a mock. Folded along with the run, like its
// context; a new activation folds it from the same events.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/event/definitions.hpp"
#include "runtime/replay/rule.hpp"

namespace ratchet {

/// What was called in the record after the cut, and what came of it. Immutable.
class RecordedCalls {
 public:
  /// `original`: the record, from its first event on.
  RecordedCalls(std::span<const Event> original, std::uint32_t from_step);

  /// The result of the `ordinal`th call (from 0) with this key. None: there was no such call, or nothing was
  /// executed for it, so that its result says nothing about the tool. `asks`: a person would be asked about
  /// the call now, and somebody's no is an answer to that.
  const ToolResult* find(const std::string& key, std::size_t ordinal, bool asks) const;

 private:
  std::map<std::string, std::vector<ToolResult>> results_;
};

class ReplayAnswers {
 public:
  /// `record`: none, where there is no record to answer from; `why_none` says why, for the model.
  ReplayAnswers(const RunStarted& started,
                std::shared_ptr<const RecordedCalls> record,
                std::string why_none,
                bool environment);

  void apply(const Event& event);

  struct Answer {
    std::optional<ToolResult> recorded;
    std::string mock;                               ///< where `source` is mock
    std::string why;                                ///< neither: what the model is told
    ResultSource source = ResultSource::execution;  ///< execution: there is neither
  };

  /// How the call is answered; none: it is executed. `fresh`: events that are decided and not folded yet.
  std::optional<Answer> answer(std::string_view call_id,
                               const ToolManifest& tool,
                               bool asks,
                               std::span<const Event> fresh) const;

  const ReplayRule& rule() const { return rule_; }

 private:
  /// A call of the last reply: what it is known by, and how many such ones came before it.
  struct Place {
    std::string key;
    std::size_t ordinal = 0;
  };

  using Places = std::map<std::string, Place, std::less<>>;

  Places places_of(const ModelCompleted& completed) const;

  ReplayRule rule_;
  std::shared_ptr<const RecordedCalls> record_;
  std::string why_none_;
  std::map<std::string, std::string, std::less<>> mocks_;
  std::map<std::string, std::size_t> seen_;  ///< calls of earlier replies, by key
  Places batch_;                             ///< those of the last reply
};

}  // namespace ratchet
