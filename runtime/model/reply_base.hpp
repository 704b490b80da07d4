#pragma once
// What the parsers of all providers share: telling streams from JSON bodies, bounds, and the verdict in the
// end. Private to this folder.

#include <string>

#include "runtime/model/reply_builder.hpp"
#include "runtime/model/reply_parser.hpp"
#include "runtime/model/sse.hpp"

namespace ratchet {

class BasicReplyParser : public ReplyParser {
 public:
  BasicReplyParser();
  BasicReplyParser(const BasicReplyParser&) = delete;
  BasicReplyParser& operator=(const BasicReplyParser&) = delete;
  Progress feed(std::string_view bytes, const OnDelta& on_delta) final;
  std::variant<ModelReply, ModelFailure> finish(const ReplyEnd& end) final;

 protected:
  /// Reads one event of a stream into `reply_`. Not called after `reply_.whole`.
  virtual void read_event(std::string_view type, std::string& data) = 0;
  /// Reads the JSON object of an answer that is no stream. `body` has a closing brace at its end.
  virtual void read_body(std::string& body) = 0;
  virtual void reset_dialect() = 0;

  void show_text(DraftBlock& block, std::string_view escaped) { reply_.add_text(block, escaped, *on_delta_); }

  ReplyBuilder reply_;

 private:
  enum class Form { unknown, stream, json };

  void take(std::string_view bytes);
  void close(const ReplyEnd& end);
  std::variant<ModelReply, ModelFailure> verdict(const ReplyEnd& end);
  ModelFailure failure(FailureClass kind, std::string_view text, const ReplyEnd& end);

  const OnDelta* on_delta_;
  SseReader::OnEvent on_event_;
  SseReader sse_;
  Form form_ = Form::unknown;
  std::string head_;  // until the form is known, and of streams the first bytes, for the text of an error
  std::string body_;
  std::size_t bytes_ = 0;
};

}  // namespace ratchet
