#include "facet/cuda/sums_ops.h"

#include <torch/csrc/autograd/custom_function.h>

#include "facet/core/torch.h"
#include "facet/cuda/launch.h"
#include "facet/cuda/sums.h"

namespace facet::cuda {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

Number number_type(const torch::Tensor& tensor) {
  if (tensor.scalar_type() == kFloat32) return Number::float32;
  if (tensor.scalar_type() == kFloat64) return Number::float64;
  TORCH_CHECK(tensor.scalar_type() == kInt64, "numbers to add are float32, float64 or int64");
  return Number::int64;
}

/// One row of numbers; a single number counts as one of length 1.
Term term_of(const torch::Tensor& values) {
  Term term = {};
  term.factor = 1;
  term.summary = Summary::sum;
  if (!values.defined()) return term;
  TORCH_CHECK(values.dim() <= 1 || values.is_contiguous(), "numbers to add are one row");
  term.values = values.data_ptr();
  term.count = values.numel();
  term.stride = values.dim() == 1 ? values.stride(0) : 1;
  term.type = number_type(values);
  return term;
}

struct Weights {
  std::vector<double> factors;
  variable_list weights;

  Term term(size_t index, const torch::Tensor& values) const {
    Term term = term_of(values);
    term.summary = Summary::mean;
    term.factor = factors[index];
    term.weight = pointer<double>(weights[index]);
    return term;
  }
};

struct WeightedSum : torch::autograd::Function<WeightedSum> {
  static torch::Tensor forward(AutogradContext* context, torch::TensorList values,
                               const Weights& weights) {
    const torch::Tensor sum = torch::empty({}, float64_like(values[0]));
    in_ranges(values.size(), most_terms, [&](size_t begin, size_t end) {
      Terms terms = {};
      for (size_t i = begin; i < end; ++i) terms.term[terms.count++] = weights.term(i, values[i]);
      launch(sum, [&](cudaStream_t stream) {
        add_terms(sum.data_ptr<double>(), terms, begin == 0, stream);
      });
    });
    variable_list saved = weights.weights;
    saved.insert(saved.end(), values.begin(), values.end());
    context->save_for_backward(saved);
    context->saved_data["factors"] = weights.factors;
    return sum;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto factors = context->saved_data["factors"].toDoubleVector();
    const size_t count = factors.size();
    const Weights weights{factors, {saved.begin(), saved.begin() + static_cast<int64_t>(count)}};
    const torch::Tensor gradient = gradients[0];
    const torch::Tensor derivatives =
                            torch::empty({static_cast<int64_t>(count)}, float64_like(gradient)),
                        small = torch::empty_like(derivatives, kFloat32);
    in_ranges(count, most_terms, [&](size_t begin, size_t end) {
      Terms terms = {};
      for (size_t i = begin; i < end; ++i)
        terms.term[terms.count++] = weights.term(i, saved[count + i]);
      launch(gradient, [&](cudaStream_t stream) {
        term_derivatives(gradient.data_ptr<double>(), terms, derivatives.data_ptr<double>() + begin,
                         small.data_ptr<float>() + begin, stream);
      });
    });
    variable_list result;
    for (size_t i = 0; i < count; ++i) {
      const torch::Tensor& values = saved[count + i];
      const torch::Tensor& own = values.scalar_type() == kFloat32 ? small : derivatives;
      result.push_back(own.select(0, static_cast<int64_t>(i)).expand(values.sizes()));
    }
    result.emplace_back();
    return result;
  }
};

}  // namespace

torch::Tensor weighted_sum(const std::vector<WeightedMean>& terms) {
  variable_list values;
  Weights weights;
  for (const WeightedMean& term : terms) {
    values.push_back(term.values);
    weights.factors.push_back(term.factor);
    weights.weights.push_back(term.weight);
  }
  return WeightedSum::apply(torch::TensorList(values), weights);
}

void add_to_sums(const torch::Tensor& sums, const std::vector<SummedTerm>& summed) {
  in_ranges(summed.size(), most_terms, [&](size_t begin, size_t end) {
    Terms terms = {};
    for (size_t i = begin; i < end; ++i) {
      Term& term = terms.term[terms.count++];
      term = term_of(summed[i].values);
      term.at = summed[i].at;
      if (!summed[i].values.defined()) continue;
      using What = SummedTerm::What;
      term.summary = summed[i].what == What::mean  ? Summary::mean
                     : summed[i].what == What::sum ? Summary::sum
                                                   : Summary::known;
    }
    launch(sums,
           [&](cudaStream_t stream) { add_terms(sums.data_ptr<double>(), terms, false, stream); });
  });
}

}  // namespace facet::cuda
