// An ONNX graph under construction: inputs, constants, nodes and outputs, then the bytes of the
// file. Only what our models need of ONNX: tensors of three types, and one free dimension, the
// batch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "facet/core/tensor.h"
#include "facet/export/protobuf.h"

namespace facet {

/// The operators are those of this opset, which every runtime since 2021 knows.
inline constexpr int64_t kOnnxOpset = 13;

/// ONNX's numbers for element types.
enum class OnnxType { float32 = 1, int64 = 7, float64 = 11 };

/// In place of a size: any number of images.
inline constexpr int64_t kOnnxBatch = -1;

class OnnxGraph {
 public:
  /// A tensor of the graph, by its name.
  using Value = std::string;
  using Attribute = std::variant<int64_t, std::vector<int64_t>>;
  using Attributes = std::vector<std::pair<std::string, Attribute>>;

  explicit OnnxGraph(std::string name) : name_(std::move(name)) {}

  /// Declares an input; `meaning` goes into the file.
  Value input(const std::string& name, OnnxType type, const std::vector<int64_t>& shape,
              const std::string& meaning);
  /// A constant tensor of type float32, float64 or int64.
  Value constant(const torch::Tensor& tensor);
  Value integers(const std::vector<int64_t>& numbers);
  Value scalar(double number, OnnxType type);
  /// A node with one output, which gets a name of its own if `name` is empty.
  Value node(const std::string& operation, const std::vector<Value>& inputs,
             const Attributes& attributes = {}, const std::string& name = "");
  /// Declares a node's output to be an output of the graph.
  void output(const Value& value, OnnxType type, const std::vector<int64_t>& shape,
              const std::string& meaning);

  Value cast(const Value& value, OnnxType type, const std::string& name = "");
  /// Columns begin to end of axis 1.
  Value columns(const Value& value, int64_t begin, int64_t end);

  /// The file. Throws an Error if it would have more bytes than protobuf allows.
  std::string serialise(const std::string& description,
                        const std::map<std::string, std::string>& metadata) const;

 private:
  std::string name_;
  std::vector<ProtobufMessage> inputs_, outputs_, nodes_, constants_;
  int64_t values_ = 0;  ///< names given so far
};

}  // namespace facet
