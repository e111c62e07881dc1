"""The Python module on a shipped model and on a run of a few steps: shapes, agreement with the program, errors, threads, Ctrl-C.

    python3 tests/python/model_test.py MODULE-FOLDER PROGRAM
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

MODULE, PROGRAM = sys.argv[1], sys.argv[2]
sys.path.insert(0, MODULE)

import numpy as np  # noqa: E402

import facet  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CONFIG = {"data": {"pack": ""},
          "model": {"network": {"preset": "auto"},
                    "likelihood": {"kind": "gaussian"},
                    "factors": [{"name": "side", "property": "side", "components": 2, "dimensions": 2},
                                {"name": "free", "components": 3, "dimensions": 2}]},
          "train": {"batch_size": 16, "log_every": 5, "evaluate_every": 10,
                    "pretrain": {"steps": 10}, "initialise": {"images": 60}, "joint": {"steps": 20}}}


def bars(count, seed=1):
    """Images with a bright bar at the left or at the right, and which of the two."""
    random = np.random.default_rng(seed)
    images = random.integers(0, 60, (count, 16, 16, 3)).astype(np.uint8)
    right = random.integers(0, 2, count)
    for image, side in zip(images, right):
        image[:, 12 * side:12 * side + 4] = 220
    return images, np.where(right, "right", "left")


class Portraits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = facet.load(ROOT / "models" / "portraits", device="cpu")

    def test_factors_have_names_values_and_weights(self):
        glasses = self.model.factors[0]
        self.assertEqual((glasses.name, glasses.values, glasses.property), ("glasses", ["without", "with"], "glasses"))
        for factor in self.model.factors:
            self.assertAlmostEqual(factor.weights.sum(), 1, places=9)
            self.assertEqual(factor.weights.shape, (factor.components,))

    def test_samples_are_those_of_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "samples.png")
            subprocess.run([PROGRAM, "sample", ROOT / "models" / "portraits", "--count", "4", "--seed", "7", "--bare",
                            "--scale", "1", "--fix", "glasses=with", "--out", file, "--device", "cpu"],
                           check=True, capture_output=True)
            from PIL import Image
            sheet = np.asarray(Image.open(file).convert("RGB"))
        drawn = self.model.sample(4, seed=7, glasses="with")
        rows = [np.concatenate(drawn[i:i + sheet.shape[1] // 32], axis=1) for i in range(0, 4, sheet.shape[1] // 32)]
        np.testing.assert_array_equal(np.concatenate(rows), sheet)

    def test_a_requested_value_is_predicted(self):
        for value in ("with", "without"):
            images = self.model.sample(64, glasses=value)
            self.assertGreater((self.model.predict(images)["glasses"] == value).mean(), 0.9)

    def test_an_edit_changes_what_was_asked_and_keeps_the_rest(self):
        images = self.model.read([f"test:{i}" for i in range(64)])
        edited = self.model.edit(images, glasses="with")
        before, after = self.model.predict(images), self.model.predict(edited)
        self.assertGreater((after["glasses"] == "with").mean(), 0.9)
        self.assertGreater((after["smile"] == before["smile"]).mean(), 0.8)

    def test_encodings_decode_to_the_images(self):
        images = self.model.sample(8)
        encoding = self.model.encode(images)
        self.assertEqual(encoding.codes.shape, (8, len(self.model.factors)))
        again = self.model.decode(encoding.mean)
        np.testing.assert_array_equal(self.model.decode(np.asfortranarray(encoding.mean)), again)
        self.assertLess(np.abs(again.astype(float) - images).mean(), 8)
        self.assertTrue((encoding.variance > 0).all())
        for factor in self.model.factors:
            np.testing.assert_allclose(encoding.probabilities[factor.name].sum(1), 1, rtol=1e-9)

    def test_one_image_gives_one_image(self):
        image = self.model.sample()
        self.assertEqual(image.shape, (32, 32, 3))
        self.assertEqual(self.model.edit(image, glasses="with").shape, (32, 32, 3))
        self.assertEqual(self.model.decode(self.model.encode(image).mean[0]).shape, (32, 32, 3))

    def test_images_come_in_every_form(self):
        from PIL import Image
        images = self.model.sample(3)
        expected = self.model.encode(images).mean
        forms = {"floats": images / 255.0, "reversed twice": images[::-1].copy()[::-1],
                 "PIL": [Image.fromarray(image) for image in images], "list": list(images)}
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for i, image in enumerate(images):
                files.append(Path(folder) / f"{i}.png")
                Image.fromarray(image).save(files[-1])
            forms["files"] = files
            for name, form in forms.items():
                np.testing.assert_allclose(self.model.encode(form).mean, expected, atol=1e-6, err_msg=name)
            large = Path(folder) / "large.png"
            Image.fromarray(images[0]).resize((64, 48)).save(large)
            self.assertEqual(self.model.read(large).shape, (32, 32, 3))
            with self.assertRaisesRegex(facet.Error, "64x48"):
                self.model.encode(large)

    def test_scores_tell_portraits_from_noise(self):
        images = self.model.sample(16)
        noise = np.random.default_rng(1).integers(0, 256, images.shape).astype(np.uint8)
        self.assertGreater(self.model.score(images).min(), self.model.score(noise).max())
        np.testing.assert_array_equal(self.model.score(images), self.model.score(images))

    def test_results_keep_their_memory(self):
        z, _ = self.model.sample_latents(5)
        first = z.copy()
        for seed in range(20):
            self.model.sample_latents(5, seed=seed + 2)
        np.testing.assert_array_equal(z, first)
        np.testing.assert_array_equal(np.from_dlpack(z), first)

    def test_mistakes_are_one_sentence(self):
        model, image = self.model, np.zeros((32, 32, 3), np.uint8)
        for call, text in [(lambda: model.sample(2, glasses="wiht"), "did you mean 'with'"),
                           (lambda: model.sample(2, hat=1), "hat"),
                           (lambda: model.sample(0), "at least 1"),
                           (lambda: model.encode(image.astype(int)), "int64"),
                           (lambda: model.encode(image[:16]), r"\[16, 32, 3\]"),
                           (lambda: model.encode(image + 1.5), "between 0 and 1"),
                           (lambda: model.encode([]), "at least one"),
                           (lambda: model.encode("nowhere.png"), "nowhere.png"),
                           (lambda: model.encode(3), "of type int"),
                           (lambda: model.decode(np.zeros((2, 3))), r"\[N, 26\]"),
                           (lambda: model.decode(np.zeros((0, 26))), r"\[N, 26\]"),
                           (lambda: facet.load("nowhere"), "nowhere"),
                           (lambda: facet.load(ROOT / "models" / "portraits", device="tpu"), "tpu")]:
            with self.assertRaisesRegex(facet.Error, text) as caught:
                call()
            self.assertNotIn("\n", str(caught.exception))
        self.assertTrue(issubclass(facet.Error, ValueError))

    def test_threads_share_a_model(self):
        images, results = self.model.sample(50), []
        expected = self.model.encode(images).mean
        threads = [threading.Thread(target=lambda: results.append(self.model.encode(images).mean)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result in results:
            np.testing.assert_allclose(result, expected, atol=1e-5)
        self.assertEqual(len(results), 4)


class Training(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = Path(self.temporary.name)
        self.images, self.labels = bars(120)
        self.config = json.loads(json.dumps(CONFIG))
        self.config["data"]["pack"] = str(self.folder / "bars.safetensors")
        facet.write_pack(self.config["data"]["pack"], self.images,
                         {"side": [label if i % 2 else None for i, label in enumerate(self.labels)]})

    def test_trains_reports_and_evaluates(self):
        records = []
        model = facet.train(self.config, self.folder / "run", settings={"seed": 3}, device="cpu", progress=records.append)
        self.assertEqual([record["step"] for record in records if record.get("phase") == "joint"
                          and "evaluation" not in record], [5, 10, 15, 20])
        self.assertTrue(any("evaluation" in record for record in records))
        self.assertEqual(json.loads((self.folder / "run" / "config.json").read_text())["seed"], 3)
        evaluation = model.evaluate()
        self.assertEqual(evaluation["count"], 12)
        self.assertEqual(set(model.predict(self.images)["side"]) - {"left", "right"}, set())

    def test_refined_samples_are_those_of_the_program(self):
        run = self.folder / "run"
        model = facet.train(self.config, run, device="cpu")
        with self.assertRaisesRegex(facet.Error, "no refiner in the run"):
            model.sample(2, refined=True)
        network = ["--set", "network.preset=custom", "--set", "network.width=16", "--set", "network.multipliers=[1,2]",
                   "--set", "network.blocks=1"]
        subprocess.run([PROGRAM, "refine", run, "--steps", "2", "--batch-size", "4", *network], check=True, capture_output=True)
        model = facet.load(run, device="cpu")
        images = model.sample(4, refined=True, refine_steps=2, seed=5, side="left")
        self.assertFalse(np.array_equal(images, model.sample(4, seed=5, side="left")))
        with self.assertRaisesRegex(facet.Error, "found 0 steps"):
            model.sample(1, refined=True, refine_steps=0)
        with self.assertRaisesRegex(facet.Error, "a guidance of 0.5"):
            model.sample(1, refined=True, refine_guidance=0.5)
        own = model.sample(4, refined=True, refine_steps=2, refine_guidance=1.5, seed=5, side="left")
        np.testing.assert_array_equal(own, images)
        with self.assertRaisesRegex(facet.Error, "'half'"):
            facet.load(run, device="cpu", precision="half")
        file = self.folder / "samples.png"
        subprocess.run([PROGRAM, "sample", run, "--count", "4", "--seed", "5", "--bare", "--scale", "1", "--fix", "side=left",
                        "--refined", "--refine-steps", "2", "--out", file, "--device", "cpu"], check=True, capture_output=True)
        from PIL import Image
        sheet = np.asarray(Image.open(file).convert("RGB"))
        rows = [np.concatenate(images[i:i + sheet.shape[1] // 16], axis=1) for i in range(0, 4, sheet.shape[1] // 16)]
        np.testing.assert_array_equal(np.concatenate(rows), sheet)

    def test_an_exception_in_progress_ends_the_run_and_it_goes_on(self):
        def fail(record):
            if record.get("phase") == "joint":
                raise RuntimeError("enough")
        with self.assertRaisesRegex(RuntimeError, "enough"):
            facet.train(self.config, self.folder / "run", device="cpu", progress=fail)
        self.assertFalse((self.folder / "run" / "eval.json").exists())
        facet.train(None, self.folder / "run", device="cpu")
        self.assertTrue((self.folder / "run" / "eval.json").exists())

    def test_other_threads_run_while_it_trains(self):
        ticks, done = [], threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(time.monotonic())
                time.sleep(0.005)
        thread = threading.Thread(target=tick)
        thread.start()
        facet.train(self.config, self.folder / "run", device="cpu")
        done.set()
        thread.join()
        self.assertGreater(len(ticks), 10)

    def test_control_c_saves_and_raises(self):
        self.config["train"]["joint"]["steps"] = 1000000
        script = self.folder / "train.py"
        script.write_text(f"import sys; sys.path.insert(0, {MODULE!r})\nimport facet\n"
                          f"facet.train({self.config!r}, {str(self.folder / 'run')!r}, device='cpu', "
                          "progress=lambda record: print(record.get('phase'), flush=True))\n")
        with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            for line in process.stdout:
                if line.strip() == "joint":
                    break
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        self.assertIn("KeyboardInterrupt", errors)
        self.assertTrue((self.folder / "run" / "state.safetensors").exists())

    def test_mistakes_are_one_sentence(self):
        for change, text in [({"settings": {"train.joint.stepz": 3}}, "stepz"),
                             ({"config": {"modell": {}}}, "modell"),
                             ({"config": "nowhere.json"}, "nowhere.json"),
                             ({"config": None}, "config.json")]:
            with self.assertRaisesRegex(facet.Error, text):
                facet.train(**{"config": self.config, "out": self.folder / "other", **change})

    def test_packs_with_wrong_labels_are_refused(self):
        path = self.folder / "pack.safetensors"
        for arguments, text in [((self.images, {"side": ["a"]}), "one per image"),
                                ((self.images, {"side": [None] * 120}), "no label"),
                                ((self.images[..., :2],), r"\[120, 16, 16, 2\]")]:
            with self.assertRaisesRegex(facet.Error, text):
                facet.write_pack(path, *arguments)
        with self.assertRaisesRegex(facet.Error, "one per image"):
            facet.write_pack(path, self.images, split=["train"])
        self.assertFalse(path.exists())


class BesidePyTorch(unittest.TestCase):
    def test_both_orders_of_import_work(self):
        try:
            import importlib.util
            if importlib.util.find_spec("torch") is None:
                raise ImportError
        except ImportError:
            self.skipTest("*** NOTICE: no PyTorch for Python: not tested beside it")
        use = ("m = facet.load({!r}, device='cpu'); x = m.sample(2)\n"
               "assert torch.ones(3).sum().item() == 3\n"
               "t = torch.from_dlpack(m.encode(x).mean); assert t.shape == (2, 26)\n"
               "assert m.decode(t.numpy()).shape == x.shape\n"
               "assert (m.encode(torch.from_numpy(x)).mean == m.encode(x).mean).all()\n"
               ).format(str(ROOT / "models" / "portraits"))
        for first, second in (("facet", "torch"), ("torch", "facet")):
            result = subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {MODULE!r})\n"
                                     f"import {first}\nimport {second}\n{use}"], capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
