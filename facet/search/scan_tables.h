// What the scan of an index reads, made from tensors: the numbers of images in blocks, and the
// distances of a query in tables of 8 bits.
#pragma once

#include <vector>

#include "facet/core/tensor.h"
#include "facet/search/fast_scan.h"

namespace facet {

/// Numbers below 16, U8 [N, M] with M even, in blocks of 32 images, U8 [ceil(N / 32), M, 16]: byte
/// j of a part has the number of image j in its low half and that of image j + 16 in its high half.
/// Images that fill up the last block have zeros.
torch::Tensor arrange_blocks(const torch::Tensor& numbers);

/// Rounds tables of squared distances, float32 [M, 16]. Entries that exceed the least of their part
/// by more than `farthest` are cut to it: such an image is too far anyway, and the others keep more
/// of their precision. Parts with `counts[m]` false do not count.
ScanTables round_tables(const torch::Tensor& tables, const std::vector<bool>& counts,
                        float farthest);

}  // namespace facet
