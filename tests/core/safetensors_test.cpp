#include "facet/core/safetensors.h"

#include <cstring>
#include <fstream>
#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/torch.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

const std::vector<torch::ScalarType> kEveryType = {
    kFloat64, kFloat32, kFloat16, torch::kBFloat16, kInt64,
    kInt32,   kInt16,   kInt8,    kUInt8,           torch::kBool};

/// A file made of a header and the tensors' bytes, as the format's specification describes it.
std::string file_bytes(const std::string& header, const std::string& data) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8)
    bytes += static_cast<char>(static_cast<uint64_t>(header.size()) >> shift & 0xff);
  return bytes + header + data;
}

class Safetensors : public testing::Test {
 protected:
  TensorFile read(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;  // without write_text's wait for the disk
    return read_safetensors(path_, "reading");
  }
  std::string message(const std::string& bytes) {
    return message_of([&] { read(bytes); });
  }
  /// The error of a file with this one header entry and 8 bytes of data.
  std::string entry_message(const std::string& entry) {
    return message(file_bytes("{\"a\":" + entry + "}", "01234567"));
  }
  std::string small_file() {
    write_safetensors(path_,
                      {{{"weights", torch::arange(6, kFloat32).view({2, 3})},
                        {"labels", torch::tensor({1, -1}, kInt32)},
                        {"flags", torch::tensor({1, 0, 1}).to(torch::kBool)}},
                       {{"format", "test"}}},
                      "writing");
    return read_text(path_, "reading");
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "values.safetensors";
};

using SafetensorsDeathTest = Safetensors;

TEST_F(Safetensors, RoundTripKeepsEveryTypeShapeAndValue) {
  TensorFile file;
  for (const torch::ScalarType type : kEveryType) {
    const std::string name = c10::toString(type);
    const torch::Tensor values = torch::tensor({1.0, 0.0, 3.0, 100.0, 7.0, 1.0}).to(type);
    file.tensors[name + ".matrix"] = values.view({2, 3});
    file.tensors[name + ".transposed"] = values.view({2, 3}).t();
    file.tensors[name + ".scalar"] = values[3];
    file.tensors[name + ".empty"] = torch::empty({0, 3}, type);
  }
  file.tensors["parameter"] = torch::ones({2}).requires_grad_();
  file.metadata = {{"key", "value with \"quotes\" and Ä"}, {"empty", ""}};
  write_safetensors(path_, file, "writing");
  const TensorFile back = read_safetensors(path_, "reading");
  EXPECT_EQ(back.metadata, file.metadata);
  ASSERT_EQ(back.tensors.size(), file.tensors.size());
  for (const auto& [name, tensor] : file.tensors) {
    ASSERT_EQ(back.tensors.count(name), 1u) << name;
    const torch::Tensor& read_back = back.tensors.at(name);
    EXPECT_EQ(read_back.scalar_type(), tensor.scalar_type()) << name;
    EXPECT_EQ(read_back.sizes(), tensor.sizes()) << name;
    EXPECT_TRUE(torch::equal(read_back, tensor)) << name;
  }
}

TEST_F(Safetensors, NotANumberAndInfinitySurvive) {
  const float special[] = {NAN, INFINITY, -0.0f, 1e-45f};
  write_safetensors(path_, {{{"a", torch::from_blob(const_cast<float*>(special), {4})}}, {}},
                    "writing");
  const torch::Tensor back = read_safetensors(path_, "reading").tensors.at("a");
  EXPECT_EQ(std::memcmp(back.data_ptr(), special, sizeof special), 0);
}

TEST_F(Safetensors, WrittenBytesAreThoseOfTheFormat) {
  write_safetensors(path_,
                    {{{"bytes", torch::tensor({7, 8, 9}, kUInt8)},
                      {"numbers", torch::tensor({1.0f, -2.0f}).view({2, 1})}},
                     {{"format", "test"}}},
                    "writing");
  const std::string bytes = read_text(path_, "reading");
  uint64_t header_size = 0;
  for (int i = 7; i >= 0; --i)
    header_size = header_size << 8 | static_cast<uint8_t>(bytes[static_cast<size_t>(i)]);
  ASSERT_LE(8 + header_size, bytes.size());
  EXPECT_EQ(header_size % 8, 0u) << "tensors start aligned";
  const auto header = nlohmann::json::parse(bytes.substr(8, header_size));
  EXPECT_EQ(header["__metadata__"].size(), 2u) << "and the checksums";
  EXPECT_EQ(header["__metadata__"]["format"], "test");
  EXPECT_EQ(header["numbers"]["dtype"], "F32");
  EXPECT_EQ(header["numbers"]["shape"], (std::vector<int>{2, 1}));
  EXPECT_EQ(header["numbers"]["data_offsets"], (std::vector<int>{0, 8}));
  EXPECT_EQ(header["bytes"]["dtype"], "U8");
  EXPECT_EQ(header["bytes"]["shape"], (std::vector<int>{3}));
  EXPECT_EQ(header["bytes"]["data_offsets"], (std::vector<int>{8, 11}));
  EXPECT_EQ(header.size(), 3u);
  EXPECT_EQ(bytes.substr(8 + header_size),
            std::string("\x00\x00\x80\x3f\x00\x00\x00\xc0\x07\x08\x09", 11));
}

TEST_F(Safetensors, FilesOfOtherWritersAreRead) {
  // No metadata, no padding, spaces in the header, the order of another program.
  const TensorFile file = read(file_bytes(
      R"( {"b": {"shape": [2], "data_offsets": [1, 5], "dtype": "I16"}, "a":{"dtype":"I8","shape":[],"data_offsets":[0,1]}})",
      std::string("\xff\x01\x00\x00\x01", 5)));
  EXPECT_EQ(file.tensors.at("a").item<int64_t>(), -1);
  EXPECT_EQ(file.tensors.at("b")[0].item<int64_t>(), 1);
  EXPECT_EQ(file.tensors.at("b")[1].item<int64_t>(), 256);
  EXPECT_TRUE(file.metadata.empty());
}

TEST_F(Safetensors, UnalignedTensorsAreReadAndAligned) {
  const double value = 1.5;
  for (size_t padding = 0; padding < 8; ++padding) {
    const TensorFile file = read(file_bytes(
        R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F64","shape":[1],"data_offsets":[1,9]}})" +
            std::string(padding, ' '),
        std::string("x").append(reinterpret_cast<const char*>(&value), 8)));
    const torch::Tensor b = file.tensors.at("b");
    EXPECT_EQ(b.item<double>(), 1.5);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(b.data_ptr()) % 8, 0u) << padding;
  }
}

