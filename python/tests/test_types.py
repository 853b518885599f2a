"""Type checkers: clean for the package and the examples, and they find mistakes of programs that use it.

They run one after the other beside the tests of other files: conftest.py calls `begin` before the first test.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

import pytest

import pairsieve

TESTS = pathlib.Path(__file__).parent
ROOT = TESTS.parent.parent
MISTAKES = [TESTS / "planted_mistakes.py", TESTS / "planted_programs.py"]
EXAMPLES = sorted((ROOT / "python/examples").glob("*.py"))
CHECKERS = {"mypy": ["mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary"],
            "pyright": ["basedpyright", "--pythonpath", sys.executable]}
FOUND = {"mypy": r"(\w+\.py):(\d+): error:", "pyright": r"(\w+\.py):(\d+):\d+ - error:"}


def check(checker, *paths, **environment):
    """The checker's words, and the files and lines with errors. Caches lie in a folder that runs share."""
    module = "mypy" if checker == "mypy" else "basedpyright"
    pytest.importorskip(module)
    cache = {"MYPY_CACHE_DIR": str(pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"pairsieve-mypy-{os.getuid()}")}
    ran = subprocess.run([sys.executable, "-m", *CHECKERS[checker], *map(str, paths)], cwd=ROOT, text=True, capture_output=True,
                         env=os.environ | cache | environment, check=False, timeout=300)
    words = ran.stdout + ran.stderr
    return words, {(file, int(line)) for file, line in re.findall(FOUND[checker], words)}, ran.returncode


def check_mistakes(checker):
    home = pathlib.Path(pairsieve.__file__).parent.parent
    # mypy finds an installed package by itself, and refuses its folder here.
    return check(checker, *MISTAKES, **({} if home.name == "site-packages" else {"MYPYPATH": str(home)}))


def check_package(checker):
    return check(checker, ROOT / "python/pairsieve", *EXAMPLES, MYPYPATH=str(ROOT / "python"))


def begin(item):
    """Starts the checker of a test, or puts it behind those that were started."""
    calls = {"test_planted_mistakes_are_found": check_mistakes, "test_package_and_examples_are_clean": check_package}
    started[item.name] = background.submit(calls[item.originalname], item.callspec.params["checker"])


background = concurrent.futures.ThreadPoolExecutor(max_workers=1)
started = {}


@pytest.fixture
def answer(request):
    return started[request.node.name].result()


@pytest.mark.parametrize("checker", CHECKERS)
def test_planted_mistakes_are_found(checker, answer):
    programs = {path.name: path.read_text(encoding="utf-8").splitlines() for path in MISTAKES}
    wrong = {(name, number) for name, lines in programs.items() for number, line in enumerate(lines, 1) if line.endswith("  # wrong")}
    assert len(wrong) >= 180 and sum(map(len, programs.values())) >= 500
    words, found, _ = answer
    assert found == wrong, f"not found: {sorted(wrong - found)}; too many: {sorted(found - wrong)}\n{words}"


@pytest.mark.parametrize("checker", CHECKERS)
def test_package_and_examples_are_clean(checker, answer):
    words, found, code = answer
    assert code == 0 and not found, words
