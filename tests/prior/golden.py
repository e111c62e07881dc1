#!/usr/bin/env python3
"""Computes tests/prior/golden.json, the numbers that golden_test.cpp holds facet/prior to.

    python3 tests/prior/golden.py > tests/prior/golden.json
    python3 tests/prior/golden.py --check      # ends with 1 where the stored file says otherwise

Nothing here knows a formula of the library. The densities are written down as the paper defines them (normal,
Normal-Gamma, Dirichlet), without their normalisers; normalisers, expectations, divergences and predictive densities are
integrals of these, taken numerically in decimal arithmetic of 34 digits, with no function but exp, ln and the square
root. The posterior after a natural-gradient step is read off the log density that the step defines. So a digamma in the
library where a log Gamma should be shows.

golden_inputs.json holds what goes in: parameters of posteriors, encodings, labels, points z. Its last case looks like a
trained model, with components of thousands of images, a dead one, and an image far from its label.
"""
import argparse
import json
import sys
from decimal import Decimal, getcontext
from pathlib import Path

getcontext().prec = 34
FOLDER = Path(__file__).resolve().parent
TWO_PI = 2 * Decimal("3.14159265358979323846264338327950288419716939937511")
LOG_TWO_PI = TWO_PI.ln()
HALF = Decimal("0.5")


class Rule:
    """The trapezoidal rule for integrals over the real line against a weight with one peak near x = 0. node(x) gives
    the weight and what integrands are functions of. On smooth integrands that fall off on both sides the error is
    squared when the step is halved; so where two steps agree to nine digits the finer one has eighteen, more than a
    double can hold."""

    negligible = Decimal("1e-24")  # of the peak: beyond that the rule stops

    def __init__(self, node):
        self.node, self.step, self.nodes = node, Decimal("1.5"), {}
        self.refine()
        self.total = self.integral(lambda *at: 1)

    def refine(self):
        """Half the step; the nodes go from 0 outwards to both sides."""
        self.step /= 2
        known, self.nodes, peak = {2 * at: node for at, node in self.nodes.items()}, {}, 0
        for side in (1, -1):
            at = 0
            while at == 0 or self.nodes[at - side][0] >= peak * self.negligible:
                self.nodes[at] = known[at] if at in known else self.node(at * self.step)
                peak = max(peak, self.nodes[at][0])
                at += side

    def integral(self, value):
        while self.step > Decimal("1e-3"):
            terms = {at: weight * value(*node) for at, (weight, *node) in self.nodes.items()}
            fine, coarse = sum(terms.values()), 2 * sum(term for at, term in terms.items() if at % 2 == 0)
            # The second term is for the divergence of a density from itself: rounding noise at every node.
            size = sum(abs(term) for term in terms.values()) + self.nodes[0][0] * Decimal("1e-18")
            if abs(fine - coarse) <= size * Decimal("1e-9"):
                return fine * self.step
            self.refine()
        raise ArithmeticError("an integral that no step resolves")

    def mean(self, value):
        return self.integral(value) / self.total


class Gamma(Rule):
    """Precisions alpha with density proportional to alpha^(a - 1) e^(-b alpha) likelihood(alpha), as u = log alpha. To
    the left the density of u falls as e^(a u) only: where a is small, x - e^-x gets there in few steps. Integrands are
    functions of alpha and log alpha."""

    def __init__(self, a, b, likelihood=lambda alpha: 1):
        start, width = (a / b).ln(), 1 / a.sqrt()

        def node(x):
            if a < 1:
                steep = (-x).exp()
                u, slope = start + x - steep, 1 + steep
            else:
                u, slope = start + width * x, width
            alpha = u.exp()
            return (a * u - b * alpha).exp() * slope * likelihood(alpha), alpha, u
        super().__init__(node)


class Stick(Rule):
    """Shares v in (0, 1) with density proportional to v^(c - 1) (1 - v)^(d - 1), as u = log v / (1 - v). Integrands are
    functions of log v and log (1 - v)."""

    def __init__(self, c, d):
        start, width = (c / d).ln(), min(Decimal(1), (1 / c + 1 / d).sqrt())

        def node(x):
            u = start + width * x
            log_v = -(1 + (-u).exp()).ln()
            log_rest = log_v - u
            return (c * log_v + d * log_rest).exp() * width, log_v, log_rest
        super().__init__(node)


