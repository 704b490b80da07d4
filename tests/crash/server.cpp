#include "tests/crash/server.hpp"

#include <cstdlib>
#include <fstream>

#include <curl/curl.h>
#include <gtest/gtest.h>

namespace ratchet::crashing {

namespace {

const std::string program = RATCHET_BINARY_DIR "/http/ratchet";

struct Exchange {
  std::string body;
  std::uint64_t until_seq = 0;  ///< 0: the whole answer
};

/// Ends the transfer once a line `id: <seq>` of a stream has come.
std::size_t receive(char* bytes, std::size_t size, std::size_t count, void* context) {
  auto& exchange = *static_cast<Exchange*>(context);
  exchange.body.append(bytes, size * count);
  if (exchange.until_seq == 0) return size * count;
  for (std::size_t at = exchange.body.find("id: "); at != std::string::npos;
       at = exchange.body.find("id: ", at + 1)) {
    const bool line_begins = at == 0 || exchange.body[at - 1] == '\n';
    if (line_begins && std::strtoull(exchange.body.c_str() + at + 4, nullptr, 10) >= exchange.until_seq)
      return 0;
  }
  return size * count;
}

Answer request(
    const std::string& url, const std::string* body, const char* accept, Exchange exchange, long timeout_ms) {
  CURL* curl = curl_easy_init();
  curl_slist* headers = curl_slist_append(nullptr, accept);
  headers = curl_slist_append(headers, "Content-Type: application/json");
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout_ms);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  if (body) curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->c_str());
  curl_easy_perform(curl);
  Answer answer;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
  answer.body = std::move(exchange.body);
  curl_slist_free_all(headers);
  curl_easy_cleanup(curl);
  return answer;
}

std::filesystem::path make_directory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "ratchet-crash-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) std::abort();
  return pattern;
}

}  // namespace

Server::Server(const std::string& scenario, const std::string& more, const std::string& model)
    : directory_(make_directory()) {
  write_config(more + "models:\n  scripted:\n" + model +
               "    providers:\n      - {protocol: scripted, file: " +
               (directory_ / "scenario.yaml").string() + "}\n");
  std::ofstream(directory_ / "scenario.yaml") << scenario;
}

Server::Server(const Models& models) : directory_(make_directory()) {
  write_config(without_sandboxes + models.yaml);
}

void Server::write_config(const std::string& rest) {
  std::ofstream(directory_ / "ratchet.yaml")
      << "listen: 127.0.0.1:0\ndata_dir: " << data_dir().string() << "\n"
      << rest;
}

Server::~Server() {
  process_.reset();
  if (testing::Test::HasFailure()) {
    std::fprintf(stderr, "kept for a look: %s\n", directory_.c_str());
  } else {
    std::filesystem::remove_all(directory_);
  }
}

void Server::start() {
  process_ = std::make_unique<fakes::Process>(
      std::vector<std::string>{program, "serve", "--dev", "--config", (directory_ / "ratchet.yaml").string()},
      (directory_ / "errors").string());
  const auto ready = process_->line();
  ASSERT_TRUE(ready.has_value()) << errors();
  std::string address;
  std::ifstream(data_dir() / "listen") >> address;
  url_ = "http://" + address;
}

void Server::kill() {
  process_->signal(SIGKILL);
  process_->wait();
}

int Server::drain() {
  process_->signal(SIGTERM);
  return process_->wait();
}

Answer Server::get(const std::string& path) const {
  return request(url_ + path, nullptr, "Accept: application/json", {}, 60'000);
}

Answer Server::post(const std::string& path, const std::string& body) const {
  return request(url_ + path, &body, "Accept: application/json", {}, 60'000);
}

void Server::follow(const std::string& run, std::uint64_t seq, long timeout_ms) const {
  request(url_ + "/v1/runs/" + run + "/events", nullptr, "Accept: text/event-stream", {{}, seq}, timeout_ms);
}

Server::Ran Server::command(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), program);
  fakes::Process process(std::move(arguments), (directory_ / "command.errors").string());
  Ran ran;
  ran.output = process.rest();
  ran.status = process.wait();
  ran.output += process.errors();
  return ran;
}

std::string Server::errors() const {
  return process_ ? process_->errors() : std::string();
}

}  // namespace ratchet::crashing
