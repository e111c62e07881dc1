// Codes packed into bits. A code has one component per factor; a factor with K components takes
// ceil(log2 K) bits. The bits of the first factor stand first, from the lowest bit of the first
// byte on, and the last byte is filled up with zeros. In NumPy this is numpy.packbits with
// bitorder="little".
#pragma once

#include <cstdint>
#include <vector>

#include "facet/core/tensor.h"

namespace facet {

/// The bits of a factor with so many components.
int64_t bits_of(int64_t components);

struct CodeLayout {
  std::vector<int64_t> bits;  ///< one entry per factor

  explicit CodeLayout(const std::vector<int64_t>& components);
  /// Bytes of a packed code.
  int64_t bytes() const;
};

/// Codes, int64 [B, I], as bytes, U8 [B, layout.bytes()].
torch::Tensor pack_codes(const torch::Tensor& codes, const CodeLayout& layout);
/// The inverse. Numbers at or above K, which damage may give, are left to the caller.
torch::Tensor unpack_codes(const torch::Tensor& bytes, const CodeLayout& layout);

}  // namespace facet
