"""When Triton's passes fail on a kernel with traced regions: the error names them; what can be linked is linked.

A region is traced before the passes run, so that their failure comes when the kernel is written already. It is then
written once more, in the same compilation, with those regions linked that have the choice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tle_raw.errors import SourceLocation, TLEError, UntraceableError
from tle_raw.flir.dump import add_dump
from tle_raw.flir.triton_compilation import triton_compilation
from tle_raw.regions import traced_regions
from tle_raw.regions.stages import begin_compilation

Stage = Callable[[Any, dict[str, Any]], Any]
GUARDED = ("ttir", "ttgir", "llir", "linalg", "llvmir")
_NEEDED = {"codegen_fns", "module_map", "context"}  # which another version of Triton may call otherwise


def guard_stages(stages: dict[str, Stage]) -> None:
    """Wrap those stages of one compilation in which passes run."""
    for name in GUARDED:
        if name in stages:
            stages[name] = _guarded(name, stages[name], stages)


def _guarded(name: str, stage: Stage, stages: dict[str, Stage]) -> Stage:
    def guarded(source: Any, metadata: dict[str, Any]) -> Any:
        try:
            return stage(source, metadata)
        except TLEError:
            raise
        except Exception as error:
            reason = _reason(error, metadata)
            if reason is None:
                raise
            if not traced_regions.link_instead(reason):
                raise reason from error
        return _again(name, stages, metadata, reason)

    return guarded


def _reason(error: Exception, metadata: dict[str, Any]) -> UntraceableError | None:
    """None where the kernel holds no traced region: then it is Triton's own matter."""
    regions = traced_regions.recorded(metadata)
    if not regions:
        return None
    first = regions[0]
    names = ", ".join(dict.fromkeys(f"`{region['name']}`" for region in regions))
    words = str(error).strip().splitlines() or [type(error).__name__]
    text = f"Triton's passes fail on the kernel into which {names} was traced: {words[0]}"
    location = SourceLocation(first["file"], first["line"], first["column"], first["text"])
    hint = "standard error has Triton's own words; another shape, or num_warps=, may avoid it"
    reason = UntraceableError(text, hint=hint)
    reason.at(fragment=first["name"], source=traced_regions.location_of(first["name"]), call_site=location)
    return reason


def _again(name: str, stages: dict[str, Stage], metadata: dict[str, Any], reason: UntraceableError) -> Any:
    """What that stage gives for the kernel that is written anew; Triton goes on from there."""
    known = triton_compilation()
    if known is None or not known.keys() >= _NEEDED:
        raise reason
    metadata.pop(traced_regions.KEY, None)
    metadata.pop(traced_regions.UNTRACED, None)
    traced_regions.reset()
    begin_compilation(known["target"].backend, stages, known["options"], add_dump)
    module = known["src"].make_ir(
        known["target"], known["options"], known["codegen_fns"], known["module_map"], known["context"]
    )
    for stage in list(stages):
        module = stages[stage](module, metadata)
        if stage == name:
            return module
    raise reason
