#include "runtime/event/json.hpp"

#include "runtime/event/fields.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/json/writer.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

/// Writes any value by its type. Structs are written by their `fields`; the few whose shape on the wire is
/// another have an overload of their own.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  template <class T>
  void operator()(std::uint32_t, std::string_view name, const T& value) {
    key(name);
    write(value);
  }

  void key(std::string_view name) {
    if (out_.back() != '{') out_ += ',';
    append_json_string(out_, name);
    out_ += ':';
  }

  template <class T>
  void write(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      append_json_bool(out_, value);
    } else if constexpr (std::is_enum_v<T>) {
      append_json_string(out_, name(value));
    } else if constexpr (std::is_integral_v<T>) {
      using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
      append_json_number(out_, static_cast<Wide>(value));
    } else if constexpr (std::is_same_v<T, std::string>) {
      append_json_string(out_, value);
    } else if constexpr (std::is_same_v<T, Json>) {
      out_ += value.text.empty() ? "null" : value.text;
    } else if constexpr (std::is_same_v<T, Timestamp> || std::is_same_v<T, Usd> || std::is_same_v<T, Hash> ||
                         fields::IsId<T>::value) {
      append_json_string(out_, to_string(value));
    } else if constexpr (fields::IsVector<T>::value) {
      write_list(value);
    } else if constexpr (fields::IsOptional<T>::value) {
      if (value) {
        write(*value);
      } else {
        out_ += "null";
      }
    } else {
      out_ += '{';
      T::fields(value, *this);
      out_ += '}';
    }
  }

  void write(const Block& block) {
    out_ += '{';
    key("type");
    write(block.type);
    if (!block.media_type.empty()) (*this)(0, "media_type", block.media_type);
    if (block.artifact) {
      (*this)(0, "artifact_id", block.artifact->id);
      (*this)(0, "bytes", block.artifact->bytes);
      (*this)(0, "sha256", block.artifact->sha256);
      // What was said is shown to the model whole; here the artifact has the rest.
      const std::string& head = block.artifact->head;
      (*this)(0, "head", head.substr(0, utf8_cut(head, limits::inline_bytes_max)));
    } else {
      (*this)(0, block.type == BlockType::image ? "data" : "text", block.text);
    }
    out_ += '}';
  }

  void write(const ReplyBlock& block) {
    out_ += '{';
    key("type");
    write(block.type);
    if (block.type == ReplyBlockType::text) (*this)(0, "text", block.text);
    if (block.type == ReplyBlockType::call) {
      (*this)(0, "call_id", block.call_id);
      (*this)(0, "tool", block.tool);
      if (block.args_error.empty()) {
        (*this)(0, "args", Json{block.args});
      } else {
        (*this)(0, "args_text", block.args);
        (*this)(0, "args_error", block.args_error);
      }
    }
    out_ += '}';
  }

 private:
  template <class T>
  void write_list(const std::vector<T>& list) {
    out_ += '[';
    bool first = true;
    for (const T& element : list) {
      // Reasoning is its provider's secret: it is kept for sending back and never shown.
      if constexpr (std::is_same_v<T, ReplyBlock>) {
        if (element.type == ReplyBlockType::reasoning) continue;
      }
      if (!first) out_ += ',';
      first = false;
      write(element);
    }
    out_ += ']';
  }

  std::string& out_;
};

template <class P>
void write_payload(const P& payload, JsonWriter& writer) {
  P::fields(payload, writer);
}

void write_payload(const BudgetWarning& warning, JsonWriter& writer) {
  writer(0, "which", warning.which);
  const bool money = warning.which == BudgetKind::usd;
  if (money) {
    writer(0, "used", Usd{warning.used});
    writer(0, "limit", Usd{warning.limit});
  } else {
    writer(0, "used", warning.used);
    writer(0, "limit", warning.limit);
  }
}

void write_payload(const RunFinished& finished, JsonWriter& writer) {
  writer(0, "stop_reason", finished.stop_reason);
  writer.key("result");
  writer.write(finished.result ? Json{"{\"text\":"} : Json{"null"});
  if (finished.result) {
    writer.write(*finished.result);
    writer.write(Json{"}"});
  }
  writer(0, "report", finished.report);
  writer(0, "error", finished.error);
  writer(0, "steps", finished.steps);
  writer(0, "usage", finished.usage);
  writer(0, "cost_usd", finished.cost_usd);
  writer(0, "subagents", finished.subagents);
}

}  // namespace

void write_json(const Event& event, std::string& out, const RunId* run_id) {
  out += '{';
  JsonWriter writer(out);
  writer(0, "seq", event.seq);
  writer(0, "type", std::string(type_name(event)));
  writer(0, "at", event.at);
  writer(0, "step", event.step);
  if (run_id) writer(0, "run_id", *run_id);
  writer(0, "lease_version", event.lease_version);
  if (event.replayed) writer(0, "replayed", true);
  std::visit([&](const auto& payload) { write_payload(payload, writer); }, event.payload);
  out += '}';
}

std::string to_json(const Event& event) {
  std::string out;
  write_json(event, out);
  return out;
}

}  // namespace ratchet
