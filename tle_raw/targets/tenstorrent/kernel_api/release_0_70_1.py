"""Release 0.70.1, read from the headers in the wheel ``ttnn``: what it calls otherwise, and what it lacks."""

from __future__ import annotations

from tle_raw.targets.tenstorrent.kernel_api.operations import OPERATIONS
from tle_raw.targets.tenstorrent.kernel_api.release import Release, Spelling, called, of_compute, swapped
from tle_raw.targets.tenstorrent.kernel_api.release_0_81_1 import EXACT, header_of

_VERBS = ("add", "sub", "mul")
_SHORT_INITS = {
    "matmul_init": "mm_init_short",
    "copy_init": "copy_tile_to_dst_init_short",
    "transpose_init": "transpose_wh_init_short",
    "transpose_tile": "transpose_wh_tile",
    "mul_bcast_scalar_init": "mul_tiles_bcast_scalar_init_short",
    "sub_bcast_scalar_init": "sub_tiles_bcast_scalar_init_short",
    **{f"{verb}_init": f"{verb}_tiles_init" for verb in _VERBS},
    **{f"{verb}_bcast_{over}_init": f"{verb}_bcast_{over}_init_short" for verb in _VERBS for over in ("rows", "cols")},
    "add_bcast_scalar_init": "add_bcast_scalar_init_short",
}
_KINDS = {"add": "ELWADD", "sub": "ELWSUB", "mul": "ELWMUL"}


def _reusing(function: str) -> dict[str, Spelling]:
    ending = {"binary_dest_reuse_tiles": "tiles", "binary_dest_reuse_tiles_init": "init"}[function]
    return {
        f"{verb}_reuse_dest_{ending}": called(function, f"EltwiseBinaryType::{kind}") for verb, kind in _KINDS.items()
    }


_MISSING = {
    **dict.fromkeys(("sub_bcast_rows_init", "sub_tiles_bcast_rows"), "its init configures the packer as well"),
    **dict.fromkeys(("unary_bcast_init", "unary_bcast"), "its init configures the packer as well"),
    "pack_relu_config": "it takes a packed word, which is not documented",
}
_HEADERS = dict.fromkeys(("transpose_init", "transpose_tile"), "transpose_wh.h")

RELEASE = Release(
    "0.70.1",
    headers={name: _HEADERS.get(name, header_of(name)) for name in of_compute() if name not in _MISSING},
    spellings={
        **EXACT,
        **{name: called(old) for name, old in _SHORT_INITS.items() if name in OPERATIONS},
        "compute_kernel_hw_startup": swapped("compute_kernel_hw_startup"),
        "reconfig_data_format": swapped("reconfig_data_format"),
        **_reusing("binary_dest_reuse_tiles"),
        **_reusing("binary_dest_reuse_tiles_init"),
    },
    missing=_MISSING,
)
