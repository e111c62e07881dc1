// The terms of labels in a joint step: one pass of each network and of each mixture gives what
// separate passes give, and a step has few operations, each of which is a kernel on a GPU.
#include <set>

#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include "facet/core/torch.h"
#include "facet/data/import.h"
#include "facet/model/objective.h"
#include "facet/model/posterior_optimizer.h"
#include "facet/train/learner.h"
#include "tests/close.h"
#include "tests/parameters.h"

namespace facet {
namespace {

/// A model in float64 with two named factors and a free one, a batch, and further images with
/// labels.
struct LabelledBatch {
  Vae model{options(), {1, 8, 8}, Key(1)};
  torch::Tensor x = uniform(Key(2), {6, 1, 8, 8}, kFloat64);
  torch::Tensor more = uniform(Key(3), {5, 1, 8, 8}, kFloat64);
  torch::Tensor labels = torch::randint(-1, 2, {6, 3}, Key(4).generator(), kInt64),
                more_labels = torch::randint(-1, 2, {5, 3}, Key(5).generator(), kInt64);
  torch::Tensor z = standard_normal(Key(6), {4, 7}, kFloat64);
  std::vector<torch::Tensor> value_weights = {
      torch::tensor({0.7, 1.6}, kFloat64), torch::tensor({1.0, 0.5, 2.0}, kFloat64), {}};
  std::vector<PosteriorOptimizer> optimizers;