TEST_F(Safetensors, TensorsOutliveTheFile) {
  small_file();
  const torch::Tensor weights = read_safetensors(path_, "reading").tensors.at("weights");
  write_text(path_, "another", "test");
  std::filesystem::remove(path_);
  EXPECT_EQ(weights.sum().item<double>(), 15);
}

TEST_F(Safetensors, EveryTruncationIsAnError) {
  const std::string whole = small_file();
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_THROW(read(whole.substr(0, length)), Error) << length;
  EXPECT_THROW(read(whole + "x"), Error) << "bytes that belong to nothing";
}

TEST_F(Safetensors, FlippedBytesAreAnErrorOrReadButNeverCrash) {
  const std::string whole = small_file();
  std::mt19937 random(3);
  int errors = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::string damaged = whole;
    for (unsigned flips = 1 + random() % 2; flips > 0; --flips)
      damaged[random() % damaged.size()] ^= static_cast<char>(1 + random() % 255);
    try {
      for (const auto& [name, tensor] : read(damaged).tensors)
        tensor.to(kFloat64).sum();  // touches every byte
    } catch (const Error&) {
      ++errors;
    }
  }
  EXPECT_GT(errors, 500);  // most bytes of a small file are its header
}

TEST_F(Safetensors, AnInvalidHeaderIsAnError) {
  const std::string whole = small_file();
  for (const uint64_t size : {uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{0} - 7,
                              uint64_t{whole.size()} - 7, uint64_t{200'000'000}}) {
    std::string damaged = whole;
    std::memcpy(damaged.data(), &size, sizeof size);
    EXPECT_NE(message(damaged).find("a header of"), std::string::npos) << size;
  }
  EXPECT_THROW(read(file_bytes("", "")), Error);
  EXPECT_THROW(read(file_bytes("[]", "")), Error);
  EXPECT_THROW(read(file_bytes("{\"a\":", "")), Error);
  EXPECT_THROW(read(file_bytes(R"({"__metadata__":3})", "")), Error);
  EXPECT_THROW(read(file_bytes(R"({"__metadata__":{"a":3}})", "")), Error);
  EXPECT_TRUE(read(file_bytes("{}", "")).tensors.empty());
}

