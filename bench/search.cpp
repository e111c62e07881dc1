// Recall and speed of the scan of an index, beside faiss on the same vectors and the same core, as
// one JSON object. Recall is how often the true nearest neighbour is among the first R; speed is
// the median time of one query among a million vectors, which are the given ones, repeated with
// noise.
//   bench_search recall|speed LATENTS.npz QUERIES [COUNT]
// LATENTS are from `facet encode --latents`; the last QUERIES rows are the queries.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>

#include <fmt/format.h>

#include "bench/faiss_peer.h"
#include "facet/core/json.h"
#include "facet/core/random.h"
#include "facet/core/torch.h"
#include "facet/data/array_read.h"
#include "facet/search/index_search.h"
#include "facet/search/scan_tables.h"

namespace {

using facet::Json;

constexpr int64_t kFitted = 20000;
constexpr int64_t kTimedQueries = 100;

template <class Call>
double median_milliseconds(int64_t repeats, Call call) {
  std::vector<double> times;
  for (int64_t i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    call(i);
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[static_cast<size_t>(repeats / 2)];
}

/// An index in memory, of one factor with all dimensions.
facet::SearchIndex make_index(const torch::Tensor& vectors, int64_t bytes) {
  facet::FactorOptions factor;
  factor.dimensions = vectors.size(1);
  const int64_t count = vectors.size(0), fitted = std::min(count, kFitted);
  const torch::Tensor rows = (torch::arange(fitted, facet::kInt64) * count).floor_divide(fitted);
  facet::SearchIndex index;
  index.quantizer =
      facet::fit_quantizer(facet::Key(1), vectors.index_select(0, rows), {factor}, 2 * bytes);
  facet::IndexSegment segment;
  segment.images = count;
  segment.latents = vectors.to(facet::kFloat16);
  std::vector<torch::Tensor> blocks;
  for (const torch::Tensor& part : vectors.split(32768))
    blocks.push_back(facet::arrange_blocks(index.quantizer.quantize(part)));
  segment.scan = torch::cat(blocks);
  index.segments.push_back(segment);
  return index;
}

/// The order that the scan gives by itself.
std::vector<int64_t> scan_alone(const facet::SearchIndex& index, const torch::Tensor& query,
                                int64_t count, float farthest) {
  const facet::IndexSegment& segment = index.segments[0];
  std::vector<bool> counts(static_cast<size_t>(index.quantizer.stored_parts()), false);
  std::fill_n(counts.begin(), index.quantizer.parts(), true);
  const auto tables = facet::round_tables(index.quantizer.tables(query), counts, farthest);
  facet::Shortlist list(static_cast<size_t>(count));
  facet::scan_blocks({segment.scan.data_ptr<uint8_t>(), segment.scan.size(1), segment.images},
                     tables, 0, list);
  auto found = list.take();
  std::sort(found.begin(), found.end());
  std::vector<int64_t> rows;
  for (const auto& [sum, row] : found) rows.push_back(row);
  return rows;
}

std::vector<int64_t> whole_search(const facet::SearchIndex& index, const torch::Tensor& query,
                                  int64_t top, bool exact) {
  facet::IndexQuery wanted;
  wanted.latent = query;
  wanted.top = top;
  wanted.exact = exact;
  std::vector<int64_t> rows;
  for (const facet::IndexHit& hit : facet::search_index(index, wanted).hits)
    rows.push_back(hit.row);
  return rows;
}

/// How often the nearest is among the first 1, 10 and 100.
template <class Find>
Json recall(const std::vector<int64_t>& nearest, Find find) {
  std::array<int64_t, 3> found{};
  for (size_t q = 0; q < nearest.size(); ++q) {
    const std::vector<int64_t> rows = find(static_cast<int64_t>(q));
    const auto place = std::find(rows.begin(), rows.end(), nearest[q]) - rows.begin();
    if (place == static_cast<long>(rows.size())) continue;
    found[0] += place < 1;
    found[1] += place < 10;
    found[2] += place < 100;
  }
  const auto share = [&](int64_t count) {
    return static_cast<double>(count) / static_cast<double>(nearest.size());
  };
  return {{"1", share(found[0])}, {"10", share(found[1])}, {"100", share(found[2])}};
}

/// The squared distance within which short lists of about `count` lie, for the rounding of tables.
float usual_reach(const torch::Tensor& vectors, const torch::Tensor& query, int64_t count) {
  const torch::Tensor sample = vectors.narrow(0, 0, std::min<int64_t>(vectors.size(0), 20000));
  const int64_t rank = std::max<int64_t>(8, 2 * count * sample.size(0) / vectors.size(0));
  return std::get<0>((sample - query).square().sum(1).kthvalue(rank)).item<float>();
}

Json measure_recall(const torch::Tensor& base, const torch::Tensor& queries) {
  std::vector<int64_t> nearest;
  for (int64_t q = 0; q < queries.size(0); ++q)
    nearest.push_back((base - queries[q]).square().sum(1).argmin().item<int64_t>());
  Json rows = Json::array();
  const auto add = [&](const std::string& name, double bytes, const Json& values) {
    rows.push_back({{"name", name}, {"bytes", bytes}, {"recall", values}});
    std::cerr << name << " " << bytes << " " << values.dump() << "\n";
  };
  for (const int64_t bytes : {4, 8, 16}) {
    const facet::SearchIndex index = make_index(base, bytes);
    const double stored = static_cast<double>(index.quantizer.stored_parts()) / 2;
    add("facet, scan alone", stored, recall(nearest, [&](int64_t q) {
          return scan_alone(index, queries[q], 100, usual_reach(base, queries[q], 100));
        }));
    add("facet, short list of 1000 compared exactly", stored,
        recall(nearest, [&](int64_t q) { return whole_search(index, queries[q], 100, false); }));
    for (const std::string& name : {fmt::format("PQ{}", bytes), fmt::format("PQ{}x4fs", 2 * bytes),
                                    fmt::format("OPQ{0}_64,PQ{0}", bytes)}) {
      const auto peer = make_faiss_peer(name, base.size(1), base.data_ptr<float>(),
                                        std::min(kFitted, base.size(0)), base.size(0));
      if (!peer) continue;
      add("faiss " + name, static_cast<double>(bytes), recall(nearest, [&](int64_t q) {
            return peer->search(queries[q].data_ptr<float>(), 100);
          }));
    }
  }
  return rows;
}

Json measure_speed(const torch::Tensor& base, const torch::Tensor& queries, int64_t count) {
  const torch::Tensor rows = torch::arange(count, facet::kInt64).remainder(base.size(0));
  const torch::Tensor noise = facet::standard_normal(facet::Key(5), {count, base.size(1)}, {});
  const torch::Tensor vectors =
      (base.index_select(0, rows) + 0.3 * base.std(0) * noise).contiguous();
  const int64_t timed = std::min(kTimedQueries, queries.size(0));
  Json table = Json::array();
  const auto add = [&](const std::string& name, double bytes, double milliseconds) {
    table.push_back({{"name", name}, {"bytes", bytes}, {"milliseconds", milliseconds}});
    std::cerr << name << " " << bytes << " " << milliseconds << " ms\n";
  };
  for (const int64_t bytes : {8, 16}) {
    const facet::SearchIndex index = make_index(vectors, bytes);
    const double stored = static_cast<double>(index.quantizer.stored_parts()) / 2;
    const float reach = usual_reach(vectors, queries[0], 1000);
    add("facet, scan alone", stored,
        median_milliseconds(timed, [&](int64_t q) { scan_alone(index, queries[q], 100, reach); }));
    add("facet, whole query with exact comparison", stored,
        median_milliseconds(timed, [&](int64_t q) { whole_search(index, queries[q], 20, false); }));
    if (bytes == 16)
      add("facet, all compared exactly", 2.0 * static_cast<double>(vectors.size(1)),
          median_milliseconds(5, [&](int64_t q) { whole_search(index, queries[q], 20, true); }));
    for (const std::string& name :
         {fmt::format("PQ{}", bytes), fmt::format("PQ{}x4fs", 2 * bytes)}) {
      const auto peer = make_faiss_peer(name, base.size(1), vectors.data_ptr<float>(),
                                        std::min(kFitted, count), count);
      if (!peer) continue;
      add("faiss " + name, static_cast<double>(bytes), median_milliseconds(timed, [&](int64_t q) {
            peer->search(queries[q].data_ptr<float>(), 100);
          }));
    }
  }
  const auto flat = make_faiss_peer("Flat", base.size(1), vectors.data_ptr<float>(),
                                    std::min(kFitted, count), count);
  if (flat)
    add("faiss Flat (exact)", 4.0 * static_cast<double>(vectors.size(1)),
        median_milliseconds(5, [&](int64_t q) { flat->search(queries[q].data_ptr<float>(), 20); }));
  return table;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "bench_search recall|speed LATENTS QUERIES [COUNT]\n";
    return 2;
  }
  torch::NoGradGuard no_gradient;
  at::set_num_threads(1);  // and faiss by OMP_NUM_THREADS, which bench/compare_search sets
  const torch::Tensor all =
      facet::read_arrays(argv[2], "benchmark").arrays.at("mean").to(facet::kFloat32).contiguous();
  const int64_t asked = std::atoll(argv[3]), count = argc > 4 ? std::atoll(argv[4]) : 1000000;
  const int64_t held = all.size(0) / 7;  // the test images of MNIST, at the end
  const torch::Tensor base = all.narrow(0, 0, all.size(0) - held).contiguous();
  const torch::Tensor queries =
      all.narrow(0, all.size(0) - held, std::min(asked, held)).contiguous();
  Json result = {{"vectors", base.size(0)},
                 {"dimensions", base.size(1)},
                 {"queries", queries.size(0)},
                 {"avx2", facet::find_block_avx2() != nullptr},
                 {"faiss", faiss_build()}};
  if (std::string(argv[1]) == "recall") {
    result["recall"] = measure_recall(base, queries);
  } else {
    result["timed_vectors"] = count;
    result["speed"] = measure_speed(base, queries, count);
  }
  std::cout << result.dump(1) << '\n';
}
