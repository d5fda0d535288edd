"""What a target must offer: the protocol between the core and the processors that it generates code for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from tle_raw.fragments.adapter import CompilerOutput
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.linker.prepare import LinkableModule
from tle_raw.reports.values import KernelReport
from tle_raw.target import Target


@dataclass(frozen=True)
class DeviceCodeWanted:
    """The form in which a target takes code for NVIDIA GPUs.

    Attributes
    ----------
    arch : the GPU that it is compiled for: ``sm_80``, ``sm_90a``, ….
    is_emulated : no GPU runs it. The entry of a block-level region is one thread's share then, ``void (ptr args)``:
        ``args[i]`` is the address of the i-th value that crosses, of a tile's first element, and last of the result,
        which thread 0 stores. The code keeps its source lines, whatever ``knobs.line_info`` says: they are what a
        failing thread tells. What a GPU's launch cannot have is not looked for.
    defines : macros that the source may ask for, where the dialect has macros.
    """

    arch: str
    is_emulated: bool = False
    defines: tuple[str, ...] = ()


@runtime_checkable
class TargetBackend(Protocol):
    """One kind of processor. Found by the registry under the entry-point group ``tle_raw.targets``.

    ``name`` is what ``Target.backend`` says, and the name of Triton's backend for it.
    """

    name: str

    def settings(self) -> tuple[object, ...]:
        """Settings of this process that change what fragments are compiled to; part of their cache keys."""

    def prepare(
        self, output: CompilerOutput, bound: BoundSignature, *, inline: bool, older_llvm: bool
    ) -> LinkableModule:
        """An adapter's output as a module that kernels for this target are linked with.

        Raises
        ------
        LinkError : the entry is not of the type that the call needs. SymbolError : a symbol will not be found.
        """

    def read_report(self, asm: Mapping[str, Any], metadata: Any, record: dict[str, Any]) -> KernelReport:
        """What became of the linked regions of a kernel; ``record`` is what its compilation wrote down of them."""


@runtime_checkable
class TakesDeviceCode(TargetBackend, Protocol):
    """A target that takes code for NVIDIA GPUs, which it runs or emulates: the dialects of CUDA compile for it."""

    def wanted_device_code(self, target: Target) -> DeviceCodeWanted:
        """The form of it that ``prepare`` takes."""


@runtime_checkable
class JoinsStages(TargetBackend, Protocol):
    """A target whose kernels Triton's own backend compiles: the stages of that have to learn of regions."""

    def add_stages(self, stages: dict[str, Any], options: Any, capability: int) -> None:
        """Let the stages of one compilation know regions."""


@runtime_checkable
class HasLocalMemories(TargetBackend, Protocol):
    """A target with local memories of its own: operations of ``tle.dsa`` stay what they are in its Triton IR."""

    def local_memories(self, options: Any) -> Mapping[str, int]:
        """By the name of each memory, ``UB`` for one, how many bytes it has, for a compilation with these options."""


@runtime_checkable
class RunsRegions(TargetBackend, Protocol):
    """A target that runs on this machine, without a launch: Triton's interpreter runs regions there."""

    def run_region(
        self,
        compiled: CompiledFragment,
        arrays: Mapping[str, Any],
        *,
        num_warps: int,
        program: Sequence[int],
        grid: Sequence[int],
    ) -> list[Any]:
        """Run a region at once, on arrays of the host, as one program of a grid; the results in signature order."""
