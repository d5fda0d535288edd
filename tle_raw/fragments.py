"""A fragment: foreign device code with its typed signature, callable inside ``@triton.jit`` functions."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from triton.runtime.jit import ConstexprFunction

from tle_raw.adapter import (
    Adapter,
    CallTypedAdapter,
    Declaration,
    DescriptorAdapter,
    KernelAdapter,
    LaunchedAdapter,
    Source,
    TracingAdapter,
)
from tle_raw.binding import bind_names
from tle_raw.bound import BoundSignature
from tle_raw.compilation import CompiledFragment, compile_source, compiler_identity
from tle_raw.errors import DialectError, Place, RegionError, TLEError
from tle_raw.identity import digest, package_identity
from tle_raw.knobs import knobs
from tle_raw.signature import Signature
from tle_raw.target import Target, current_target, parse_target

_FRAGMENTS: WeakValueDictionary[str, Fragment] = WeakValueDictionary()


def fragment_by_identity(identity: str) -> Fragment:
    """The fragment that a region of a TTIR module names.

    Raises
    ------
    RegionError : no fragment of that content is declared in this process.
    """
    found = _FRAGMENTS.get(identity)
    if found is None:
        raise RegionError(
            f"the module uses a fragment ({identity[:12]}) that this process has not declared",
            hint="import the Python file that declares it, with the same source, before compiling the IR file",
        )
    return found


class Fragment(ConstexprFunction):
    """Foreign device code plus its typed signature.

    Made by ``tle_raw.dialect`` or ``tle_raw.fragment``; call it inside a ``@triton.jit`` function like any Triton
    function. The result is one value, a tuple of values in signature order, or None.

    Triton finds a fragment among a kernel's dependencies and mixes ``cache_key`` into the kernel's own key, so an
    edit of the source, a header, a flag, the compiler or this package gives a new kernel.
    """

    def __init__(self, adapter: Adapter, declaration: Declaration, *, inline: bool = True) -> None:
        # ConstexprFunction.__init__ wants a Python function with a body; a fragment has none.
        self._adapter = adapter
        self._declaration = declaration
        self._source: Source = adapter.read(declaration)
        self._compiler = ""
        self._stamp: tuple = ()
        self._stamped_files: tuple[Path, ...] = ()
        self._stamped_paths: tuple[str, ...] = ()
        self._key: str | None = None
        self._lock = threading.RLock()
        self.inline = inline
        self.signature = declaration.signature or self._source.signature
        self.__name__ = self.__qualname__ = self._fn_name = declaration.name
        self.__module__ = "tle_raw.fragments"
        self.__doc__ = f"{adapter.name} fragment {self.signature or declaration.name}"
        self.__globals__: dict[str, Any] = {}
        self.used_global_vals: dict = {}
        self.hash = None

    # --- what the user asks -----------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._declaration.name

    @property
    def dialect(self) -> str:
        return self._adapter.name

    @property
    def symbol(self) -> str:
        """The function's name in the source."""
        return self._source.symbol

    @property
    def block(self) -> tuple[int, ...] | None:
        """The block shape that the code was written for, or None when any will do."""
        block = self._declaration.options.get("block")
        return ((block,) if isinstance(block, int) else tuple(block)) if block else None

    def routes(self, backend: str) -> tuple[str, ...]:
        """The ways that a call may take on ``cuda`` or ``cpu``, the first choice first."""
        if isinstance(self._adapter, TracingAdapter):
            return self._adapter.routes(self._source, backend)
        return ("linked",)

    @property
    def place(self) -> Place:
        """The line of the stub."""
        return self._declaration.place

    def prototype(self) -> str:
        """The function that the fragment's source is expected to define, as text in its own language."""
        signature = Signature(self.name, ()) if self.is_call_typed else self._typed_signature()
        return self._adapter.prototype(self._source, signature)

    def compile(self, target: str | Target | None = None, **bindings: Any) -> CompiledFragment:
        """Compile without a kernel and without a GPU.

        Parameters
        ----------
        target : ``cuda:80``, ``cuda:90``, …; by default ``knobs.target``, else ``cuda:90``.
        bindings : a value for every name of the signature: ``M=64, T="f16"``.

        Raises
        ------
        BindingError : a name has no value. ToolchainError, CompilationFailed, SymbolError, LinkError : as named.
        """
        bound = bind_names(self._typed_signature(), bindings)
        return self.compile_bound(bound, parse_target(target or knobs.target or "cuda:90"))

    def as_kernel(self, **options: Any) -> Any:
        """A kernel that is just this fragment; call it with arrays.

        Its grid is the one that its source states. A CUDA kernel states none: it is launched as ``kernel[grid](…)``.

        Parameters
        ----------
        options : for CUDA kernels: ``block=(16, 16, 1)``, or a list of blocks, of which the fastest is chosen for each
            value of the arguments that ``key=`` names; ``shared=``, bytes, or a function of the block that gives them.

        Raises
        ------
        DialectError : the fragment is a function, without a grid of its own; or an option is wrong.
        """
        if isinstance(self._adapter, LaunchedAdapter):
            return self._adapter.as_launched_kernel(self._declaration, self._source, options)
        if options:
            raise DialectError(f"as_kernel() of a {self.dialect} fragment takes no options").at(
                fragment=self.name, source=self.place
            )
        if not isinstance(self._adapter, KernelAdapter):
            raise DialectError(
                f"a {self.dialect} fragment is a function: it has no grid of its own",
                hint="call it in a @triton.jit kernel",
            ).at(fragment=self.name, source=self.place)
        return self._adapter.as_kernel(self, self._source)

    def descriptors(self, *arguments: Any) -> Any:
        """The TMA descriptors that a launch passes to this fragment, for the arrays that it passes as well.

        They are kept: the same arrays get the same memory, and a CUDA graph may hold it.

        Parameters
        ----------
        arguments : arrays and scalars as the fragment's own source takes them.

        Raises
        ------
        DialectError : the fragment takes none. ShapeError, ArgumentTypeError : an array does not fit.
        LaunchError : TMA cannot copy from or to an array.
        """
        if not isinstance(self._adapter, DescriptorAdapter):
            raise DialectError(f"a {self.dialect} fragment takes no TMA descriptors").at(
                fragment=self.name, source=self.place
            )
        return self._adapter.descriptors(self._source, arguments, current_target())

    def __repr__(self) -> str:
        return f"<tle_raw {self.dialect} fragment {self.signature or self.name}>"

    # --- what Triton asks -------------------------------------------------------------------------------------

    @property
    def cache_key(self) -> str:
        """Digest of everything that can change the code of this fragment, for any target and any binding."""
        with self._lock:
            if self._key is None:
                self._key = self._compute_key()
            return self._key

    def __hash__(self) -> int:
        return id(self) >> 4

    def __eq__(self, other: object) -> bool:
        return self is other

    def __call__(self, *args: Any, _semantic: Any = None, _generator: Any = None, **kwargs: Any) -> Any:
        from tle_raw.frontends.raw.call import call_fragment
        from tle_raw.frontends.raw.interpret import in_interpreter

        if _semantic is None and not in_interpreter():
            raise RegionError(
                f"the fragment `{self.name}` is device code: it runs only inside a @triton.jit kernel",
                hint="use fragment.compile(target=...) to compile it alone",
            ).at(fragment=self.name, source=self.place)
        return call_fragment(self, args, kwargs, _semantic, _generator)

    # --- what the hub asks ------------------------------------------------------------------------------------

    @property
    def identity(self) -> str:
        """The key under which regions name this fragment; registers it for the stages that follow."""
        _FRAGMENTS[self.cache_key] = self
        return self.cache_key

    @property
    def files(self) -> tuple[Path, ...]:
        """The user's files that this fragment reads."""
        return self._adapter.files(self._source)

    def is_stale(self) -> bool:
        """Whether a file looks different from when the key was made. Cheap: asked before every launch."""
        return _stamp(self._stamped_paths) != self._stamp

    def refresh(self) -> bool:
        """Read the files again if one of them changed since the key was made; True when the key changed."""
        with self._lock:
            if self._key is None or not self.is_stale():
                return False
            old, self._key = self._key, self._compute_key()
            return self._key != old

    @property
    def is_call_typed(self) -> bool:
        """Whether the arguments of each call give its types: there is no signature then."""
        return isinstance(self._adapter, CallTypedAdapter)

    def bind_call(self, args: Sequence[Any], keywords: dict[str, Any]) -> tuple[BoundSignature, dict[str, Any]]:
        """Type one call by its arguments."""
        assert isinstance(self._adapter, CallTypedAdapter)
        return self._adapter.bind(self._source, args, keywords)

    def trace(self, bound: BoundSignature, values: dict[str, Any], semantic: Any) -> list[Any]:
        """Write one region into the kernel that is being traced, or run it in Triton's interpreter."""
        assert isinstance(self._adapter, TracingAdapter)
        return self._adapter.trace(self._source, bound, values, semantic)

    def compile_bound(self, bound: BoundSignature, target: Target) -> CompiledFragment:
        """Compile for one region."""
        from tle_raw.watch import refresh

        refresh([self])
        try:
            with self._lock:
                self._key = self._key or self._compute_key()
                source, files, compiler = self._source, self._stamped_files, self._compiler
            return compile_source(self._adapter, source, files, bound, target, compiler=compiler, inline=self.inline)
        except TLEError as e:
            e.at(fragment=self.name, source=e.context.source or self.place)
            raise

    def _compute_key(self) -> str:
        self._source = self._adapter.read(self._declaration)
        self.signature = self._declaration.signature or self._source.signature
        self._compiler = compiler_identity(self._adapter)
        files = self.files
        self._stamped_files, self._stamped_paths = files, tuple(map(str, files))
        self._stamp = _stamp(self._stamped_paths)
        contents = sorted(digest(f.read_bytes()) for f in files)
        return digest(
            package_identity(),
            self._compiler,
            self._source.dialect,
            self._source.symbol,
            self._source.text,
            self._source.settings,
            self.signature,
            self.inline,
            *contents,
        )

    def _typed_signature(self) -> Signature:
        if self.signature is None and self.is_call_typed:
            raise RegionError(
                f"the fragment `{self.name}` is typed by each call: there is nothing to compile alone",
                hint="compile the kernel that calls it",
            ).at(fragment=self.name, source=self.place)
        if self.signature is None:
            raise RegionError(
                f"the fragment `{self.name}` has no typed signature: its types are known at a call only",
                hint='annotate the stub, for example `t: InOut[Tile["f32", "M", "N"]]`',
            ).at(fragment=self.name, source=self.place)
        return self.signature


def _stamp(paths: tuple[str, ...]) -> tuple:
    """What a file system tells of an edit; a missing file is a stamp of its own."""
    stamps = []
    for path in paths:
        try:
            status = os.stat(path)
            stamps.append((status.st_mtime_ns, status.st_size, status.st_ino))
        except OSError:
            stamps.append((0, -1, 0))
    return tuple(stamps)


def declare(adapter: Adapter, declaration: Declaration, inline: bool = True) -> Fragment:
    """Make a fragment; what goes wrong names it and its stub's line."""
    from tle_raw import watch
    from tle_raw.flir import hooks
    from tle_raw.frontends.raw import interpret

    hooks.install()
    watch.install()
    interpret.install()
    try:
        return Fragment(adapter, declaration, inline=inline)
    except TLEError as e:
        e.at(fragment=declaration.name, source=e.context.source or declaration.place)
        raise
