// The program inside of every sandbox: process 1, and the tools that read and write its files.

#include <cstdlib>
#include <string_view>

#include "sandbox/guest/files.hpp"
#include "sandbox/guest/serve.hpp"
#include "sandbox/guest/system.hpp"

namespace {

[[noreturn]] void run_serve(int argc, char** argv) {
  using namespace ratchet::guest;
  ServeOptions options;
  for (int at = 2; at < argc; ++at) {
    const std::string_view word = argv[at];
    const char* value = at + 1 < argc ? argv[at + 1] : nullptr;
    if (word == "--same-user") {
      options.identity.mode = Mode::same_user;
    } else if (word == "--plain") {
      options.identity.mode = Mode::plain;
    } else if (word == "--uid" && value != nullptr) {
      options.identity.uid = static_cast<uid_t>(std::strtoul(argv[++at], nullptr, 10));
    } else if (word == "--proxy-port" && value != nullptr) {
      options.proxy_port = static_cast<std::uint16_t>(std::strtoul(argv[++at], nullptr, 10));
    } else {
      die("usage: ratchet-guest serve [--uid N] [--same-user | --plain] [--proxy-port N]");
    }
  }
  ratchet::guest::serve(options);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace ratchet::guest;
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "serve") run_serve(argc, argv);
  if (verb == "read" && argc == 5) return read_tool(argv[2], argv[3], argv[4]);
  if (verb == "write" && argc == 3) return write_tool(argv[2]);
  if (verb == "edit" && argc == 5) return edit_tool(argv[2], argv[3], argv[4]);
  if (verb == "list" && argc == 4) return list_tool(argv[2], argv[3]);
  die("usage: ratchet-guest serve | read PATH OFFSET LIMIT | write PATH | edit PATH ALL OLD_BYTES | list "
      "PATH PATTERN");
}
