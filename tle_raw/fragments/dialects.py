"""``tle_raw.dialect``: declare a fragment over a function whose body is ``...``."""

from __future__ import annotations

import inspect
import linecache
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tle_raw.errors import DialectError, SignatureError, SourceLocation, TLEError
from tle_raw.fragments.adapter import Declaration, SelfDescribing
from tle_raw.fragments.annotations import signature_of
from tle_raw.fragments.declare import declare
from tle_raw.fragments.fragment import Fragment
from tle_raw.fragments.libraries import as_given
from tle_raw.fragments.signature import Signature
from tle_raw.fragments.source_text import is_path, location_of_function
from tle_raw.registry import adapter_names, find_adapter

SUFFIXES = {
    ".cu": "cuda", ".cuh": "cuda", ".ll": "llvm", ".bc": "llvm", ".mlir": "mlir", ".mlirbc": "mlir", ".ptx": "ptx",
    ".fatbin": "ptx", ".ltoir": "ptx", ".a": "ptx",
}  # fmt: skip


def dialect(
    name: str, *, inline: bool = True, ordered: bool = True, libraries: Sequence[Any] = (), **options: Any
) -> Callable[[Callable[..., Any]], Fragment]:
    """Declare a fragment: the decorated stub carries the typed signature, ``options`` the code.

    Parameters
    ----------
    name : the dialect: "cuda", "cupy", "cutile", "llvm", "mlir", "numba", "ptx", "pycuda" or
        "tilelang".
    inline : False keeps the fragment a called function instead of inlining it.
    ordered : False promises that the rest of the kernel touches none of the memory that the fragment's pointers reach.
        Then no barriers stand around it for their sake.
    libraries : what the code calls functions of, which it only declares: paths of LLVM IR (``.ll``, ``.bc``), PTX,
        fatbins, LTO-IR and archives (``.a``) of these, or objects that give one (:class:`tle_raw.fragments.libraries
        .GivesLibrary`). The first that defines a function gives it; it is inlined like the fragment's own code.
    options : the dialect's own. For "cuda": ``file=`` or ``source=`` (the code), ``symbol=`` (the function, default
        the stub's name), ``include_dirs=``, ``defines=``, ``flags=``, ``block=(x, y, z)``, and for ``__global__``
        functions ``grid=`` and ``shared=``. For "mlir": ``file=``,
        ``source=`` or ``module=``, or none of them over a function whose body is the code. FlagTree's
        ``extern_func_name=`` means ``symbol=``. For "tilelang", over a PrimFunc, a function that builds one or a
        ``@tilelang.jit`` function: ``tiles=``, ``grid=``, ``route=``, ``arguments=``, ``in_grid=``, ``pass_configs=``.
        For "cutile", over a function written with cuTile or a ``@ct.kernel``: ``grid=``, ``lists=``, ``dtypes=``,
        ``alone=``.

    Returns
    -------
    A decorator that turns the stub into a :class:`Fragment`.

    Raises
    ------
    DialectError : unknown dialect or option. SignatureError : the stub's annotations are wrong.
    FragmentSourceError : the file is missing, or neither ``file=`` nor ``source=`` is given.

    Examples
    --------
    >>> @tle_raw.dialect("cuda", source="__device__ float half_of(float x) { return x / 2; }")
    ... def half_of(x: Element["f32"]) -> Element["f32"]: ...
    """
    if not isinstance(name, str):
        raise DialectError(
            f"dialect takes the dialect's name, got {name!r}", hint='write @tle_raw.dialect("cuda", file=...)'
        )
    local_names = sys._getframe(1).f_locals
    here = _line_of(sys._getframe(1))

    def declare_stub(stub: Callable[..., Any]) -> Fragment:
        self_describing = _self_describing(stub, name) if name in adapter_names() else None
        if self_describing is not None:
            return _declare_self_describing(self_describing, stub, None, options, inline, ordered, here, libraries)
        if isinstance(stub, Fragment) or not inspect.isfunction(stub):
            raise DialectError(f"dialect {name!r} decorates a function, and cannot take {stub!r}").at(source=here)
        location = location_of_function(stub)
        try:
            adapter = find_adapter(name)
            declaration = Declaration(
                stub.__name__, _signature(stub, local_names), dict(options), location, _folder(location), function=stub,
                libraries=as_given(libraries),
            )  # fmt: skip
            return declare(adapter, declaration, inline, ordered)
        except TLEError as e:
            e.at(fragment=stub.__name__, source=location)
            raise

    return declare_stub


