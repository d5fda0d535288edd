"""Device code written in another language, inside a Triton kernel: inlined, one launch, stock Triton."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tle_raw.errors import TLEError
from tle_raw.knobs import knobs

if TYPE_CHECKING:
    from tle_raw.fragments.array_arguments import array
    from tle_raw.fragments.dialects import dialect, fragment
    from tle_raw.fragments.fragment import Fragment
    from tle_raw.fragments.module_variables import ModuleVariable, variable
    from tle_raw.fragments.parameter_types import (
        AnyLayout,
        Barrier,
        Buffer,
        Const,
        Descriptor,
        Element,
        Pointer,
        Scalar,
        Tile,
    )
    from tle_raw.fragments.shared_variables import SharedVariable, shared_variable
    from tle_raw.fragments.signature import In, InOut, Input, Num, Out, Signature
    from tle_raw.frontends.raw.call import call, call_smem
    from tle_raw.reports.link_report import LinkReport
    from tle_raw.reports.report import report
    from tle_raw.target import Target
    from tle_raw.whole_programs import compile

__version__ = "0.1.0"
__all__ = [
    "AnyLayout",
    "Barrier",
    "Buffer",
    "Const",
    "Descriptor",
    "Element",
    "Fragment",
    "In",
    "InOut",
    "Input",
    "LinkReport",
    "ModuleVariable",
    "Num",
    "Out",
    "Pointer",
    "Scalar",
    "SharedVariable",
    "Signature",
    "TLEError",
    "Target",
    "Tile",
    "array",
    "call",
    "call_smem",
    "compile",
    "dialect",
    "fragment",
    "knobs",
    "report",
    "shared_variable",
    "variable",
]

# Loaded when they are asked for: some need Triton, which the command line does without, and Triton itself imports this
# package, for its backend of CPUs.
_LATER = {
    **dict.fromkeys(
        ("AnyLayout", "Barrier", "Buffer", "Const", "Descriptor", "Element", "Pointer", "Scalar", "Tile"),
        "tle_raw.fragments.parameter_types",
    ),
    **dict.fromkeys(("In", "InOut", "Input", "Num", "Out", "Signature"), "tle_raw.fragments.signature"),
    "Target": "tle_raw.target",
    "array": "tle_raw.fragments.array_arguments",
    "compile": "tle_raw.whole_programs",
    "dialect": "tle_raw.fragments.dialects",
    "fragment": "tle_raw.fragments.dialects",
    "Fragment": "tle_raw.fragments.fragment",
    "call": "tle_raw.frontends.raw.call",
    "call_smem": "tle_raw.frontends.raw.call",
    "report": "tle_raw.reports.report",
    "LinkReport": "tle_raw.reports.link_report",
    "ModuleVariable": "tle_raw.fragments.module_variables",
    "SharedVariable": "tle_raw.fragments.shared_variables",
    "shared_variable": "tle_raw.fragments.shared_variables",
    "variable": "tle_raw.fragments.module_variables",
}


_MODULES = ("errors", "language", "mlir", "pycuda")


def __dir__() -> list[str]:
    """The public names, also those that are not loaded yet."""
    return sorted({*__all__, *_MODULES, *(name for name in globals() if name.startswith("__"))})


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _LATER:
        value = getattr(import_module(_LATER[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f"tle_raw.{name}")
    raise AttributeError(f"module 'tle_raw' has no attribute {name!r}")
