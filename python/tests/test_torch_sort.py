"""pairsieve.torch against torch.sort(stable=True)."""

import pytest

torch = pytest.importorskip("torch")

import pairsieve  # noqa: E402
from pairsieve.pairs import sorters  # noqa: E402
from pairsieve.torch import argsort, sort  # noqa: E402

TYPES = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64,
         torch.bool]
DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() and pairsieve.cuda_available() else [])


def same_bits(a, b):
    if a.dtype.is_floating_point:
        kind = {2: torch.int16, 4: torch.int32, 8: torch.int64}[a.element_size()]
        if kind == torch.int16:  # of a bfloat16 PyTorch's own sort changes the bits of NaN
            a, b = a.nan_to_num(nan=7.5), b.nan_to_num(nan=7.5)
        a, b = a.contiguous().view(kind), b.contiguous().view(kind)
    return torch.equal(a, b)


def numbers(shape, kind, device, seed):
    made = torch.Generator().manual_seed(seed)
    x = torch.randint(-40, 40, shape, generator=made).to(kind)  # many are equal
    if kind.is_floating_point and x.numel() > 8:
        special = torch.tensor([0.0, -0.0, float("nan"), -float("nan"), float("inf"), -float("inf")], dtype=kind)
        places = torch.randperm(x.numel(), generator=made)[: x.numel() // 3]
        x.view(-1)[places] = special[torch.randint(0, 6, places.shape, generator=made)]
    return x.to(device)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("device", DEVICES)
def test_as_torch(device, kind, descending):
    for seed, (shape, dim) in enumerate([((0,), 0), ((1,), -1), ((7,), 0), ((5000,), 0), ((3, 50), 1), ((50, 3), 0), ((4, 9, 5), 1),
                                         ((4, 0), 1), ((0, 4), 0), ((2, 3, 400), -1), ((2, 1, 3), 1), ((), -1)]):
        x = numbers(shape, kind, device, seed)
        values, indices = sort(x, dim, descending)
        expected = torch.sort(x, dim=dim, descending=descending, stable=True)
        assert indices.dtype == torch.int64 and torch.equal(indices, expected.indices), shape
        assert values.dtype == kind and same_bits(values, expected.values), shape
        assert torch.equal(argsort(x, dim, descending), expected.indices)
    turned = numbers((40, 30), kind, device, 99).t()
    assert torch.equal(argsort(turned, 0, descending), torch.argsort(turned, dim=0, descending=descending, stable=True))


@pytest.mark.parametrize("kind", [torch.int8, torch.uint8, torch.int16, torch.float16, torch.bfloat16, torch.bool], ids=str)
def test_small_types_are_sorted_as_they_are(kind):
    pairsieve.clear_cache()
    argsort(numbers((5000,), kind, "cpu", 1))
    argsort(numbers((50, 100), kind, "cpu", 2))
    name = "uint8" if kind == torch.bool else str(kind)[6:]
    assert [sorter.dtype for sorter in sorters.objects.values()] == [name, name]


def test_misuse():
    with pytest.raises(pairsieve.ArgumentError, match="torch.complex64"):
        sort(torch.zeros(3, dtype=torch.complex64))
    with pytest.raises(pairsieve.ArgumentError, match="dim is 2"):
        sort(torch.zeros(3, 3), dim=2)
    with pytest.raises(pairsieve.ArgumentError, match="a tensor is wanted"):
        argsort([3, 1])
    assert not sort(torch.ones(3, requires_grad=True)).values.requires_grad