  static ModelOptions options() {
    ModelOptions options;
    options.network = {"custom", {4, 6}, {2, 2}, 3};
    options.factors = {{"one", 2, 2, "one", {}}, {"two", 3, 3, "two", {}}, {"free", 4, 2, "", {}}};
    return options;
  }
  LabelledBatch() {
    to_float64(model);
    torch::NoGradGuard no_gradient;
    labels.select(1, 2).fill_(-1);
    more_labels.select(1, 2).fill_(-1);
    for (auto& [name, parameter] : model.parameters())
      parameter.add_(0.05 * standard_normal(Key(7), parameter.sizes(), kFloat64));
    for (size_t i = 0; i < 3; ++i) {
      const FactorOptions& factor = model.prior.factors[i];
      const torch::Tensor one = torch::ones({factor.components, factor.dimensions}, kFloat64);
      model.prior.posteriors[i] = FactorPosterior::from_mean(
          {standard_normal(Key(8).fold(i), one.sizes(), kFloat64), 5 * one, 4 * one, 3 * one},
          torch::linspace(2, 5, factor.components, kFloat64));
      optimizers.emplace_back(model.prior.posteriors[i], AdamOptions(),
                              PosteriorOptimizer::Kind::posterior);
    }
  }
  std::vector<FactorParameters> track() {
    return {optimizers[0].track(model.prior.posteriors[0]),
            optimizers[1].track(model.prior.posteriors[1]), FactorParameters()};
  }
  /// What a step adds up, and all gradients of it.
  std::vector<torch::Tensor> with_gradients(const torch::Tensor& loss) {
    for (auto& [name, parameter] : model.parameters()) parameter.mutable_grad().reset();
    loss.backward();
    std::vector<torch::Tensor> all = {loss.detach()};
    for (auto& [name, parameter] : model.parameters()) all.push_back(parameter.grad().clone());
    for (const size_t i : {0, 1}) all.push_back(optimizers[i].gradient().clone());
    return all;
  }
  torch::Tensor loss_of(const BoundTerms& terms, const torch::Tensor& output) {
    return batch_loss(terms, labels, {number(3.0), number(20.0), value_weights}) +
           output.square().mean();
  }
};

TEST(JointTerms, AreThoseOfSeparatePasses) {
  LabelledBatch batch;
  Vae& model = batch.model;
  const auto apart = batch.track();
  const Encoding encoding = model.encode(batch.more);
  const auto factors =
      factor_terms(model.prior, encoding.mean, encoding.log_variance, apart, batch.more_labels);
  const auto expected = batch.with_gradients(
      batch.loss_of(bound_terms(model, apart, batch.x, batch.x, batch.labels, Key(9)),
                    model.decode(batch.z)) +
      2.5 * label_loss(factors, batch.more_labels, batch.value_weights));

  const auto together = batch.track();
  // As two sets of images, of which the first has 2.
  const FurtherInput further{{batch.more.narrow(0, 0, 2), batch.more.narrow(0, 2, 3)}, batch.z};
  const JointTerms terms =
      joint_terms(model, together, batch.x, batch.x, batch.labels, Key(9), further);
  const auto found =
      batch.with_gradients(batch.loss_of(terms.batch, terms.output) +
                           label_loss(terms.log_g, batch.more_labels,
                                      torch::full({5}, 2.5 / 5, kFloat64), batch.value_weights));
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)  // float64 sums in another order
    EXPECT_LE((found[i] - expected[i]).abs().max().item<double>(),
              1e-11 * (1 + expected[i].abs().max().item<double>()))
        << "tensor " << i;
}

/// What a step asks of LibTorch.
struct Operations {
  int64_t all = 0;  ///< that compute or copy; not views of memory, nor names for several others
  int64_t networks = 0;  ///< passes: each network has one linear layer
};
thread_local Operations* counted = nullptr;

std::unique_ptr<at::ObserverContext> count_operation(const at::RecordFunction& function) {
  static const std::set<std::string> others = {"aten::view",
                                               "aten::expand",
                                               "aten::select",
                                               "aten::narrow",
                                               "aten::slice",
                                               "aten::t",
                                               "aten::transpose",
                                               "aten::unsqueeze",
                                               "aten::squeeze",
                                               "aten::as_strided",
                                               "aten::detach",
                                               "aten::reshape",
                                               "aten::empty",
                                               "aten::empty_like",
                                               "aten::flatten",
                                               "aten::split",
                                               "aten::empty_strided",
                                               "aten::to",
                                               "aten::_to_copy",
                                               "aten::item",
                                               "aten::chunk",
                                               "aten::contiguous",
                                               "aten::permute",
                                               "aten::conv2d",
                                               "aten::convolution",
                                               "aten::matmul",
                                               "aten::softmax",
                                               "aten::log_softmax",
                                               "aten::zeros",
                                               "aten::ones",
                                               "aten::full",
                                               "aten::zeros_like",
                                               "aten::ones_like",
                                               "aten::full_like",
                                               "aten::square",
                                               "aten::stack",
                                               "aten::clone",
                                               "aten::resize_",
                                               "aten::resolve_conj",
                                               "aten::_reshape_alias",
                                               "aten::split_with_sizes",
                                               "aten::_local_scalar_dense"};
  const std::string name = function.name();
  if (counted == nullptr || name.rfind("aten::", 0) != 0) return nullptr;
  if (name == "aten::linear")
    ++counted->networks;
  else if (!others.contains(name))
    ++counted->all;
  return nullptr;
}

/// Those of a joint step on the CPU.
Operations operations_of_step(bool labels) {
  Config config;
  config.data.portraits = {300, 16, 1};
  config.data.label_fraction = 0.2;
  config.model.likelihood.kind = "gaussian";
  config.model.likelihood.minimum_stddev = 0.1;
  config.model.network = {"custom", {8, 16}, {2, 2}, 3};
  config.model.factors = {
      {"glasses", 2, 2, "glasses", {}}, {"smile", 3, 2, "smile", {}}, {"free", 12, 6, "", {}}};
  config.train.batch_size = 16;
  config.train.initialise.images = 100;
  config.train.joint.labelled_batch = 8;
  config.train.joint.pseudo_labels.weight = 1;
  config.train.joint.consistency_weight = 20;
  config.train.joint.refit_every = 0;
  config.train.hyperprior_every = 0;
  if (!labels) config.train.joint.label_weight = {0, 0, 0, "linear"};
  Learner learner(config, make_portraits(config.data.portraits), torch::kCPU, {}, {});
  learner.place_components();
  learner.clear_encodings();
  learner.step(Phase::joint, 0);
  Operations operations;
  const auto observer = at::addThreadLocalCallback(
      at::RecordFunctionCallback(count_operation).scopes({at::RecordScope::FUNCTION}));
  counted = &operations;
  learner.step(Phase::joint, 1);
  counted = nullptr;
  at::removeCallback(observer);
  return operations;
}

TEST(JointStep, HasFewOperationsForLabels) {
  const Operations without = operations_of_step(false), with = operations_of_step(true);
  // The encoder and the decoder on the batch, and the moved encoder; with labels the encoder once
  // more, on conditional samples.
  EXPECT_EQ(without.networks, 3);
  EXPECT_EQ(with.networks, 4);
  EXPECT_GT(with.all, without.all) << "labels were computed";
  // With LibTorch 1.13 there are 1,095; separate passes took 1,870. Other versions may need a few
  // more.
  EXPECT_LE(with.all - without.all, 1250) << "of " << with.all;
}

}  // namespace
}  // namespace facet
