#!/usr/bin/env python3
"""`facet survey --score` against the definitions (survey_reference.py), on answers with gaps, corrections and cut lines.

    survey_test.py FACET
"""
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import survey_reference as reference

CONFIG = {"data": {"portraits": {"count": 400, "size": 16}},
          "model": {"likelihood": {"kind": "gaussian", "minimum_stddev": 0.05},
                    "network": {"preset": "custom", "channels": [8, 8], "strides": [2, 2]},
                    "factors": [{"name": "glasses", "property": "glasses", "components": 2, "dimensions": 2},
                                {"name": "style", "property": "hair_style", "components": 4, "dimensions": 2}]},
          "train": {"batch_size": 16, "pretrain": {"steps": 5}, "initialise": {"steps": 2}, "joint": {"steps": 5}}}


def facet(*arguments):
    return subprocess.run([sys.argv[1], *map(str, arguments)], check=True, capture_output=True, text=True)


def write_answers(folder, chance, raters, share):
    """Raters who are right in 70 % and answer `share` of the items; one line in twenty is corrected later."""
    survey = json.loads((folder / "survey.json").read_text())
    key = {entry["item"]: entry["values"] for entry in json.loads((folder / "key.json").read_text())["items"]}
    lines = []
    for rater in raters:
        for order, item in enumerate(chance.sample(survey["items"], int(share * len(survey["items"]))), 1):
            for question in survey["questions"]:
                choices = [choice["answer"] for choice in question["choices"]]
                answer = key[item][question["name"]] if chance.random() < 0.7 else chance.choice(choices)
                lines.append([rater, order, item, question["name"], answer, chance.randrange(300, 9000)])
                if chance.random() < 0.05:
                    lines.append(lines[-1][:4] + [chance.choice(choices), 100])
    rows = ['"' + line[0].replace('"', '""') + '",' + ",".join(map(str, line[1:])) for line in lines]
    text = "rater,order,item,question,answer,milliseconds\n" + "\n".join(rows) + "\n"
    (folder / "answers.csv").write_text(text)
    return text


def check(folder, what):
    before = (folder / "answers.csv").read_bytes() if (folder / "answers.csv").exists() else None
    result = facet("survey", folder, "--score", "--json")
    faults = reference.compare(folder, json.loads(result.stdout))
    assert not faults, f"{what}: " + "; ".join(faults)
    after = (folder / "answers.csv").read_bytes() if (folder / "answers.csv").exists() else None
    assert before == after, f"{what}: the answers have changed"
    return result


def main():
    # Published examples, so that the reference itself is checked: Krippendorff (2011), "Computing Krippendorff's
    # Alpha-Reliability", with 0.691; Wilson's interval of 0 of 10; 20, 5, 10 and 15 of 50 decisions, with kappa 0.4.
    coders = ["*****34121133*3", "1*213343*******", "**21344*21133*4"]
    units = [[row[i] for row in coders if row[i] != "*"] for i in range(15)]
    assert abs(reference.krippendorff(units) - 0.691) < 5e-4
    assert reference.wilson(0, 10)[0] == 0 and abs(reference.wilson(0, 10)[1] - 0.27753) < 1e-5
    table = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    assert abs(reference.cohen(table) - 0.4) < 1e-12

    chance = random.Random(7)
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        (place / "config.json").write_text(json.dumps(CONFIG))
        facet("train", place / "config.json", "--out", place / "run")
        folder = place / "survey"
        facet("survey", place / "run", "--out", folder)
        check(folder, "no answers")
        for raters, share in ((["one"], 1.0), (["Ann", 'B "Bo", C'], 0.6), (["r1", "r2", "r3", "r4", "r5"], 0.8)):
            text = write_answers(folder, chance, raters, share)
            check(folder, f"{len(raters)} raters")
        # Everybody always says the same: agreements by chance alone are not defined.
        same = "".join(f"{rater},1,{item},glasses,with,1\n" for rater in ("a", "b")
                       for item in json.loads((folder / "survey.json").read_text())["items"])
        (folder / "answers.csv").write_text(text[: text.index("\n") + 1] + same)
        glasses = json.loads(check(folder, "one answer").stdout)["questions"][0]["samples"]
        assert glasses["krippendorff_alpha"] is None and glasses["cohen_kappa"] is None and glasses["agreement"] == 1
        for cut in chance.sample(range(60, len(text)), 6):
            (folder / "answers.csv").write_text(text[:cut])
            said = check(folder, f"cut at byte {cut}").stderr
            assert ("was skipped" in said) == (text[cut - 1] != "\n"), said
    print("scores equal the reference")


if __name__ == "__main__":
    main()
