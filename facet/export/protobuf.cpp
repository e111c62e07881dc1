#include "facet/export/protobuf.h"

namespace facet {

namespace {

enum WireType { kVarint = 0, kLengthDelimited = 2 };

uint64_t tag(int field, WireType type) { return static_cast<uint64_t>(field) << 3 | type; }

}  // namespace

void ProtobufMessage::varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) data_ += static_cast<char>((value & 0x7f) | 0x80);
  data_ += static_cast<char>(value);
}

ProtobufMessage& ProtobufMessage::integer(int field, int64_t value) {
  varint(tag(field, kVarint));
  varint(static_cast<uint64_t>(value));
  return *this;
}

ProtobufMessage& ProtobufMessage::bytes(int field, std::string_view value) {
  varint(tag(field, kLengthDelimited));
  varint(value.size());
  data_ += value;
  return *this;
}

ProtobufMessage& ProtobufMessage::message(int field, const ProtobufMessage& value) {
  return bytes(field, value.data());
}

}  // namespace facet
