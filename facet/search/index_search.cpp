#include "facet/search/index_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "facet/core/torch.h"
#include "facet/search/scan_tables.h"

namespace facet {

namespace {

/// Latent vectors that are compared exactly at a time.
constexpr int64_t kComparedAtOnce = 65536;
/// Images whose distances tell how far the short list will reach.
constexpr int64_t kProbedImages = 1024;

/// Which images of a segment have the wanted values, bool [N]; undefined where all have.
torch::Tensor matching_images(const IndexSegment& segment, const std::vector<int64_t>& values) {
  torch::Tensor matching;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0) continue;
    const auto column = static_cast<int64_t>(i);
    const torch::Tensor given = segment.labels.select(1, column);
    const torch::Tensor value = torch::where(given.ge(0), given, segment.codes.select(1, column));
    const torch::Tensor same = value.eq(values[i]);
    matching = matching.defined() ? matching.logical_and(same) : same;
  }
  return matching;
}

/// One bit per image, one word per block.
std::vector<uint32_t> bits_of_mask(const torch::Tensor& matching) {
  const int64_t count = matching.size(0);
  std::vector<uint32_t> words(static_cast<size_t>(block_count(count)), 0);
  const bool* const mask = matching.data_ptr<bool>();
  for (int64_t n = 0; n < count; ++n)
    words[static_cast<size_t>(n / kBlockImages)] |= static_cast<uint32_t>(mask[n])
                                                    << (n % kBlockImages);
  return words;
}

/// Rows with a number for the order.
using Ranked = std::vector<std::pair<double, std::pair<size_t, int64_t>>>;

class Search {
 public:
  Search(const SearchIndex& index, const IndexQuery& query)
      : index_(index), query_(query), latent_(query.latent.to(kFloat32)) {
    const LatentQuantizer& quantizer = index.quantizer;
    // Blocks of factors that do not count are taken out of the comparison by weights of zero.
    weights_ = query.factors.empty() ? torch::ones_like(latent_) : torch::zeros_like(latent_);
    counts_.assign(static_cast<size_t>(quantizer.stored_parts()), false);
    for (int64_t m = 0; m < quantizer.parts(); ++m) {
      const auto at = static_cast<size_t>(m);
      if (!used(quantizer.factors[at])) continue;
      counts_[at] = true;
      if (query.factors.empty()) continue;
      const torch::Tensor axes = quantizer.rotation.narrow(
          1, quantizer.begins[at], quantizer.begins[at + 1] - quantizer.begins[at]);
      weights_.masked_fill_(axes.ne(0).any(1), 1.0);
    }
  }

  IndexResult run() {
    IndexResult result;
    for (const IndexSegment& segment : index_.segments) {
      masks_.push_back(matching_images(segment, query_.values));
      result.images += segment.images;
      result.matching +=
          masks_.back().defined() ? masks_.back().sum().item<int64_t>() : segment.images;
    }
    const int64_t wanted = std::max(query_.top, query_.shortlist);
    Ranked ranked = query_.exact || result.matching <= 4 * wanted
                        ? compare_all()
                        : compare_shortlist(static_cast<size_t>(wanted), result.matching);
    const auto top = std::min(ranked.size(), static_cast<size_t>(query_.top));
    std::partial_sort(ranked.begin(), ranked.begin() + static_cast<long>(top), ranked.end());
    for (size_t i = 0; i < top; ++i)
      result.hits.push_back(
          {ranked[i].second.first, ranked[i].second.second, std::sqrt(ranked[i].first)});
    return result;
  }

 private:
  bool used(int64_t factor) const {
    return query_.factors.empty() || query_.factors[static_cast<size_t>(factor)];
  }

  /// Squared distances of some rows of latent vectors, float32 [n]. A damaged vector is infinitely
  /// far: NaN has no place in an order.
  torch::Tensor squared_distances(const torch::Tensor& latents) const {
    constexpr double kFar = std::numeric_limits<double>::infinity();
    return (latents.to(kFloat32) - latent_).square_().matmul(weights_).nan_to_num_(kFar, kFar);
  }

