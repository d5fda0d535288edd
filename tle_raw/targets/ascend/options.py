"""The compile options of a kernel for Ascend: those of Triton's language, and the chip."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from tle_raw.errors import LaunchError, Row
from tle_raw.identity import digest
from tle_raw.targets.chips import CHIPS


@dataclass(frozen=True)
class AscendOptions:
    """What GPUs alone heed is taken, so that one source serves both."""

    arch: str = ""
    num_warps: int = 1
    num_ctas: int = 1
    num_stages: int = 1
    enable_fp_fusion: bool = True
    debug: bool = False
    sanitize_overflow: bool = False
    backend_name: str = "ascend"
    warp_size: int = 1
    ir_override: str | None = None
    instrumentation_mode: str = ""
    extern_libs: Any = ()

    supported_fp8_dtypes: tuple[str, ...] = ()
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] = ()
    default_dot_input_precision: str = "ieee"
    allowed_dot_input_precisions: tuple[str, ...] = ("ieee", "tf32")
    max_num_imprecise_acc_default: int = 0
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False

    def hash(self) -> str:
        return digest(*sorted(f"{name}={value}" for name, value in vars(self).items()))


def read_options(given: dict[str, Any], arch: str) -> AscendOptions:
    """Triton's dictionary, with what was not said filled in.

    Raises
    ------
    LaunchError : an unknown chip.
    """
    if arch not in CHIPS:
        raise LaunchError("unknown Ascend chip", table=[Row("chip", ", ".join(CHIPS), arch)])
    known = {field.name for field in fields(AscendOptions)}
    taken = {name: value for name, value in given.items() if name in known and value is not None}
    for name in ("supported_fp8_dtypes", "deprecated_fp8_dot_operand_dtypes", "allowed_dot_input_precisions"):
        if name in taken:
            taken[name] = tuple(taken[name])
    return AscendOptions(**{**taken, "arch": arch})
