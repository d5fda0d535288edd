"""Functions of TLE's language: called in kernels, where Triton traces them or its interpreter runs them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from triton import knobs
from triton.language import core

from tle_raw.errors import ArgumentCountError, RegionError, TLEError
from tle_raw.frontends.call_site import call_site
from tle_raw.frontends.lite.package_key import PACKAGE
from tle_raw.regions.interpret import interpreted_call_site

# Triton's finder of a kernel's dependencies passes over builtins. What it takes for an aggregate it looks into: thus
# this package's content comes into the key of each kernel that names such a function.
_LOOKED_INTO = "__triton_aggregate__"


def kernel_function(body: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    """Make ``body(..., _semantic, _generator)`` a function of TLE's language, called ``tle.<name>`` in its errors.

    The body gets Triton's semantic object, or that of its interpreter, where ``_generator`` is None. The name is the
    body's where none is given.
    """
    taken = inspect.signature(body)
    hidden = ("_semantic", "_generator")
    name = name or body.__name__

    @functools.wraps(body)
    def called(*args: Any, _semantic: Any = None, _generator: Any = None, **keywords: Any) -> Any:
        semantic = _semantic if _semantic is not None else _interpreter(name)
        try:
            try:
                taken.bind(*args, **keywords)
            except TypeError as error:
                known = ", ".join(p for p in taken.parameters if p not in hidden)
                raise ArgumentCountError(f"tle.{name}: {error}", hint=f"it takes {known}") from None
            if type(semantic).__name__ == "GluonSemantic":
                raise RegionError(
                    f"tle.{name} is called in a Gluon kernel, whose tensors carry layouts of their own",
                    hint="call it in a @triton.jit kernel",
                )
            return body(*args, **keywords, _semantic=semantic, _generator=_generator)
        except TLEError as error:
            error.at(call_site=call_site(_generator, semantic) if _generator is not None else interpreted_call_site())
            raise

    setattr(called, core.TRITON_BUILTIN, True)
    setattr(called, _LOOKED_INTO, True)
    called.hash_attrs = [PACKAGE]  # type: ignore[attr-defined]
    called.signature = taken  # type: ignore[attr-defined]
    return called


def _interpreter(name: str) -> Any:
    """The semantic object of Triton's interpreter, which calls functions of a library as they stand."""
    if not knobs.runtime.interpret:
        raise RegionError(f"tle.{name} is device code: it works only inside a @triton.jit kernel")
    from triton.runtime.interpreter import interpreter_semantic

    return interpreter_semantic