TEST_F(Safetensors, InvalidEntriesAreErrors) {
  const char* entries[] = {
      "3",
      "{}",
      R"({"dtype":"U8","shape":[8]})",
      R"({"dtype":"U7","shape":[8],"data_offsets":[0,8]})",
      R"({"dtype":8,"shape":[8],"data_offsets":[0,8]})",
      R"({"dtype":"U8","shape":8,"data_offsets":[0,8]})",
      R"({"dtype":"U8","shape":[-8],"data_offsets":[0,8]})",
      R"({"dtype":"U8","shape":[8.0],"data_offsets":[0,8]})",
      R"({"dtype":"U8","shape":[8],"data_offsets":[0]})",
      R"({"dtype":"U8","shape":[8],"data_offsets":[-1,7]})",
      R"({"dtype":"U8","shape":[8],"data_offsets":"08"})",
      R"({"dtype":"U8","shape":[9],"data_offsets":[0,9]})",
      R"({"dtype":"U8","shape":[8],"data_offsets":[1,9]})",
      R"({"dtype":"U8","shape":[8],"data_offsets":[8,0]})",
      R"({"dtype":"U8","shape":[8],"data_offsets":[18446744073709551608,8]})",
      R"({"dtype":"U8","shape":[7],"data_offsets":[0,8]})",
      R"({"dtype":"F32","shape":[8],"data_offsets":[0,8]})",
      R"({"dtype":"U8","shape":[],"data_offsets":[0,8]})",
      // Products that are 8 or 0 modulo 2^64.
      R"({"dtype":"F64","shape":[2305843009213693953],"data_offsets":[0,8]})",
      R"({"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,8]})",
      R"({"dtype":"U8","shape":[18446744073709551615,8],"data_offsets":[0,8]})",
  };
  for (const char* entry : entries)
    EXPECT_NE(entry_message(entry).find("damaged"), std::string::npos)
        << entry << ": " << entry_message(entry);
}

TEST_F(Safetensors, EmptyTensorsOfImpossibleShapeAreErrors) {
  // No bytes are wrong here, but no tensor can have a side of 2^64 - 1 or a stride of 2^124.
  for (const char* shape : {"[0,18446744073709551615]", "[9223372036854775808,0]",
                            "[0,4611686018427387904,4611686018427387904]"})
    EXPECT_THROW(read(file_bytes(std::string(R"({"a":{"dtype":"U8","shape":)") + shape +
                                     R"(,"data_offsets":[0,0]}})",
                                 "")),
                 Error)
        << shape;
}

TEST_F(Safetensors, TensorsThatShareBytesAreAnError) {
  EXPECT_THROW(
      read(file_bytes(
          R"({"a":{"dtype":"U8","shape":[6],"data_offsets":[0,6]},"b":{"dtype":"U8","shape":[6],"data_offsets":[2,8]}})",
          "01234567")),
      Error);
}

TEST_F(Safetensors, BytesThatBelongToNoTensorAreAnError) {
  EXPECT_THROW(
      read(file_bytes(
          R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[3],"data_offsets":[5,8]}})",
          "01234567")),
      Error);
}

TEST_F(SafetensorsDeathTest, DeepNestingIsAnErrorNotACrash) {
  const size_t depth = 300000;
  const std::string header = R"({"a":{"shape":[],"data_offsets":[0,0],"dtype":)" +
                             std::string(depth, '[') + std::string(depth, ']') + "}}";
  const auto exit_status = [&] {
    std::_Exit(message(file_bytes(header, "")) == "no error" ? 1 : 0);
  };
  EXPECT_EXIT(exit_status(), testing::ExitedWithCode(0), "");
}

TEST_F(Safetensors, TypesThatTheFormatLacksAreRefusedBeforeWriting) {
  EXPECT_THROW(
      write_safetensors(path_, {{{"a", torch::ones({2}, torch::kComplexFloat)}}, {}}, "writing"),
      Error);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Safetensors, GetChecksTypeAndShape) {
  small_file();
  const TensorFile file = read_safetensors(path_, "reading");
  EXPECT_EQ(file.get("weights", kFloat32, {-1, 3}, "f").numel(), 6);
  const auto refusal = [&](const char* name, torch::ScalarType type, torch::IntArrayRef shape) {
    return message_of([&] { file.get(name, type, shape, "my file"); });
  };
  EXPECT_NE(refusal("weight", kFloat32, {2, 3}).find("no such tensor"), std::string::npos);
  EXPECT_NE(refusal("weights", kFloat64, {2, 3}).find("F32 [2, 3], expected F64 [2, 3]"),
            std::string::npos);
  EXPECT_NE(refusal("weights", kFloat32, {2, 4}).find("'my file'"), std::string::npos);
  EXPECT_NE(refusal("weights", kFloat32, {6}).find("expected F32 [6]"), std::string::npos);
}

}  // namespace
}  // namespace facet
