#include "facet/train/suggested_config.h"

#include <algorithm>

#include <fmt/format.h>

#include "facet/core/json.h"
#include "facet/core/torch.h"

namespace facet {

namespace {

/// Values that a factor can be named by: fewer say nothing, and more are a key, not a property.
constexpr int64_t fewest_values = 2, most_values = 200;
/// Labels from which ordinary batches have enough of them.
constexpr double share_for_batches = 0.2;
/// The images whose pixels are looked at.
constexpr int64_t looked_at = 2000;

std::string quoted(const std::string& text) { return Json(text).dump(); }

/// The training images' labels of a property, and how many values they show.
struct Labels {
  int64_t known = 0, values = 0;
};
Labels labels_of(const Pack& pack, size_t property) {
  const torch::Tensor chosen = pack.indices({Split::train});
  const torch::Tensor column =
      pack.labels.select(1, static_cast<int64_t>(property)).index_select(0, chosen);
  const torch::Tensor known = column.masked_select(column.ge(0));
  return {known.numel(), std::get<0>(at::_unique(known)).numel()};
}

/// How pixels are distributed, from some of the images.
struct Pixels {
  bool binary = false;          ///< only 0 and 255
  bool black_or_white = false;  ///< nearly all close to one of them, as in scanned writing
};
Pixels look_at(const Pack& pack) {
  const int64_t count = pack.count(), some = std::min(count, looked_at);
  const torch::Tensor chosen =
      torch::linspace(0, static_cast<double>(count - 1), some, kFloat64).to(kInt64);
  const torch::Tensor pixels = pack.images.gather(chosen);
  const auto share = [](const torch::Tensor& mask) {
    return mask.to(kFloat64).mean().item<double>();
  };
  const bool grey = pack.shape().channels == 1;
  return {grey && share(pixels.eq(0).logical_or(pixels.eq(255))) == 1.0,
          grey && share(pixels.lt(26).logical_or(pixels.gt(229))) > 0.8};
}

/// Lines of the config, a comment above each that needs a reason.
class Lines {
 public:
  void add(const std::string& line) { text_ += line + "\n"; }
  template <class... Values>
  void add(fmt::format_string<const Values&...> format, const Values&... values) {
    add(fmt::vformat(format, fmt::make_format_args(values...)));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void add_data(Lines& lines, const std::string& path, const Pixels& pixels) {
  if (pixels.black_or_white && !pixels.binary) {
    lines.add(
        "  // Nearly all pixels are black or white: each is drawn as one of them, anew in every "
        "step.");
    lines.add("  \"data\": {{\"pack\": {}, \"binarize\": \"draw\"}},", quoted(path));
    return;
  }
  lines.add(
      "  // Add \"mirror\": true if a picture and its mirror image show the same (faces, not "
      "letters).");
  lines.add("  \"data\": {{\"pack\": {}}},", quoted(path));
}

void add_likelihood(Lines& lines, const Pixels& pixels) {
  if (pixels.binary || pixels.black_or_white)
    lines.add("    \"likelihood\": {\"kind\": \"bernoulli\"},");
  else
    lines.add("    \"likelihood\": {\"kind\": \"gaussian\", \"minimum_stddev\": 0.05},");
}

/// The factors that get a name, and those that are left to find something themselves.
struct Factors {
  std::vector<std::string> lines;
  int64_t labels = 0;  ///< the fewest of a named property
};

Factors named_factors(const Pack& pack, int64_t dimensions) {
  Factors factors;
  for (size_t p = 0; p < pack.properties.size(); ++p) {
    const Property& property = pack.properties[p];
    const auto values = static_cast<int64_t>(property.values.size());
    const Labels labels = labels_of(pack, p);
    if (values < fewest_values || values > most_values || labels.values < fewest_values) {
      factors.lines.push_back(
          fmt::format("      // '{}' names no factor: {} value{} among {} training labels.",
                      property.name, labels.values, labels.values == 1 ? "" : "s", labels.known));
      continue;
    }
    factors.lines.push_back(fmt::format("      // {} training images have a label of '{}'.",
                                        labels.known, property.name));
    factors.lines.push_back(fmt::format(
        "      {{\"name\": {0}, \"property\": {0}, \"components\": {1}, \"dimensions\": {2}}},",
        quoted(property.name), values, dimensions));
    factors.labels = factors.labels == 0 ? labels.known : std::min(factors.labels, labels.known);
  }
  return factors;
}

bool is_property(const std::vector<Property>& properties, const std::string& name) {
  return std::any_of(properties.begin(), properties.end(),
                     [&](const Property& property) { return property.name == name; });
}

void add_factors(Lines& lines, const Factors& named, const std::vector<Property>& properties,
                 int64_t images, int64_t dimensions) {
  const int64_t components = images < 5000 ? 8 : 16;
  lines.add("    \"factors\": [");
  for (const std::string& line : named.lines) lines.add(line);
  lines.add("      // Free factors find what else varies. More components than needed die out.");
  std::vector<std::string> names;
  for (const char* name : {"first", "second", "third", "fourth"})
    if (names.size() < 2 && !is_property(properties, name)) names.emplace_back(name);
  for (const std::string& name : names)
    lines.add("      {{\"name\": {}, \"components\": {}, \"dimensions\": {}}}{}", quoted(name),
              components, dimensions, name == names.back() ? "" : ",");
  lines.add("    ]");
}

/// The size of networks, latent space and steps for a kind of image and machine.
struct Sizes {
  std::string network;
  int64_t named_dimensions, free_dimensions, pretrain, joint;
};
Sizes sizes_for(const ImageShape& shape, bool gpu) {
  const int64_t side = std::max(shape.height, shape.width);
  const bool square = shape.height == shape.width;
  const std::string network = square && side == 28          ? "paper28"
                              : square && side == 64 && gpu ? "paper64"
                                                            : "auto";
  Sizes sizes{network, side <= 32 ? 8 : 16, side <= 32 ? 16 : 32, 2500, 5000};
  if (gpu) sizes.pretrain = 10000, sizes.joint = 30000;
  return sizes;
}

void add_train(Lines& lines, const Sizes& sizes, const Factors& named, int64_t images, bool gpu) {
  lines.add("  \"train\": {");
  if (gpu) lines.add("    \"precision\": \"bf16\",");
  lines.add(
      "    \"pretrain\": {{\"steps\": {}, \"kl_weight\": {{\"start\": 0, \"end\": 1, \"steps\": "
      "{}}}}},",
      sizes.pretrain, sizes.pretrain);
  if (named.labels == 0) {
    lines.add("    \"joint\": {{\"steps\": {}}},", sizes.joint);
  } else if (static_cast<double>(named.labels) < share_for_batches * static_cast<double>(images)) {
    lines.add(
        "    // Labels are few: every step has a batch of labelled images of its own, and images "
        "of whose");
    lines.add(
        "    // value the model is sure teach it further (docs/mathematics.md, \"Few labels\").");
    lines.add(
        "    \"joint\": {{\"steps\": {}, \"label_weight\": {{\"start\": 1000, \"end\": 1000}}, "
        "\"labelled_batch\": 64,",
        sizes.joint);
    lines.add("      \"pseudo_labels\": {\"weight\": 1}},");
  } else {
    lines.add(
        "    \"joint\": {{\"steps\": {}, \"label_weight\": {{\"start\": 1000, \"end\": 1000}}}},",
        sizes.joint);
  }
  lines.add("    \"learning_rate\": {\"start\": 1e-3, \"end\": 2e-5, \"shape\": \"cosine\"},");
  lines.add(
      "    // Against learning images by heart; more of it if the bound on valid images falls "
      "behind.");
  lines.add("    \"adam\": {\"weight_decay\": 0.05}");
  lines.add("  }");
}

}  // namespace

std::string suggested_config(const Pack& pack, const std::string& path, bool gpu) {
  const ImageShape shape = pack.shape();
  const Pixels pixels = look_at(pack);
  const Sizes sizes = sizes_for(shape, gpu);
  const int64_t images = pack.indices({Split::train}).numel();
  const Factors named = named_factors(pack, sizes.named_dimensions);
  Lines lines;
  lines.add(
      "// {} images of {}x{} (width x height) in {} channel{}, {} to train on; steps for a {}.",
      pack.count(), shape.width, shape.height, shape.channels, shape.channels == 1 ? "" : "s",
      images, gpu ? "GPU" : "CPU");
  lines.add("// docs/config.md describes every option.");
  lines.add("{");
  add_data(lines, path, pixels);
  lines.add("  \"model\": {");
  add_likelihood(lines, pixels);
  lines.add("    \"network\": {{\"preset\": \"{}\"}},", sizes.network);
  add_factors(lines, named, pack.properties, images, sizes.free_dimensions);
  lines.add("  },");
  add_train(lines, sizes, named, images, gpu);
  lines.add("}");
  return lines.text();
}

}  // namespace facet
