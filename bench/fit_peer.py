#!/usr/bin/env python3
"""scikit-learn's mixtures on the data of bench/compare_fit, from the same start, and the check of bounds.

    fit_peer.py make FOLDER N D K            writes vectors.npy, start.npy, vectors.bin and start.bin
    fit_peer.py bayesian|gaussian FOLDER K ITERATIONS    prints one JSON object
    fit_peer.py bound FOLDER RUN K           the bound of facet's posterior and of scikit-learn's, by one formula
"""
import json
import struct
import sys
import time
import warnings
from pathlib import Path

import numpy as np


def make(folder, count, dimensions, components):
    """Planted clusters that overlap, and as a start the nearest of K random vectors."""
    random = np.random.default_rng(1)
    centres = 1.5 * random.standard_normal((components, dimensions))
    widths = np.exp(0.4 * random.standard_normal((components, dimensions)))
    weights = random.dirichlet(np.full(components, 2.0))
    chosen = random.choice(components, count, p=weights)
    vectors = 3.0 + centres[chosen] + widths[chosen] * random.standard_normal((count, dimensions))
    seeds = vectors[random.choice(count, components, replace=False)]
    distance = (seeds ** 2).sum(1) - 2 * vectors @ seeds.T
    start = distance.argmin(1)
    np.save(folder / "vectors.npy", vectors)
    np.save(folder / "start.npy", start)
    vectors.tofile(folder / "vectors.bin")
    start.astype(np.int64).tofile(folder / "start.bin")


def one_hot(start, components):
    responsibilities = np.zeros((len(start), components))
    responsibilities[np.arange(len(start)), start] = 1
    return responsibilities


def from_start(kind, start, components):
    """The class with our start in place of its k-means."""
    class Started(kind):
        def _initialize_parameters(self, vectors, random_state):
            self._initialize(vectors, one_hot(start, components))
    return Started


def bayesian_options(vectors, components, iterations):
    return dict(n_components=components, covariance_type="diag", max_iter=iterations, tol=0, reg_covar=0,
                mean_prior=vectors.mean(0), mean_precision_prior=1.0, covariance_prior=vectors.var(0),
                degrees_of_freedom_prior=float(vectors.shape[1]), weight_concentration_prior=1.0,
                weight_concentration_prior_type="dirichlet_distribution")


def peer(name, folder, components, iterations):
    from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
    warnings.filterwarnings("ignore")
    vectors, start = np.load(folder / "vectors.npy"), np.load(folder / "start.npy")
    if name == "bayesian":
        model = from_start(BayesianGaussianMixture, start, components)(**bayesian_options(vectors, components, iterations))
    else:
        model = from_start(GaussianMixture, start, components)(n_components=components, covariance_type="diag",
                                                               max_iter=iterations, tol=0)
    begin = time.perf_counter()
    model.fit(vectors)
    seconds = time.perf_counter() - begin
    if name == "bayesian":
        dof = model.degrees_of_freedom_[:, None]
        np.savez(folder / "bayesian.npz", m=model.means_, s=np.tile(model.mean_precision_[:, None], vectors.shape[1]),
                 a=np.tile(dof / 2, vectors.shape[1]), b=dof * model.covariances_ / 2, c=model.weight_concentration_)
    print(json.dumps({"seconds": seconds, "iterations": iterations, "done": model.n_iter_}))


def bound_of(vectors, q, p):
    """The bound of a mixture of Normal-Gammas and a Dirichlet, in nats per vector; docs/fit.md has the formula."""
    from scipy.special import digamma, gammaln, logsumexp
    m, s, a, b, c = (q[name] for name in "msabc")
    m0, s0, a0, b0, c0 = (p[name] for name in ("m", "s", "a", "b", "c"))
    precision = a / b
    constant = 0.5 * (digamma(a) - np.log(b) - np.log(2 * np.pi) - 1 / s - precision * m ** 2).sum(1)
    constant += digamma(c) - digamma(c.sum())
    total = 0.0
    for part in np.array_split(vectors, max(1, len(vectors) // 10000)):
        total += logsumexp(constant + part @ (precision * m).T - 0.5 * part ** 2 @ precision.T, axis=1).sum()
    normal = 0.5 * (s0 * precision * (m - m0) ** 2 + s0 / s - np.log(s0 / s) - 1)
    gamma = a0 * np.log(b / b0) - gammaln(a) + gammaln(a0) + (a - a0) * digamma(a) - (b - b0) * precision
    weights = gammaln(c.sum()) - gammaln(len(c) * c0) - (gammaln(c) - gammaln(c0)).sum()
    weights += ((c - c0) * (digamma(c) - digamma(c.sum()))).sum()
    return (total - (normal + gamma).sum() - weights) / len(vectors)


def read_safetensors(path):
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data[8 + length + entry["data_offsets"][0]:8 + length + entry["data_offsets"][1]],
                                np.float64).reshape(entry["shape"]) for name, entry in header.items()}


def bound(folder, run, components):
    vectors = np.load(folder / "vectors.npy")
    centre = vectors.mean(0)
    prior = {"m": 0.0, "s": 1.0, "a": vectors.shape[1] / 2, "b": vectors.var(0) / 2, "c": 1.0}
    tensors = read_safetensors(run / "model.safetensors")
    facet = {name: tensors[f"prior.all.{name}"] for name in "msabc"}
    peer_posterior = np.load(folder / "bayesian.npz")
    result = {}
    for name, q in (("facet", facet), ("scikit-learn", peer_posterior)):
        shifted = {letter: q[letter] for letter in "msabc"}
        shifted["m"] = shifted["m"] - centre
        result[name] = bound_of(vectors - centre, shifted, prior)
    result["reported"] = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])["bound"]
    print(json.dumps(result))


def main():
    command, folder = sys.argv[1], Path(sys.argv[2])
    if command == "make":
        make(folder, *map(int, sys.argv[3:6]))
    elif command == "bound":
        bound(folder, Path(sys.argv[3]), int(sys.argv[4]))
    else:
        peer(command, folder, int(sys.argv[3]), int(sys.argv[4]))


if __name__ == "__main__":
    main()
