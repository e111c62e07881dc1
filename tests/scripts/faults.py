#!/usr/bin/env python3
"""Lets system calls fail, and kills the program at them, and looks what is left.

  tests/scripts/faults.py FACET SHIM                      a few of each, as a test
  tests/scripts/faults.py FACET SHIM --all                every call of every command, failing
  tests/scripts/faults.py FACET SHIM --chosen 100 --random 100   so many kills, at calls and at any time

FACET is the program, SHIM the library of tests/faults/fault_shim.cpp. After a failure the command says in one line what and
where, ends with status 2, leaves every older file as it was and no temporary one; tried again, it gives the same bytes as
without the failure. After a kill the command is given again (a training run with --resume where it has begun), and the bytes
are those of a run that nobody disturbed; nothing else is left.
"""
import argparse
import errno
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("facet")
parser.add_argument("shim")
parser.add_argument("--all", action="store_true", help="fail every call, with every error")
parser.add_argument("--every", type=int, default=0, help="fail every n-th call instead")
parser.add_argument("--chosen", type=int, default=0, help="kills at chosen calls")
parser.add_argument("--random", type=int, default=0, help="kills at random times")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--commands", default="", help="only these, with commas between")
arguments = parser.parse_args()
arguments.facet, arguments.shim = os.path.abspath(arguments.facet), os.path.abspath(arguments.shim)
random.seed(arguments.seed)

ERRORS = {"open": [errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EDQUOT], "write": [errno.ENOSPC, errno.EDQUOT, errno.EIO],
          "fsync": [errno.EIO, errno.ENOSPC, errno.EDQUOT], "rename": [errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EIO],
          "close": [errno.EIO, errno.ENOSPC, errno.EDQUOT]}
CONFIG = {
    "data": {"pack": "pack.safetensors"},
    "model": {"likelihood": {"kind": "gaussian", "minimum_stddev": 0.05},
              "network": {"preset": "custom", "channels": [8, 8], "strides": [2, 2]},
              "factors": [{"name": "first", "components": 3, "dimensions": 2}]},
    "train": {"batch_size": 16, "pretrain": {"steps": 4}, "initialise": {"steps": 4}, "joint": {"steps": 8},
              "average_decay": 0.9, "log_every": 4, "evaluate_every": 4, "checkpoint_every": 4},
}


class Command:
    """A command in a folder that has what it needs; `made` are the names that it makes."""

    def __init__(self, name, first, again, made, failures=True):
        self.name, self.first, self.again, self.made, self.failures = name, first, again, made, failures


def again_train(folder):
    return TRAIN + ["--resume"] if (folder / "new/config.json").exists() else TRAIN + ["config.json"]


def again_refine(folder):
    begun = any((folder / "run" / f"refiner-state{end}.safetensors").exists() for end in ("", "-previous"))
    return ["refine", "run", "--resume"] if begun else REFINE


def again_sweep(folder):
    return ["sweep", "--out", "new", "--resume"] if (folder / "new/sweep.json").exists() else SWEEP


TRAIN = ["train", "--out", "new"]
SURVEY = ["survey", str(pathlib.Path(__file__).resolve().parents[2] / "models/portraits"), "--samples", "1", "--controls", "0", "--out"]
SWEEP = ["sweep", "config.json", "--out", "new", "--vary", "seed=1,2"]
REFINE = ["refine", "run", "--steps", "4", "--batch-size", "8"]
for setting in ("log_every=2", "checkpoint_every=2", "network.preset=custom", "network.width=16", "network.multipliers=[1,1]", "network.blocks=1"):
    REFINE += ["--set", setting]
