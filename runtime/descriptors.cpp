#include "runtime/descriptors.hpp"

#include <algorithm>
#include <sys/resource.h>

#include "runtime/limits.hpp"

namespace ratchet {

namespace {

constexpr std::size_t posix_files_max = 1'024;  // what a system gives where it does not say

std::size_t shared_out(std::size_t files_max) {
  return files_max - std::min(limits::other_descriptors, files_max / 4);
}

}  // namespace

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return posix_files_max;
  const rlimit raised{limit.rlim_max, limit.rlim_max};
  return ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

Descriptors::Descriptors(std::size_t files_max)
    : both_max_(shared_out(files_max)), side_max_(both_max_ - both_max_ / 4) {}

bool Descriptors::call_fits() const {
  const std::size_t under_way = calls;
  return fits(under_way + under_way / limits::calls_per_idle_connection, clients);
}

}  // namespace ratchet
