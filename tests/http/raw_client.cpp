#include "tests/http/raw_client.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cctype>
#include <cstdlib>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace ratchet::testing {

int RawClient::receive_buffer_ = 0;

std::string Answer::header(const std::string& name) const {
  const auto at = headers.find(name);
  return at == headers.end() ? "" : at->second;
}

RawClient::RawClient(std::uint16_t port) {
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (receive_buffer_ > 0)
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_, sizeof(receive_buffer_));
  const timeval patience{30, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
    throw std::runtime_error(fmt::format("cannot connect to port {}", port));
}

RawClient::~RawClient() {
  close();
}

void RawClient::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return;  // the server may close early; what it says is still to be read
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void RawClient::send_request(std::string_view method,
                             std::string_view target,
                             std::string_view body,
                             const std::vector<std::pair<std::string, std::string>>& headers) {
  std::string text = fmt::format("{} {} HTTP/1.1\r\n", method, target);
  const auto has = [&](std::string_view name) {
    return std::any_of(headers.begin(), headers.end(), [&](const auto& h) { return h.first == name; });
  };
  if (!has("Host")) text += "Host: localhost\r\n";
  if (!body.empty() && !has("Content-Type")) text += "Content-Type: application/json\r\n";
  for (const auto& [name, value] : headers)
    text += fmt::format("{}: {}\r\n", name, value);
  if (!body.empty() || method == "POST") text += fmt::format("Content-Length: {}\r\n", body.size());
  text += "\r\n";
  text += body;
  send(text);
}

bool RawClient::fill() {
  char bytes[65536];
  const auto n = ::recv(fd_, bytes, sizeof(bytes), 0);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
    throw std::runtime_error("the server was silent for 30 s");
  if (n <= 0) return false;
  buffer_.append(bytes, static_cast<std::size_t>(n));
  return true;
}

std::string RawClient::take(std::size_t n) {
  while (buffer_.size() < n)
    if (!fill()) {
      broken_ = true;
      break;
    }
  auto taken = buffer_.substr(0, n);
  buffer_.erase(0, taken.size());
  return taken;
}

std::string RawClient::take_line() {
  while (buffer_.find("\r\n") == std::string::npos)
    if (!fill()) {
      broken_ = true;
      return std::exchange(buffer_, {});
    }
  const auto end = buffer_.find("\r\n");
  auto line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return line;
}

Answer RawClient::read_head() {
  broken_ = body_ended_ = false;
  Answer answer;
  const auto status = take_line();
  if (status.size() >= 12 && status.starts_with("HTTP/1.1 ")) answer.status = std::atoi(status.c_str() + 9);
  for (auto line = take_line(); !line.empty(); line = take_line()) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) break;
    auto name = line.substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    answer.headers[name] = line.substr(line.find_first_not_of(' ', colon + 1));
  }
  return answer;
}

bool RawClient::fill_chunk() {
  if (body_ended_ || broken_) return false;
  const auto line = take_line();
  const auto size = std::strtoul(line.c_str(), nullptr, 16);
  if (broken_) return false;
  chunk_text_ += take(size);
  take_line();
  if (size == 0) body_ended_ = true;
  return !broken_ && size > 0;
}

Answer RawClient::read_answer(bool head_only) {
  auto answer = read_head();
  if (answer.status == 100) return answer;
  if (!head_only && answer.header("transfer-encoding") == "chunked") {
    while (fill_chunk()) {
    }
    answer.body = std::exchange(chunk_text_, {});
    answer.whole = body_ended_;
  } else if (!head_only && answer.status != 204 && answer.status != 304) {
    answer.body = take(std::strtoul(answer.header("content-length").c_str(), nullptr, 10));
    answer.whole = !broken_;
  } else {
    answer.whole = !broken_;
  }
  return answer;
}

std::optional<std::string> RawClient::read_line() {
  while (chunk_text_.find('\n') == std::string::npos)
    if (!fill_chunk()) return std::nullopt;
  const auto end = chunk_text_.find('\n');
  auto line = chunk_text_.substr(0, end);
  chunk_text_.erase(0, end + 1);
  return line;
}

std::string RawClient::read_all() {
  while (fill()) {
  }
  return std::exchange(buffer_, {});
}

Answer fetch(std::uint16_t port,
             std::string_view method,
             std::string_view target,
             std::string_view body,
             const std::vector<std::pair<std::string, std::string>>& headers) {
  RawClient client(port);
  client.send_request(method, target, body, headers);
  return client.read_answer(method == "HEAD");
}

}  // namespace ratchet::testing
