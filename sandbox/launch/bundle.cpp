#include "sandbox/launch/bundle.hpp"

#include <fmt/format.h>

#include "runtime/json/object.hpp"
#include "runtime/limits.hpp"
#include "sandbox/launch/user_namespaces.hpp"

namespace ratchet::sandbox {

namespace {

using Texts = std::vector<std::string>;

void append_texts(JsonObject& object, std::string_view name, const Texts& texts) {
  append_json_texts(object.key(name), texts);
}

/// What process 1 needs to start commands as another user and to kill them. Commands have none.
const Texts capabilities = {"CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_NET_ADMIN"};

std::string process(const BundleSpec& spec) {
  return json_object([&](JsonObject& process) {
    process.boolean("terminal", false).text("cwd", "/").boolean("noNewPrivileges", true);
    JsonObject(process.key("user")).number("uid", 0).number("gid", 0);
    append_texts(process, "args", spec.argv);
    append_texts(process, "env", {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/tool", "LANG=C.UTF-8"});
    {
      JsonObject sets(process.key("capabilities"));
      for (const auto* set : {"bounding", "effective", "permitted"})
        append_texts(sets, set, capabilities);
    }
    struct Limit {
      const char* type;
      std::uint64_t value;
    };
    const std::vector<Limit> limits = {
        {"RLIMIT_NOFILE", 1'024}, {"RLIMIT_CORE", 0}, {"RLIMIT_FSIZE", limits::workspace_bytes_max}};
    append_json_array(process.key("rlimits"), limits, [](std::string& out, const Limit& limit) {
      JsonObject(out).text("type", limit.type).number("soft", limit.value).number("hard", limit.value);
    });
  });
}

struct Mount {
  std::string destination, type, source;
  Texts options;
};

Mount memory_mount(std::string destination, std::uint64_t bytes) {
  return {std::move(destination),
          "tmpfs",
          "tmpfs",
          {"nosuid",
           "nodev",
           "mode=1777",
           fmt::format("size={}", bytes),
           fmt::format("nr_inodes={}", limits::sandbox_files_max)}};
}

std::vector<Mount> mounts(const Places& places, const BundleSpec& spec) {
  std::vector<Mount> out = {
      {"/proc", "proc", "proc", {"nosuid", "noexec", "nodev"}},
      {"/dev", "tmpfs", "tmpfs", {"nosuid", "noexec", "strictatime", "mode=755", "size=65536k"}},
      {"/dev/pts", "devpts", "devpts", {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}},
      memory_mount("/dev/shm", limits::sandbox_tmp_bytes),
      {std::string(guest_program), "bind", places.guest(), {"bind", "ro", "nosuid", "nodev"}},
      memory_mount("/tmp", limits::sandbox_tmp_bytes),
      memory_mount("/home/tool", limits::sandbox_home_bytes),
      // A slave: what the host mounts below it later appears inside, and nothing the other way.
      {std::string(slot_inside),
       "bind",
       places.slot(spec.name),
       {"rbind", "rslave", "rw", "nosuid", "nodev"}},
  };
  // gVisor's own groups, with which the guest bounds processes inside.
  if (spec.own_kernel) out.push_back({"/sys/fs/cgroup", "cgroup", "cgroup", {"nosuid", "noexec", "nodev"}});
  return out;
}

void append_mount(std::string& out, const Mount& mount) {
  JsonObject object(out);
  object.text("destination", mount.destination).text("type", mount.type).text("source", mount.source);
  append_texts(object, "options", mount.options);
}

/// As the namespace has it already; runc wants to be told.
void append_map(std::string& out) {
  append_json_array(out, users_inside, [](std::string& to, std::uint32_t user) {
    JsonObject(to).number("containerID", user).number("hostID", user).number("size", 1);
  });
}

std::string linux(const BundleSpec& spec) {
  return json_object([&](JsonObject& linux) {
    Texts namespaces = {"pid", "ipc", "uts", "mount", "network"};
    if (!spec.own_kernel) namespaces.emplace_back("cgroup");
    if (!spec.user_space.empty()) namespaces.emplace_back("user");
    append_json_array(linux.key("namespaces"), namespaces, [&](std::string& out, const std::string& type) {
      JsonObject space(out);
      space.text("type", type);
      if (type == "user") space.text("path", spec.user_space);
    });
    if (!spec.user_space.empty())
      for (const auto* map : {"uidMappings", "gidMappings"})
        append_map(linux.key(map));
    // Else the container's root is private, and no later mount arrives.
    linux.text("rootfsPropagation", "rslave");
    append_texts(linux,
                 "maskedPaths",
                 {"/proc/acpi",
                  "/proc/asound",
                  "/proc/cmdline",
                  "/proc/config.gz",
                  "/proc/interrupts",
                  "/proc/kallsyms",
                  "/proc/kcore",
                  "/proc/keys",
                  "/proc/latency_stats",
                  "/proc/modules",
                  "/proc/sched_debug",
                  "/proc/scsi",
                  "/proc/timer_list",
                  "/proc/timer_stats",
                  "/sys/devices/virtual/powercap",
                  "/sys/firmware"});
    append_texts(
        linux, "readonlyPaths", {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"});
    if (!spec.group.empty()) linux.text("cgroupsPath", "/" + spec.group);
    linux.raw("resources", R"({"devices":[{"allow":false,"access":"rwm"}]})");
    if (!spec.seccomp.empty()) linux.raw("seccomp", spec.seccomp);
  });
}

}  // namespace

std::string oci_config(const Places& places, const BundleSpec& spec) {
  return json_object([&](JsonObject& config) {
    config.text("ociVersion", "1.0.2").text("hostname", "sandbox");
    config.raw("process", process(spec));
    JsonObject(config.key("root")).text("path", places.rootfs()).boolean("readonly", true);
    append_json_array(config.key("mounts"), mounts(places, spec), append_mount);
    config.raw("linux", linux(spec));
  });
}

}  // namespace ratchet::sandbox
