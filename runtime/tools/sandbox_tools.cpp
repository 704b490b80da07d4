#include "runtime/tools/sandbox_tools.hpp"

#include <algorithm>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/json/dom.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

constexpr std::int64_t default_timeout_ms = 120'000;
constexpr std::int64_t read_bytes_default = 1'000'000;

/// The arguments of a call, which a schema has seen.
class Args {
 public:
  explicit Args(const boost::json::object& args) : args_(args) {}

  std::string text(std::string_view name, std::string_view fallback = {}) const {
    const auto* value = args_.if_contains(name);
    return std::string(value && value->is_string() ? std::string_view(value->get_string()) : fallback);
  }

  std::int64_t integer(std::string_view name, std::int64_t fallback) const {
    const auto* value = args_.if_contains(name);
    boost::system::error_code not_a_number;
    const auto number = value ? value->to_number<std::int64_t>(not_a_number) : fallback;
    return not_a_number ? fallback : number;
  }

  bool flag(std::string_view name) const {
    const auto* value = args_.if_contains(name);
    return value && value->is_bool() && value->get_bool();
  }

 private:
  const boost::json::object& args_;
};

SandboxCommand file_tool(std::vector<std::string> words) {
  SandboxCommand command;
  command.argv = std::move(words);
  command.argv.insert(command.argv.begin(), std::string(guest_program));
  return command;
}

SandboxCommand builtin(std::string_view tool, const Args& args) {
  SandboxCommand command;
  if (tool == "bash") {
    command.argv = {"/bin/bash", "-c", args.text("command")};
    command.one_stream = true;
  } else if (tool == "run_python") {
    command.argv = {"/usr/bin/python3", "-"};
    command.input = args.text("code");
    command.one_stream = true;
  } else if (tool == "read_file") {
    command = file_tool({"read",
                         args.text("path"),
                         std::to_string(args.integer("offset", 0)),
                         std::to_string(args.integer("limit", read_bytes_default))});
  } else if (tool == "write_file") {
    command = file_tool({"write", args.text("path")});
    command.input = args.text("content");
  } else if (tool == "edit_file") {
    const std::string old_text = args.text("old");
    command =
        file_tool({"edit", args.text("path"), args.flag("all") ? "1" : "0", std::to_string(old_text.size())});
    command.input = old_text + args.text("new");
  } else {
    RATCHET_ENSURE(tool == "list_files", "every built-in tool of a sandbox is known here");
    command = file_tool({"list", args.text("path", "."), args.text("pattern", "*")});
  }
  return command;
}

Result<void> check(const SandboxCommand& command) {
  for (const std::string& word : command.argv) {
    if (word.size() > limits::sandbox_arg_bytes_max)
      return fail(ErrorCode::invalid_request,
                  fmt::format("an argument is longer than {} bytes; write long text to a file first",
                              limits::sandbox_arg_bytes_max));
    if (word.find('\0') != std::string::npos)
      return fail(ErrorCode::invalid_request, "an argument cannot hold a zero byte");
  }
  if (command.input.size() > limits::sandbox_input_bytes_max)
    return fail(
        ErrorCode::invalid_request,
        fmt::format("the input is longer than {} bytes; do it in parts", limits::sandbox_input_bytes_max));
  return {};
}

/// What the command wrote, and then `note` on a line of its own.
std::string told(const SandboxEnd& end, std::string_view note) {
  std::string text = sanitize_utf8(end.out);
  const auto append_line = [&](std::string_view line) {
    if (line.empty()) return;
    if (!text.empty() && text.back() != '\n') text += '\n';
    text += line;
  };
  append_line(sanitize_utf8(end.err));
  append_line(note);
  return text;
}

CallEnd result(ToolStatus status, std::string text) {
  CallEnd end;
  end.status = status;
  end.text = std::move(text);
  return end;
}

/// Nobody saw how it ended, or it was ended: what a tool with side effects has done by then is not known.
CallEnd cut_short(const ToolManifest& tool, ToolStatus status, const SandboxEnd& end, std::string note) {
  CallEnd told_end = result(status, told(end, note));
  if (tool.side_effects != SideEffects::none) told_end.kind = CallEnd::Kind::unknown;
  return told_end;
}

}  // namespace

Result<SandboxCommand> command_of(const ToolManifest& tool, std::string_view args_json) {
  const auto parsed = parse_json(args_json);
  if (!parsed || !parsed->is_object())
    return fail(ErrorCode::invalid_request, "expected the arguments as one JSON object");
  const Args args(parsed->get_object());
  SandboxCommand command;
  switch (tool.kind) {
    case ToolKind::builtin:
      command = builtin(tool.name, args);
      break;
    case ToolKind::code:
      command.argv = tool.argv;
      command.input = args.text("code");
      command.one_stream = true;
      break;
    default:
      command.argv = tool.argv;
      command.input = args_json;
  }
  // A tool of a team that has no files of its own starts where it can do nothing.
  if (tool.filesystem == Filesystem::none) command.directory = "/";
  const std::int64_t wanted_ms =
      tool.kind == ToolKind::builtin
          ? args.integer("timeout_ms", std::min(default_timeout_ms, tool.timeout_ms))
          : tool.timeout_ms;
  command.timeout_ms = std::clamp<std::int64_t>(wanted_ms, 1, tool.timeout_ms);
  command.output_bytes_max = limits::sandbox_output_bytes_max;
  if (auto fits = check(command); !fits) return tl::unexpected(fits.error());
  return command;
}

std::string input_path(const ArtifactId& artifact) {
  return "input/" + to_string(artifact);
}

SandboxCommand put_command(const WorkspaceFile& file) {
  SandboxCommand command = file_tool({"write", file.path});
  command.input = file.bytes;
  command.output_bytes_max = limits::error_text_bytes_max;
  return command;
}

CallEnd interpret(const ToolManifest& tool, const SandboxCommand& command, const SandboxEnd& end) {
  using Kind = SandboxEnd::Kind;
  switch (end.kind) {
    case Kind::exited:
      // What a team's tool says beside its result is for its log, unless it failed.
      if (end.code == 0) return result(ToolStatus::ok, sanitize_utf8(end.out));
      return result(ToolStatus::error, told(end, fmt::format("[exit status {}]", end.code)));
    case Kind::signalled:
      return result(ToolStatus::error, told(end, fmt::format("[ended by signal {}]", end.code)));
    case Kind::not_started:
      return result(ToolStatus::error,
                    fmt::format("{} could not be started (error {}).", command.argv.front(), end.code));
    case Kind::timed_out:
      return cut_short(
          tool,
          ToolStatus::timeout,
          end,
          fmt::format("[ended after {} ms: its time was over. Do it in smaller parts, or allow more "
                      "time.]",
                      command.timeout_ms));
    case Kind::out_of_memory:
      return cut_short(tool,
                       ToolStatus::killed,
                       end,
                       fmt::format("[ended: it needed more than its {} MB of memory. Work on less at once.]",
                                   tool.limits.memory_mb));
    case Kind::too_much_output:
      return cut_short(
          tool,
          ToolStatus::killed,
          end,
          fmt::format("[ended: it wrote more than {} bytes. Write to a file, and look at parts of "
                      "it.]",
                      command.output_bytes_max));
    case Kind::killed:
      return cut_short(tool, ToolStatus::killed, end, "[ended: it was stopped]");
    case Kind::lost:
      return cut_short(
          tool, ToolStatus::killed, end, fmt::format("[ended: its sandbox broke down: {}]", end.why));
  }
  RATCHET_ENSURE(false, "every end of a command is named");
  return {};
}

}  // namespace ratchet
