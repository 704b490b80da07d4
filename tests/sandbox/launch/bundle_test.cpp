// What runtimes are told, and what is read from what they say.

#include "sandbox/launch/bundle.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/json/dom.hpp"
#include "sandbox/launch/container_state.hpp"
#include "sandbox/launch/gvisor_log.hpp"
#include "sandbox/launch/namespaces.hpp"
#include "sandbox/launch/probe.hpp"
#include "sandbox/launch/refusals.hpp"
#include "sandbox/launch/seccomp.hpp"

namespace ratchet::sandbox {

namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

boost::json::value config_of(bool own_kernel) {
  const std::string seccomp = own_kernel ? "" : oci_seccomp("/run/l.sock");
  const BundleSpec spec{
      .name = "ratchet-0-1", .own_kernel = own_kernel, .argv = {"/sbx/guest", "serve"}, .seccomp = seccomp};
  auto parsed = parse_json(oci_config(Places("/data/sandbox"), spec));
  RATCHET_ENSURE(parsed.has_value(), parsed ? "" : parsed.error().text);
  return *parsed;
}

std::vector<std::string> mount_sources(const boost::json::value& config) {
  std::vector<std::string> out;
  for (const auto& mount : config.at("mounts").as_array())
    if (mount.at("type").as_string() == "bind") out.emplace_back(mount.at("source").as_string());
  return out;
}

TEST(Bundle, ShowsNothingOfTheHostButTheRootTheGuestAndTheSlot) {
  for (const bool own_kernel : {false, true})
    EXPECT_THAT(mount_sources(config_of(own_kernel)),
                ElementsAre("/data/sandbox/guest", "/data/sandbox/slots/ratchet-0-1"));
}

TEST(Bundle, GivesNoPowerButWhatTheGuestNeeds) {
  const auto config = config_of(false);
  const auto& process = config.at("process");
  EXPECT_TRUE(process.at("noNewPrivileges").as_bool());
  for (const auto* set : {"bounding", "effective", "permitted"})
    EXPECT_EQ(process.at("capabilities").at(set).as_array().size(), 4u);
  EXPECT_FALSE(process.at("capabilities").as_object().contains("inheritable"));
  EXPECT_FALSE(process.at("capabilities").as_object().contains("ambient"));
  EXPECT_TRUE(config.at("root").at("readonly").as_bool());
}

TEST(Bundle, HasItsOwnNamespacesOfEveryKind) {
  std::vector<std::string> types;
  const auto config = config_of(false);
  for (const auto& space : config.at("linux").at("namespaces").as_array()) {
    types.emplace_back(space.at("type").as_string());
    EXPECT_FALSE(space.as_object().contains("path"));
  }
  EXPECT_THAT(types, testing::UnorderedElementsAre("pid", "ipc", "uts", "mount", "network", "cgroup"));
}

TEST(Bundle, FiltersCallsOnlyWhereTheKernelIsTheMachines) {
  const auto config = config_of(false);
  const auto& seccomp = config.at("linux").at("seccomp");
  EXPECT_EQ(seccomp.at("defaultAction").as_string(), "SCMP_ACT_ERRNO");
  EXPECT_EQ(seccomp.at("listenerPath").as_string(), "/run/l.sock");
  EXPECT_FALSE(config_of(true).at("linux").as_object().contains("seccomp"));
}

TEST(Seccomp, RefusesWithoutAListenerWhatItElseNotifiesOf) {
  const auto with = oci_seccomp("/l.sock"), without = oci_seccomp("");
  EXPECT_THAT(with, HasSubstr("SCMP_ACT_NOTIFY"));
  EXPECT_THAT(without, Not(HasSubstr("NOTIFY")));
  EXPECT_THAT(without, Not(HasSubstr("listenerPath")));
}

TEST(Seccomp, NeitherAllowsWhatIsNotableNorNamesACallTwice) {
  std::set<std::string_view> seen;
  for (const auto calls : {allowed_calls(), notable_calls()})
    for (const auto call : calls)
      EXPECT_TRUE(seen.insert(call).second) << call;
  for (const auto* depends_on_arguments : {"clone", "clone3", "socket"})
    EXPECT_FALSE(seen.contains(depends_on_arguments));
  EXPECT_THAT(notable_calls(), testing::IsSupersetOf({"mount", "setns", "bpf", "io_uring_setup", "ptrace"}));
}

TEST(Seccomp, CanBeMadeAProgramOfTheKernels) {
  const auto program = seccomp_program();
  ASSERT_TRUE(program) << program.error().text;
  char instruction[8];
  EXPECT_EQ(::read(program->get(), instruction, sizeof instruction), 8);
}

TEST(Refusals, AreCountedInFullAndNamedOnce) {
  Refusals refusals;
  for (int n = 0; n < 30; ++n)
    refusals.add([] { return std::string("mount"); });
  for (int n = 0; n < 30; ++n)
    refusals.add([n] { return "call " + std::to_string(n); });
  const auto taken = refusals.take();
  EXPECT_EQ(taken.count, 60u);
  EXPECT_EQ(taken.names.size(), 20u);
  EXPECT_EQ(taken.names.front(), "mount");
  EXPECT_EQ(refusals.take().count, 0u);
}

TEST(Refusals, AreOfTheContainerThatTheRuntimeNames) {
  EXPECT_EQ(container_name(R"({"ociVersion":"1.0","state":{"id":"ratchet-0-1","pid":7}})"), "ratchet-0-1");
  for (const auto* text :
       {"", "[]", "{}", R"({"state":7})", R"({"state":{"id":7}})", "{\"state\":{\"id\":\"x\""})
    EXPECT_EQ(container_name(text), "") << text;
}

TEST(GvisorLog, NamesCallsInCompleteLines) {
  EXPECT_THAT(unsupported_calls("I1130 compat.go:120] Unsupported syscall bpf(0x0,0x1) (Please report it)\n"
                                "nothing\nW x] Unsupported syscall io_uring_setup\nUnsupported syscall cut"),
              ElementsAre("bpf", "io_uring_setup"));
}

TEST(Probe, ReadsVersions) {
  EXPECT_EQ(parse_version("crun", "crun version 1.8.1\ncommit: f8a0\n"), "crun 1.8.1");
  EXPECT_EQ(parse_version("runc", "runc version 1.1.5+ds1\n"), "runc 1.1.5");
  EXPECT_EQ(parse_version("runsc", "runsc version 0.0~20240729.0\nspec: 1.2.0\n"), "runsc 20240729.0");
  EXPECT_EQ(parse_version("bwrap", "bubblewrap 0.8.0\n"), "bwrap 0.8.0");
  EXPECT_EQ(parse_version("x", "no idea"), "");
}

TEST(Probe, HasNoRuntimeForTheWrongTier) {
  EXPECT_THAT(unfit(3, OciKind::crun, "crun 1.8.1"), HasSubstr("no kernel of its own"));
  EXPECT_THAT(unfit(3, OciKind::runc, "runc 1.1.5"), HasSubstr("no kernel of its own"));
  EXPECT_THAT(unfit(3, OciKind::runsc, "runsc 20221219.0"), HasSubstr("too old"));
  EXPECT_THAT(unfit(3, OciKind::runsc, "runsc 20240729.0"), IsEmpty());
  EXPECT_THAT(unfit(2, OciKind::crun, "crun 1.8.1"), IsEmpty());
}

TEST(Namespaces, FindSubordinateIds) {
  const auto* text = "other:1000:65536\nme:10:99\nme:200000:65536\n1000:300000:65536\n";
  EXPECT_EQ(subordinate_ids(text, "me", 1'001), 200'000u);
  EXPECT_EQ(subordinate_ids(text, "", 1'000), 300'000u);
  EXPECT_EQ(subordinate_ids(text, "nobody", 7), 0u);
  EXPECT_EQ(subordinate_ids("me\nme:\nme:x:y\n:1:65536\n", "", 7), 0u);
}

}  // namespace

}  // namespace ratchet::sandbox
