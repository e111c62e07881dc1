// The quantizer and the search of an index against direct distances.
#include "facet/search/index_search.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "facet/core/random.h"
#include "facet/core/torch.h"
#include "facet/search/scan_tables.h"
#include "tests/message_of.h"

namespace facet {
namespace {

std::vector<FactorOptions> three_factors() {
  return {
      {"glasses", 2, 3, "glasses", {"no", "yes"}}, {"hair", 5, 4, "", {}}, {"rest", 7, 2, "", {}}};
}

/// Latent vectors with axes of very different variances, correlated within blocks, float32 [N, 9].
torch::Tensor latents(int64_t count, uint64_t seed) {
  const torch::Tensor noise = standard_normal(Key(seed), {count, 9}, {});
  const torch::Tensor scale =
      torch::tensor({3.0, 1.0, 0.1, 2.0, 2.0, 0.5, 0.01, 1.0, 1.5}, kFloat32);
  torch::Tensor z = noise * scale + 1;
  z.select(1, 1).add_(z.select(1, 0));
  z.select(1, 4).sub_(0.7 * z.select(1, 3));
  return z;
}

IndexSegment segment_of(const torch::Tensor& z, const LatentQuantizer& quantizer, uint64_t seed) {
  IndexSegment segment;
  segment.images = z.size(0);
  segment.latents = z.to(kFloat16);
  segment.scan = arrange_blocks(quantizer.quantize(segment.latents));
  segment.codes = (uniform(Key(seed), {z.size(0), 3}, {}) * 2).to(kInt32);
  segment.labels = (uniform(Key(seed + 1), {z.size(0), 3}, {}) * 3).to(kInt32) - 1;
  segment.labels.narrow(1, 1, 2).fill_(-1);  // of named factors alone
  return segment;
}

SearchIndex two_segments() {
  SearchIndex index;
  index.quantizer = fit_quantizer(Key(4), latents(4000, 1), three_factors(), 6);
  index.segments = {segment_of(latents(3000, 1), index.quantizer, 10),
                    segment_of(latents(777, 2), index.quantizer, 20)};
  return index;
}

/// The nearest images one by one in double precision: (distance, segment, row).
std::vector<std::tuple<double, size_t, int64_t>> slow_search(const SearchIndex& index,
                                                             const IndexQuery& query) {
  const std::vector<int64_t> owner = {0, 0, 0, 1, 1, 1, 1, 2, 2};
  std::vector<std::tuple<double, size_t, int64_t>> all;
  for (size_t s = 0; s < index.segments.size(); ++s)
    for (int64_t n = 0; n < index.segments[s].images; ++n) {
      const IndexSegment& segment = index.segments[s];
      bool matches = true;
      for (size_t i = 0; i < query.values.size(); ++i) {
        const auto given = segment.labels[n][static_cast<int64_t>(i)].item<int64_t>();
        const auto code = segment.codes[n][static_cast<int64_t>(i)].item<int64_t>();
        matches = matches && (query.values[i] < 0 || query.values[i] == (given < 0 ? code : given));
      }
      double sum = 0;
      for (int64_t d = 0; d < 9; ++d)
        if (query.factors.empty() ||
            query.factors[static_cast<size_t>(owner[static_cast<size_t>(d)])])
          sum += std::pow(segment.latents[n][d].item<double>() - query.latent[d].item<double>(), 2);
      if (matches) all.emplace_back(std::sqrt(sum), s, n);
    }
  std::sort(all.begin(), all.end());
  return all;
}

TEST(LatentQuantizer, TableSumsAreDistancesFromReconstructions) {
  const torch::Tensor z = latents(3000, 1), query = latents(1, 9)[0];
  for (const int64_t parts : {3, 6, 9, 100}) {
    const LatentQuantizer quantizer = fit_quantizer(Key(3), z, three_factors(), parts);
    EXPECT_EQ(quantizer.parts(), std::min<int64_t>(parts, 9)) << "at most one part per axis";
    const torch::Tensor numbers = quantizer.quantize(z.narrow(0, 0, 50));
    const torch::Tensor tables = quantizer.tables(query);
    const torch::Tensor direct = (quantizer.reconstruct(numbers) - query).square().sum(1);
    for (int64_t n = 0; n < 50; ++n) {
      double sum = 0;
      for (int64_t m = 0; m < quantizer.stored_parts(); ++m)
        sum += tables[m][numbers[n][m].item<int64_t>()].item<double>();
      EXPECT_NEAR(sum, direct[n].item<double>(), 1e-3 * (1 + sum));  // sums of float32
    }
  }
}

TEST(LatentQuantizer, MorePartsAreCloserAndNoPartSpansFactors) {
  const torch::Tensor z = latents(3000, 1);
  double previous = 1e9;
  for (const int64_t parts : {3, 5, 7, 9}) {
    const LatentQuantizer quantizer = fit_quantizer(Key(3), z, three_factors(), parts);
    const double error =
        (quantizer.reconstruct(quantizer.quantize(z)) - z).square().sum(1).mean().item<double>();
    EXPECT_LT(error, previous);
    previous = error;
    const std::vector<int64_t> begin = {0, 3, 7, 9};
    for (int64_t m = 0; m < quantizer.parts(); ++m) {
      const auto at = static_cast<size_t>(m);
      const auto factor = static_cast<size_t>(quantizer.factors[at]);
      torch::Tensor axes =
          quantizer.rotation
              .narrow(1, quantizer.begins[at], quantizer.begins[at + 1] - quantizer.begins[at])
              .clone();
      axes.narrow(0, begin[factor], begin[factor + 1] - begin[factor]).zero_();
      EXPECT_EQ(axes.abs().max().item<double>(), 0) << "outside of its block";
    }
  }
  EXPECT_LT(previous, 0.02 * z.var(0).sum().item<double>());
}

TEST(LatentQuantizer, AxesOfSmallVarianceShareAPart) {
  const auto groups = group_axes({1e-4, 4.0, 3.0, 1e-4, 2e-4}, {0, 0, 0, 0, 0}, 3);
  EXPECT_EQ(groups, (std::vector<std::vector<int64_t>>{{0, 3, 4}, {1}, {2}}));
  EXPECT_EQ(group_axes({1, 1, 1}, {0, 1, 2}, 1).size(), 3u) << "every factor keeps one";
}

TEST(LatentQuantizer, SurvivesAFileAndDamageIsAnError) {
  const LatentQuantizer quantizer = fit_quantizer(Key(3), latents(500, 1), three_factors(), 6);
  TensorFile file;
  quantizer.store(file);
  const LatentQuantizer again = LatentQuantizer::restore(file, three_factors(), "test");
  EXPECT_TRUE(torch::equal(again.quantize(latents(50, 3)), quantizer.quantize(latents(50, 3))));
  file.tensors["quantizer.begins"][1] = 100;
  EXPECT_NE(message_of([&] {
              LatentQuantizer::restore(file, three_factors(), "test");
            }).find("does not fit together"),
            std::string::npos);
}

TEST(IndexSearch, AShortListOfEverythingIsExactSearch) {
  const SearchIndex index = two_segments();
  for (const uint64_t seed : {1, 2, 3}) {
    IndexQuery query;
    query.latent = latents(1, 100 + seed)[0];
    query.top = 25;
    const auto expected = slow_search(index, query);
    for (const int64_t shortlist : {900, 4000}) {  // scanned, and compared without a scan
      query.shortlist = shortlist;
      const IndexResult result = search_index(index, query);
      ASSERT_EQ(result.hits.size(), 25u);
      EXPECT_EQ(result.images, 3777);
      for (size_t i = 0; i < 25; ++i)  // float32 sums of float16 vectors
        EXPECT_NEAR(result.hits[i].distance, std::get<0>(expected[i]), 1e-4)
            << shortlist << " " << i;
    }
  }
}

TEST(IndexSearch, FactorsAndValuesNarrowTheSearch) {
  const SearchIndex index = two_segments();
  IndexQuery query;
  query.latent = latents(1, 50)[0];
  query.top = 10;
  query.shortlist = 300;  // below a quarter of the matching: the scan has a mask
  query.factors = {false, true, false};
  query.values = {1, -1, -1};
  const auto expected = slow_search(index, query);
  const IndexResult result = search_index(index, query);
  EXPECT_EQ(result.matching, static_cast<int64_t>(expected.size()));
  EXPECT_GT(result.matching, 4 * 300);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_NEAR(result.hits[i].distance, std::get<0>(expected[i]), 1e-4);
    const IndexSegment& segment = index.segments[result.hits[i].segment];
    const auto given = segment.labels[result.hits[i].row][0].item<int64_t>();
    EXPECT_TRUE(given == 1 ||
                (given < 0 && segment.codes[result.hits[i].row][0].item<int64_t>() == 1));
  }
  query.values = {-1, 4, -1};  // none has it
  EXPECT_TRUE(search_index(index, query).hits.empty());
}

}  // namespace
}  // namespace facet
