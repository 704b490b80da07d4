#include <cerrno>
#include <linux/netlink.h>
#include <memory>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "sandbox/launch/files.hpp"
#include "sandbox/launch/seccomp.hpp"

namespace ratchet::sandbox {

namespace {

/// Adds rules until one is refused.
class Filter {
 public:
  Filter() : context_(::seccomp_init(SCMP_ACT_ERRNO(ENOSYS)), ::seccomp_release) {}

  /// Names that this library does not know are those of other machines or of later kernels.
  void add(std::string_view name, std::uint32_t action, std::vector<scmp_arg_cmp> all_of = {}) {
    const int call = ::seccomp_syscall_resolve_name(std::string(name).c_str());
    if (!context_ || error_ != 0 || call == __NR_SCMP_ERROR) return;
    error_ = -::seccomp_rule_add_array(
        context_.get(), action, call, static_cast<unsigned>(all_of.size()), all_of.data());
  }

  Result<Fd> program() {
    Fd file(::memfd_create("seccomp", MFD_CLOEXEC));
    if (!context_) error_ = ENOMEM;
    if (error_ == 0 && file) error_ = -::seccomp_export_bpf(context_.get(), file.get());
    if (error_ == 0 && file && ::lseek(file.get(), 0, SEEK_SET) == 0) return file;
    if (error_ != 0) errno = error_;
    return system_error("cannot make a filter of system calls");
  }

 private:
  std::unique_ptr<void, void (*)(void*)> context_;
  int error_ = 0;
};

}  // namespace

Result<Fd> seccomp_program() {
  constexpr std::uint32_t refuse = SCMP_ACT_ERRNO(EPERM);
  Filter filter;
  for (const auto name : allowed_calls())
    filter.add(name, SCMP_ACT_ALLOW);
  for (const auto name : notable_calls())
    filter.add(name, refuse);
  std::uint64_t all_flags = 0;
  for (const unsigned flag : refused_clone_flags()) {
    all_flags |= flag;
    filter.add("clone", refuse, {SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag)});
  }
  filter.add("clone", SCMP_ACT_ALLOW, {SCMP_A0(SCMP_CMP_MASKED_EQ, all_flags, 0)});
  for (const unsigned family : {AF_UNIX, AF_INET, AF_INET6})
    filter.add("socket", SCMP_ACT_ALLOW, {SCMP_A0(SCMP_CMP_EQ, family, 0)});
  filter.add("socket",
             SCMP_ACT_ALLOW,
             {SCMP_A0(SCMP_CMP_EQ, AF_NETLINK, 0), SCMP_A2(SCMP_CMP_EQ, NETLINK_ROUTE, 0)});
  filter.add("socket", refuse, {SCMP_A0(SCMP_CMP_GT, AF_NETLINK, 0)});
  return filter.program();
}

}  // namespace ratchet::sandbox
