#include "runtime/event/codec.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "runtime/event/fields.hpp"

namespace ratchet {

namespace {

constexpr char format_number = 1;
constexpr std::uint64_t replayed_flag = 64;

static_assert(std::variant_size_v<Payload> < replayed_flag);

void write_envelope(const Event& event, std::string& out) {
  fields::put_varint(out, (event.payload.index() + 1) | (event.replayed ? replayed_flag : 0));
  fields::put_varint(out, event.seq);
  fields::put_varint(out, fields::zigzag(event.at.us));
  fields::put_varint(out, event.step);
  fields::put_varint(out, event.lease_version);
}

template <std::size_t index = 0>
const char* read_payload(std::size_t type, std::string_view bytes, Payload& payload) {
  if constexpr (index < std::variant_size_v<Payload>) {
    if (type == index + 1) return fields::read(bytes, payload.emplace<index>());
    return read_payload<index + 1>(type, bytes, payload);
  } else {
    return "an event is of a type that is not known";
  }
}

std::uint32_t read_u32(fields::Input& input) {
  const std::uint64_t value = input.varint();
  if (value > UINT32_MAX) input.refuse("a number is too large for its field");
  return static_cast<std::uint32_t>(value);
}

const char* read_event(fields::Input& input, Event& event) {
  const std::uint64_t type_and_flag = input.varint();
  event.replayed = type_and_flag & replayed_flag;
  const std::uint64_t type = type_and_flag & ~replayed_flag;
  event.seq = input.varint();
  event.at.us = fields::unzigzag(input.varint());
  event.step = read_u32(input);
  event.lease_version = read_u32(input);
  const std::string_view payload = input.bytes(input.varint());
  if (input.error) return input.error;
  return read_payload(type, payload, event.payload);
}

}  // namespace

std::string encode_payload(const Payload& payload) {
  std::string out;
  std::visit([&](const auto& typed) { fields::write(typed, out); }, payload);
  return out;
}

std::string encode(const Record& record) {
  std::string out(1, format_number);
  out += record.head_before.view();
  out.append(reinterpret_cast<const char*>(record.salt.data()), record.salt.size());
  fields::put_varint(out, record.events.size());
  for (const Event& event : record.events) {
    write_envelope(event, out);
    const std::string payload = encode_payload(event.payload);
    fields::put_varint(out, payload.size());
    out += payload;
  }
  return out;
}

Result<Record> decode_record(std::string_view bytes) {
  const auto refuse = [&](const char* why, std::size_t at) {
    return fail(ErrorCode::corrupt,
                fmt::format("a record of {} bytes is damaged near byte {}: {}", bytes.size(), at, why));
  };
  if (bytes.size() < 49) return refuse("it is too short", bytes.size());
  if (bytes[0] != format_number) return refuse("its format is not known", 0);
  Record record;
  std::memcpy(record.head_before.bytes.data(), bytes.data() + 1, 32);
  std::memcpy(record.salt.data(), bytes.data() + 33, 16);
  fields::Input input{bytes.substr(49)};
  const std::uint64_t count = input.varint();
  if (input.error) return refuse(input.error, 49);
  if (count > bytes.size()) return refuse("it claims more events than it has bytes", 49);
  // An event is many times larger than its bytes: room is made as they turn out to be events.
  record.events.reserve(std::min<std::uint64_t>(count, 64));
  for (std::uint64_t i = 0; i < count; ++i) {
    if (const char* error = read_event(input, record.events.emplace_back()))
      return refuse(error, bytes.size() - input.rest.size());
  }
  if (!input.rest.empty()) return refuse("bytes follow its last event", bytes.size() - input.rest.size());
  return record;
}

Result<Hash> chain_head(std::string_view record) {
  if (record.size() < 49 || record[0] != format_number)
    return fail(ErrorCode::corrupt, "a record is too short or of another format");
  Hash head;
  std::memcpy(head.bytes.data(), record.data() + 1, 32);
  const std::string_view salt = record.substr(33, 16);
  fields::Input input{record.substr(49)};
  const std::uint64_t count = input.varint();
  std::string link;
  for (std::uint64_t i = 0; i < count && !input.error; ++i) {
    const std::string_view before = input.rest;
    for (int number = 0; number < 5; ++number)
      input.varint();
    const std::string_view envelope = before.substr(0, before.size() - input.rest.size());
    const std::string_view payload = input.bytes(input.varint());
    const Hash content = Sha256().add(salt).add(payload).finish();
    link.assign(head.view());
    link += envelope;
    link += content.view();
    head = sha256(link);
  }
  if (input.error) return fail(ErrorCode::corrupt, fmt::format("a record is damaged: {}", input.error));
  return head;
}

Hash chain_head(const Record& record) {
  return *chain_head(encode(record));
}

}  // namespace ratchet
