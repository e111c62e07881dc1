#include "facet/model/fingerprint.h"

#include <zlib.h>

#include <fmt/format.h>

#include "facet/core/torch.h"

namespace facet {

std::string fingerprint(const Vae& model) {
  uLong sum = crc32(0, nullptr, 0);
  const auto add_text = [&](const std::string& text) {
    sum = crc32_z(sum, reinterpret_cast<const Bytef*>(text.data()), text.size());
  };
  const auto add = [&](const NamedTensors& tensors) {
    for (const auto& [name, tensor] : tensors) {
      add_text(name);
      const torch::Tensor plain = tensor.detach().cpu().contiguous();
      sum = crc32_z(sum, static_cast<const Bytef*>(plain.data_ptr()), plain.nbytes());
    }
  };
  add(model.parameters());
  for (size_t i = 0; i < model.prior.size(); ++i) {
    add_text(model.prior.factors[i].name);
    add(model.prior.posteriors[i].tensors());
  }
  return fmt::format("{:08x}", sum);
}

}  // namespace facet
