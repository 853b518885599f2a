"""Streams and graphs, where there is a GPU."""

import numpy as np
import oracle
import pytest

import pairsieve

if not pairsieve.cuda_available():
    pytest.skip("no CUDA device", allow_module_level=True)
torch = pytest.importorskip("torch")


def test_capture_in_a_torch_graph():
    sets = [oracle.boxes(seed, 3000) for seed in range(4)]
    boxes = torch.from_numpy(sets[0]).cuda()
    finder = pairsieve.PairFinder(3000, device="cuda", sort=True)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            finder.find(boxes)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        finder.find(boxes)
    for one in sets:
        boxes.copy_(torch.from_numpy(one))
        graph.replay()
        torch.cuda.synchronize()
        np.testing.assert_array_equal(finder.pairs().cpu().numpy(), oracle.pairs(one))


def test_streams_in_turn_are_ordered():
    finder = pairsieve.PairFinder(200_000, device="cuda", sort=True)
    sets = [oracle.boxes(seed, 2000) for seed in range(3)]
    on_gpu = [torch.from_numpy(one).cuda() for one in sets]
    large = torch.from_numpy(oracle.boxes(9, 200_000)).cuda()
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in range(3)]
    for one, boxes, stream in zip(sets, on_gpu, streams):
        with torch.cuda.stream(stream):
            finder.find(large)  # still runs when the next stream begins
        with torch.cuda.stream(streams[0]):
            found = finder.find(boxes).pairs()
        np.testing.assert_array_equal(found.cpu().numpy(), oracle.pairs(one))


def test_results_stay_on_the_device():
    boxes = torch.from_numpy(oracle.boxes(1, 1000)).cuda()
    finder = pairsieve.PairFinder(1000, device="cuda")
    finder.find(boxes)
    count = int(finder.count_buffer.cpu()[0])
    assert finder.pair_buffer.is_cuda and count == len(oracle.pairs(oracle.boxes(1, 1000)))


def test_boxes_on_the_wrong_device():
    finder = pairsieve.PairFinder(10, device="cuda")
    with pytest.raises(pairsieve.ArgumentError, match="CPU.*CUDA"):
        finder.find(np.zeros((3, 6), np.float32))


def test_world_arrays_on_the_device():
    world = pairsieve.World.scene("drop", bodies=500, device="cuda")
    world.step(count=5)
    world.synchronize()
    assert world.positions.is_cuda
    other = pairsieve.World.scene("drop", bodies=500, device="cuda")
    other.step(count=5)
    other.synchronize()
    assert torch.equal(world.positions, other.positions)
