// Protobuf's wire format, as far as ONNX files need it: a message is a sequence of fields, each a
// number with a varint or with bytes. Writing it takes so little code that no library is needed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace facet {

/// A message, written field by field in any order.
class ProtobufMessage {
 public:
  /// Integers, enums and booleans.
  ProtobufMessage& integer(int field, int64_t value);
  /// Strings and bytes.
  ProtobufMessage& bytes(int field, std::string_view value);
  ProtobufMessage& message(int field, const ProtobufMessage& value);

  const std::string& data() const { return data_; }

 private:
  void varint(uint64_t value);

  std::string data_;
};

}  // namespace facet
