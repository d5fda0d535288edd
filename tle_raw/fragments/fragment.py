"""A fragment: foreign device code with its typed signature, callable inside ``@triton.jit`` functions."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, cast
from weakref import WeakSet, WeakValueDictionary

from triton.runtime.jit import ConstexprFunction

from tle_raw.errors import DialectError, RegionError, SourceLocation, TLEError
from tle_raw.fragments.adapter import (
    Adapter,
    BatchingAdapter,
    CallTypedAdapter,
    CompiledBefore,
    CompilerOutput,
    Declaration,
    DescriptorAdapter,
    KernelAdapter,
    LaunchedAdapter,
    ReturningAdapter,
    Source,
    TracingAdapter,
    offers,
)
from tle_raw.fragments.binding import bind_names
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.compilation import compile_source
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.fragments.keyed_source import KeyedSource
from tle_raw.fragments.libraries import compile_with_libraries
from tle_raw.fragments.pickling import imported, name_in_module
from tle_raw.fragments.signature import Signature
from tle_raw.fragments.told_once import told_once
from tle_raw.identity import digest
from tle_raw.knobs import knobs
from tle_raw.registry import frontend
from tle_raw.target import Target, parse_target
from tle_raw.targets.current import current_target

_FRAGMENTS: WeakValueDictionary[str, Fragment] = WeakValueDictionary()
_KEYED: WeakSet[Fragment] = WeakSet()
_DECLARED: WeakSet[Fragment] = WeakSet()
_OBSERVERS: list[Callable[[list[Fragment]], None]] = []


def keyed_fragments() -> list[Fragment]:
    """All fragments that a key was asked of: some kernel may have been compiled with it."""
    return list(_KEYED)


def known_fragment(identity: str) -> Fragment | None:
    """The fragment of such content, if this process has used one."""
    return _FRAGMENTS.get(identity)


def declared_fragments() -> list[Fragment]:
    """All fragments that live in this process."""
    return list(_DECLARED)


def add_declared(fragment: Fragment) -> None:
    """Make a fragment one of ``declared_fragments``."""
    _DECLARED.add(fragment)


def when_changed(observer: Callable[[list[Fragment]], None]) -> None:
    """Call ``observer`` with the fragments whose keys have changed, or that have none any more."""
    _OBSERVERS.append(observer)


def refresh(fragments: Iterable[Fragment]) -> None:
    """Read edited fragments again, and say which have changed.

    Raises
    ------
    FragmentSourceError : a file of one cannot be read any more; the others have been read.
    """
    changed, failure, disabled = [], None, knobs.disable_passes
    for fragment in fragments:
        if fragment.is_current(disabled):  # nearly all: Triton has this asked nine times while it compiles a kernel
            continue
        had_key = fragment.has_key
        try:
            is_changed = fragment.refresh()
        except TLEError as error:
            is_changed, failure = had_key, failure or error
        if is_changed:
            changed.append(fragment)
    if changed:  # at once: who is told looks through all kernels of the process
        for observer in _OBSERVERS:
            observer(changed)
    if failure is not None:
        raise failure


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

    def __init__(
        self, adapter: Adapter, declaration: Declaration, *, inline: bool = True, ordered: bool = True
    ) -> None:
        # ConstexprFunction.__init__ wants a Python function with a body; a fragment has none.
        self._adapter = adapter
        self._declaration = declaration
        self.inline = inline
        self.ordered = ordered and declaration.options.get("alone") is not True
        self._content = KeyedSource(adapter, declaration, (self.inline, self.ordered))
        self.__name__ = self.__qualname__ = self._fn_name = declaration.name
        self.__module__ = "tle_raw.fragments.fragment"
        self.__doc__ = f"{adapter.name} fragment {self.signature or declaration.name}"
        self.__globals__: dict[str, Any] = {}
        self.used_global_vals: dict[Any, Any] = {}
        self.hash = None

    # --- what the user asks -----------------------------------------------------------------------------------

    @property
    def signature(self) -> Signature | None:
        """The types of its parameters and its result; None where each call tells them."""
        return self._content.signature

    @property
    def name(self) -> str:
        """The name by which it was declared."""
        return self._declaration.name

    @property
    def dialect(self) -> str:
        """The dialect's name, such as ``cuda``."""
        return self._adapter.name

    @property
    def symbol(self) -> str:
        """The function's name in the source."""
        return self._source.symbol

    @property
    def block(self) -> tuple[int, ...] | None:
        """The block shape that the code was written for, or None when any will do."""
        given = self._declaration.options.get("block")
        block = ((given,) if isinstance(given, int) else tuple(given)) if given else None
        if block and self._declaration.options.get("whole"):  # whole warps are launched; the rest stand idle
            return (-(-math.prod(block) // 32) * 32,)
        return block

    def routes(self, backend: str) -> tuple[str, ...]:
        """The ways that a call may take on ``cuda`` or ``cpu``, the first choice first."""
        if offers(self._adapter, TracingAdapter):
            return cast(TracingAdapter, self._adapter).routes(self._source, backend)
        return ("linked",)

    @property
    def location(self) -> SourceLocation:
        """The line of the stub."""
        return self._declaration.location

    def location_in_source(self, file: str, line: int, column: int = 0) -> SourceLocation | None:
        """The line with its text, where the source stands in that file."""
        start = self._source.location
        if file != start.file:
            return None
        lines = self._source.text.splitlines()
        index = line - start.line
        return SourceLocation(file, line, column, lines[index] if 0 <= index < len(lines) else "")

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
        return self.compile_bound(bound, parse_target(target if target is not None else knobs.target or "cuda:90"))

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
                fragment=self.name, source=self.location
            )
        if not isinstance(self._adapter, KernelAdapter):
            raise DialectError(
                f"a {self.dialect} fragment is a function: it has no grid of its own",
                hint="call it in a @triton.jit kernel",
            ).at(fragment=self.name, source=self.location)
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
                fragment=self.name, source=self.location
            )
        return self._adapter.descriptors(self._source, arguments, current_target())

    def __repr__(self) -> str:
        return f"<tle_raw {self.dialect} fragment {self.signature or self.name}>"

    # --- what Triton asks -------------------------------------------------------------------------------------

    @property
    def cache_key(self) -> str:
        """Digest of everything that can change the code of this fragment, for any target and any binding.

        Where the files cannot be read it is one that nothing else has: Triton, which asks while it computes a kernel's
        own key, would remember half of that if anything was raised. What is wrong is told when the call is traced.
        """
        try:
            refresh([self])
            return self._current_key()
        except TLEError:
            return digest("unreadable", uuid.uuid4().hex)

    def _current_key(self) -> str:
        _KEYED.add(self)
        return self._content.key()

    def __hash__(self) -> int:
        return id(self) >> 4

    def __eq__(self, other: object) -> bool:
        return self is other

    @told_once
    def __call__(self, *args: Any, _semantic: Any = None, _generator: Any = None, **kwargs: Any) -> Any:
        return frontend().call_fragment(self, args, kwargs, _semantic, _generator)

    # --- what torch.compile asks, which takes it for a function of Python -------------------------------------

    @property
    def src(self) -> str:
        """Python that defines this fragment in a module of generated code."""
        return frontend().source_of(self)

    @property
    def fn(self) -> Callable[[], None]:
        """A function of the name that ``src`` defines."""
        return frontend().stand_in(self)

    # --- what the core asks ------------------------------------------------------------------------------------

    @property
    def declared(self) -> tuple[str, Declaration, bool, bool]:
        """All that it was made of: dialect, declaration, whether it is inlined, and whether it is ordered."""
        return self.dialect, self._declaration, self.inline, self.ordered

    @property
    def is_compiled_before(self) -> bool:
        """Whether its code comes from a library, and from no compiler."""
        return offers(self._adapter, CompiledBefore)

    @property
    def writes_through_arguments_only(self) -> bool:
        """Whether all global memory that it may write is named by its pointers: TMA descriptors name more."""
        return not offers(self._adapter, DescriptorAdapter)

    def mentions(self, word: str) -> bool:
        """Whether its source, or a file that it reads, holds a word."""
        return word in self._source.text or any(word.encode() in file.read_bytes() for file in self.files)

    @property
    def _source(self) -> Source:
        return self._content.source

    @property
    def identity(self) -> str:
        """The key under which regions name this fragment; registers it for the stages that follow."""
        key = self._current_key()
        _FRAGMENTS[key] = self
        return key

    @property
    def files(self) -> tuple[Path, ...]:
        """The user's files that this fragment reads."""
        return self._content.files

    @property
    def has_key(self) -> bool:
        """Whether its part of the kernels' cache keys is made already."""
        return self._content.has_key

    def is_stale(self) -> bool:
        """Whether a file looks different from when the key was made. Cheap: asked before every launch."""
        return self._content.is_stale()

    def is_current(self, disabled: str) -> bool:
        """Whether it has a key that was made with these passes disabled, and of files that look as they did."""
        return self._content.is_current(disabled)

    def had_passes_disabled(self, names: str) -> bool:
        """Whether ``knobs.disable_passes`` was ``names`` when the key was made. Asked before every launch too."""
        return self._content.had_passes_disabled(names)

    def refresh(self) -> bool:
        """Make the key anew if a file or the disabled passes changed since it was made; True when it changed.

        Raises
        ------
        FragmentSourceError : a file cannot be read any more; the fragment then has no key until it can.
        """
        return self._content.refresh()

    @property
    def is_call_typed(self) -> bool:
        """Whether the arguments of each call give its types: there is no signature then."""
        return offers(self._adapter, CallTypedAdapter)

    def bind_call(self, args: Sequence[Any], keywords: dict[str, Any]) -> tuple[BoundSignature, dict[str, Any]]:
        """Type one call by its arguments."""
        assert isinstance(self._adapter, CallTypedAdapter)
        return self._adapter.bind(self._source, args, keywords)

    def trace(self, bound: BoundSignature, values: dict[str, Any], semantic: Any) -> list[Any]:
        """Write one region into the kernel that is being traced, or run it in Triton's interpreter."""
        assert isinstance(self._adapter, TracingAdapter)
        return self._adapter.trace(self._source, bound, values, semantic)

    def returned_arguments(self, bound: BoundSignature) -> tuple[int, ...]:
        """Which arguments of an untyped call come back, by what the function returns; none where its dialect has no
        such rule.

        Raises
        ------
        CallError : they cannot be told.
        """
        adapter = self._adapter
        return adapter.returned(self._source, bound) if isinstance(adapter, ReturningAdapter) else ()

    def compile_bound(self, bound: BoundSignature, target: Target) -> CompiledFragment:
        """Compile for one region."""
        try:
            refresh([self])
            _KEYED.add(self)
            source, files, compiler, libraries = self._content.read()
            return compile_source(
                self._adapter, source, files, bound, target, compiler=compiler, inline=self.inline, libraries=libraries
            )
        except TLEError as e:
            e.at(fragment=self.name, source=e.context.source or self.location)
            raise

    @staticmethod
    def expect_together(
        calls: Sequence[tuple[Fragment, BoundSignature]], target: Target, with_names: bool = False
    ) -> None:
        """Tell the dialects which calls one kernel, or a packer, makes: some compile those of one source at once."""
        adapters = {id(fragment._adapter): fragment._adapter for fragment, _ in calls}
        for number, adapter in adapters.items():
            if isinstance(adapter, BatchingAdapter):
                adapter.expect(
                    [(f._source, bound) for f, bound in calls if id(f._adapter) == number], target, with_names
                )

    def compiler_output(self, bound: BoundSignature, target: Target) -> CompilerOutput:
        """What the adapter makes of the source, without a cache: code that is not prepared for any kernel yet.

        Raises
        ------
        ToolchainError, CompilationFailed, SymbolError, SignatureMismatchError : as ``compile``.
        """
        if libraries := self._content.libraries:
            return compile_with_libraries(self._adapter, self._source, bound, target, libraries)
        return self._adapter.compile(self._source, bound, target)

    # --- what Python asks -------------------------------------------------------------------------------------

    def __copy__(self) -> Fragment:
        """Itself: a fragment is what it was declared as, once, like a function."""
        return self

    def __deepcopy__(self, memo: object) -> Fragment:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """By name, as a function: another process imports the module that declares it."""
        return imported, name_in_module(self)

    def _typed_signature(self) -> Signature:
        if self.signature is None and self.is_call_typed:
            raise RegionError(
                f"the fragment `{self.name}` is typed by each call: there is nothing to compile alone",
                hint="compile the kernel that calls it",
            ).at(fragment=self.name, source=self.location)
        if self.signature is None:
            raise RegionError(
                f"the fragment `{self.name}` has no typed signature: its types are known at a call only",
                hint='annotate the stub, for example `t: InOut[Tile["f32", "M", "N"]]`',
            ).at(fragment=self.name, source=self.location)
        return self.signature
