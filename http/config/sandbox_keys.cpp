#include "http/config/sandbox_keys.hpp"

#include <array>

#include <fmt/format.h>

#include "runtime/limits.hpp"

namespace ratchet::config {

namespace {

constexpr std::string_view pool_meaning =
    "How many sandboxes are kept started ahead, once a call has needed one of the tier.";

Done read_pool(const Value& value, std::int64_t& pool) {
  return read_integer(value, 0, static_cast<std::int64_t>(limits::sandbox_pool_max), pool);
}

constexpr Key<SandboxTierConfig> tier2_keys[] = {
    {"launcher",
     "oci",
     "oci: an OCI runtime, or bubblewrap where there is none. bwrap: bubblewrap. none: no tools of this "
     "tier.",
     [](SandboxTierConfig& t, const Value& v) { return read_word(v, t.launcher); }},
    {"runtime",
     "crun",
     "The OCI runtime: crun or runc, by name or by absolute path.",
     [](SandboxTierConfig& t, const Value& v) { return read_text(v, t.runtime); }},
    {"pool", "4", pool_meaning, [](SandboxTierConfig& t, const Value& v) { return read_pool(v, t.pool); }},
};

/// What shares the machine's kernel with its containers is no boundary for code that a model wrote.
Done read_own_kernel(const Value& value, std::string& runtime) {
  if (auto done = read_text(value, runtime); !done) return done;
  const auto program = std::string_view(runtime).substr(runtime.rfind('/') + 1);
  for (const std::string_view shared : std::array<std::string_view, 4>{"crun", "runc", "youki", "bwrap"})
    if (program == shared)
      return fail_at(
          value,
          ErrorCode::invalid_request,
          fmt::format("{} shares the machine's kernel with what it runs: tier 3 needs a kernel of its own, "
                      "such as runsc",
                      shared));
  return {};
}

constexpr Key<SandboxConfig> tier3_keys[] = {
    {"launcher",
     "oci",
     "oci: an OCI runtime with a kernel of its own. none: no tools of this tier.",
     [](SandboxConfig& c, const Value& v) -> Done {
       auto done = read_word(v, c.tier3.launcher);
       if (done && c.tier3.launcher == SandboxLauncher::bwrap)
         return fail_at(
             v,
             ErrorCode::invalid_request,
             "bubblewrap shares the machine's kernel with what it runs: tier 3 needs a kernel of its own");
       return done;
     }},
    {"runtime",
     "runsc",
     "The OCI runtime: gVisor's runsc of 2024 or later, by name or by absolute path.",
     [](SandboxConfig& c, const Value& v) { return read_own_kernel(v, c.tier3.runtime); }},
    {"platform",
     "systrap",
     "How gVisor intercepts system calls: systrap, ptrace or kvm.",
     [](SandboxConfig& c, const Value& v) { return read_word(v, c.platform); }},
    {"pool", "2", pool_meaning, [](SandboxConfig& c, const Value& v) { return read_pool(v, c.tier3.pool); }},
};

constexpr Key<SandboxConfig> sandbox_keys[] = {
    {"tier2",
     "{}",
     "Programs that a team wrote.",
     [](SandboxConfig& c, const Value& v) { return read_section<SandboxTierConfig>(v, tier2_keys, c.tier2); },
     [](std::string_view path, std::vector<ConfigKey>& out) {
       list_keys<SandboxTierConfig>(std::string(path) + ".", tier2_keys, out);
     }},
    {"tier3",
     "{}",
     "Code that a model wrote.",
     [](SandboxConfig& c, const Value& v) { return read_section<SandboxConfig>(v, tier3_keys, c); },
     [](std::string_view path, std::vector<ConfigKey>& out) {
       list_keys<SandboxConfig>(std::string(path) + ".", tier3_keys, out);
     }},
    {"protected_paths",
     "null",
     "Paths, in any directory of a workspace, that no call changes, because something outside may run or "
     "trust them; null: hooks and configuration of git, start-up files of shells, settings of editors.",
     [](SandboxConfig& c, const Value& v) -> Done {
       if (v.kind == Value::Kind::null) return {};
       c.protected_paths.emplace();
       return read_list(
           v, [&](const Value& item) { return read_text(item, c.protected_paths->emplace_back()); });
     }},
};

}  // namespace

Done read_sandbox(const Value& value, SandboxConfig& sandbox) {
  return read_section<SandboxConfig>(value, sandbox_keys, sandbox);
}

void list_sandbox(std::string_view path, std::vector<ConfigKey>& out) {
  list_keys<SandboxConfig>(std::string(path) + ".", sandbox_keys, out);
}

}  // namespace ratchet::config
