"""scripts/reproduce and scripts/results on a few generated 28x28 images: every row on such images runs to the end, leaves
its files, and its numbers reach the tables.

    reproduce_test.py PROGRAM
"""
import importlib.machinery
import importlib.util
import json
import math
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = sys.argv.pop(1)
SCALE = "0.00001"  # one or two steps of every phase


def load(name):
    """A script loaded as a module."""
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "scripts" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.modules[name] = module
    loader.exec_module(module)
    return module


def script(*words):
    environment = {**os.environ, "FACET": PROGRAM, "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, str(ROOT / "scripts" / words[0]), *words[1:]], env=environment,
                          capture_output=True, text=True)


def write_idx(path, count, source):
    """Bars of random length as an idx3 file of zeros and ones, with their lengths modulo ten as labels."""
    images, labels = bytearray(), bytearray()
    for _ in range(count):
        length = source.randrange(5, 28)
        images += b"".join(bytes(int(10 < y < 16 and x < length) for x in range(28)) for y in range(28))
        labels.append(length % 10)
    path.write_bytes(struct.pack(">4I", 0x803, count, 28, 28) + images)
    path.with_suffix(".labels").write_bytes(struct.pack(">2I", 0x801, count) + labels)


def make_packs(folder):
    """As many training images as a VampPrior of the rows has components."""
    source = random.Random(1)
    parts = []
    for split, count in (("train", 512), ("valid", 8), ("test", 16)):
        write_idx(folder / split, count, source)
        parts += [f"--{split}", folder / split, f"--{split}-labels", folder / f"{split}.labels"]
    subprocess.run([PROGRAM, "import", "idx", *parts, "--name", "digit", "--out", folder / "binarized-mnist.safetensors"],
                   check=True, capture_output=True)
    for name in ("mnist", "omniglot"):
        shutil.copyfile(folder / "binarized-mnist.safetensors", folder / f"{name}.safetensors")