COMMANDS = [
    Command("import", ["import", "portraits", "--count", "40", "--size", "16", "--out", "new.safetensors"], None,
            lambda name: name.startswith("new.safetensors")),
    Command("train", TRAIN + ["config.json"], again_train, lambda name: name.startswith("new")),
    Command("refine", REFINE, again_refine, lambda name: name.startswith("run/refiner")),
    Command("sweep", SWEEP, again_sweep, lambda name: name.startswith("new"),
            failures=False),  # a sweep notes the failure of a run and goes on
    Command("index", ["index", "run", "pack.safetensors", "--out", "new"], None, lambda name: name.startswith("new")),
    Command("survey", SURVEY + ["new"], None, lambda name: name.startswith("new")),
]


def environment_of(folder, shim):
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    if shim:
        environment |= {"LD_PRELOAD": arguments.shim, "FAULT_FOLDER": str(folder)}
        environment |= {"FAULT_" + key.upper(): str(value) for key, value in shim.items()}
    return environment


def run(folder, words, **shim):
    return subprocess.run([arguments.facet] + words, cwd=folder, env=environment_of(folder, shim), capture_output=True, text=True,
                          timeout=120)


def fresh_copy(prepared):
    """Always at the same place: the config of a run says where its pack is."""
    folder = prepared.parent / "tried"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(prepared, folder)
    return folder


def files(folder):
    """Bytes by name. Event files and the summary of a sweep have times in them, and so are not compared."""
    return {str(path.relative_to(folder)): b"" if path.name.startswith("sweep.") else path.read_bytes()
            for path in folder.rglob("*") if path.is_file() and "events" not in path.parent.name}


failures, counted = [], {"failed calls": 0, "answered with status 2": 0, "without effect": 0, "kills at calls": 0, "kills at random times": 0}


def expect(condition, *what):
    if not condition:
        failures.append(" ".join(str(part) for part in what))
        print("FAILED:", *what, flush=True)


def expect_finished(command, folder, straight, what):
    """The command again, until it is done: the same bytes as without a fault, and nothing else."""
    complete = command.name == "index" and (folder / "new/index.safetensors").exists()
    result = run(folder, command.again(folder) if command.again else command.first)
    expect(result.returncode == (2 if complete else 0), what, "then", result.stderr.strip())
    if result.returncode != 0 and not complete:
        return
    left = files(folder)
    expect(sorted(left) == sorted(straight), what, "left", sorted(set(left) ^ set(straight)))
    changed = [name for name in straight if left.get(name) != straight[name] and not name.endswith("previous.safetensors")]
    expect(not changed, what, "changed", changed)


def try_failure(command, prepared, straight, call, place, number, error):
    what = f"{command.name}: call {number} ({call} {place}) fails with {errno.errorcode[error]}:"
    folder = fresh_copy(prepared)
    before = files(folder)
    result = run(folder, command.first, at=number, error=error)
    counted["failed calls"] += 1
    after = files(folder)
    expect(all(after.get(name) == value for name, value in before.items() if not command.made(name)), what, "lost an older file")
    expect(not [name for name in after if name.endswith(".tmp")], what, "left", [n for n in after if n.endswith(".tmp")])
    if result.returncode == 0:  # a call whose failure does no harm
        counted["without effect"] += 1
        expect(call in ("close", "open", "fsync"), what, "status 0")
        expect(sorted(after) == sorted(straight), what, "left", sorted(set(after) ^ set(straight)))
        return
    counted["answered with status 2"] += 1
    lines = result.stderr.strip().splitlines()
    expect(result.returncode == 2 and len(lines) == 1 and lines[0].startswith("facet: "), what, "status", result.returncode, lines)
    expect(os.strerror(error) in result.stderr, what, "says", lines)
    expect_finished(command, folder, straight, what)


