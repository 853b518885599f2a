"""Ctrl-C ends long calls of Python within about a second, and leaves objects that go on to work."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import oracle
import pytest

import pairsieve
from pairsieve import _interrupts

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")


@pytest.fixture(autouse=True)
def ctrl_c_is_heard():
    """What a shell runs in the background ignores SIGINT, and so do its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(call, after):
    """Seconds from a Ctrl-C, `after` seconds from the start, to its KeyboardInterrupt."""
    sent = []

    def press():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, press)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
            time.sleep(3 * after + 5)  # the call was quicker than Ctrl-C
    finally:
        timer.join()
    return time.monotonic() - sent[0]


def row_of(count):
    """Boxes side by side, none of which touch."""
    boxes = np.zeros((count, 6), np.float32)
    boxes[:, 3:] = 1
    boxes[:, [0, 3]] += 2 * np.arange(count, dtype=np.float32)[:, None]
    return boxes


@pytest.fixture(scope="module")
def long_row():
    """So many that the method that tests all pairs takes about a second and a half here."""
    few = row_of(20_000)
    finder = pairsieve.PairFinder(len(few), method="brute", max_pairs=10)
    finder.find(few)
    begin = time.monotonic()
    finder.find(few)
    count = int(20_000 * (1.5 / max(time.monotonic() - begin, 1e-4)) ** 0.5)
    return row_of(max(40_000, min(count, 2_000_000)))


def test_a_long_find(long_row):
    """The method that tests all pairs: a second of work in one call of the library."""
    finder = pairsieve.PairFinder(len(long_row), method="brute", sort=True)
    begin = time.monotonic()
    assert interrupted(lambda: finder.find(long_row), 0.2) < 1.5
    assert finder.context.helper is not None, "the call ended before it was interrupted"
    # The next call waits for the end of the interrupted one, and is right.
    few = oracle.boxes(1, 500, side=5)
    np.testing.assert_array_equal(finder.find(few).pairs(), oracle.pairs(few))
    assert finder.context.helper is None and time.monotonic() - begin > 0.3


def test_functions_do_not_wait_for_what_was_interrupted(long_row):
    boxes = long_row
    pairsieve.clear_cache()
    assert interrupted(lambda: pairsieve.find_pairs(boxes, method="brute"), 0.2) < 1.5
    (finder,) = pairsieve.pairs._finders.objects.values()
    assert finder.context.helper is not None, "the call ended before it was interrupted"
    assert len(pairsieve.find_pairs(boxes[:1000], method="brute")) == 0
    (other,) = pairsieve.pairs._finders.objects.values()
    assert other is not finder and other.context.helper is None


def test_steps_of_a_world():
    world, other = (pairsieve.World.scene("drop", bodies=2000) for _ in range(2))
    steps = []
    assert interrupted(lambda: [steps.append(world.step()) for _ in range(100_000)], 0.5) < 1.5
    done = int(world.counters()["steps"]) if "steps" in world.counters() else len(steps)
    assert done in (len(steps), len(steps) + 1)
    assert interrupted(lambda: other.step(count=100_000), 0.5) < 1.5
    other.step(count=3)
    assert np.isfinite(other.positions).all()


def test_what_is_freed_while_a_call_runs(long_row):
    boxes = long_row.copy()
    finder = pairsieve.PairFinder(len(boxes), method="brute", max_pairs=10)
    interrupted(lambda: finder.find(boxes), 0.2)
    helper = finder.context.helper
    finder = boxes = None  # the running call keeps both
    if helper is not None:
        helper.wait()
    keys = np.random.default_rng(1).random(100_000)
    np.testing.assert_array_equal(pairsieve.sort(keys), np.sort(keys))


def test_a_program_ends_at_once():
    program = textwrap.dedent("""
        import numpy as np, pairsieve
        finder = pairsieve.PairFinder(300_000, method="brute", max_pairs=10)
        print("ready", flush=True)
        finder.find(np.zeros((300_000, 6), np.float32))
    """)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ran:
        assert ran.stdout.readline() == "ready\n"
        time.sleep(0.5)
        begin = time.monotonic()
        ran.send_signal(signal.SIGINT)
        _, words = ran.communicate(timeout=60)
        assert time.monotonic() - begin < 2
    assert "KeyboardInterrupt" in words and ran.returncode in (-signal.SIGINT, 1, 130), (ran.returncode, words)


def test_errors_and_threads_are_as_without():
    wrong = []

    def work():
        assert not _interrupts.can_be_interrupted()
        boxes = oracle.boxes(2, 40_000, side=80)
        finder = pairsieve.PairFinder(40_000)
        if finder.find(boxes).count() <= 0:
            wrong.append("no pairs")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not wrong
    finder = pairsieve.PairFinder(40_000)
    with pytest.raises(pairsieve.Error, match="max_boxes is 40000"):
        finder.find(np.zeros((40_001, 6), np.float32))
    with pytest.raises(ValueError):
        _interrupts.Helper.take().run(lambda: int("x"), (), None)


def test_a_child_process_works():
    """After a fork the helper's thread is gone."""
    program = textwrap.dedent("""
        import os, numpy as np, pairsieve
        keys = np.random.default_rng(1).random(50_000)
        pairsieve.sort(keys)
        pairsieve.clear_cache()
        child = os.fork()
        if child == 0:
            from pairsieve import _interrupts
            assert _interrupts.Helper._idle is None and _interrupts.can_be_interrupted()
            os._exit(0 if _interrupts.Helper.take().run(lambda: 7, (), None) == 7 else 1)
        assert os.waitpid(child, 0)[1] == 0
    """)
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