def fragment(
    source: Any,
    *,
    signature: Signature | Callable[..., Any] | None = None,
    dialect: str | None = None,
    inline: bool = True,
    ordered: bool = True,
    libraries: Sequence[Any] = (),
    **options: Any,
) -> Fragment:
    """Wrap existing device code as a fragment.

    Parameters
    ----------
    source : a path of a file, source text, or an object of a dialect that has such: a TileLang PrimFunc, a kernel of
        CuPy's or PyCUDA's, a module or an operation of any MLIR binding, MLIR bytecode.
    signature : a typed stub function, or a :class:`Signature`; an MLIR function's own type, and the prototype of the
        CUDA function ``symbol=``, tell it where it is not given.
    dialect : the dialect; by default it follows from the file's suffix (``.cu``, ``.cuh``: "cuda"; ``.ll``, ``.bc``:
        "llvm"; ``.mlir``, ``.mlirbc``: "mlir"; ``.ptx``, ``.fatbin``, ``.ltoir``, ``.a``: "ptx"), or from the
        object or the text.
    inline, ordered, libraries, options : as for :func:`tle_raw.dialect`.

    Raises
    ------
    DialectError : the dialect does not follow from ``source``. SignatureError : there is no signature.
    """
    caller = sys._getframe(1)
    location = _line_of(caller)
    if dialect is not None and not isinstance(dialect, str):
        raise DialectError(f"dialect= takes the dialect's name, got {type(dialect).__name__}").at(source=location)
    if signature is not None and not isinstance(signature, Signature):
        signature = signature_of(signature, caller.f_locals)
    name = dialect or _named_by_suffix(source)
    self_describing = _self_describing(source, name)
    if self_describing is not None:
        return _declare_self_describing(
            self_describing, source, signature, options, inline, ordered, location, libraries
        )
    if not isinstance(source, (str, Path)):
        raise _nobody_takes(source, name).at(source=location)
    if name is None and signature is not None:
        raise DialectError(
            f"which dialect {str(source)[:40]!r} is written in cannot be told", hint='pass dialect="cuda"'
        )
    symbol = options.get("symbol")
    if signature is None and (name is None or not isinstance(symbol, str)):
        raise SignatureError(
            "a fragment needs a typed signature",
            hint="pass signature=<a typed stub function>, or, for CUDA, symbol=<the function's name>",
        )
    options = {("file" if is_path(source) else "source"): source, **options}
    called = signature.name if signature is not None else _plain_name(str(symbol))
    declaration = Declaration(
        called, signature, options, location, _folder(location), wrapped=source, libraries=as_given(libraries)
    )
    made = declare(find_adapter(str(name)), declaration, inline, ordered)
    if made.signature is None:
        raise SignatureError("a fragment needs a typed signature", hint="pass signature=<a typed stub function>").at(
            fragment=called, source=location
        )
    return made


def _plain_name(symbol: str) -> str:
    """``scale`` of ``ns::scale<float, 4>``."""
    return re.split("[<(]", symbol, maxsplit=1)[0].strip().rpartition("::")[2]


def _named_by_suffix(source: object) -> str | None:
    return SUFFIXES.get(Path(source).suffix) if is_path(source) else None  # type: ignore[arg-type]


def _self_describing(source: object, name: str | None) -> SelfDescribing | None:
    """The adapter that takes such a source as it is: the named one, or whichever knows it."""
    if name is None and is_path(source):
        return None
    for each in [name] if name else adapter_names():
        adapter = find_adapter(each)
        if isinstance(adapter, SelfDescribing) and adapter.takes(source, name is not None):
            return adapter
    return None


def _declare_self_describing(
    adapter: SelfDescribing,
    source: Any,
    signature: Any,
    options: dict[str, Any],
    inline: bool,
    ordered: bool,
    location: SourceLocation,
    libraries: Sequence[Any],
) -> Fragment:
    """A fragment whose source tells its name, and maybe its signature and its line."""
    try:
        declaration = Declaration(
            "", signature, dict(options), location, _folder(location), wrapped=source, libraries=as_given(libraries)
        )
        return declare(adapter, adapter.complete(declaration), inline, ordered)
    except TLEError as e:
        e.at(source=location)
        raise


def _nobody_takes(source: Any, name: str | None) -> DialectError:
    if name is not None:
        return DialectError(f"dialect {name!r} cannot take {source!r}")
    return DialectError(
        f"which dialect {type(source).__name__} belongs to cannot be told",
        hint="fragments are made of paths, of source text, and of the objects of an installed dialect",
    )


def _line_of(frame: Any) -> SourceLocation:
    file, line = frame.f_code.co_filename, frame.f_lineno
    return SourceLocation(file, line, 0, linecache.getline(file, line).rstrip())


def _signature(stub: Callable[..., Any], local_names: dict[str, Any]) -> Signature | None:
    """None for FlagTree's untyped stubs: ``def edsl(*args, **kwargs): ...``."""
    parameters = inspect.signature(stub).parameters.values()
    untyped = parameters and all(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)
    return None if untyped else signature_of(stub, local_names)


def _folder(location: SourceLocation) -> Path:
    """Relative paths of a declaration start at its own Python file; at the working folder in a notebook."""
    file = Path(location.file)
    return file.resolve().parent if file.exists() else Path.cwd()