def try_kill(command, prepared, straight, number=None, seconds=None):
    what = f"{command.name}: killed at " + (f"call {number}:" if number else f"{seconds:.2f} s:")
    folder = fresh_copy(prepared)
    if number:
        result = run(folder, command.first, at=number)
        counted["kills at calls"] += 1
        expect(result.returncode == -signal.SIGKILL, what, "status", result.returncode)
    else:
        process = subprocess.Popen([arguments.facet] + command.first, cwd=folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=dict(os.environ, OMP_NUM_THREADS="1"))
        time.sleep(seconds)
        process.kill()
        if process.wait() == 0:
            return False
        counted["kills at random times"] += 1
    expect_finished(command, folder, straight, what)
    return True


class SurveyServer:
    """The server of a survey, of whose calls one may fail or kill it."""

    def __init__(self, folder, **shim):
        self.process = subprocess.Popen([arguments.facet, "survey", "survey", "--serve", "--port", "0"], cwd=folder,
                                        env=environment_of(folder, shim), stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:  # the first may be a notice about lines that were cut
            if "127.0.0.1:" in line:
                self.port = int(line.split("127.0.0.1:")[1].split()[0].rstrip("/"))
                return
        sys.exit(f"the server of the survey ended with status {self.process.wait()}")

    def send(self, answer):
        """The status of the reply; None where there is none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("POST", "/api/v1/answer", json.dumps(answer), {"Content-Type": "application/json"})
            reply = connection.getresponse()
            return reply.status, reply.read().decode()
        except (OSError, http.client.HTTPException):
            return None, ""
        finally:
            connection.close()

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)
        self.process.stdout.close()


def answers_to(folder):
    item = json.loads((folder / "survey/survey.json").read_text())["items"][0]
    return [{"rater": f"R{number % 3}", "item": item, "question": "glasses", "answer": "with", "milliseconds": number}
            for number in range(6)]


def kept_answers(folder):
    """Rater and milliseconds, which together name an answer, on every whole line of the file."""
    path = folder / "survey/answers.csv"
    lines = path.read_bytes().decode().split("\n")[1:-1] if path.exists() else []
    cells = [line.split(",") for line in lines]
    return [(row[0], int(row[5])) for row in cells if len(row) == 6 and row[5].isdigit()]


def try_answers(prepared, number, error=None):
    """Raters answer while one call fails, or the server is killed there. What was acknowledged is kept; the others are sent
    again to a server of its own, as the page does, and then all are there and can be scored."""
    what = f"answers: call {number} " + (f"fails with {errno.errorcode[error]}:" if error else "kills:")
    folder = fresh_copy(prepared)
    server = SurveyServer(folder, at=number, **({"error": error} if error else {}))
    answers, acknowledged, refused = answers_to(folder), [], []
    for answer in answers:
        status, text = server.send(answer)
        (acknowledged if status == 200 else refused).append(answer)
        expect(status in (200, 507) if error else status in (200, None), what, "status", status, text)
        expect(status != 507 or os.strerror(error) in text, what, "says", text)
    server.stop()
    counted["failed calls" if error else "kills at calls"] += 1
    if error:
        counted["answered with status 2" if refused else "without effect"] += 1  # here 507, in the reply
        expect(len(refused) <= 1, what, "refused", len(refused))
    names = [(answer["rater"], answer["milliseconds"]) for answer in acknowledged]
    expect(set(names) <= set(kept_answers(folder)), what, "lost", set(names) - set(kept_answers(folder)))
    server = SurveyServer(folder)
    for answer in refused:
        expect(server.send(answer)[0] == 200, what, "refused again")
    server.stop()
    expect(set(kept_answers(folder)) == {(answer["rater"], answer["milliseconds"]) for answer in answers}, what, "kept", kept_answers(folder))
    scored = run(folder, ["survey", "survey", "--score"])
    expect(scored.returncode == 0, what, "then", scored.stderr)
    expect(sorted(files(folder)) == sorted(files(prepared) | {"survey/answers.csv": b""}), what, "left", sorted(files(folder)))


def answer_calls(prepared, log):
    """The calls on files while the answers come, as [call, path]."""
    folder = fresh_copy(prepared)
    log.unlink(missing_ok=True)
    server = SurveyServer(folder, log=log)
    for answer in answers_to(folder):
        expect(server.send(answer)[0] == 200, "answers: refused without a fault")
    server.stop()
    return [line.split(" ", 1) for line in log.read_text().splitlines()]


def try_survey(prepared, log):
    calls = answer_calls(prepared, log)
    print(f"answers: {len(calls)} calls", flush=True)
    numbers = range(1, len(calls) + 1)
    if arguments.chosen or arguments.random:
        for number in sorted(random.sample(numbers, min(arguments.chosen, len(calls)))):
            try_answers(prepared, number)
        return
    everything = arguments.all or arguments.every
    for number in numbers if everything else [random.choice(numbers)]:
        for error in ERRORS[calls[number - 1][0]] if everything else [errno.ENOSPC]:
            try_answers(prepared, number, error)
    if not everything:
        try_answers(prepared, random.choice(numbers))


scratch = "/dev/shm" if os.path.isdir("/dev/shm") else None
started = time.time()
with tempfile.TemporaryDirectory(dir=scratch) as name:
    prepared = pathlib.Path(name).resolve() / "prepared"
    prepared.mkdir()
    (prepared / "config.json").write_text(json.dumps(CONFIG))
    for words in (["import", "portraits", "--count", "40", "--size", "16", "--out", "pack.safetensors"],
                  ["train", "config.json", "--out", "run"], SURVEY + ["survey"]):
        result = run(prepared, words)
        if result.returncode != 0:
            sys.exit(result.stderr)
    if not arguments.commands or "answers" in arguments.commands.split(","):
        try_survey(prepared, prepared.parent / "log")
    chosen = [command for command in COMMANDS if not arguments.commands or command.name in arguments.commands.split(",")]
    for command in chosen:
        folder, log = fresh_copy(prepared), prepared.parent / "log"
        log.unlink(missing_ok=True)
        before = time.time()
        result = run(folder, command.first, log=log)
        lasted = time.time() - before
        if result.returncode != 0:
            sys.exit(result.stderr)
        straight = files(folder)
        calls = [line.split(" ", 1) for line in log.read_text().splitlines()]
        calls = [(call, place.replace(str(folder) + "/", "")) for call, place in calls]
        print(f"{command.name}: {len(calls)} calls in {lasted:.1f} s", flush=True)
        if arguments.chosen or arguments.random:
            numbers = range(1, len(calls) + 1)
            share = max(1, arguments.chosen // len(chosen))
            for number in sorted(random.sample(numbers, min(share, len(calls)))) if arguments.chosen else []:
                try_kill(command, prepared, straight, number=number)
            done = 0
            while done < arguments.random // len(chosen):
                done += try_kill(command, prepared, straight, seconds=random.uniform(0, lasted))
            continue
        if (arguments.all or arguments.every) and not command.failures:
            continue
        if arguments.all or arguments.every:
            step = max(1, arguments.every)
            for number, (call, place) in list(enumerate(calls, 1))[::step]:
                for error in ERRORS[call] if arguments.all else [ERRORS[call][number // step % len(ERRORS[call])]]:
                    try_failure(command, prepared, straight, call, place, number, error)
            continue
        # A test: a run has one failure of each kind, the others have one, and all have a kill.
        kinds = ("write", "fsync", "rename") if command.name == "train" else ("write",)
        for call in kinds if command.failures else ():
            numbers = [number for number, entry in enumerate(calls, 1) if entry[0] == call]
            number = random.choice(numbers)
            try_failure(command, prepared, straight, call, calls[number - 1][1], number, random.choice(ERRORS[call]))
        try_kill(command, prepared, straight, number=random.randint(1, len(calls)))
print(", ".join(f"{count} {what}" for what, count in counted.items()), f"in {time.time() - started:.0f} s;", len(failures), "wrong")
sys.exit(1 if failures else 0)
