#include "runtime/tools/call_end.hpp"

#include <fmt/format.h>

namespace ratchet {

namespace {

CallEnd answered(const ToolManifest& tool, const ConnectorOutcome& outcome) {
  CallEnd end;
  if (outcome.status >= 200 && outcome.status < 300) {
    end.text = outcome.body;
    return end;
  }
  const bool gateway = outcome.status == 502 || outcome.status == 504;
  if (gateway && tool.side_effects != SideEffects::none) {
    end.kind = CallEnd::Kind::unknown;
    end.text = fmt::format("a gateway answered {}: the call may have happened", outcome.status);
    return end;
  }
  end.status = ToolStatus::error;
  end.text = fmt::format("The service answered with HTTP status {}.\n{}", outcome.status, outcome.body);
  return end;
}

CallEnd checked(const ConnectorOutcome& outcome) {
  CallEnd end;
  if (outcome.status >= 200 && outcome.status < 300) {
    end.text = outcome.body;
  } else if (outcome.status == 404) {
    end.kind = CallEnd::Kind::did_not_happen;
  } else {
    end.kind = CallEnd::Kind::unknown;
    end.text = fmt::format("the status check was answered with HTTP status {}", outcome.status);
  }
  return end;
}

CallEnd unanswered(const ToolManifest& tool, Execution execution, const ConnectorOutcome& outcome) {
  CallEnd end;
  end.text = outcome.text;
  const bool may_have_acted =
      outcome.kind == ConnectorOutcome::Kind::unknown && tool.side_effects != SideEffects::none;
  // A status check that got no answer says nothing about the call that it asks for.
  if (execution == Execution::status_check || may_have_acted) {
    end.kind = CallEnd::Kind::unknown;
  } else if (outcome.kind == ConnectorOutcome::Kind::unknown) {
    end.status = ToolStatus::timeout;
    end.text = fmt::format("No answer came: {}. Try again, ask for less, or go on without it.", outcome.text);
  } else {
    end.status = ToolStatus::error;
    end.text = fmt::format("The call was not made: {}. Take another way, or go on without it.", outcome.text);
  }
  return end;
}

}  // namespace

CallEnd interpret(const ToolManifest& tool, Execution execution, const ConnectorOutcome& outcome) {
  CallEnd end = outcome.kind != ConnectorOutcome::Kind::answered ? unanswered(tool, execution, outcome)
                : execution == Execution::status_check           ? checked(outcome)
                                                                 : answered(tool, outcome);
  end.latency_ms = outcome.latency_ms;
  return end;
}

}  // namespace ratchet
