// The prior as ONNX graphs: assignment probabilities (eq:resp) and samples of the Student-t
// predictive (eq:z-t-dist). Inside, numbers are float64 as in prior/: the terms of an E-step are
// large and nearly cancel.
#include <numbers>

#include <fmt/format.h>

#include "facet/core/torch.h"
#include "facet/export/onnx_graph.h"
#include "facet/export/onnx_model.h"
#include "facet/prior/student_t.h"

namespace facet {

namespace {

using Value = OnnxGraph::Value;

/// The smallest uniform number that a draw is made of: 0 would be infinitely far out.
constexpr double kSmallestUniform = 1e-12;
/// The largest squared distance from the mean, in squared scales. Only components without data,
/// with almost no degrees of freedom, come near; student_t_sample bounds its draws likewise.
constexpr double kLargestSquare = 1e12;

Value float64_number(OnnxGraph& graph, double value) {
  return graph.scalar(value, OnnxType::float64);
}

Value concatenated(OnnxGraph& graph, const std::vector<Value>& parts,
                   const std::string& name = "") {
  return graph.node("Concat", parts, {{"axis", int64_t{1}}}, name);
}

/// The rows of a constant [K, D] at indices [B], [B, D].
Value rows(OnnxGraph& graph, const torch::Tensor& table, const Value& indices) {
  return graph.node("Gather", {graph.constant(table), indices}, {{"axis", int64_t{0}}});
}

Value squeezed(OnnxGraph& graph, const Value& column) {
  return graph.node("Squeeze", {column, graph.integers({1})});
}

/// eq:Elogp + E[log pi] of one block, up to what all components share: [B, K] from mean and
/// variance [B, D].
Value assignment_logits(OnnxGraph& graph, const Value& mean, const Value& variance,
                        const FactorPosterior& posterior) {
  const NormalGammaMoments expected = moments(posterior.mean());
  const torch::Tensor constant = 0.5 * (expected.log_alpha - expected.alpha_mu2).sum(1) +
                                 posterior.expected_log_weights();  // [K]
  const Value square = graph.node("Add", {graph.node("Mul", {mean, mean}), variance});
  const Value linear = graph.node("MatMul", {mean, graph.constant(expected.alpha_mu.t())});
  const Value quadratic = graph.node("MatMul", {square, graph.constant(-0.5 * expected.alpha.t())});
  return graph.node("Add", {graph.node("Add", {linear, quadratic}), graph.constant(constant)});
}

/// The component of one factor for every draw, [B]: the chosen one, or where that is negative the
/// one at which the cumulated weights exceed a uniform number. Both inputs are [B, 1].
Value chosen_component(OnnxGraph& graph, const Value& chosen, const Value& uniform,
                       const FactorPosterior& posterior) {
  const torch::Tensor weights = posterior.expected_weights();
  const Value cumulated = graph.constant(weights.cumsum(0).unsqueeze(0));  // [1, K]
  const Value passed =
      graph.node("GreaterOrEqual", {graph.cast(uniform, OnnxType::float64), cumulated});
  const Value count =
      graph.node("ReduceSum", {graph.cast(passed, OnnxType::int64), graph.integers({1})},
                 {{"keepdims", int64_t{0}}});
  const Value last = graph.scalar(static_cast<double>(weights.size(0) - 1), OnnxType::int64);
  const Value drawn = graph.node("Min", {count, last});
  const Value index = squeezed(graph, chosen);
  const Value is_drawn = graph.node("Less", {index, graph.scalar(0, OnnxType::int64)});
  return graph.node("Where", {is_drawn, drawn, index});
}

/// A Student-t variate with nu degrees of freedom from two uniform numbers, all [B, Z]:
///   t = sqrt(nu (u^(-2/nu) - 1)) cos(2 pi v)
/// (Bailey, 1994), which is Box and Muller's formula in the limit of large nu. It is exact, and a
/// function of a fixed number of inputs, which rejection sampling of a Gamma variate is not.
Value student_t_variate(OnnxGraph& graph, const Value& u, const Value& v, const Value& nu) {
  const Value safe = graph.node("Max", {u, float64_number(graph, kSmallestUniform)});
  const Value exponent = graph.node("Div", {graph.node("Log", {safe}), nu});
  const Value power = graph.node("Exp", {graph.node("Mul", {exponent, float64_number(graph, -2)})});
  const Value above = graph.node("Sub", {power, float64_number(graph, 1)});
  const Value square =
      graph.node("Min", {graph.node("Mul", {nu, above}), float64_number(graph, kLargestSquare)});
  const Value radius = graph.node("Sqrt", {square});
  // Runtimes have the cosine in float32 only.
  const Value angle = graph.node("Mul", {v, graph.scalar(2 * std::numbers::pi, OnnxType::float32)});
  const Value cosine = graph.cast(graph.node("Cos", {angle}), OnnxType::float64);
  return graph.node("Mul", {radius, cosine});
}

/// The factor that every dimension of z belongs to.
std::vector<int64_t> factor_of_dimension(const FactorialMixture& prior) {
  std::vector<int64_t> factors;
  for (size_t i = 0; i < prior.size(); ++i)
    factors.insert(factors.end(), static_cast<size_t>(prior.factors[i].dimensions),
                   static_cast<int64_t>(i));
  return factors;
}

}  // namespace

std::string assignments_onnx(const FactorialMixture& prior, const OnnxMetadata& metadata) {
  OnnxGraph graph("assignments");
  const std::vector<int64_t> latent_shape = {kOnnxBatch, prior.dimensions()};
  const Value mean =
      graph.cast(graph.input("mean", OnnxType::float32, latent_shape, "the encoder's mean"),
                 OnnxType::float64);
  const Value log_variance = graph.cast(
      graph.input("log_variance", OnnxType::float32, latent_shape, "the encoder's log variance"),
      OnnxType::float64);
  const Value variance = graph.node("Exp", {log_variance});
  std::vector<Value> code, offsets;
  for (size_t i = 0; i < prior.size(); ++i) {
    const FactorOptions& factor = prior.factors[i];
    const int64_t begin = prior.block_begin(i), end = begin + factor.dimensions;
    const Value block = graph.columns(mean, begin, end);
    const Value logits =
        assignment_logits(graph, block, graph.columns(variance, begin, end), prior.posteriors[i]);
    const Value probabilities = graph.node("Softmax", {logits}, {{"axis", int64_t{1}}});
    const std::string name = "probabilities." + factor.name;
    graph.output(graph.cast(probabilities, OnnxType::float32, name), OnnxType::float32,
                 {kOnnxBatch, factor.components},
                 fmt::format("assignment probabilities of factor '{}'", factor.name));
    code.push_back(graph.node("ArgMax", {probabilities}, {{"axis", int64_t{1}}}));  // [B, 1]
    const Value component = squeezed(graph, code.back());
    const NormalGamma q = prior.posteriors[i].mean();
    const Value distance = graph.node("Sub", {block, rows(graph, q.m, component)});
    offsets.push_back(
        graph.node("Div", {distance, rows(graph, torch::sqrt(squared_scale(q)), component)}));
  }
  graph.output(concatenated(graph, code, "code"), OnnxType::int64,
               {kOnnxBatch, static_cast<int64_t>(prior.size())},
               "the most likely component of every factor");
  graph.output(graph.cast(concatenated(graph, offsets), OnnxType::float32, "offsets"),
               OnnxType::float32, latent_shape,
               "distances from the means of these components, in their predictive scales");
  return graph.serialise("Encodings to the probabilities of every factor's components.", metadata);
}

std::string sampler_onnx(const FactorialMixture& prior, const OnnxMetadata& metadata) {
  OnnxGraph graph("sampler");
  const auto factors = static_cast<int64_t>(prior.size());
  const int64_t latents = prior.dimensions();
  const Value components = graph.input("components", OnnxType::int64, {kOnnxBatch, factors},
                                       "a component for every factor; -1 draws one");
  const Value choice = graph.input("choice", OnnxType::float32, {kOnnxBatch, factors},
                                   "uniform numbers in [0, 1) that draw components");
  const Value noise = graph.input("noise", OnnxType::float32, {kOnnxBatch, latents, 2},
                                  "uniform numbers in (0, 1) that draw positions");
  const Value temperature =
      graph.input("temperature", OnnxType::float32, {kOnnxBatch, factors},
                  "factors on the distance from the component's mean; 1 samples, 0 gives the mean");
  const Value offsets = graph.input("offsets", OnnxType::float32, {kOnnxBatch, latents},
                                    "further distances from the mean, in predictive scales");
  std::vector<Value> code, means, scales, degrees;
  for (size_t i = 0; i < prior.size(); ++i) {
    const auto column = static_cast<int64_t>(i);
    const Value component =
        chosen_component(graph, graph.columns(components, column, column + 1),
                         graph.columns(choice, column, column + 1), prior.posteriors[i]);
    const NormalGamma q = prior.posteriors[i].mean();
    code.push_back(graph.node("Unsqueeze", {component, graph.integers({1})}));
    means.push_back(rows(graph, q.m, component));
    scales.push_back(rows(graph, torch::sqrt(squared_scale(q)), component));
    degrees.push_back(rows(graph, 2.0 * q.a, component));
  }
  const auto uniform = [&](int64_t which) {
    return graph.node("Gather", {noise, graph.scalar(static_cast<double>(which), OnnxType::int64)},
                      {{"axis", int64_t{2}}});
  };
  const Value t = student_t_variate(graph, graph.cast(uniform(0), OnnxType::float64), uniform(1),
                                    concatenated(graph, degrees));
  const Value heat = graph.node("Gather", {temperature, graph.integers(factor_of_dimension(prior))},
                                {{"axis", int64_t{1}}});  // [B, Z]
  const Value moved =
      graph.node("Add", {graph.node("Mul", {t, graph.cast(heat, OnnxType::float64)}),
                         graph.cast(offsets, OnnxType::float64)});
  const Value distance = graph.node("Mul", {concatenated(graph, scales), moved});
  const Value z = graph.node("Add", {concatenated(graph, means), distance});
  graph.output(graph.cast(z, OnnxType::float32, "z"), OnnxType::float32, {kOnnxBatch, latents},
               "latent vectors");
  graph.output(concatenated(graph, code, "code"), OnnxType::int64, {kOnnxBatch, factors},
               "the components that they are from");
  return graph.serialise("Components and noise to latent vectors.", metadata);
}

}  // namespace facet