# The mean of a polynomial of degree five or less over N(0, 1), exactly (Gauss-Hermite): the logs of densities that are
# averaged here are quadratic in z and in mu.
NORMAL_POINTS = [(sign * Decimal(3).sqrt(), weight / Decimal(6)) for sign, weight in ((-1, 1), (0, 4), (1, 1))]


def normal_mean(value, mean, stddev):
    return sum(weight * value(mean + stddev * x) for x, weight in NORMAL_POINTS)


def log_normal(z, mu, alpha, log_alpha):
    return (log_alpha - LOG_TWO_PI - alpha * (z - mu) ** 2) * HALF


def sum_of_bell(first, count):
    """The sum of exp(y_j) for `count` values y_j that are quadratic in j, of which the first three are given: from term
    to term the ratio changes by a constant factor."""
    term, ratio, factor = first[0].exp(), (first[1] - first[0]).exp(), (first[2] - 2 * first[1] + first[0]).exp()
    total = term
    for _ in range(count - 1):
        term *= ratio
        ratio *= factor
        total += term
    return total


class NormalGamma:
    """N(mu; m, 1 / (s alpha)) Gamma(alpha; a, b)."""

    def __init__(self, m, s, a, b):
        self.m, self.s, self.a, self.b, self.log_s, self.gamma = m, s, a, b, s.ln(), Gamma(a, b)
        self.log_gamma_total = self.gamma.total.ln()

    def log_density(self, mu, alpha, log_alpha):
        normal = log_normal(mu, self.m, self.s * alpha, self.log_s + log_alpha)
        return normal + (self.a - 1) * log_alpha - self.b * alpha - self.log_gamma_total

    def mean(self, value):
        """E[value(mu, alpha, log alpha)] of a value that is quadratic in mu."""
        def given_alpha(alpha, log_alpha):
            return normal_mean(lambda mu: value(mu, alpha, log_alpha), self.m, 1 / (self.s * alpha).sqrt())
        return self.gamma.mean(given_alpha)

    def divergence(self, other):
        return self.mean(lambda *at: self.log_density(*at) - other.log_density(*at))

    def moments(self):
        return {"log_alpha": self.mean(lambda mu, alpha, log_alpha: log_alpha),
                "alpha": self.mean(lambda mu, alpha, log_alpha: alpha),
                "alpha_mu": self.mean(lambda mu, alpha, log_alpha: alpha * mu),
                "alpha_mu2": self.mean(lambda mu, alpha, log_alpha: alpha * mu**2)}

    def log_normaliser(self):
        """A(lambda) of log density = lambda . t - A(lambda). At mu = 0 that is lambda_1 log alpha + lambda_2 alpha - A,
        of which the values at 2 and 4 leave A alone."""
        two, four = (self.log_density(Decimal(0), Decimal(alpha), Decimal(alpha).ln()) for alpha in (2, 4))
        return four - 2 * two

    def log_predictive(self, z):
        """log of the integral of N(z; mu, 1 / alpha) over mu and alpha. In mu the integrand is a bell between z and m;
        its place and width are used only to say where the nodes are."""
        centre, reach = (z + self.s * self.m) / (1 + self.s), 15
        spread, bell = self.s + 1, self.s.sqrt() / TWO_PI

        def likelihood(alpha):
            step = Decimal("0.65") / (spread * alpha).sqrt()
            exponent = lambda mu: -alpha * ((z - mu) ** 2 + self.s * (mu - self.m) ** 2) * HALF
            first = [exponent(centre + j * step) for j in range(-reach, 3 - reach)]
            return step * alpha * bell * sum_of_bell(first, 2 * reach + 1)
        return (Gamma(self.a, self.b, likelihood).total / self.gamma.total).ln()


