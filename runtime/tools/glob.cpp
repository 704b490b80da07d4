#include "runtime/tools/glob.hpp"

#include <cstddef>

namespace ratchet {

bool glob_matches(std::string_view glob, std::string_view text) {
  // Where a literal fails, the last star takes one character more; no star needs to be taken back further.
  std::size_t g = 0, t = 0, star = std::string_view::npos, star_end = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      star_end = t;
    } else if (g < glob.size() && glob[g] == text[t]) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++star_end;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string_view::npos;
}

}  // namespace ratchet
