"""What FLIR does inside Triton's stages for NVIDIA GPUs.

``passes.NVIDIA`` is the pipeline: it reads top to bottom, and each of its passes names its file. Here is how they are
joined to Triton's stages; how each is called stands in ``calls/``. A module without regions goes through untouched.
"""

from __future__ import annotations

from typing import Any

from tle_raw.flir.dump import add_dump
from tle_raw.flir.early_loads import EARLY
from tle_raw.flir.group_markers import holds_groups
from tle_raw.flir.hints import operation as hints
from tle_raw.flir.keep_loads import keep_loads
from tle_raw.flir.nvidia.calls.groups import Groups
from tle_raw.flir.nvidia.calls.layouts import Layouts
from tle_raw.flir.nvidia.calls.llvm_ir import LlvmIr
from tle_raw.flir.nvidia.calls.ptx import Ptx
from tle_raw.flir.nvidia.calls.regions import Regions
from tle_raw.flir.nvidia.calls.state import Stage
from tle_raw.flir.nvidia.calls.triton_ttgir import TritonTtgir
from tle_raw.flir.nvidia.check_regions import asks_triton
from tle_raw.flir.nvidia.hide_accesses import RepeatedAccessError
from tle_raw.flir.nvidia.lower_async_load import early_loads
from tle_raw.flir.nvidia.open_crossings import holds_buffers
from tle_raw.flir.nvidia.order_copies import holds_mbarriers
from tle_raw.flir.nvidia.partitions import SPECIALIZE
from tle_raw.flir.nvidia.passes import NVIDIA, NVIDIA_BUFFERS, NVIDIA_TRACED
from tle_raw.flir.nvidia.pipeline_hints import holds_hints
from tle_raw.flir.nvidia.read_ports import holds_ports, is_border
from tle_raw.flir.nvidia.take_addresses import asks_addresses
from tle_raw.flir.read_hints import read_hints
from tle_raw.flir.run_stage import run_stage
from tle_raw.flir.traced_failures import guard_stages
from tle_raw.regions import traced_regions
from tle_raw.regions.clusters import holds_clusters
from tle_raw.regions.ports import LAYOUT
from tle_raw.regions.stages import begin_compilation, end_compilation


def wrap_stages(stages: dict[str, Stage], options: Any, capability: int) -> None:
    """Wrap the stages of one compilation."""
    traced_regions.begin()
    compilation = Compilation(options, capability)
    if "ttir" in stages:
        stages["ttir"] = _as_traced(stages["ttir"], hints.Machine("cuda", capability, options.num_stages))
    for name in ("ttgir", "llir", "ptx", "cubin"):
        if name in stages:
            stages[name] = _joined(name, stages[name], compilation)
    guard_stages(stages)
    begin_compilation("cuda", stages, options, add_dump)


def _as_traced(own: Stage, machine: hints.Machine) -> Stage:
    """Triton's own first stage, on a module with its hints, from which it leaves out no load of a buffer."""

    def ttir(source: Any, metadata: dict[str, Any]) -> Any:
        return own(keep_loads(read_hints(source, metadata, machine)), metadata)

    return ttir


def _joined(name: str, own: Stage, compilation: Compilation) -> Stage:
    """A stage that runs our passes with Triton's ``own`` among them, or that alone where there is no region."""

    def joined(source: Any, metadata: dict[str, Any]) -> Any:
        compilation.enter(own, source, metadata)
        if name == "ttgir":
            end_compilation()
            compilation.choose_pipeline(source.str_nodebug())
        if not any(each.stage == name for each in compilation.pipeline):
            return own(compilation.module, metadata)
        try:
            run_stage(compilation.pipeline, name, compilation, compilation.disabled)
        except RepeatedAccessError:
            compilation.begin_again()
            run_stage(compilation.pipeline, name, compilation, compilation.disabled)
        return compilation.module

    joined.__name__ = name
    return joined


class Compilation(Groups, Layouts, Regions, TritonTtgir, LlvmIr, Ptx):
    """One kernel from stage to stage, with a method for each pass: see ``run_stage``."""

    def choose_pipeline(self, text: str) -> None:
        """By what the kernel's Triton IR holds. A kernel that holds nothing of ours has none."""
        self.has_layouts = LAYOUT in text
        self.has_buffers = holds_buffers(text) or (EARLY in text and bool(early_loads(text.splitlines())))
        self.has_groups, self.has_hints = holds_groups(text), holds_hints(text)
        self.has_partitions = SPECIALIZE in text
        self.may_be_divided = self.has_partitions or asks_triton(text, self.capability)
        self.waits_for_mbarriers = self.has_buffers and holds_mbarriers(text)
        self.has_pointers = asks_addresses(text)
        self.has_borders = is_border(text)
        self.has_clusters = holds_clusters(text)
        if holds_ports(text):
            self.pipeline = NVIDIA
        elif self.has_buffers or self.has_groups or self.has_clusters:
            self.pipeline = NVIDIA_BUFFERS
        elif self.has_borders:
            self.pipeline = NVIDIA_TRACED
        else:
            traced_regions.describe(self.metadata)
