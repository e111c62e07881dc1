#!/usr/bin/env python3
"""`facet fit` against scikit-learn's BayesianGaussianMixture, from the same start.

    sklearn_test.py FACET

Stock scikit-learn takes the Wishart's psi((nu - j) / 2) for diagonal covariances too, so the two agree in one
dimension; with psi(nu / 2) in its place, which is the diagonal model's own, they agree in every dimension. Exits with
77, for "skipped", where there is no scikit-learn.
"""
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

try:
    import numpy as np
    from scipy.special import digamma
    from sklearn.mixture import BayesianGaussianMixture
    from sklearn.mixture._gaussian_mixture import _estimate_log_gaussian_prob
except ImportError as error:
    print(f"*** NOTICE: {error}: facet fit was not compared with scikit-learn")
    sys.exit(77)
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "bench"))
import fit_peer  # noqa: E402


class DiagonalMixture(BayesianGaussianMixture):
    """With the expectation of log alpha under a Gamma in every dimension."""

    def _estimate_log_prob(self, vectors):
        dimensions = vectors.shape[1]
        log_gauss = _estimate_log_gaussian_prob(vectors, self.means_, self.precisions_cholesky_, "diag")
        log_gauss -= 0.5 * dimensions * np.log(self.degrees_of_freedom_)
        log_lambda = dimensions * (np.log(2) + digamma(0.5 * self.degrees_of_freedom_))
        return log_gauss + 0.5 * (log_lambda - dimensions / self.mean_precision_)


def facet_posterior(program, folder, vectors, start, components, iterations):
    np.save(folder / "v.npy", vectors)
    np.save(folder / "s.npy", start)
    run = folder / f"run{vectors.shape[1]}"
    command = [program, "fit", folder / "v.npy", "--out", run, "--components", components, "--start", folder / "s.npy"]
    for setting in (f"fit.iterations={iterations}", "fit.tolerance=0", "fit.learn_hyperprior=false",
                    "fit.merge_and_split=false", f"hyperprior.a0={vectors.shape[1] / 2}", "hyperprior.b0=0.5",
                    "hyperprior.c0=0.25"):
        command += ["--set", setting]
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    tensors = fit_peer.read_safetensors(run / "model.safetensors")
    reported = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])["bound"]
    return {name: tensors[f"prior.all.{name}"] for name in "msabc"}, reported


def sklearn_posterior(kind, vectors, start, components, iterations):
    options = fit_peer.bayesian_options(vectors, components, iterations)
    options["weight_concentration_prior"] = 0.25
    model = fit_peer.from_start(kind, start, components)(**options).fit(vectors)
    dof = model.degrees_of_freedom_[:, None]
    wide = np.ones((1, vectors.shape[1]))
    return {"m": model.means_, "s": model.mean_precision_[:, None] * wide, "a": dof / 2 * wide,
            "b": dof * model.covariances_ / 2, "c": model.weight_concentration_}


def compare(program, folder, kind, dimensions):
    random = np.random.default_rng(dimensions)
    components, iterations = 5, 8
    centres = 2 * random.standard_normal((components, dimensions))
    vectors = centres[random.integers(0, components, 700)] + random.standard_normal((700, dimensions))
    start = random.integers(0, components, 700)
    ours, reported = facet_posterior(program, folder, vectors, start, components, iterations)
    theirs = sklearn_posterior(kind, vectors, start, components, iterations)
    for name in "msabc":
        # Eight iterations enlarge the rounding of the first; scikit-learn adds 2e-15 to every count.
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-12, atol=1e-13,
                                   err_msg=f"{kind.__name__}, D = {dimensions}, {name}")
    prior = {"m": vectors.mean(0), "s": 1.0, "a": dimensions / 2, "b": vectors.var(0) / 2, "c": 0.25}
    np.testing.assert_allclose(reported, fit_peer.bound_of(vectors, ours, prior), rtol=1e-10)
    print(f"{kind.__name__}, D = {dimensions}: the same posterior, bound {reported:.6f}")


def main():
    warnings.filterwarnings("ignore")
    with tempfile.TemporaryDirectory() as name:
        compare(sys.argv[1], Path(name), BayesianGaussianMixture, 1)
        for dimensions in (2, 5):
            compare(sys.argv[1], Path(name), DiagonalMixture, dimensions)


if __name__ == "__main__":
    main()