class Reproduce(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        make_packs(cls.folder)
        cls.rows = [row for row in load("reproduce").ROWS if row.name.startswith(("mnist-", "omniglot-"))]

    def rehearse(self, *rows):
        return script("reproduce", *rows, "--steps-scale", SCALE, "--device", "cpu", "--data", str(self.folder),
                      "--out", str(self.folder / "out"))

    def test_every_row_runs_and_its_numbers_reach_the_tables(self):
        ended = self.rehearse(*(row.name for row in self.rows))
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        results = self.folder / "out/results"
        for row in self.rows:
            record = json.loads((results / row.name / "row.json").read_text())
            self.assertGreater(record["seconds"], 0)
            for part in row.parts:
                self.expect_part(results / row.name / part.name, part)
        self.expect_tables(results)

    def test_a_row_with_refiners_keeps_them_and_goes_on_with_them(self):
        reproduce = load("reproduce")
        network = ["network.preset=custom", "network.width=16", "network.multipliers=[1]", "network.blocks=1"]
        row = reproduce.Row("sharp", "digits with a refiner", [reproduce.Part(
            "part", "sharp", "configs/mnist-100-labels.json", ["seed=1"],
            evaluate=["--split", "train", "--judge", "--judge-steps", "300000", "--judge-samples", "400000",
                      "--judge-refined", "--fidelity", "--fidelity-steps", "300000", "--refine-steps", "1"],
            pictures={"samples.jpg": ["sample", "{run}/seed-1", "--refined", "--count", "2"]},
            refine=["steps=300000", "batch_size=8", *network])])
        words = ["sharp", "--steps-scale", SCALE, "--device", "cpu", "--data", str(self.folder), "--out", str(self.folder / "out")]
        arguments = reproduce.parse_arguments(words)
        arguments.program = PROGRAM
        reproduce.run_row(row, arguments)
        run, kept = self.folder / "out/sharp/part/seed-1", arguments.results / "sharp/part/seed-1"
        self.assertEqual(json.loads((kept / "refiner-config.json").read_text())["steps"], 3)
        self.assertTrue((kept / "refiner-metrics.jsonl").read_text())
        self.assertTrue((kept.parent / "samples.jpg").exists())
        evaluation = json.loads((kept / "eval.json").read_text())
        self.assertIn("refined", evaluation["judge"]["factors"][0])
        self.assertEqual(len(evaluation["fidelity"]["features"][0]["rows"]), 3)
        recognised = evaluation["fidelity"]["recognised"]["factors"]
        self.assertEqual([set(factor) for factor in recognised], [{"factor", "means", "refined"}])
        page = self.folder / "sharp.md"
        page.write_text("<!-- table: sharp | agreement refined -->\n<!-- end -->\n"
                        "<!-- fidelity: sharp/part/seed-1 | self-supervised network -->\n<!-- end -->\n"
                        "<!-- fidelity: nothing/part/seed-1 | self-supervised network -->\nold\n<!-- end -->\n")
        self.assertEqual(script("results", "--page", str(page), "--results", str(arguments.results)).returncode, 0)
        text = page.read_text()
        factor = evaluation["judge"]["factors"][0]
        self.assertIn(f"| {100 * factor['agreement']:.1f} | {100 * factor['refined']['agreement']:.1f} |", text)
        for line in evaluation["fidelity"]["features"][0]["rows"]:
            self.assertIn(f"| {line['name']} | {line['frechet_distance']:.1f} | ", text)
        self.assertNotIn("old", text)
        refiner = (run / "refiner.safetensors").read_bytes()
        reproduce.run_row(row, arguments)
        self.assertEqual((run / "refiner.safetensors").read_bytes(), refiner)

    def expect_part(self, place, part):
        runs = json.loads((place / "sweep.json").read_text())["runs"]
        self.assertTrue(runs)
        for name in ("sweep.csv", "sweep.png", *part.pictures):
            self.assertTrue((place / name).exists(), f"{place} has no {name}")
        for run in runs:
            evaluation = json.loads((place / run["name"] / "eval.json").read_text())
            self.assertEqual(evaluation["count"], 16)
            self.assertEqual("importance_bound" in evaluation, "--importance" in part.evaluate)
            self.assertTrue((place / run["name"] / "metrics.jsonl").read_text())
            pack = json.loads((place / run["name"] / "config.json").read_text())["data"]["pack"]
            self.assertIn(pack, (f"data/{name}.safetensors" for name in ("binarized-mnist", "mnist", "omniglot")))

    def expect_tables(self, results):
        page = self.folder / "page.md"
        page.write_text("# Page\n<!-- table: mnist-curve mnist-priors | title components runs elbo predictive -->\nold\n"
                        "<!-- end -->\n<!-- figure: mnist-curve/curve/sweep.png | over K -->\n<!-- end -->\n"
                        "<!-- figure: mnist-curve/curve/nothing.png | no -->\n<!-- end -->\nlast\n")
        places = ("--page", str(page), "--results", str(results))
        self.assertEqual(script("results", "--check", *places).returncode, 1)
        self.assertEqual(script("results", *places).returncode, 0)
        self.assertEqual(script("results", "--check", *places).returncode, 0)
        text = page.read_text()
        self.assertNotIn("old", text)
        self.assertTrue(text.startswith("# Page\n") and text.endswith("<!-- end -->\nlast\n"))
        elbos = [json.loads(path.read_text())["elbo"] for path in (results / "mnist-priors/vamp").glob("*/eval.json")]
        line = next(line for line in text.splitlines() if line.startswith("| VampPrior | 512 | 2 |"))
        self.assertIn(f"| {sum(elbos) / 2:.2f} ± ", line)
        self.assertIn("\n![over K](out/results/mnist-curve/curve/sweep.png)\n", text)
        self.assertNotIn("![no]", text)
        two = json.loads((results / "mnist-curve/curve/components-2/eval.json").read_text())
        self.assertIn(f"| our first recipe, 40,000 steps | 2 | 1 | {two['elbo']:.2f} |", text)

    def test_an_unknown_row_is_named(self):
        ended = self.rehearse("mnist-nothing")
        self.assertEqual(ended.returncode, 2)
        self.assertIn("mnist-nothing", ended.stderr)


def leaves(group, key=""):
    for name, value in group.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{key}{name}.")
        else:
            yield key + name, value


def defaults():
    """The defaults of all options in docs/config.md; another test compares that page with the program."""
    found = re.findall(r"^\| `([\w.]+)` \| `(.*?)` \|", (ROOT / "docs/config.md").read_text(), re.M)
    return {key: json.loads(value) for key, value in found}


class Published(unittest.TestCase):
    """A row whose config has changed since it was run must be run again, or say in its note why it was not."""

    def expected_config(self, reproduce, part):
        config = reproduce.read_config(reproduce.ROOT / part.config)
        for setting in part.settings:
            reproduce.apply_setting(config, setting)
        return {**defaults(), "train.batch_parts": 1, **dict(leaves(config))}  # a run stores the parts it took

    def expect_config(self, stored, expected, varied, place):
        for key, value in leaves(stored):
            if key not in varied and key != "model.factors":  # factors are lists: compared below
                self.assertEqual(value, expected[key], f"{place}: {key}")
        for factor, given in zip(stored["model"]["factors"], expected["model.factors"], strict=True):
            for name in given.keys() - {"components"}:
                self.assertEqual(factor[name], given[name], f"{place}: {name} of a factor")

    def test_results_have_the_configs_of_their_rows(self):
        reproduce = load("reproduce")
        checked = 0
        for row in reproduce.ROWS:
            folder = reproduce.ROOT / "results" / row.name
            if not folder.exists():
                continue
            record = json.loads((folder / "row.json").read_text())
            self.assertEqual((record["row"], record["what"]), (row.name, row.what))
            self.assertEqual([(part["name"], part["title"], part["config"]) for part in record["parts"]],
                             [(part.name, part.title, part.config) for part in row.parts])
            for part in row.parts:
                expected = self.expected_config(reproduce, part)
                varied = {vary.split("=")[0] for vary in part.vary}
                runs = list((folder / part.name).glob("*/config.json"))
                self.assertEqual(len(runs), math.prod(len(vary.split("=")[1].split(",")) for vary in part.vary))
                for place in runs:
                    self.expect_config(json.loads(place.read_text()), expected, varied, place)
                    checked += 1
        self.assertGreater(checked, 0)


class ParallelCommands(unittest.TestCase):
    def test_outputs_of_successful_commands_are_kept_if_another_fails(self):
        reproduce = load("reproduce")
        with tempfile.TemporaryDirectory() as folder:
            good, bad = Path(folder) / "good.json", Path(folder) / "bad.json"
            with self.assertRaises(SystemExit) as ended:
                reproduce.run((["sh", "-c", "echo 1; exit 3"], bad), (["echo", "2"], good))
            self.assertEqual(ended.exception.code, 3)
            self.assertEqual(good.read_text(), "2\n")
            self.assertFalse(bad.exists())


class Thinning(unittest.TestCase):
    def test_metrics_keep_evaluations_and_the_last_line(self):
        reproduce = load("reproduce")
        lines = ['{"valid": 1}\n' if i % 100 == 50 else f'{{"step": {i}}}\n' for i in range(5000)]
        kept = reproduce.thinned(lines)
        self.assertLessEqual(len(kept), reproduce.MOST_METRICS)
        self.assertGreater(len(kept), reproduce.MOST_METRICS // 2)
        self.assertEqual(sum("valid" in line for line in kept), 50)
        self.assertEqual(kept[-1], lines[-1])
        self.assertEqual(reproduce.thinned(lines[:10]), lines[:10])


if __name__ == "__main__":
    unittest.main()
