"""The notebooks of docs/notebooks run from top to bottom, and print what they show; one that needs a package which is not here is skipped."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs" / "notebooks"
# Whose numbers differ from run to run (times) or from one version of PyTorch to the next (its random numbers).
CHANGING = {"torch_training.ipynb", "what_sorting_costs.ipynb"}


def shown(name: str, text: str) -> str:
    """What has to be the same."""
    return re.sub(r" *\d+(\.\d+)?", " #", text) if name in CHANGING else text


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("*.ipynb")))
def test_notebook(name: str) -> None:
    cells = json.loads((FOLDER / name).read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    for package in set(re.findall(r"^import (\w+)", code, re.M)):
        pytest.importorskip(package)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    kept = "".join("".join(output["text"]) for cell in cells for output in cell.get("outputs", []))
    assert kept and shown(name, done.stdout) == shown(name, kept)


def test_there_are_notebooks() -> None:
    assert len(list(FOLDER.glob("*.ipynb"))) >= 6
