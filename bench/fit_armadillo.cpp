// Armadillo's gmm_diag on the data of bench/compare_fit, from the same start: a peer of `facet
// fit`.
//   bench_fit_armadillo FOLDER N D K ITERATIONS      prints one JSON object
#include <armadillo>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

template <class T>
std::vector<T> read(const std::string& path, size_t count) {
  std::vector<T> values(count);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(count * sizeof(T)));
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(1);
  }
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const std::string folder = argv[1];
  const size_t count = std::stoul(argv[2]), dimensions = std::stoul(argv[3]),
               components = std::stoul(argv[4]);
  const auto iterations = static_cast<arma::uword>(std::stoul(argv[5]));
  std::vector<double> numbers = read<double>(folder + "/vectors.bin", count * dimensions);
  const std::vector<int64_t> start = read<int64_t>(folder + "/start.bin", count);
  const arma::mat data(numbers.data(), dimensions, count, /*copy_aux_mem=*/false);

  arma::mat means(dimensions, components, arma::fill::zeros), squares = means;
  arma::rowvec sizes(components, arma::fill::zeros);
  for (size_t n = 0; n < count; ++n) {
    const auto k = static_cast<arma::uword>(start[n]);
    means.col(k) += data.col(n);
    squares.col(k) += arma::square(data.col(n));
    sizes(k) += 1;
  }
  means.each_row() /= sizes;
  squares.each_row() /= sizes;
  arma::gmm_diag model;
  model.set_params(means, squares - arma::square(means), sizes / static_cast<double>(count));
  const auto begin = std::chrono::steady_clock::now();
  model.learn(data, components, arma::eucl_dist, arma::keep_existing, 0, iterations, 1e-10, false);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("{\"seconds\": %.6f, \"iterations\": %llu, \"log_density\": %.9f}\n", seconds.count(),
              static_cast<unsigned long long>(iterations), model.avg_log_p(data));
}
