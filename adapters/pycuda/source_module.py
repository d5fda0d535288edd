"""PyCUDA's SourceModule: CUDA text whose functions are taken by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tle_raw.adapters.pycuda.declare import caller_location, clang_flags, declare_text, pycuda_headers
from tle_raw.errors import DialectError, Row
from tle_raw.fragments.annotations import signature_of
from tle_raw.fragments.module_variables import variable
from tle_raw.fragments.signature import Signature

if TYPE_CHECKING:
    from tle_raw.fragments.fragment import Fragment


class SourceModule:
    """``SourceModule(source).get_function("scale")`` is a fragment; the arguments are PyCUDA's own.

    What says how nvcc runs (``nvcc``, ``keep``, ``arch``, ``code``, ``cache_dir``) has no meaning here: clang compiles
    for the target of each launch. As in PyCUDA, the text stands inside ``extern "C"`` unless ``no_extern_c``.
    """

    def __init__(
        self,
        source: str,
        nvcc: str = "nvcc",
        options: Any = None,
        keep: bool = False,
        no_extern_c: bool = False,
        arch: str | None = None,
        code: str | None = None,
        cache_dir: str | None = None,
        include_dirs: Sequence[str | Path] | None = None,
    ) -> None:
        self._location = caller_location()
        if not isinstance(source, str):
            raise DialectError(
                "a SourceModule is made of CUDA text", table=[Row("source", "text", type(source).__name__)]
            ).at(source=self._location)
        self.source = source
        self._options = {
            "flags": clang_flags(options),
            "include_dirs": [*(include_dirs or ()), *pycuda_headers()],
            "no_extern_c": bool(no_extern_c),
        }

    def get_function(self, name: str, *, signature: Any = None, **options: Any) -> Fragment:
        """The function as a fragment.

        Parameters
        ----------
        signature : a typed stub, where a ``__device__`` function takes tiles; else the prototype tells it.
        options : ``block=``, ``grid=``, ``shared=``, as for ``dialect("cuda")``.

        Raises
        ------
        SymbolError : there is no such function. SignatureError : a parameter's type cannot cross.
        """
        if signature is not None and not isinstance(signature, Signature):
            signature = signature_of(signature)
        short = name.partition("<")[0].strip().rpartition("::")[2]
        called = signature.name if signature is not None else short
        return declare_text(called, self.source, name, signature, {**self._options, **options}, self._location)

    def get_global(self, name: str, kernel: Any = None) -> Any:
        """A ``__constant__`` or ``__device__`` variable of the module, in a compiled kernel: ``tle_raw.variable``.

        Parameters
        ----------
        kernel : what ``kernel.warmup(…)`` or a launch gives. Each compiled kernel has variables of its own.

        Raises
        ------
        DialectError : no kernel is given. ReportError : it has no such variable.
        """
        if kernel is None:
            raise DialectError(
                f"nobody says in which compiled kernel the variable `{name}` is meant",
                table=[Row("kernel", "what kernel.warmup(…) or a launch gives", "nothing")],
                hint=f'module.get_global("{name}", compiled).set(array); each compiled kernel has its own',
            ).at(source=caller_location())
        return variable(kernel, name)
