"""The Python lines of README.md and docs/learn, as they are printed there, each page from top to bottom."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/learn").glob("*.md"))]


def blocks(page, fence):
    return re.findall(rf"^```{fence}\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_page(page):
    exec(compile("\n".join(blocks(page, "python")), str(page), "exec"), {})


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python cuda")], ids=lambda page: page.name)
def test_page_on_a_gpu(page):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    exec(compile("\n".join(blocks(page, "python cuda")), str(page), "exec"), {})


def test_there_are_pages():
    assert sum(len(blocks(page, "python")) for page in PAGES) >= 4
