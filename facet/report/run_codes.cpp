#include "facet/report/run_codes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/torch.h"
#include "facet/data/image_file.h"
#include "facet/model/editing.h"
#include "facet/model/generate.h"
#include "facet/prior/sampling.h"
#include "facet/report/figures.h"
#include "facet/report/given_images.h"
#include "facet/search/code_bits.h"
#include "facet/search/code_file.h"
#include "facet/search/code_header.h"
#include "facet/search/image_codes.h"

namespace facet {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kDrawnAtOnce = 500;

/// "glasses=with,first=3" as settings. A comma may also be part of a value: what has no '=' goes
/// with what is before it.
std::vector<std::string> settings_of(const std::string& code) {
  std::vector<std::string> settings;
  for (size_t begin = 0; begin <= code.size();) {
    const size_t comma = std::min(code.find(',', begin), code.size());
    const std::string part = code.substr(begin, comma - begin);
    if (part.find('=') == std::string::npos && !settings.empty())
      settings.back() += "," + part;
    else
      settings.push_back(part);
    begin = comma + 1;
  }
  return settings;
}

/// Codes with some factors named; -1 for the others, int64 [N, I].
StoredCodes named_codes(const FactorialMixture& prior, const std::vector<std::string>& codes) {
  std::vector<torch::Tensor> rows;
  for (const std::string& code : codes)
    rows.push_back(torch::tensor(parse_fixed(prior, settings_of(code)), kInt64));
  return {torch::stack(rows), {}};
}

StoredCodes requested_codes(const Vae& model, const DecodeRequest& request) {
  return request.codes.empty() ? read_code_file(request.file, model, request.packed)
                               : named_codes(model.prior, request.codes);
}

/// Components with those that no one named: drawn, or else the heaviest of their factor.
torch::Tensor complete(const Vae& model, size_t factor, const torch::Tensor& components,
                       const Key& key, bool draw) {
  const FactorPosterior& posterior = model.prior.posteriors[factor];
  const int64_t count = components.size(0);
  const torch::Tensor others =
      draw ? sample_components(key, posterior, count)
           : same_component(posterior, heaviest_components(posterior, 1)[0], count);
  return torch::where(components.lt(0), others, components);
}

/// Latent vectors of codes [B, I], float64 [B, Z]: the means of the components' predictives, or
/// draws from them.
torch::Tensor latents_of(const Vae& model, const torch::Tensor& codes, const DecodeRequest& request,
                         const Key& key) {
  const torch::Tensor all = codes.to(model.device());
  std::vector<torch::Tensor> blocks;
  for (size_t i = 0; i < model.prior.size(); ++i) {
    const FactorPosterior& posterior = model.prior.posteriors[i];
    const torch::Tensor components = complete(model, i, all.select(1, static_cast<int64_t>(i)),
                                              key.fold(i).fold("component"), request.draw);
    blocks.push_back(request.draw ? sample_blocks(key.fold(i).fold("block"), posterior, components)
                                  : posterior.mean().m.index_select(0, components));
  }
  return torch::cat(blocks, 1);
}

/// Pixels of the codes from `begin` on, U8 [B, C, H, W]. Draws do not depend on how many there are.
torch::Tensor pixels_of(const Vae& model, const torch::Tensor& codes, int64_t begin,
                        const DecodeRequest& request) {
  torch::NoGradGuard no_gradient;
  const Key key = Key(request.seed).fold("decode").fold(static_cast<uint64_t>(begin));
  return decode_means(model, latents_of(model, codes, request, key));
}

/// A name below a folder for the image of a code. Names come from files that others may have
/// written: what would lead out of the folder is replaced by the number.
std::string picture_name(const TextColumn& names, int64_t n) {
  const fs::path name = names.empty() ? fs::path() : fs::path(std::string(names[n]));
  const bool inside = !name.empty() && name.is_relative() &&
                      std::find(name.begin(), name.end(), "..") == name.end();
  if (!inside || !name.has_filename()) return fmt::format("{:06}.png", n);
  return name.extension() == ".png" ? name.string() : name.string() + ".png";
}

}  // namespace

EncodeSummary encode_images(const LoadedRun& run, const EncodeRequest& request,
                            const CodeEvents& events) {
  const Vae& model = *run.model;
  const CodeContents contents{request.packed, request.probabilities, request.latents};
  require_code_ending(request.output, contents);  // before images, which may take a while
  require_writable(request.output, "writing codes");
  const GivenImages images =
      given_images(model, request.data, "encoding the images of", events.notice);
  const auto writer = open_code_file(request.output, model, images.pack, contents);
  const bool complete = for_each_code(model, images.pack, run.config.data,
                                      [&](int64_t, const ImageCodes& codes) { writer->add(codes); },
                                      {events.progress, events.stop});
  const CodeLayout layout(components_of(model.prior));
  EncodeSummary summary{
      .stopped = !complete,
      .images = images.pack.count(),
      .factors = static_cast<int64_t>(model.prior.size()),
      .bits = std::accumulate(layout.bits.begin(), layout.bits.end(), int64_t{0})};
  if (complete) writer->finish();
  return summary;
}

DrawnPicture decode_sheet(const LoadedRun& run, const DecodeRequest& request) {
  const Vae& model = *run.model;
  const StoredCodes stored = requested_codes(model, request);
  const int64_t all = stored.codes.size(0), shown = std::min(all, request.limit);
  Figure figure;
  for (int64_t begin = 0; begin < shown; begin += kDrawnAtOnce) {
    const int64_t count = std::min(kDrawnAtOnce, shown - begin);
    for (Image& image :
         to_images(pixels_of(model, stored.codes.narrow(0, begin, count), begin, request)))
      figure.cells.push_back(std::move(image));
  }
  figure.layout.columns =
      static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(figure.cells.size()))));
  figure.layout.scale = magnification(model.shape());
  DrawnPicture picture{draw(figure), {}};
  if (shown < all)
    picture.notes.push_back(fmt::format(
        "the first {} of {} codes; --limit draws more, a folder as --out takes all", shown, all));
  picture.notes.push_back(fmt::format("{} image{}", shown, shown == 1 ? "" : "s"));
  return picture;
}

int64_t decode_folder(const LoadedRun& run, const DecodeRequest& request, const std::string& folder,
                      const CodeEvents& events) {
  const Vae& model = *run.model;
  const StoredCodes stored = requested_codes(model, request);
  const int64_t all = stored.codes.size(0);
  for (int64_t begin = 0; begin < all; begin += kDrawnAtOnce) {
    const int64_t count = std::min(kDrawnAtOnce, all - begin);
    const std::vector<Image> images =
        to_images(pixels_of(model, stored.codes.narrow(0, begin, count), begin, request));
    for (int64_t n = 0; n < count; ++n) {
      const fs::path path = fs::path(folder) / picture_name(stored.names, begin + n);
      fs::create_directories(path.parent_path());
      write_png(path, images[static_cast<size_t>(n)]);
    }
    if (events.progress) events.progress(begin + count, all);
    if (events.stop && events.stop()) return begin + count;
  }
  return all;
}

}  // namespace facet
