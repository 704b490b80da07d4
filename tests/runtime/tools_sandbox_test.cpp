// What a call of a sandboxed tool executes, and what the end of that means to the run.

#include <gmock/gmock.h>

#include "runtime/limits.hpp"
#include "runtime/tools/sandbox_tools.hpp"

namespace ratchet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SandboxCommand command(std::string_view tool, std::string_view args) {
  const auto made = command_of(*find_builtin(tool), args);
  EXPECT_TRUE(made) << made.error().text;
  return made.value_or(SandboxCommand{});
}

ToolManifest program(std::string_view more) {
  auto tool = parse_manifest(
      R"({"name":"scan","description":"Scans.","input_schema":{"type":"object","properties":{"code":{"type":"string"}}},)"
      R"("command":{"argv":["/usr/bin/scan","-"]},)" +
      std::string(more) + "}");
  EXPECT_TRUE(tool) << tool.error().text;
  return *tool;
}

TEST(SandboxTools, AShellGetsItsCommandAsOneArgument) {
  const auto bash = command("bash", R"j({"command":"ls 'a b'; echo $(id)"})j");
  EXPECT_THAT(bash.argv, ElementsAre("/bin/bash", "-c", "ls 'a b'; echo $(id)"));
  EXPECT_EQ(bash.directory, "/workspace");
  EXPECT_TRUE(bash.one_stream);
  EXPECT_EQ(bash.timeout_ms, 120'000);
  EXPECT_EQ(command("bash", R"({"command":"x","timeout_ms":5})").timeout_ms, 5);
}

TEST(SandboxTools, PythonGetsItsProgramOnItsInput) {
  const auto python = command("run_python", R"j({"code":"print(1)"})j");
  EXPECT_THAT(python.argv, ElementsAre("/usr/bin/python3", "-"));
  EXPECT_EQ(python.input, "print(1)");
}

TEST(SandboxTools, TheFileToolsAreTheGuestsOwn) {
  const std::string guest(guest_program);
  EXPECT_THAT(command("read_file", R"({"path":"-rf","offset":3})").argv,
              ElementsAre(guest, "read", "-rf", "3", "1000000"));
  const auto write = command("write_file", R"({"path":"a/b","content":"x\n"})");
  EXPECT_THAT(write.argv, ElementsAre(guest, "write", "a/b"));
  EXPECT_EQ(write.input, "x\n");
  const auto edit = command("edit_file", R"({"path":"a","old":"\u00e4b","new":"c","all":true})");
  EXPECT_THAT(edit.argv, ElementsAre(guest, "edit", "a", "1", "3"));
  EXPECT_EQ(edit.input,
            "\xc3\xa4"
            "bc");
  EXPECT_THAT(command("list_files", "{}").argv, ElementsAre(guest, "list", ".", "*"));
}

TEST(SandboxTools, AProgramOfATeamGetsItsArgumentsAsJsonAndNoFiles) {
  const auto made =
      command_of(program(R"("kind":"command","side_effects":"none","timeout_ms":700)"), R"({"code":"x"})");
  ASSERT_TRUE(made);
  EXPECT_THAT(made->argv, ElementsAre("/usr/bin/scan", "-"));
  EXPECT_EQ(made->input, R"({"code":"x"})");
  EXPECT_EQ(made->directory, "/");
  EXPECT_EQ(made->timeout_ms, 700);
  EXPECT_FALSE(made->one_stream) << "its answer is what it says on its standard output";
  EXPECT_EQ(command_of(program(R"("kind":"code","side_effects":"none")"), R"({"code":"x"})")->input, "x");
}

TEST(SandboxTools, WhatCannotBeHandedOverIsInvalid) {
  const std::string zero = R"({"path":"a\u0000b"})";
  EXPECT_EQ(command_of(*find_builtin("read_file"), zero).error().code, ErrorCode::invalid_request);
  const std::string longer = R"({"command":")" + std::string(limits::sandbox_arg_bytes_max + 1, 'x') + "\"}";
  EXPECT_THAT(command_of(*find_builtin("bash"), longer).error().text, HasSubstr("write long text to a file"));
}

TEST(SandboxTools, TheEndOfACommandIsAResult) {
  const ToolManifest& bash = *find_builtin("bash");
  const SandboxCommand ls = command("bash", R"({"command":"ls"})");
  const auto told = [&](SandboxEnd end) { return interpret(bash, ls, end); };
  SandboxEnd end;
  end.kind = SandboxEnd::Kind::exited;
  end.out = "a\xff";
  EXPECT_EQ(told(end).status, ToolStatus::ok);
  EXPECT_EQ(told(end).text, "a\xef\xbf\xbd") << "what is not UTF-8 shows";
  end.code = 2;
  EXPECT_EQ(told(end).status, ToolStatus::error);
  EXPECT_THAT(told(end).text, HasSubstr("\n[exit status 2]"));
  end.kind = SandboxEnd::Kind::out_of_memory;
  EXPECT_EQ(told(end).status, ToolStatus::killed);
  EXPECT_THAT(told(end).text, HasSubstr("1024 MB of memory"));
  end.kind = SandboxEnd::Kind::timed_out;
  EXPECT_EQ(told(end).status, ToolStatus::timeout);
  EXPECT_EQ(told(end).kind, CallEnd::Kind::ended);
}

TEST(SandboxTools, AnEndThatNobodySawLeavesASideEffectInDoubt) {
  const ToolManifest acts = program(R"("kind":"command","side_effects":"internal")");
  const auto command = command_of(acts, "{}");
  using Kind = SandboxEnd::Kind;
  for (const auto kind :
       {Kind::timed_out, Kind::out_of_memory, Kind::too_much_output, Kind::killed, Kind::lost}) {
    SandboxEnd end;
    end.kind = kind;
    EXPECT_EQ(interpret(acts, *command, end).kind, CallEnd::Kind::unknown) << static_cast<int>(kind);
  }
  SandboxEnd failed;
  failed.kind = Kind::exited;
  failed.code = 1;
  failed.out = "half of it";
  failed.err = "no such order";
  EXPECT_EQ(interpret(acts, *command, failed).kind, CallEnd::Kind::ended) << "it says itself that it failed";
  EXPECT_EQ(interpret(acts, *command, failed).text, "half of it\nno such order\n[exit status 1]");
}

}  // namespace
}  // namespace ratchet
