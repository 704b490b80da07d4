#include "runtime/context/handover.hpp"

#include <fmt/format.h>

namespace ratchet {

namespace {

constexpr std::string_view request =
    R"([Hand-over] Your context is nearly full. What was said so far, but for the task itself and the newest
messages, is about to be removed from it, and a note that you write now takes its place. Whoever goes on has
only this note. Reply with the note alone and call no tool. Use these headings, each of them, in this order:

## Goal
What the user wants, in the user's own words, with every condition and every later change.
## Decisions
What was decided, and why; what was tried and does not work.
## Files
Files, artifacts and other things that matter, by their exact names, paths and ids, and what is in them.
## State
What is done, and what its results were. Do not list it as open.
## Open items
What is not done yet.
## Key facts
Names, numbers, dates, ids, addresses and quotes that may be needed again, exactly as they were.
## Next
The very next thing to do.)";

constexpr std::string_view repeated =
    "\n\nYour last reply could not be used: it called a tool, was empty, or was longer than what it "
    "replaces. "
    "Write the note, as text, and keep it short.";

}  // namespace

std::string note_request(bool again) {
  return again ? fmt::format("{}{}", request, repeated) : std::string(request);
}

std::string hand_over_message(std::string_view note, std::string_view record) {
  std::string text = fmt::format(
      "[What was said here was removed to make room. This is the hand-over note that you wrote on it. Go on "
      "from it; do not do again what is done.]\n\n{}",
      note);
  if (!record.empty())
    text += fmt::format("\n\n[What follows is from the record of this run and exact.]{}", record);
  return text;
}

}  // namespace ratchet
