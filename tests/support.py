"""What tests of whole kernels share: compiling without a GPU, and reading what came out."""

from __future__ import annotations

import re
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

import pytest
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import tle_raw
from tle_raw.reports.link_report import LinkReport
from tle_raw.triton_version import VERSION

TRITON = VERSION


def compile_kernel(
    kernel: Any,
    signature: dict[str, str],
    constants: dict[str, Any] | None = None,
    capability: int = 90,
    multiples: Collection[str] = (),
    **options: Any,
) -> Any:
    """Compile ahead of time, as a launch with 16-byte aligned pointers would, and these integers multiples of 16."""
    constants = constants or {}
    signature = {**signature, **dict.fromkeys(constants, "constexpr")}
    aligned = [i for i, (name, type_) in enumerate(signature.items()) if type_[0] == "*" or name in multiples]
    source = ASTSource(kernel, signature, constants, {(i,): [["tt.divisibility", 16]] for i in aligned})
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)


def ptx_calls(kernel: Any) -> list[str]:
    return re.findall(r"^\s*(?:@%?\w+\s+)?call\b.*", kernel.asm["ptx"], re.MULTILINE)


def report_of(kernel: Any, machine_code: bool) -> LinkReport:
    """The kernel's report; of its PTX alone where ``machine_code`` is False.

    nvdisasm takes 0.7 s to start, whatever it reads. Where one claim is checked of many kernels, some of them are
    looked at by it. Of the others there are the entries and calls of the PTX, and all that is known of regions.
    """
    if machine_code:
        return tle_raw.report(kernel)
    parts = {name: text for name, text in kernel.asm.items() if name != "cubin"}
    return tle_raw.report(SimpleNamespace(metadata=kernel.metadata, asm=parts))


def ttgir_lines(kernel: Any, *words: str) -> list[str]:
    return [line.strip() for line in kernel.asm["ttgir"].splitlines() if any(w in line for w in words)]


def cause_of(error: BaseException) -> BaseException:
    """Triton wraps what goes wrong while it traces a kernel; the error of ours is the innermost cause."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def chosen_names(request: pytest.FixtureRequest) -> list[str]:
    """The parameters ``name`` of the tests of this module that are to run, in their order."""
    own = [item for item in request.session.items if item.path == request.path and hasattr(item, "callspec")]
    return list(dict.fromkeys(item.callspec.params["name"] for item in own if "name" in item.callspec.params))
