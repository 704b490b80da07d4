#include "runtime/result.hpp"

#include <cstdio>
#include <cstdlib>

namespace ratchet {

namespace {

struct CodeRow {
  std::string_view name;
  int status;
  std::string_view title;
};

constexpr CodeRow rows[] = {
#define RATCHET_X(code, status, title) {#code, status, title},
    RATCHET_ERROR_CODES(RATCHET_X)
#undef RATCHET_X
};

const CodeRow& row(ErrorCode code) {
  return rows[static_cast<std::size_t>(code)];
}

}  // namespace

std::string_view name(ErrorCode code) {
  return row(code).name;
}

int http_status(ErrorCode code) {
  return row(code).status;
}

std::string_view title(ErrorCode code) {
  return row(code).title;
}

void crash(std::string_view what, const char* file, int line) {
  std::fprintf(stderr,
               "ratchet: broken invariant: %.*s (%s:%d)\n",
               static_cast<int>(what.size()),
               what.data(),
               file,
               line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace ratchet