class Dirichlet:
    """Weights pi with density proportional to the product of pi_k^(c_k - 1), integrated over the simplex one share of
    what is left at a time: pi_1 = v_1, pi_2 = (1 - v_1) v_2, and so on."""

    def __init__(self, counts):
        self.counts = counts
        self.expected_log, self.expected, self.log_normaliser = [], [], Decimal(0)
        log_left, left = Decimal(0), Decimal(1)
        for k in range(len(counts) - 1):
            stick = Stick(counts[k], sum(counts[k + 1:]))
            share = stick.mean(lambda log_v, log_rest: log_v.exp())
            self.expected_log.append(log_left + stick.mean(lambda log_v, log_rest: log_v))
            self.expected.append(left * share)
            self.log_normaliser += stick.total.ln()
            log_left += stick.mean(lambda log_v, log_rest: log_rest)
            left *= 1 - share
        self.expected_log.append(log_left)
        self.expected.append(left)

    def divergence(self, other):
        log_ratio = sum((q - p) * expected for q, p, expected in zip(self.counts, other.counts, self.expected_log))
        return log_ratio - self.log_normaliser + other.log_normaliser


def log_softmax(values):
    total = sum((value - max(values)).exp() for value in values).ln() + max(values)
    return [value - total for value in values]


def stepped_component(log_density):
    """m, s, a, b of the Normal-Gamma whose log density, up to a constant, is log_density(mu, alpha, log alpha)."""
    low, middle, high = (log_density(Decimal(mu), Decimal(1), Decimal(0)) for mu in (-1, 0, 1))
    s = 2 * middle - low - high
    m = (high - low) / 2 / s
    one, two, four = (log_density(m, Decimal(alpha), Decimal(alpha).ln()) for alpha in (1, 2, 4))
    b = 2 * two - one - four
    return m, s, (two - one + b) / Decimal(2).ln() + HALF, b


def natural_step(case, factor, components, responsibilities):
    """eq:lambda-update as what it says of the densities: log q becomes (1 - rho) log q + rho log q*, where q* is
    proportional to the prior times the likelihood of the batch, each image N / B times."""
    prior, rho, images = case["hyperprior"], case["rho"], range(len(factor["label"]))
    scale = Decimal(case["N"]) / len(images)
    hyperprior = NormalGamma(prior["m0"], prior["s0"], prior["a0"], prior["b0"])
    result = {name: [[] for _ in components] for name in "msab"}
    for k, row in enumerate(components):
        for d, component in enumerate(row):
            def log_step(mu, alpha, log_alpha):
                batch = sum(responsibilities[n][k] *
                            normal_mean(lambda z: log_normal(z, mu, alpha, log_alpha), factor["encoder_mean"][n][d],
                                        factor["encoder_variance"][n][d].sqrt()) for n in images)
                at = (mu, alpha, log_alpha)
                return (1 - rho) * component.log_density(*at) + rho * (hyperprior.log_density(*at) + scale * batch)
            for name, value in zip("msab", stepped_component(log_step)):
                result[name][k].append(value)
    # The weights' log density is a sum of (c_k - 1) log pi_k: at log pi_k = 1, and 0 elsewhere, it is c_k - 1.
    result["c"] = [1 + (1 - rho) * (count - 1) +
                   rho * (prior["c0"] - 1 + scale * sum(responsibilities[n][k] for n in images))
                   for k, count in enumerate(factor["c"])]
    return result


