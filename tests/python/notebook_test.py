"""Runs the cells of a notebook one after another; an exception fails the test, and so does a picture that is blank.

    python3 tests/python/notebook_test.py MODULE-FOLDER NOTEBOOK
"""
import ast
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[1]).resolve()))
notebook = Path(sys.argv[2]).resolve()
os.chdir(notebook.parent)
cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
assert cells, "a notebook without code"
names, pictures = {}, 0
for number, cell in enumerate(cells):
    assert cell["outputs"] or "def " in "".join(cell["source"]), f"cell {number} has no stored output: execute the notebook"
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, f"cell {number}", "exec"), names)
    if last is not None:
        result = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
        if hasattr(result, "getextrema"):
            assert any(low < high for low, high in result.getextrema()), f"cell {number} drew a blank picture"
            pictures += 1
print(f"{len(cells)} cells, {pictures} pictures")
assert pictures >= 6