  Ranked compare_all() const {
    Ranked ranked;
    for (size_t s = 0; s < index_.segments.size(); ++s) {
      const torch::Tensor& latents = index_.segments[s].latents;
      for (int64_t begin = 0; begin < latents.size(0); begin += kComparedAtOnce) {
        const int64_t count = std::min(kComparedAtOnce, latents.size(0) - begin);
        torch::Tensor rows = torch::arange(begin, begin + count, kInt64);
        if (masks_[s].defined()) rows = rows.index({masks_[s].narrow(0, begin, count)});
        add_nearest(ranked, s, rows);
      }
    }
    return ranked;
  }

  /// Compares rows of a segment, and keeps those that may be among the nearest.
  void add_nearest(Ranked& ranked, size_t segment, const torch::Tensor& rows) const {
    if (rows.size(0) == 0) return;
    const torch::Tensor distances =
        squared_distances(index_.segments[segment].latents.index_select(0, rows));
    const int64_t kept = std::min(query_.top, rows.size(0));
    const auto [smallest, places] = distances.topk(kept, 0, /*largest=*/false, /*sorted=*/true);
    const torch::Tensor chosen = rows.index_select(0, places);
    for (int64_t i = 0; i < kept; ++i)
      ranked.push_back({smallest.data_ptr<float>()[i], {segment, chosen.data_ptr<int64_t>()[i]}});
  }

  /// How far from the query an image of the short list may be, squared: estimated from images that
  /// are spread over the index, and rather too far.
  float reach(const torch::Tensor& tables, int64_t matching, size_t wanted) const {
    torch::Tensor excess = tables - tables.amin(1, /*keepdim=*/true);
    for (int64_t m = 0; m < excess.size(0); ++m)
      if (!counts_[static_cast<size_t>(m)]) excess[m].zero_();
    std::vector<float> sample;
    const int64_t images = index_.count();
    for (const IndexSegment& segment : index_.segments) {
      const int64_t count =
          std::max<int64_t>(1, kProbedImages * segment.images / std::max<int64_t>(1, images));
      for (int64_t i = 0; i < count; ++i)
        sample.push_back(table_sum(segment.scan.data_ptr<uint8_t>(), segment.scan.size(1),
                                   i * segment.images / count, excess.data_ptr<float>()));
    }
    std::sort(sample.begin(), sample.end());
    const double share = 2.0 * static_cast<double>(wanted) / static_cast<double>(matching);
    const auto rank = static_cast<size_t>(share * static_cast<double>(sample.size())) + 8;
    return sample[std::min(rank, sample.size() - 1)];
  }

  Ranked compare_shortlist(size_t wanted, int64_t matching) const {
    const torch::Tensor exact_tables = index_.quantizer.tables(latent_);
    const ScanTables tables =
        round_tables(exact_tables, counts_, reach(exact_tables, matching, wanted));
    Shortlist list(wanted);
    int64_t first = 0;
    for (size_t s = 0; s < index_.segments.size(); ++s) {
      const IndexSegment& segment = index_.segments[s];
      std::vector<uint32_t> allowed;
      if (masks_[s].defined()) allowed = bits_of_mask(masks_[s]);
      scan_blocks({segment.scan.data_ptr<uint8_t>(), segment.scan.size(1), segment.images,
                   allowed.empty() ? nullptr : allowed.data()},
                  tables, first, list);
      first += segment.images;
    }
    return compare_rows(list.take());
  }

  Ranked compare_rows(const std::vector<std::pair<uint16_t, int64_t>>& found) const {
    std::vector<std::vector<int64_t>> rows(index_.segments.size());
    for (const auto& [sum, row] : found) {
      size_t segment = 0;
      int64_t own = row;
      while (own >= index_.segments[segment].images) own -= index_.segments[segment++].images;
      rows[segment].push_back(own);
    }
    Ranked ranked;
    for (size_t s = 0; s < rows.size(); ++s) add_nearest(ranked, s, torch::tensor(rows[s], kInt64));
    return ranked;
  }

  const SearchIndex& index_;
  const IndexQuery& query_;
  torch::Tensor latent_, weights_;    // float32 [Z]
  std::vector<bool> counts_;          // by part
  std::vector<torch::Tensor> masks_;  // by segment
};

}  // namespace

IndexResult search_index(const SearchIndex& index, const IndexQuery& query) {
  torch::NoGradGuard no_gradient;
  return Search(index, query).run();
}

}  // namespace facet
