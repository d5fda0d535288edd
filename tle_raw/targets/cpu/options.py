"""The compile options of a kernel for the CPU: those of Triton's language, and those that only GPUs heed."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from triton import knobs as triton_knobs

from tle_raw.errors import LaunchError, Row
from tle_raw.identity import digest
from tle_raw.knobs import knobs
from tle_raw.targets.chips import DEFAULT_CHIP
from tle_raw.targets.cpu.current_device import current_device
from tle_raw.targets.cpu.device import WARP_SIZE

# The stages whose text `ir_override` can replace beside Triton's own.
OWN_TEXTS = ("linalg", "llvmir", "asm")


@dataclass(frozen=True)
class CpuOptions:
    """``num_warps * 32`` is the number of threads that a CUDA fragment sees; Triton code does not depend on it."""

    num_warps: int = 4
    num_ctas: int = 1
    enable_fp_fusion: bool = True
    debug: bool = False
    sanitize_overflow: bool = True
    debug_checks: bool = False  # knobs.debug: what the kernel does is checked while it runs
    watch_races: bool = False  # and what it does to memory that simulated devices share is written down
    disabled_passes: str = ""  # knobs.disable_passes: those that exist for speed and are left out
    chip: str = DEFAULT_CHIP  # knobs.cpu.chip: the DSA whose local memories `tle.dsa` has
    extern_libs: Any = ()
    ir_override: str | None = None
    text_override: str | None = None  # an `ir_override` of one of our own stages
    arch: str = ""
    backend_name: str = "cpu"
    warp_size: int = WARP_SIZE

    supported_fp8_dtypes: tuple[str, ...] = ("fp8e4b15", "fp8e4b8", "fp8e4nv", "fp8e5", "fp8e5b16")
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] = ()
    allow_fp8e4nv: bool = True
    # A CPU has no tensor cores: every precision is met, and tf32 is computed as f32.
    default_dot_input_precision: str = "ieee"
    allowed_dot_input_precisions: tuple[str, ...] = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6")
    max_num_imprecise_acc_default: int = 0

    # These are taken, so that one source serves both, and have no meaning here.
    num_stages: int = 3
    maxnreg: int | None = None
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    instrumentation_mode: str = ""
    fpsan_homomorphic_casts: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "extern_libs", tuple(dict(self.extern_libs or ()).items()))
        if self.num_warps < 1 or self.num_warps & (self.num_warps - 1):
            raise _wrong("num_warps", "a power of two", self.num_warps)
        if self.num_ctas != 1:
            raise _wrong("num_ctas", "1: on a CPU a mesh says what a cluster is", self.num_ctas)
        if self.instrumentation_mode:
            raise _wrong("instrumentation_mode", "none", self.instrumentation_mode)

    def hash(self) -> str:
        """Digest of all options, with files by their content."""
        values = dict(vars(self))
        files = [path for _, path in self.extern_libs] + [p for p in (self.text_override, self.ir_override) if p]
        return digest(*sorted(f"{name}={value}" for name, value in values.items()), *(_content(f) for f in files))


def read_options(given: dict[str, Any], arch: str) -> CpuOptions:
    """Triton's dictionary, with what was not said filled in.

    Raises
    ------
    LaunchError : a value that a CPU cannot have.
    """
    known = {field.name for field in fields(CpuOptions)}
    taken = {name: value for name, value in given.items() if name in known and value is not None}
    taken |= {"arch": arch, "debug_checks": knobs.debug, "disabled_passes": knobs.disable_passes}
    taken |= {"chip": knobs.cpu.chip, "watch_races": knobs.debug and current_device() is not None}
    taken["enable_fp_fusion"] = _fp_fusion(taken.get("enable_fp_fusion"))
    override = taken.get("ir_override") or ""
    if override.endswith(tuple(f".{name}" for name in OWN_TEXTS)):
        # Triton reads only the files of its own stages.
        taken |= {"ir_override": None, "text_override": override}
    for name in ("supported_fp8_dtypes", "deprecated_fp8_dot_operand_dtypes", "allowed_dot_input_precisions"):
        if name in taken:
            taken[name] = tuple(taken[name])
    return CpuOptions(**taken)


def _fp_fusion(said: bool | None) -> bool:
    language = triton_knobs.language
    if hasattr(language, "fp_fusion_enabled"):  # from 3.9 on, which warns when nobody says it
        return bool(language.fp_fusion_enabled(said))
    return bool(language.default_fp_fusion) if said is None else said


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as e:
        raise LaunchError(f"a file that the compile options name cannot be read: {e}") from e


def _wrong(option: str, expected: str, got: object) -> LaunchError:
    return LaunchError(
        "a kernel for the CPU cannot be compiled with this option", table=[Row(option, expected, str(got))]
    )
