#include "runtime/tools/sandbox_tools.hpp"

namespace ratchet {

namespace {

/// A change of a byte here is a change of the tool's digest.
constexpr std::string_view manifests[] = {
    R"json({
      "name": "bash",
      "kind": "builtin", "tier": 3, "side_effects": "none", "filesystem": "workspace", "timeout_ms": 600000,
      "memory_mb": 1024, "pids": 128, "cpus": 2,
      "description": "Run a command with bash in /workspace, a directory that keeps its files from call to call. Returns what it wrote, standard error too, and its exit status if that is not 0. There is no network. Inputs of this run that you were shown only the head of are there whole, as input/<artifact_id>. When the command ends, everything that it started in the background ends too.",
      "input_schema": {
        "type": "object", "additionalProperties": false, "required": ["command"],
        "properties": {
          "command": {"type": "string", "minLength": 1, "maxLength": 100000, "description": "The command line."},
          "timeout_ms": {"type": "integer", "minimum": 1, "maximum": 600000, "default": 120000, "description": "After so many milliseconds it is ended."}
        }
      }
    })json",
    R"json({
      "name": "edit_file",
      "kind": "builtin", "tier": 3, "side_effects": "none", "filesystem": "workspace", "timeout_ms": 30000,
      "memory_mb": 1024, "pids": 128, "cpus": 2,
      "description": "Replace text in a file of /workspace. The old text has to stand in the file exactly as given, white space included, and only once unless all is true: give enough of what is around it.",
      "input_schema": {
        "type": "object", "additionalProperties": false, "required": ["path", "old", "new"],
        "properties": {
          "path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "The file, relative to /workspace."},
          "old": {"type": "string", "minLength": 1, "description": "The text to replace."},
          "new": {"type": "string", "description": "The text in its place."},
          "all": {"type": "boolean", "default": false, "description": "Replace every occurrence."}
        }
      }
    })json",
    R"json({
      "name": "list_files",
      "kind": "builtin", "tier": 3, "side_effects": "none", "filesystem": "workspace", "timeout_ms": 30000,
      "memory_mb": 1024, "pids": 128, "cpus": 2, "repeatable": true,
      "description": "List the files of a directory of /workspace, with their sizes; directories end with /. With a pattern such as *.py only what matches is listed, and with **/*.py that of all directories below.",
      "input_schema": {
        "type": "object", "additionalProperties": false,
        "properties": {
          "path": {"type": "string", "minLength": 1, "maxLength": 4096, "default": ".", "description": "The directory, relative to /workspace."},
          "pattern": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "Which names to list."}
        }
      }
    })json",
    R"json({
      "name": "read_file",
      "kind": "builtin", "tier": 3, "side_effects": "none", "filesystem": "workspace", "timeout_ms": 30000,
      "memory_mb": 1024, "pids": 128, "cpus": 2,
      "description": "Read a file of /workspace, from an offset on if it is long.",
      "input_schema": {
        "type": "object", "additionalProperties": false, "required": ["path"],
        "properties": {
          "path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "The file, relative to /workspace."},
          "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "The first byte to read."},
          "limit": {"type": "integer", "minimum": 1, "maximum": 16000000, "default": 1000000, "description": "How many bytes to read at most."}
        }
      }
    })json",
    R"json({
      "name": "run_python",
      "kind": "builtin", "tier": 3, "side_effects": "none", "filesystem": "workspace", "timeout_ms": 600000,
      "memory_mb": 1024, "pids": 128, "cpus": 2,
      "description": "Run a Python 3 program in /workspace, a directory that keeps its files from call to call. Returns what it wrote, standard error too, and its exit status if that is not 0. Each call is a new process: variables are not kept. There is no network. Inputs of this run that you were shown only the head of are there whole, as input/<artifact_id>.",
      "input_schema": {
        "type": "object", "additionalProperties": false, "required": ["code"],
        "properties": {
          "code": {"type": "string", "minLength": 1, "description": "The text of the program."},
          "timeout_ms": {"type": "integer", "minimum": 1, "maximum": 600000, "default": 120000, "description": "After so many milliseconds it is ended."}
        }
      }
    })json",
    R"json({
      "name": "write_file",
      "kind": "builtin", "tier": 3, "side_effects": "none", "filesystem": "workspace", "timeout_ms": 30000,
      "memory_mb": 1024, "pids": 128, "cpus": 2,
      "description": "Write a file of /workspace, in place of what it held; directories that are missing are made. To change part of a file, use edit_file.",
      "input_schema": {
        "type": "object", "additionalProperties": false, "required": ["path", "content"],
        "properties": {
          "path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "The file, relative to /workspace."},
          "content": {"type": "string", "description": "The whole of its new content."}
        }
      }
    })json",
};

}  // namespace

std::span<const std::string_view> sandbox_tool_manifests() {
  return manifests;
}

}  // namespace ratchet
