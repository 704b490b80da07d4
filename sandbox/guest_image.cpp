#include "sandbox/guest_image.hpp"

// RATCHET_GUEST_PATH is the program that was just built. The compiler knows no way to embed a file; the
// assembler does.
__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    "ratchet_guest_begin:\n"
    ".incbin \"" RATCHET_GUEST_PATH
    "\"\n"
    "ratchet_guest_end:\n"
    ".popsection\n");

extern "C" {
extern const char ratchet_guest_begin[];
extern const char ratchet_guest_end[];
}

namespace ratchet::sandbox {

std::string_view guest_image() {
  return {ratchet_guest_begin, static_cast<std::size_t>(ratchet_guest_end - ratchet_guest_begin)};
}

}  // namespace ratchet::sandbox
