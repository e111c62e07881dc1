#!/usr/bin/env python3
"""The score of a survey, computed anew from the definitions and from the files of its folder alone.

    survey_reference.py FOLDER SCORE.json

compares what `facet survey FOLDER --score --json` has printed and says where the two differ. Nothing here is a
translation of the program: intervals are roots of their equations, agreements go over pairs one by one.
"""
import csv
import itertools
import json
import math
import sys
from collections import Counter
from pathlib import Path

CANNOT_TELL = "cannot tell"
QUANTILE = 1.959963984540054
TOLERANCE = 1e-9  # both sides compute in float64, with sums of a few thousand terms


def wilson(right, count):
    """The shares p whose own standard error puts `right` of `count` at most 1.96 of them away: both ends by bisection."""
    if count == 0:
        return None
    share = right / count

    def distance(p):
        return abs(share - p) - QUANTILE * math.sqrt(p * (1 - p) / count)

    def root(inside, outside):
        if distance(outside) <= 0:
            return outside
        for _ in range(200):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if distance(middle) <= 0 else (inside, middle)
        return inside

    return [root(share, 0.0), root(share, 1.0)]


def splitmix(seed):
    mask = 2**64 - 1
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        x = seed
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
        yield x ^ (x >> 31)


def bootstrap(items, seed=1, draws=2000):
    """`items` are (right, count). The 2.5 and 97.5 percentiles over draws of items with replacement."""
    if not items:
        return None
    numbers = splitmix(seed)
    shares = []
    for _ in range(draws):
        drawn = [items[int((next(numbers) >> 11) / 2**53 * len(items))] for _ in items]
        shares.append(sum(right for right, _ in drawn) / sum(count for _, count in drawn))
    shares.sort()

    def quantile(share):
        place = share * (draws - 1)
        below = math.floor(place)
        return shares[below] + (place - below) * (shares[min(below + 1, draws - 1)] - shares[below])

    return [quantile(0.025), quantile(0.975)]


def raw_agreement(units):
    """`units` are lists of answers. The share of pairs within units that are equal."""
    pairs = [a == b for unit in units for a, b in itertools.combinations(unit, 2)]
    return sum(pairs) / len(pairs) if pairs else None


def cohen(pairs):
    """`pairs` are the answers of two raters about the same items."""
    if not pairs:
        return None
    observed = sum(a == b for a, b in pairs) / len(pairs)
    firsts, seconds = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    # Over all ways to pair an answer of the one with an answer of the other.
    expected = sum(firsts[answer] * seconds[answer] for answer in firsts) / len(pairs) ** 2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def krippendorff(units):
    """1 - D_o / D_e over ordered pairs, each pair of a unit of m answers weighted by 1 / (m - 1)."""
    units = [unit for unit in units if len(unit) > 1]
    values = [answer for unit in units for answer in unit]
    if not values:
        return None
    within = sum(sum(a != b for a, b in itertools.permutations(unit, 2)) / (len(unit) - 1) for unit in units) / len(values)
    among = sum(a != b for a, b in itertools.permutations(values, 2)) / (len(values) * (len(values) - 1))
    return None if among == 0 else 1 - within / among


def read_answers(path):
    """The last answer by (rater, item, question). A line that is cut, or was once, is none."""
    answers = {}
    text = path.read_text() if path.exists() else ""
    for line in text.split("\n")[1:-1]:
        try:
            cells = next(csv.reader([line], strict=True))
            rater, order, item, question, answer, milliseconds = cells
            int(order), int(milliseconds)
        except (ValueError, csv.Error, StopIteration):
            continue
        answers[rater, item, question] = answer
    return answers


def score_items(items, values, question, answers, raters):
    """`values` has the right answer by item."""
    by_item = {item: {rater: answers[rater, item, question] for rater in raters if (rater, item, question) in answers}
               for item in items}
    counts = [(sum(answer == values[item] for answer in given.values()), len(given))
              for item, given in by_item.items() if given]
    right, count = sum(r for r, _ in counts), sum(c for _, c in counts)
    units = [list(given.values()) for given in by_item.values()]
    kappas = [cohen([(given[a], given[b]) for given in by_item.values() if a in given and b in given])
              for a, b in itertools.combinations(raters, 2)]
    kappas = [kappa for kappa in kappas if kappa is not None]
    return {"items": len(counts), "answers": count, "right": right,
            "cannot_tell": sum(answer == CANNOT_TELL for unit in units for answer in unit),
            "accuracy": right / count if count else None, "wilson": wilson(right, count), "bootstrap": bootstrap(counts),
            "agreement": raw_agreement(units), "cohen_kappa": sum(kappas) / len(kappas) if kappas else None,
            "cohen_pairs": len(kappas), "krippendorff_alpha": krippendorff(units)}


def score(folder):
    """Of every question: samples, photographs and repeats."""
    key = json.loads((folder / "key.json").read_text())["items"]
    answers = read_answers(folder / "answers.csv")
    raters = sorted({rater for rater, _, _ in answers})
    questions = {}
    for name in key[0]["values"]:
        values = {entry["item"]: entry["values"][name] for entry in key}
        kinds = {kind: [entry["item"] for entry in key if entry["kind"] == kind and not entry["repeats"]]
                 for kind in ("sample", "photograph")}
        twice = [(answers.get((rater, entry["repeats"], name)), answers.get((rater, entry["item"], name)))
                 for rater in raters for entry in key if entry["repeats"]]
        twice = [(first, second) for first, second in twice if first is not None and second is not None]
        same = sum(first == second for first, second in twice)
        questions[name] = {"samples": score_items(kinds["sample"], values, name, answers, raters),
                           "photographs": score_items(kinds["photograph"], values, name, answers, raters),
                           "repeats": {"right": same, "count": len(twice), "wilson": wilson(same, len(twice))}}
    return {"answers": len(answers), "raters": raters, "questions": questions}


def differences(expected, found, place=""):
    """Where `found` lacks or contradicts what `expected` has."""
    if isinstance(expected, dict):
        return [each for key, value in expected.items()
                for each in (differences(value, found[key], f"{place}.{key}") if key in found else [f"{place}.{key} is missing"])]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [each for i, (a, b) in enumerate(zip(expected, found)) for each in differences(a, b, f"{place}[{i}]")]
    if isinstance(expected, float) and isinstance(found, (int, float)):
        same = abs(expected - found) <= TOLERANCE
    else:
        same = expected == found
    return [] if same else [f"{place}: facet has {found}, the reference {expected}"]


def compare(folder, printed):
    """What `facet survey --score --json` has printed against the reference."""
    found = {"answers": printed["answers"], "raters": [each["rater"] for each in printed["raters"]],
             "questions": {each["name"]: each for each in printed["questions"]}}
    return differences(score(folder), found)


if __name__ == "__main__":
    faults = compare(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()))
    print("\n".join(faults) or "the score equals the reference")
    sys.exit(1 if faults else 0)
