#pragma once
// The file tools: programs of a few lines each that run as the tool's user inside the sandbox, like any
// command. A path that is not absolute is below the directory they are started in, which is /workspace. What
// goes wrong is one line on standard error that a model can act on, and exit status 1.

#include <string>
#include <string_view>

namespace ratchet::guest {

/// Writes at most `limit` bytes of the file from `offset` on, and where there is more says so in a last line.
int read_tool(const std::string& path, std::string_view offset, std::string_view limit);

/// The file holds standard input, all of it or what it held before. Makes directories that are missing.
int write_tool(const std::string& path);

/// Puts new text in the place of old text, which is there exactly once unless `all` is 1. Standard input is
/// `old_bytes` of the old text, then the new text.
int edit_tool(const std::string& path, std::string_view all, std::string_view old_bytes);

/// One line for each entry of the directory that matches: `name size`, `name/` or `name -> target`, sorted.
/// With
/// `**` in the pattern of all directories below, but for those whose name begins with a dot.
int list_tool(const std::string& path, std::string_view pattern);

/// Prints `path: what` and returns 1. Control characters are escaped, so that it is one line.
int complain(std::string_view path, std::string_view what);

std::string printable(std::string_view bytes);

/// Of a whole number; -1 for anything else.
long long number(std::string_view text);

bool write_all(int fd, std::string_view bytes);

}  // namespace ratchet::guest
