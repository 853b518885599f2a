"""Streams of Rerun, read back from the file that they were written to."""

import numpy as np
import pytest

rr = pytest.importorskip("rerun")
pytest.importorskip("rerun.chunk", reason="this Rerun cannot read its files")

import pairsieve  # noqa: E402
from pairsieve.rerun import log_pairs, log_world  # noqa: E402


def recorded(path, component):
    """{step: rows} of a component, e.g. "Boxes3D:centers", in a file of Rerun."""
    out = {}
    for chunk in rr.chunk.RrdReader(path).stream():
        batch = chunk.to_record_batch()
        if component in batch.schema.names:
            out |= zip(batch.column("step").to_pylist(), map(np.array, batch.column(component).to_pylist()))
    return out


def test_world_in_a_file(tmp_path):
    world = pairsieve.World.scene("drop", bodies=50)
    recording = rr.RecordingStream("pairsieve_test")
    recording.save(tmp_path / "drop.rrd")
    boxes = {}
    for _ in range(3):
        world.step()
        count = log_world(world, recording=recording)
        here = np.array(world.boxes).reshape(-1, 6)
        boxes[world.counters()["frame"]] = here[np.isfinite(here).all(axis=1) & (np.abs(here).max(axis=1) < 1e6)]
        assert count == len(boxes[world.counters()["frame"]]) >= 50
    del recording
    middles, halves = (recorded(tmp_path / "drop.rrd", f"Boxes3D:{name}") for name in ("centers", "half_sizes"))
    assert sorted(middles) == [1, 2, 3]
    for step, expected in boxes.items():
        np.testing.assert_allclose(middles[step], (expected[:, :3] + expected[:, 3:]) / 2, atol=1e-4)
        np.testing.assert_allclose(halves[step], (expected[:, 3:] - expected[:, :3]) / 2, atol=1e-4)


def test_pairs(tmp_path):
    boxes = np.array([[0, 0, 0, 1, 1, 1], [1, 0, 0, 2, 1, 1], [5, 5, 5, 6, 6, 6]], np.float32)
    recording = rr.RecordingStream("pairsieve_test")
    recording.save(tmp_path / "pairs.rrd")
    recording.set_time("step", sequence=4)
    assert log_pairs(boxes, pairsieve.find_pairs(boxes), recording=recording) == 1
    del recording
    lines = recorded(tmp_path / "pairs.rrd", "LineStrips3D:strips")
    np.testing.assert_array_equal(lines[4], [[[0.5, 0.5, 0.5], [1.5, 0.5, 0.5]]])


def test_misuse():
    boxes = np.zeros((3, 6), np.float32)
    with pytest.raises(pairsieve.ArgumentError, match=r"boxes have shape \(3, 5\)"):
        log_pairs(boxes[:, :5], np.zeros((1, 2), np.int32))
    with pytest.raises(pairsieve.ArgumentError, match="pairs hold 0 to 3; numbers of the 3 boxes"):
        log_pairs(boxes, np.array([[0, 3]]))
