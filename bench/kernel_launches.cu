// Prints what launches of tile products ask for, one JSON object per kernel and line: the template
// arguments of the kernel, the threads of a block, its dynamic shared memory, and whether the
// launcher takes the tile only where it fits. For scripts/kernel-resources, which compares this
// with the limits of GPUs; needs none itself.
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <string>
#include <typeinfo>

#include "facet/cuda/convolution_wgmma.cuh"

namespace facet::cuda {

namespace {

template <class T>
std::string name_of() {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(typeid(T).name(), nullptr, nullptr, &status), std::free);
  return name.get();
}

template <class T, class Shape, bool LeftInnerRows, bool RightInnerRows>
void print(const char* kernel, bool transposed, bool checked) {
  using Product = typename Shape::template Product<T, LeftInnerRows, RightInnerRows>;
  std::printf(
      "{\"kernel\": \"%s\", \"operand\": \"%s\", \"tile\": \"%s\", \"transposed\": %s, "
      "\"threads\": %d, \"dynamic_bytes\": %d, \"checked\": %s}\n",
      kernel, name_of<T>().c_str(), name_of<Shape>().c_str(), transposed ? "true" : "false",
      Shape::threads, Product::shared_bytes, checked ? "true" : "false");
}

/// `checked`: launched only where fits() says so.
template <class T, class Shape>
void print_all(bool checked = false) {
  print<T, Shape, false, false>("gather_product", false, checked);
  print<T, Shape, false, true>("gather_product", true, checked);
  print<T, Shape, true, true>("weight_product", false, checked);
}

template <class T>
void print_tiles() {
  print_all<T, LongTile<T>>();
  print_all<T, WideTile<T>>(true);
  print_all<T, LargeTile<T>>(true);
  print_all<T, ShortWideTile<T>>();
  print_all<T, ShortLargeTile<T>>();
  print_all<T, MediumTile>();
  print_all<T, SmallTile>();
  print_all<T, TinyTile>();
  print_all<T, NarrowTile>();
}

}  // namespace

}  // namespace facet::cuda

int main() {
  using namespace facet::cuda;
  print_tiles<float>();
  print_tiles<__nv_bfloat16>();
  print_all<__nv_bfloat16, WarpgroupTile>();
  std::printf("{\"besides\": %d}\n", bytes_besides_ring);
}