def expected_values(case, factor):
    """What golden_test.cpp compares, by the names that it has there."""
    prior, images = case["hyperprior"], range(len(factor["label"]))
    components = [[NormalGamma(*parameters) for parameters in zip(*rows)]
                  for rows in zip(factor["m"], factor["s"], factor["a"], factor["b"])]
    hyperprior = NormalGamma(prior["m0"], prior["s0"], prior["a0"], prior["b0"])
    weights = Dirichlet(factor["c"])
    means, stddevs = factor["encoder_mean"], [[v.sqrt() for v in row] for row in factor["encoder_variance"]]

    def log_normal_of(n, row):
        return sum(component.mean(lambda *at: normal_mean(lambda z: log_normal(z, *at), means[n][d], stddevs[n][d]))
                   for d, component in enumerate(row))

    def negative_entropy(n):
        return sum(normal_mean(lambda z: log_normal(z, mean, 1 / stddev**2, -2 * stddev.ln()), mean, stddev)
                   for mean, stddev in zip(means[n], stddevs[n]))

    log_normals = [[log_normal_of(n, row) for row in components] for n in images]
    log_g = [log_softmax([x + y for x, y in zip(row, weights.expected_log)]) for row in log_normals]
    gamma = [[value.exp() for value in log_g[n]] if factor["label"][n] < 0 else
             [Decimal(k == factor["label"][n]) for k in range(len(components))] for n in images]
    weighted = lambda n, values: sum(g * value for g, value in zip(gamma[n], values) if g > 0)
    moments = [[component.moments() for component in row] for row in components]
    densities = [[sum(component.log_predictive(z) for z, component in zip(point, row)) for row in components]
                 for point in factor["z"]]
    return {
        "moments": {name: [[each[name] for each in row] for row in moments] for name in moments[0][0]},
        "log_normaliser": [[component.log_normaliser() for component in row] for row in components],
        "expected_log_normal": log_normals,
        "expected_log_pi": weights.expected_log,
        "expected_pi": weights.expected,
        "allocation": [[value.exp() for value in row] for row in log_g],
        "responsibilities": gamma,
        "kl_z": [negative_entropy(n) - weighted(n, log_normals[n]) for n in images],
        "kl_r": [weighted(n, [(g.ln() if g > 0 else 0) - e for g, e in zip(gamma[n], weights.expected_log)])
                 for n in images],
        "label_log_likelihood": [log_g[n][label] if label >= 0 else Decimal(0)
                                 for n, label in enumerate(factor["label"])],
        "kl_normal_gamma": [sum(component.divergence(hyperprior) for component in row) for row in components],
        "kl_dirichlet": weights.divergence(Dirichlet([prior["c0"]] * len(components))),
        "natural_step": natural_step(case, factor, components, gamma),
        "student_t_logpdf": densities,
        "predictive_logpdf": [sum(p * value.exp() for p, value in zip(weights.expected, row)).ln()
                              for row in densities],
    }


def each_number(value, change):
    """`value` with every number in it changed; whole ones (labels, N) stay as they are."""
    if isinstance(value, dict):
        return {name: each_number(inner, change) for name, inner in value.items()}
    if isinstance(value, list):
        return [each_number(inner, change) for inner in value]
    return value if isinstance(value, int) else change(value)


def golden_cases():
    cases = json.loads((FOLDER / "golden_inputs.json").read_text())
    for case in cases:
        exact = each_number(case, Decimal)
        case["factors"] = [factor | each_number(expected_values(exact, exact_factor), float)
                           for factor, exact_factor in zip(case["factors"], exact["factors"])]
    return cases


def text_of(cases):
    """JSON with one quantity of one factor a line, so that a difference can be read."""
    def lines(values, indent):
        return ",\n".join(f"{indent}{json.dumps(name)}: {json.dumps(value)}" for name, value in values.items())
    texts = []
    for case in cases:
        factors = ",\n".join("    {\n" + lines(factor, "      ") + "\n    }" for factor in case["factors"])
        head = lines({name: value for name, value in case.items() if name != "factors"}, "    ")
        texts.append("  {\n" + head + ',\n    "factors": [\n' + factors + "\n    ]\n  }")
    return "[\n" + ",\n".join(texts) + "\n]\n"


def differences(stored, fresh, path=""):
    """'path: stored, fresh' where two values differ by more than the last digits of a double."""
    if isinstance(fresh, dict) and isinstance(stored, dict) and stored.keys() == fresh.keys():
        return [line for name in fresh for line in differences(stored[name], fresh[name], f"{path}.{name}")]
    if isinstance(fresh, list) and isinstance(stored, list) and len(stored) == len(fresh):
        return [line for i in range(len(fresh)) for line in differences(stored[i], fresh[i], f"{path}[{i}]")]
    numbers = isinstance(fresh, (int, float)) and isinstance(stored, (int, float))
    if numbers and abs(stored - fresh) <= 1e-15 * abs(fresh):
        return []
    return [f"{path.lstrip('.')}: stored {str(stored)[:60]}, computed {str(fresh)[:60]}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the stored file, write nothing")
    check = parser.parse_args().check
    cases = golden_cases()
    if not check:
        sys.stdout.write(text_of(cases))
        return 0
    found = differences(json.loads((FOLDER / "golden.json").read_text()), cases)
    for line in found[:20]:
        print(line)
    if found:
        print(f"golden.json: {len(found)} numbers are not what golden.py computes", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
