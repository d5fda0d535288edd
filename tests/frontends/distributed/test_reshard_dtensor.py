"""``tle.reshard`` gives what torch's DTensor gives, whose ranks are threads of one process here."""

import threading

import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("torch")

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor

import tle_raw
from tests.frontends.distributed.reshard_cases import Case, shardings_of_two_dims
from tle_raw.distributed import device_mesh, largest_part, local_box, own_part, reshard_part, simulate, to_placements

pytestmark = pytest.mark.one_triton

MESH = device_mesh({"node": 2, "device": 2})


@pytest.fixture
def threads():
    """torch's process group of threads, for its own tests; what it changes in torch is set back."""
    process_group = pytest.importorskip("torch.testing._internal.distributed.multi_threaded_pg")
    isolate = torch._C._distributed_c10d._set_thread_isolation_mode
    isolate(True)
    process_group._install_threaded_pg()
    yield dist.HashStore()
    process_group._uninstall_threaded_pg()
    isolate(False)


def of_dtensor(store, cases: list[Case]) -> list[list[np.ndarray]]:
    """For each case the new parts of all ranks."""
    found: list[list[np.ndarray]] = [[np.empty(0)] * MESH.size for _ in cases]
    errors: list[BaseException] = []

    def rank(number: int) -> None:
        try:
            dist.init_process_group("threaded", rank=number, world_size=MESH.size, store=store)
            mesh = init_device_mesh("cpu", MESH.shape, mesh_dim_names=MESH.dim_names)
            for case, parts in zip(cases, found, strict=True):
                own = own_part(case.part(number), case.before, case.shape, number)
                tensor = DTensor.from_local(
                    torch.from_numpy(own.copy()), mesh, to_placements(case.before),
                    shape=torch.Size(case.shape), stride=(case.shape[1], 1),
                )  # fmt: skip
                parts[number] = tensor.redistribute(mesh, to_placements(case.after)).to_local().numpy()
            dist.destroy_process_group()
        except BaseException as error:
            errors.append(error)

    ranks = [threading.Thread(target=rank, args=(number,), daemon=True) for number in range(MESH.size)]
    for thread in ranks:
        thread.start()
    for thread in ranks:
        thread.join(60)
    assert not errors and not any(thread.is_alive() for thread in ranks), errors
    return found


def test_the_same_as_dtensor(threads):
    shardings = shardings_of_two_dims(MESH)
    # DTensor makes no tensor partial that is split or replicated; along an axis where it is partial it may stay so.
    pairs = [(b, a) for b in shardings for a in shardings if not set(a.partial) - set(b.partial)][::31]
    cases = [Case(before, after, (9, 14), "float32", number) for number, (before, after) in enumerate(pairs)]
    wanted = of_dtensor(threads, cases)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        for case, parts in zip(cases, wanted, strict=True):
            world = simulate(MESH, bytes=1 << 16)
            before = world.tensors([case.part(rank) for rank in range(case.members)])
            after = world.empty(largest_part(case.after, case.shape), case.dtype)
            world.launch(
                lambda rank, context, c=case, b=before, a=after: reshard_part(
                    context, b[rank], c.before, c.after, c.shape, a[rank], programs=1
                )
            )
            for rank, (got, want) in enumerate(zip(after, parts, strict=True)):
                box = local_box(case.after, case.shape, rank)
                assert want.size == np.empty(case.shape)[box].size
                np.testing.assert_array_equal(own_part(got, case.after, case.shape, rank).ravel(), want.ravel())
