"""The examples, where what they need is installed."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "examples"))


def test_radius_graph(capsys):
    import radius_graph

    assert radius_graph.main(3000).shape[1] > 100_000
    assert capsys.readouterr().out.count("edges") == 3


def test_sort_cost(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    import sort_cost

    out = tmp_path / "picture.png"
    monkeypatch.setattr(sys, "argv", ["sort_cost.py", "--bodies", "300", "--frames", "10", "--device", "cpu", "--out", str(out)])
    sort_cost.main()
    assert out.stat().st_size > 5000
