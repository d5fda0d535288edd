"""Tiles of resharded tensors on simulated devices; code for GPUs; and what is refused, with the axes' names."""

import numpy as np
import pytest

pytest.importorskip("torch_mlir.ir")

import tle_raw
from tests.frontends.distributed import reshard_kernels as kernels
from tests.frontends.distributed.reshard_cases import Case, shardings_of_two_dims
from tests.support import cause_of, compile_kernel, ptx_calls
from tle_raw.distributed import device_mesh, largest_part, sharding, simulate
from tle_raw.errors import MeshError

pytestmark = pytest.mark.every_triton(2)

DEVICES, BLOCKS = device_mesh({"device": 2}), device_mesh({"device": 2, "block_cluster": [("x", 2)]})


@pytest.mark.parametrize("shape,is_known", [((24, 32), True), ((9, 13), True), ((9, 13), False)])
def test_tiles_make_the_new_part(shape, is_known):
    shardings = shardings_of_two_dims(DEVICES)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        for number, (before, after) in enumerate([(b, a) for b in shardings for a in shardings][1::5]):
            case = Case(before, after, shape, "float32", number)
            world = simulate(DEVICES, bytes=1 << 16)
            parts = world.tensors([case.part(rank) for rank in range(2)])
            outs = [np.full(largest_part(after, shape), 77, np.float32) for _ in range(2)]
            options = {"MESH": DEVICES, "BEFORE": before, "AFTER": after, "SHAPE": shape if is_known else None}
            world.launch(
                lambda rank, context, parts=parts, outs=outs, options=options: kernels.copy_by_tiles[(2,)](
                    context, parts[rank], outs[rank], *shape, **options,
                    ROWS=outs[rank].shape[0], COLUMNS=outs[rank].shape[1], TM=4, TN=8,
                )
            )  # fmt: skip
            for rank, out in enumerate(outs):
                case.check(rank, out)


def test_a_tile_within_one_part_is_one_load_of_sixteen_bytes():
    whole = sharding(DEVICES, [None, None])
    constants = {"MESH": DEVICES, "BEFORE": sharding(DEVICES, ["device", None]), "AFTER": whole, "SHAPE": (256, 512)}
    constants |= {"ROWS": 256, "COLUMNS": 512, "TM": 16, "TN": 64}
    signature = {"context": "*i64", "x_ptr": "*bf16", "o_ptr": "*bf16", "n0": "i32", "n1": "i32"}
    kernel = compile_kernel(kernels.copy_by_tiles, signature, constants)
    ptx = kernel.asm["ptx"]
    assert ptx.count("ld.global.v4") == 1 and "ld.global.b16" not in ptx and not ptx_calls(kernel)


def refused(kernel, signature, **constants) -> str:
    with pytest.raises(Exception) as caught:
        compile_kernel(kernel, signature, constants)
    error = cause_of(caught.value)
    assert isinstance(error, MeshError)
    return str(error)


POINTERS = {"context": "*i64", "x_ptr": "*fp32", "o_ptr": "*fp32"}


def test_a_pointer_does_not_reach_along_blocks():
    specs = {"BEFORE": sharding(BLOCKS, ["x", None]), "AFTER": sharding(BLOCKS, [None, None])}
    assert "a pointer does not reach along axis `x`" in refused(kernels.reshard_pointer, POINTERS, **specs)


def test_a_block_tensor_does_not_reach_along_devices():
    specs = {"BEFORE": sharding(BLOCKS, partial="device"), "AFTER": sharding(BLOCKS)}
    assert "does not reach along axis `device`" in refused(kernels.reshard_block, {"x_ptr": "*fp32"}, **specs)


def test_shardings_of_two_meshes_are_refused():
    specs = {"BEFORE": sharding(DEVICES, ["device", None]), "AFTER": sharding(device_mesh({"device": 4}), [None, None])}
    assert "keeps its mesh" in refused(kernels.reshard_pointer, POINTERS, **specs)


def test_another_rank_is_refused():
    text = refused(kernels.shard_three_dims, {"x_ptr": "*fp32"}, BEFORE=sharding(DEVICES, ["device", None]))
    assert "another rank" in text and "device" in text
