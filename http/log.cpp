#include "http/log.hpp"

#include <memory>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "runtime/json/writer.hpp"

namespace ratchet {

namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

/// The message as it may stand in a line: a text that somebody else wrote cannot begin another one.
class SafeText final : public spdlog::custom_flag_formatter {
 public:
  SafeText(bool json, std::shared_ptr<const Redactor> redactor)
      : json_(json), redactor_(std::move(redactor)) {}

  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    std::string_view said(message.payload.data(), message.payload.size());
    const auto redacted = redactor_->text(said);
    if (redacted) said = *redacted;
    std::string text;
    if (json_) {
      append_json_string(text, said);
    } else {
      for (const char c : said)
        text += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
    }
    out.append(text.data(), text.data() + text.size());
  }

  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<SafeText>(json_, redactor_);
  }

 private:
  bool json_;
  std::shared_ptr<const Redactor> redactor_;
};

}  // namespace

void configure_log(bool json, std::shared_ptr<const Redactor> redactor) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<SafeText>('*', json, std::move(redactor));
  formatter->set_pattern(json ? R"({"at":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l","text":%*})"
                              : "%Y-%m-%dT%H:%M:%S.%fZ %l %*");
  auto logger =
      std::make_shared<spdlog::logger>("ratchet", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_formatter(std::move(formatter));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
}

void write_log(LogLevel level, const std::string& text) {
  spdlog::log(spdlog_level(level), "{}", text);
}

}  // namespace ratchet
