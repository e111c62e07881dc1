"""facet.FactorialMixture: the prior alone as a scikit-learn estimator, for vectors that one already has."""

import inspect
import json
import os
import threading

import numpy as np

from . import _facet
from ._facet import Error

try:
    from sklearn.base import BaseEstimator, DensityMixin
    from sklearn.exceptions import NotFittedError
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_array
except ImportError:
    check_array = None

    class NotFittedError(ValueError, AttributeError):
        """The estimator has no fit yet."""

    class DensityMixin:
        pass

    class BaseEstimator:
        """Parameters by name, as scikit-learn has them."""

        def get_params(self, deep=True):
            names = list(inspect.signature(type(self).__init__).parameters)[1:]
            return {name: getattr(self, name) for name in names}

        def set_params(self, **params):
            known = self.get_params()
            for name, value in params.items():
                if name not in known:
                    raise Error(f"setting a parameter '{name}': found no such parameter, expected one of {', '.join(known)}")
                setattr(self, name, value)
            return self

        def __repr__(self):
            return f"{type(self).__name__}(" + ", ".join(f"{k}={v!r}" for k, v in self.get_params().items()) + ")"


class FactorialMixture(DensityMixin, BaseEstimator):
    """A Bayesian mixture of Gaussians with diagonal covariances, or several, one for each block of columns.

    n_components: the most components of a mixture; they merge and split where this raises the bound.
    factors: [(name, columns, components), ...] divides the columns into blocks, each with its own mixture; None: one
        mixture of all columns. With several, predictions have a column per factor, and fitted attributes are lists.
    weights: "dirichlet", or "stick_breaking", a Dirichlet process cut off at n_components.
    method: "exact" updates from all vectors, or "stochastic" steps on batches.
    max_iter, tol: most passes over the vectors, and the gain of the bound, in nats per vector, below which a fit ends.
    learn_hyperprior, merge_and_split, standardise: as in docs/fit.md.
    total_samples: how many vectors the batches of partial_fit stand for; None: as many as it has seen.
    random_state: a seed, a numpy RandomState, or None.

    After fit: weights_ [K], means_ [K, D], covariances_ [K, D] (expected variances), lower_bound_ (nats per vector),
    n_iter_, converged_, living_ (components with more than one vector), n_features_in_.
    """

    def __init__(self, n_components=8, *, factors=None, weights="dirichlet", method="exact", max_iter=200, tol=1e-4,
                 learn_hyperprior=True, merge_and_split=True, standardise=True, total_samples=None, random_state=None):
        self.n_components = n_components
        self.factors = factors
        self.weights = weights
        self.method = method
        self.max_iter = max_iter
        self.tol = tol
        self.learn_hyperprior = learn_hyperprior
        self.merge_and_split = merge_and_split
        self.standardise = standardise
        self.total_samples = total_samples
        self.random_state = random_state

    # Fitting

    def fit(self, X, y=None, *, labels=None):
        """Fits to vectors X [N, D]. y is ignored.

        `labels`, int [N] or [N, I], ties vectors to components, -1 where unknown; a factor with labels keeps all of its
        components.
        """
        X = self._vectors(X, reset=True)
        labels = self._labels(labels, len(X))
        with self._fitting():
            self._keep(_facet.Mixture.fit(self._config(X, labels), X, labels))
        self.seen_ = len(X)
        self.steps_ = 0
        return self

    def partial_fit(self, X, y=None, *, labels=None):
        """Goes on with a batch X [B, D]: the first one is fitted, and each further one moves the mixture a step.

        Step t has size (2 + t)^-0.6: early batches count for more, and the mixture settles.
        """
        if not hasattr(self, "mixture_"):
            return self.fit(X, labels=labels)
        X = self._vectors(X)
        with self._fitting():
            self.seen_ += len(X)
            self.steps_ += 1
            self.mixture_.partial_fit(X, self._labels(labels, len(X)), self.total_samples or self.seen_,
                                      float((2 + self.steps_) ** -0.6))
            self._read_out()
        return self

    # Using it

    def predict(self, X):
        """The most probable component of every vector, int64 [N]; [N, I] with several factors."""
        components = self._fitted().predict(self._vectors(X))["components"]
        return components[:, 0] if self._single() else components

    def predict_proba(self, X):
        """The probability of every component, float64 [N, K]; a list of these with several factors."""
        found = self._fitted().probabilities(self._vectors(X))
        return found[0] if self._single() else found

    def fit_predict(self, X, y=None, *, labels=None):
        """Fits, and gives the component of every vector."""
        return self.fit(X, labels=labels).predict(X)

    def score_samples(self, X):
        """The log predictive density of every vector, float64 [N]."""
        return self._fitted().predict(self._vectors(X))["log_density"]

    def score(self, X, y=None):
        """The mean log predictive density."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples=1):
        """Draws vectors float64 [n_samples, D], and their components, int64 [n_samples] or [n_samples, I]."""
        if n_samples < 1:
            raise Error(f"sampling: found n_samples of {n_samples}, expected at least 1")
        z, components = self._fitted().sample(int(n_samples), self._seed())
        return z, components[:, 0] if self._single() else components

    def bound(self, X):
        """The bound on the log evidence of vectors, in nats over all of them."""
        return self._fitted().bound(self._vectors(X))

    @classmethod
    def from_run(cls, run):
        """The mixture that `facet fit` has fitted in a run folder."""
        self = cls()
        mixture = _facet.Mixture.read(os.path.join(os.fspath(run), "model.safetensors"))
        entries = mixture.factors
        self.factors = [(entry["name"], entry["m"].shape[1], len(entry["weights"])) for entry in entries]
        self.n_components = max(len(entry["weights"]) for entry in entries)
        self.n_features_in_ = sum(columns for _, columns, _ in self.factors)
        self._keep(mixture)
        self.seen_, self.steps_ = mixture.vectors, 0
        return self

    # Within

    def _single(self):
        return len(self.mixture_.factors) == 1

    def _fitted(self):
        if not hasattr(self, "mixture_"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' first.")
        return self.mixture_

    def _vectors(self, X, reset=False):
        if not reset:
            self._fitted()
        if check_array is not None:
            X = self._validate_data(X, reset=reset, dtype=[np.float64, np.float32], ensure_min_samples=2 if reset else 1)
        else:
            X = np.asarray(X)
            X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
            if X.ndim != 2:
                raise Error(f"reading X: found an array of {X.ndim} dimensions, expected [N, D]")
            if reset:
                self.n_features_in_ = X.shape[1]
        return np.ascontiguousarray(X)

    @staticmethod
    def _labels(labels, count):
        if labels is None:
            return None
        labels = np.asarray(labels, dtype=np.int64)
        if len(labels) != count:
            raise Error(f"reading labels: found {len(labels)}, expected one per vector, {count}")
        return np.ascontiguousarray(labels[:, None] if labels.ndim == 1 else labels)

    def _seed(self):
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        if check_array is not None:
            return int(check_random_state(self.random_state).randint(2**31 - 1))
        return int(np.random.default_rng(self.random_state).integers(2**31 - 1))

    def _config(self, X, labels):
        factors = [{"name": name, "dimensions": int(columns), "components": int(components)}
                   for name, columns, components in self.factors or [("all", X.shape[1], self.n_components)]]
        for i, factor in enumerate(factors):  # labels name the components of their factor
            if labels is not None and i < labels.shape[1] and (labels[:, i] >= 0).any():
                factor.update(property=factor["name"], values=[str(k) for k in range(factor["components"])])
        return json.dumps({
            "seed": self._seed(), "weights": self.weights, "factors": factors,
            "fit": {"method": self.method, "iterations": int(self.max_iter), "tolerance": float(self.tol),
                    "learn_hyperprior": bool(self.learn_hyperprior), "merge_and_split": bool(self.merge_and_split),
                    "standardise": bool(self.standardise)}})

    def _fitting(self):
        """One fit at a time: another thread that tries meanwhile gets an Error, and this fit goes on."""
        return _OneAtATime(self)

    def _keep(self, mixture):
        self.mixture_ = mixture
        self.lower_bound_ = mixture.fitted_bound
        self.n_iter_ = max(1, mixture.iterations)
        self.converged_ = mixture.converged
        self._read_out()

    def _read_out(self):
        entries = self.mixture_.factors
        per_factor = {
            "weights_": [entry["weights"] for entry in entries],
            "means_": [entry["m"] for entry in entries],
            # E[1 / alpha] needs a > 1; a component without vectors has the hyperprior's a.
            "covariances_": [entry["b"] / np.maximum(entry["a"] - 1, entry["a"] / 2) for entry in entries],
            "living_": [int((entry["vectors"] > 1).sum()) for entry in entries]}
        for name, values in per_factor.items():
            setattr(self, name, values[0] if len(values) == 1 else values)


_BUSY = set()
_BUSY_LOCK = threading.Lock()


class _OneAtATime:
    def __init__(self, estimator):
        self.name = id(estimator)

    def __enter__(self):
        with _BUSY_LOCK:
            if self.name in _BUSY:
                raise Error("fitting a FactorialMixture: found a fit of the same object in another thread, expected one at a "
                            "time (make one estimator per thread)")
            _BUSY.add(self.name)

    def __exit__(self, *_):
        with _BUSY_LOCK:
            _BUSY.discard(self.name)
