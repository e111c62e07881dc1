#include "facet/export/onnx_graph.h"

#include <limits>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/torch.h"
#include "facet/core/version.h"

namespace facet {

namespace {

/// The version of the file format that came with the opset.
constexpr int64_t kIrVersion = 7;

// Field numbers of onnx.proto.
namespace model_field {
enum { ir_version = 1, producer = 2, producer_version = 3, description = 6, graph = 7, opset = 8 };
enum { metadata = 14 };
}  // namespace model_field
namespace graph_field {
enum { node = 1, name = 2, constant = 5, input = 11, output = 12 };
}
namespace node_field {
enum { input = 1, output = 2, name = 3, operation = 4, attribute = 5 };
}
namespace attribute_field {
enum { name = 1, integer = 3, integers = 8, type = 20 };
enum Type { kInteger = 2, kIntegers = 7 };
}  // namespace attribute_field
namespace tensor_field {
enum { size = 1, type = 2, name = 8, raw_data = 9 };
}
namespace value_field {
enum { name = 1, type = 2, meaning = 3 };
}

OnnxType type_of(const torch::Tensor& tensor) {
  if (tensor.scalar_type() == kFloat32) return OnnxType::float32;
  if (tensor.scalar_type() == kFloat64) return OnnxType::float64;
  return OnnxType::int64;
}

ProtobufMessage value_message(const std::string& name, OnnxType type,
                              const std::vector<int64_t>& shape, const std::string& meaning) {
  ProtobufMessage sizes;
  for (const int64_t size : shape) {
    ProtobufMessage dimension;
    if (size == kOnnxBatch)
      dimension.bytes(2, "batch");
    else
      dimension.integer(1, size);
    sizes.message(1, dimension);
  }
  const ProtobufMessage tensor =
      ProtobufMessage().integer(1, static_cast<int64_t>(type)).message(2, sizes);
  return ProtobufMessage()
      .bytes(value_field::name, name)
      .message(value_field::type, ProtobufMessage().message(1, tensor))
      .bytes(value_field::meaning, meaning);
}

ProtobufMessage attribute_message(const std::string& name, const OnnxGraph::Attribute& attribute) {
  ProtobufMessage message;
  message.bytes(attribute_field::name, name);
  if (const auto* number = std::get_if<int64_t>(&attribute))
    return message.integer(attribute_field::integer, *number)
        .integer(attribute_field::type, attribute_field::kInteger);
  for (const int64_t number : std::get<std::vector<int64_t>>(attribute))
    message.integer(attribute_field::integers, number);
  return message.integer(attribute_field::type, attribute_field::kIntegers);
}

}  // namespace

OnnxGraph::Value OnnxGraph::input(const std::string& name, OnnxType type,
                                  const std::vector<int64_t>& shape, const std::string& meaning) {
  inputs_.push_back(value_message(name, type, shape, meaning));
  return name;
}

void OnnxGraph::output(const Value& value, OnnxType type, const std::vector<int64_t>& shape,
                       const std::string& meaning) {
  outputs_.push_back(value_message(value, type, shape, meaning));
}

OnnxGraph::Value OnnxGraph::constant(const torch::Tensor& tensor) {
  const torch::Tensor plain = tensor.detach().to(torch::kCPU).contiguous();
  const std::string name = fmt::format("constant.{}", values_++);
  ProtobufMessage message;
  for (const int64_t size : plain.sizes()) message.integer(tensor_field::size, size);
  message.integer(tensor_field::type, static_cast<int64_t>(type_of(plain)))
      .bytes(tensor_field::name, name)
      .bytes(tensor_field::raw_data, {static_cast<const char*>(plain.data_ptr()), plain.nbytes()});
  constants_.push_back(std::move(message));
  return name;
}

OnnxGraph::Value OnnxGraph::integers(const std::vector<int64_t>& numbers) {
  return constant(torch::tensor(numbers, kInt64));
}

OnnxGraph::Value OnnxGraph::scalar(double number, OnnxType type) {
  const auto kind = type == OnnxType::float32   ? kFloat32
                    : type == OnnxType::float64 ? kFloat64
                                                : kInt64;
  return constant(torch::scalar_tensor(number, kind));
}

OnnxGraph::Value OnnxGraph::node(const std::string& operation, const std::vector<Value>& inputs,
                                 const Attributes& attributes, const std::string& name) {
  const Value value = name.empty() ? fmt::format("value.{}", values_++) : name;
  ProtobufMessage message;
  for (const Value& input : inputs) message.bytes(node_field::input, input);
  message.bytes(node_field::output, value)
      .bytes(node_field::name, fmt::format("{}.{}", operation, nodes_.size()))
      .bytes(node_field::operation, operation);
  for (const auto& [key, attribute] : attributes)
    message.message(node_field::attribute, attribute_message(key, attribute));
  nodes_.push_back(std::move(message));
  return value;
}

OnnxGraph::Value OnnxGraph::cast(const Value& value, OnnxType type, const std::string& name) {
  return node("Cast", {value}, {{"to", static_cast<int64_t>(type)}}, name);
}

OnnxGraph::Value OnnxGraph::columns(const Value& value, int64_t begin, int64_t end) {
  return node("Slice", {value, integers({begin}), integers({end}), integers({1})});
}

std::string OnnxGraph::serialise(const std::string& description,
                                 const std::map<std::string, std::string>& metadata) const {
  ProtobufMessage graph;
  for (const ProtobufMessage& each : nodes_) graph.message(graph_field::node, each);
  graph.bytes(graph_field::name, name_);
  for (const ProtobufMessage& each : constants_) graph.message(graph_field::constant, each);
  for (const ProtobufMessage& each : inputs_) graph.message(graph_field::input, each);
  for (const ProtobufMessage& each : outputs_) graph.message(graph_field::output, each);
  ProtobufMessage model;
  model.integer(model_field::ir_version, kIrVersion)
      .bytes(model_field::producer, "facet")
      .bytes(model_field::producer_version, version())
      .bytes(model_field::description, description)
      .message(model_field::graph, graph)
      // The empty domain is that of ONNX's own operators.
      .message(model_field::opset, ProtobufMessage().bytes(1, "").integer(2, kOnnxOpset));
  for (const auto& [key, value] : metadata)
    model.message(model_field::metadata, ProtobufMessage().bytes(1, key).bytes(2, value));
  if (model.data().size() > std::numeric_limits<int32_t>::max())
    throw Error({.doing = "exporting to ONNX",
                 .object = name_,
                 .found = fmt::format("{} bytes", model.data().size()),
                 .expected = "at most 2 GB, the limit of an ONNX file"});
  return model.data();
}

}  // namespace facet
