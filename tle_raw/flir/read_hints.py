"""The hints of a kernel's source, applied to the module that was just traced from it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from triton._C.libtriton import ir

from tle_raw.errors import LoweringError
from tle_raw.flir.hints.apply import apply_hints
from tle_raw.flir.hints.kernel import hints_of_kernel
from tle_raw.flir.hints.operation import HintedModule, Machine
from tle_raw.flir.hints.told import KEY, TOLD
from tle_raw.flir.parse_module import parse_module
from tle_raw.linker.mlir.generic_form import generic_text


def read_hints(module: Any, metadata: dict[str, Any], machine: Machine) -> Any:
    """A module of Triton IR with its hints carried out, and their records in ``metadata``; as it is, without any."""
    files = hints_of_kernel()
    if not files:
        return module
    context = module.context
    hinted = HintedModule(generic_text(module, ir).splitlines(), machine)
    records = apply_hints(hinted, files)
    if records:
        metadata[KEY], metadata[TOLD] = [asdict(record) for record in records], hinted.told
    try:
        return parse_module("\n".join(hinted.lines), context)
    except RuntimeError as error:
        names = ", ".join(f"`{record.hint}` at {record.file}:{record.line}" for record in records if not record.reason)
        raise LoweringError(
            f"the kernel is no Triton IR any more, after the handlers of these hints edited it: {names}",
            hint="standard error has Triton's own words",
        ) from error
