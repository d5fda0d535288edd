"""The fourteen passes in their order, each under the name that documents of such backends give it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tle_raw.targets.tenstorrent.ir import Module
from tle_raw.targets.tenstorrent.options import Options
from tle_raw.targets.tenstorrent.passes.attach_tensor_accessor_tt import attach_tensor_accessor_tt
from tle_raw.targets.tenstorrent.passes.build_tile_dfg_tt import build_tile_dfg_tt
from tle_raw.targets.tenstorrent.passes.configure_tensor_accessor_tt import configure_tensor_accessor_tt
from tle_raw.targets.tenstorrent.passes.finalize_persistent_signature_tt import finalize_persistent_signature_tt
from tle_raw.targets.tenstorrent.passes.grid_to_core_grid_v5 import grid_to_core_grid_v5
from tle_raw.targets.tenstorrent.passes.infer_tt_layout_v5 import infer_tt_layout_v5
from tle_raw.targets.tenstorrent.passes.insert_compute_init_tt import insert_compute_init_tt
from tle_raw.targets.tenstorrent.passes.insert_dst_management_tt import insert_dst_management_tt
from tle_raw.targets.tenstorrent.passes.layout_aware_work_partition_tt_v5 import layout_aware_work_partition_tt_v5
from tle_raw.targets.tenstorrent.passes.lower_cb_intrinsics import lower_cb_intrinsics
from tle_raw.targets.tenstorrent.passes.lower_shared_to_cb_v5 import lower_shared_to_cb_v5
from tle_raw.targets.tenstorrent.passes.lower_tt_tile_intrinsics_v5 import lower_tt_tile_intrinsics_v5
from tle_raw.targets.tenstorrent.passes.propagate_tt_layout_v5 import propagate_tt_layout_v5
from tle_raw.targets.tenstorrent.passes.split_device_kernel import split_device_kernel
from tle_raw.targets.tenstorrent.verify import verify


@dataclass(frozen=True)
class Pass:
    """One step: its stage, A to E, and what it does to a module."""

    stage: str
    run: Callable[[Module, Options], Module]

    @property
    def name(self) -> str:
        return self.run.__name__


PASSES = (
    Pass("A", infer_tt_layout_v5),
    Pass("A", propagate_tt_layout_v5),
    Pass("A", attach_tensor_accessor_tt),
    Pass("B", layout_aware_work_partition_tt_v5),
    Pass("B", grid_to_core_grid_v5),
    Pass("C", lower_shared_to_cb_v5),
    Pass("C", lower_tt_tile_intrinsics_v5),
    Pass("C", build_tile_dfg_tt),
    Pass("D", split_device_kernel),
    Pass("D", configure_tensor_accessor_tt),
    Pass("D", lower_cb_intrinsics),
    Pass("D", insert_compute_init_tt),
    Pass("D", insert_dst_management_tt),
    Pass("E", finalize_persistent_signature_tt),
)


def run_passes(module: Module, options: Options, dump: Callable[[str, Module], None] | None = None) -> Module:
    """All passes, with the verifier behind each; ``dump`` is called with each pass's name and what it left."""
    for each in PASSES:
        module = each.run(module, options)
        module = replace(module, done=(*module.done, each.name))
        verify(module, each.stage)
        if dump is not None:
            dump(each.name, module)
    return module
