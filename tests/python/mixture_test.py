"""facet.FactorialMixture: scikit-learn's own checks, clusters that are known, agreement with `facet fit`, streams, threads, errors.

    python3 tests/python/mixture_test.py MODULE-FOLDER PROGRAM
"""
import importlib.util
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from pathlib import Path

MODULE, PROGRAM = sys.argv[1], sys.argv[2]
sys.path.insert(0, MODULE)

import numpy as np  # noqa: E402

import facet  # noqa: E402

HAS_SKLEARN = importlib.util.find_spec("sklearn") is not None
NO_SKLEARN = "*** NOTICE: no scikit-learn: its checks of estimators were skipped"


def clusters(count=600, seed=1):
    """Five round clusters in four dimensions, and which one each vector is of."""
    random = np.random.default_rng(seed)
    centres = 12 * np.eye(5, 4) - 3
    true = random.integers(0, 5, count)
    return centres[true] + random.normal(size=(count, 4)), true


def same_partition(one, other):
    pairs = set(zip(one.tolist(), other.tolist()))
    return len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))


class Mixture(unittest.TestCase):
    @unittest.skipUnless(HAS_SKLEARN, NO_SKLEARN)
    def test_passes_the_checks_of_scikit_learn(self):
        from sklearn.utils.estimator_checks import check_estimator
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_estimator(facet.FactorialMixture(random_state=1))
            check_estimator(facet.FactorialMixture(3, method="stochastic", max_iter=5, random_state=1))

    def test_finds_as_many_clusters_as_there_are(self):
        X, true = clusters()
        mixture = facet.FactorialMixture(20, random_state=1).fit(X)
        self.assertEqual(mixture.living_, 5)
        self.assertTrue(same_partition(mixture.predict(X), true))
        found = sorted(mixture.means_[mixture.weights_ > 0.05].round().tolist())
        self.assertEqual(found, sorted((12 * np.eye(5, 4) - 3).tolist()))
        self.assertTrue(mixture.converged_)
        np.testing.assert_allclose(mixture.covariances_[mixture.weights_ > 0.05], 1, atol=0.35)

    def test_densities_are_those_that_it_draws_from(self):
        X, _ = clusters()
        mixture = facet.FactorialMixture(8, random_state=1).fit(X)
        drawn, components = mixture.sample(4000)
        self.assertEqual(components.shape, (4000,))
        # The entropy, estimated from draws, and from held-out vectors of the same distribution.
        self.assertAlmostEqual(mixture.score(drawn), mixture.score(clusters(4000, seed=2)[0]), delta=0.15)
        np.testing.assert_allclose(mixture.predict_proba(X).sum(1), 1, rtol=1e-9)
        self.assertAlmostEqual(mixture.bound(X) / len(X), mixture.lower_bound_, places=6)

    def test_is_what_the_program_fits(self):
        X, _ = clusters()
        mixture = facet.FactorialMixture(8, random_state=3).fit(X)
        with tempfile.TemporaryDirectory() as folder:
            np.save(Path(folder) / "x.npy", X)
            subprocess.run([PROGRAM, "fit", Path(folder) / "x.npy", "--components", "8", "--set", "seed=3", "--out",
                            Path(folder) / "run"], check=True, capture_output=True)
            again = facet.FactorialMixture.from_run(Path(folder) / "run")
        self.assertTrue(same_partition(mixture.predict(X), again.predict(X)))
        np.testing.assert_allclose(mixture.score_samples(X), again.score_samples(X), rtol=1e-4, atol=1e-4)

    def test_factors_have_mixtures_of_their_own(self):
        X, true = clusters()
        other = np.random.default_rng(5).integers(0, 2, len(X))
        both = np.concatenate([X, 20.0 * other[:, None]], axis=1) + 0.01 * np.random.default_rng(6).normal(size=(len(X), 5))
        mixture = facet.FactorialMixture(factors=[("place", 4, 8), ("side", 1, 4)], random_state=1).fit(both)
        found = mixture.predict(both)
        self.assertTrue(same_partition(found[:, 0], true))
        self.assertTrue(same_partition(found[:, 1], other))
        self.assertEqual([len(weights) for weights in mixture.weights_], [8, 4])
        self.assertEqual([p.shape for p in mixture.predict_proba(both)], [(600, 8), (600, 4)])

    def test_labels_tie_vectors_to_components(self):
        X, true = clusters()
        labels = np.where(np.arange(len(X)) % 20 == 0, (true + 1) % 5, -1)
        mixture = facet.FactorialMixture(5, random_state=1).fit(X, labels=labels)
        self.assertGreater((mixture.predict(X) == (true + 1) % 5).mean(), 0.99)

    def test_a_stream_of_batches_gives_what_all_vectors_give(self):
        X, true = clusters(3000)
        stream = facet.FactorialMixture(8, total_samples=3000, random_state=1)
        for batch in np.array_split(X, 30):
            stream.partial_fit(batch)
        whole = facet.FactorialMixture(8, random_state=1).fit(X)
        self.assertTrue(same_partition(stream.predict(X), true))
        self.assertGreater(stream.score(X), whole.score(X) - 0.2)

    def test_pickles_with_the_same_numbers(self):
        X, _ = clusters()
        mixture = facet.FactorialMixture(8, random_state=1).fit(X)
        again = pickle.loads(pickle.dumps(mixture))
        np.testing.assert_allclose(again.score_samples(X), mixture.score_samples(X), rtol=1e-12)
        self.assertEqual(again.lower_bound_, mixture.lower_bound_)

    def test_two_threads_do_not_fit_one_object(self):
        X, _ = clusters(60000)
        mixture, outcomes = facet.FactorialMixture(30, random_state=1, tol=0, max_iter=30), []

        def fit():
            try:
                outcomes.append(mixture.fit(X))
            except facet.Error as error:
                outcomes.append(str(error))
        threads = [threading.Thread(target=fit) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertIn(mixture, outcomes, "the first fit goes on")
        self.assertTrue(any(isinstance(outcome, str) and "another thread" in outcome for outcome in outcomes), outcomes)
        self.assertEqual(mixture.predict(X).shape, (60000,))

    def test_mistakes_are_one_sentence(self):
        X, _ = clusters(50)
        fitted = facet.FactorialMixture(3, random_state=1).fit(X)
        broken = X.copy()
        broken[3, 2] = np.nan
        for call, text in [(lambda: facet.FactorialMixture(100).fit(X), "at least 100"),
                           (lambda: facet.FactorialMixture(3).fit(broken), "NaN|nan"),
                           (lambda: fitted.predict(X[:, :2]), "2"),
                           (lambda: facet.FactorialMixture(3, method="magic").fit(X), "magic"),
                           (lambda: facet.FactorialMixture(factors=[("a", 3, 2)]).fit(X), "3"),
                           (lambda: fitted.fit(X, labels=[1, 2]), "one per vector"),
                           (lambda: fitted.fit(X, labels=np.full(50, 9)), "9"),
                           (lambda: fitted.sample(0), "at least 1"),
                           (lambda: facet.FactorialMixture().predict(X), "not fitted")]:
            with self.assertRaisesRegex(ValueError, text):
                call()

    def test_constant_columns_do_no_harm(self):
        X, true = clusters()
        X = np.concatenate([X, np.ones((len(X), 1))], axis=1)
        mixture = facet.FactorialMixture(8, random_state=1).fit(X)
        self.assertTrue(same_partition(mixture.predict(X), true))
        self.assertTrue(np.isfinite(mixture.score_samples(X)).all())

    def test_works_without_scikit_learn(self):
        script = (f"import sys; sys.path.insert(0, {MODULE!r}); sys.modules['sklearn'] = None\n"
                  "import numpy as np, facet\n"
                  "X = np.random.default_rng(1).normal(size=(100, 2)) + 9 * (np.arange(100) % 2)[:, None]\n"
                  "m = facet.FactorialMixture(4, random_state=1)\n"
                  "assert (m.fit_predict(X) == m.predict(X)).all() and m.living_ == 2, m.living_\n"
                  "assert m.set_params(n_components=2).get_params()['n_components'] == 2\n"
                  "print(m)\n")
        result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("n_components=2", result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
