"""For pytest: pairsieve in place of another package's own functions, before that package's tests import them. See peers.sh.

PAIRSIEVE_PEER names the package. What its tests ask of the package's internals is left out below, each with its reason.
"""

import importlib.machinery
import os
import sys
import types

import pytest

LEFT_OUT = {
    "test_sap_auto_sort_selection": "asks newton's own class which of its sorts it chose",
    "test_sap_single_segment_uses_radix_sort": "counts newton's calls of Warp's sort",
}

# Of mujoco_warp: they capture their first step. Warp's capture on the CPU would not run pairsieve again, which therefore refuses. On CUDA
# the step is captured, for put_data has taken the memory.
CAPTURED = ("test_adhesion_pulloff_and_tether", "test_collision_waking", "test_settle_zero_velocity", "test_sleep_initiation",
            "test_sleep_policy_auto_never", "test_waking_unaffected_by_sleeping")
# Of newton, on the CPU.
NEWTON_ON_THE_CPU = {
    "test_mesh_mesh_bvh_vs_sdf_sap_cpu": "newton builds distance fields on CUDA alone",
    "test_mesh_mesh_sdf_vs_bvh_sap_cpu": "newton builds distance fields on CUDA alone",
    "test_mesh_mesh_sdf_vs_sdf_sap_cpu": "newton builds distance fields on CUDA alone",
    "test_static_empty_gjk_specialization_under_graph_capture_sap_cpu": "captures a step, which Warp on the CPU would not replay",
}


def torch_cluster():
    """Its tests, with the package itself where it is not installed."""
    import torch  # noqa: F401 (install() puts what TorchScript compiles in place where PyTorch is loaded)
    from pairsieve import pyg

    try:
        import torch_cluster
    except ImportError:  # its folder of tests needs these names alone
        folder = os.path.join(os.environ["PAIRSIEVE_CHECKOUT"], "torch_cluster")
        torch_cluster = types.ModuleType("torch_cluster")
        torch_cluster.__path__ = [folder]
        torch_cluster.__spec__ = importlib.machinery.ModuleSpec("torch_cluster", None, is_package=True)
        sys.modules["torch_cluster"] = torch_cluster
        torch_cluster.radius = torch_cluster.radius_graph = lambda *_: None
    pyg.install()


class Rows:
    """Of torch_sparse.SparseTensor what `triplets` of PyTorch Geometric asks for: a matrix by rows, and rows of it."""

    def __init__(self, row, col, value, sparse_sizes):
        order = (row * sparse_sizes[1] + col).argsort()
        self.set(row[order], col[order], value[order], sparse_sizes[0])

    def set(self, row, col, value, size):
        self.entries, self.counts = (row, col, value), row.bincount(minlength=size)
        self.storage = types.SimpleNamespace(row=lambda: row, col=lambda: col, value=lambda: value)
        return self

    def __getitem__(self, chosen):
        counts = self.counts[chosen]
        row = counts.new_tensor(range(len(chosen))).repeat_interleave(counts)
        within = counts.new_tensor(range(len(row))) - (counts.cumsum(0) - counts)[row]
        place = (self.counts.cumsum(0) - self.counts)[chosen][row] + within
        return Rows.__new__(Rows).set(row, self.entries[1][place], self.entries[2][place], len(chosen))

    def set_value(self, _):
        return self

    def sum(self, dim):
        return self.counts


def torch_geometric():
    import torch_geometric.nn.models
    import torch_geometric.testing as testing
    import torch_geometric.transforms
    from pairsieve import pyg

    assert "torch_geometric.nn.radius_graph" in pyg.install()
    # Of pyg_lib and torch_cluster the tests need radius_graph alone, of torch_sparse what Rows has.
    real, needless = testing.withPackage, ["pyg_lib", "torch_cluster"]
    if not torch_geometric.typing.WITH_TORCH_SPARSE:
        torch_geometric.nn.models.dimenet.SparseTensor = Rows
        needless.append("torch_sparse")
    testing.withPackage = lambda *names: real(*[name for name in names if name not in needless])


def newton():
    import newton.geometry
    import newton.tests.unittest_utils as devices
    from pairsieve import newton as ours

    devices.get_cuda_test_devices = devices.get_test_devices  # pipelines of the mode "sap" are otherwise tested on CUDA alone
    ours.install()
    newton.geometry.BroadPhaseSAP = ours.PairsieveBroadPhase
    LEFT_OUT.update(NEWTON_ON_THE_CPU)


def mujoco_warp():
    import warp
    from pairsieve import mujoco_warp as ours

    ours.install()
    if not warp.is_cuda_available():
        LEFT_OUT.update(dict.fromkeys(CAPTURED, "captures a step, which Warp on the CPU would not replay"))


def pytest_configure(config):
    {"torch_cluster": torch_cluster, "torch_geometric": torch_geometric, "newton": newton,
     "mujoco_warp": mujoco_warp}[os.environ["PAIRSIEVE_PEER"]]()


def pytest_collection_modifyitems(items):
    for item in items:
        reason = LEFT_OUT.get(item.name.partition("[")[0].rstrip("0123456789"))
        if reason:
            item.add_marker(pytest.mark.skip(reason=f"left out: {reason}"))
