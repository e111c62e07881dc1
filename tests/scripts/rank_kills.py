#!/usr/bin/env python3
"""Kills random ranks at random times, again and again, and compares the run that is left with one that nobody disturbed.
Takes minutes, so it is not part of the tests.
  tests/scripts/rank_kills.py FACET [--kills 20] [--seed 1]
"""
import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("facet")
parser.add_argument("--kills", type=int, default=20)
parser.add_argument("--seed", type=int, default=1)
arguments = parser.parse_args()
random.seed(arguments.seed)
os.environ.setdefault("OMP_NUM_THREADS", "1")

CONFIG = {
    "data": {"portraits": {"count": 200, "size": 16}},
    "model": {"likelihood": {"kind": "gaussian", "minimum_stddev": 0.05},
              "network": {"preset": "custom", "channels": [8, 8], "strides": [2, 2]},
              "factors": [{"name": "first", "components": 3, "dimensions": 2},
                          {"name": "second", "components": 3, "dimensions": 2}]},
    "train": {"batch_size": 16, "batch_parts": 4, "pretrain": {"steps": 200}, "initialise": {"steps": 50},
              "joint": {"steps": 8000, "refit_every": 500}, "average_decay": 0.99, "log_every": 10,
              "evaluate_every": 200, "checkpoint_every": 10, "learning_rate": {"start": 1e-3, "end": 1e-4}},
}


def children(process):
    try:
        return [int(word) for word in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except FileNotFoundError:
        return []


with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as name:
    folder = pathlib.Path(name)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    train = [arguments.facet, "train", str(folder / "config.json"), "--out"]
    subprocess.run(train + [str(folder / "alone")], check=True, stdout=subprocess.DEVNULL)
    out, kills = folder / "killed", 0
    while not (out / "eval.json").exists():
        ranks = random.choice([2, 3, 4])
        resume = ["--resume"] if (out / "state.safetensors").exists() else []
        starter = subprocess.Popen(train + [str(out), "--processes", str(ranks), "--rank-timeout", "5", *resume],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        victim = None
        if kills < arguments.kills:
            while len(children(starter.pid)) < ranks and starter.poll() is None:
                time.sleep(0.01)
            time.sleep(random.uniform(0, 2.5))
            if living := children(starter.pid):
                victim = random.choice(living)
                try:
                    os.kill(victim, signal.SIGKILL)
                    kills += 1
                except ProcessLookupError:
                    victim = None
        begin = time.monotonic()
        lines = starter.communicate()[1].splitlines()
        took = time.monotonic() - begin
        if victim is None or starter.returncode == 0:
            continue
        if starter.returncode != 1 or len(lines) != 1 or f"(process {victim})" not in lines[0] or took > 5:
            sys.exit(f"after kill {kills}: status {starter.returncode} after {took:.1f} s, {lines}")
    for file in ["model.safetensors", "state.safetensors", "metrics.jsonl", "eval.json", "best.safetensors"]:
        if (folder / "alone" / file).read_bytes() != (out / file).read_bytes():
            sys.exit(f"{file} differs after {kills} kills")
    print(f"{kills} kills; the run is the same, byte for byte")
