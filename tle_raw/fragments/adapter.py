"""What a dialect's adapter must offer: the protocol between the core and the foreign languages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from tle_raw.errors import SourceLocation, TLEError
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.signature import Signature
from tle_raw.linker.inputs.library import LinkLibrary
from tle_raw.linker.prepare import LinkableModule
from tle_raw.porting import Answer, PortRequest
from tle_raw.target import Target


@dataclass(frozen=True)
class Declaration:
    """What the user wrote: ``dialect(name, **options)`` over a stub, or ``fragment(obj, signature=…)``.

    ``signature`` is None for FlagTree's untyped stubs (``def edsl(*args, **kwargs): ...``).
    ``location`` is the stub's line; relative ``file=`` paths are resolved against ``folder``.
    ``function`` is the decorated Python function.
    ``wrapped`` is what a :class:`SelfDescribing` adapter took: an object of its language, text, bytes or a path.
    ``libraries`` are what its code calls functions of, as the user gave them.
    """

    name: str
    signature: Signature | None
    options: Mapping[str, Any]
    location: SourceLocation
    folder: Path
    function: Callable[..., Any] | None = None
    wrapped: Any = None
    libraries: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Source:
    """An adapter's validated, immutable reading of a declaration.

    ``text`` is the fragment's code, read anew each time; ``location`` is where its first line stands;
    ``settings`` holds everything else that can change the code (flags, defines, symbol, block), sorted.
    ``signature`` is set where the source itself tells it. ``data`` is the adapter's own and takes no part in equality.
    ``libraries`` will be linked with what is compiled: a function that one of them defines is not missing.
    """

    dialect: str
    name: str
    symbol: str
    text: str
    location: SourceLocation
    settings: tuple[tuple[str, str], ...] = ()
    data: Any = field(default=None, compare=False, repr=False)
    signature: Signature | None = None
    libraries: tuple[LinkLibrary, ...] = field(default=(), compare=False, repr=False)


def _unchanged(error: TLEError) -> TLEError:
    return error


@dataclass(frozen=True)
class DeviceCode:
    """What a target that emulates device code tells its user of it.

    Attributes
    ----------
    name, location : the user's function.
    is_users : says of a file in the debug information whether it is the user's.
    hint : what to do about an instruction that cannot be emulated.
    explained : an error with the lines of the source that the adapter knows.
    """

    name: str
    location: SourceLocation
    is_users: Callable[[str], bool] = bool
    hint: str = ""
    explained: Callable[[TLEError], TLEError] = _unchanged


@dataclass(frozen=True)
class CompilerOutput:
    """What a foreign compiler made of a source.

    ``text`` is LLVM IR text as the compiler wrote it: device code, for the target to make the rest of. ``entry`` is the
    symbol to call, of the type that ``BoundSignature.entry_parameters`` and ``entry_result`` state, or one thread's
    share where the target wants that (``targets.base.DeviceCodeWanted``); ``files`` are the user's files that were read
    (not the toolchain's); ``seconds`` is the compiler's own time; ``command`` repeats the compilation.

    ``dynamic_shared`` asks for so many bytes of shared memory beside the static variables: their address, aligned to
    1024, comes as an i32 after the entry's other parameters. Regions that follow one another share the memory.
    ``block`` is the shape of the block that the code was compiled for, where it matters. ``route`` names the way that
    the source took, where its dialect has several. ``register_limit`` is the most registers that a thread may have when
    the kernel starts, for code in which warps hand registers to each other; 0 for none. ``exclusive`` says that the
    code relies on being all that its kernel does. ``linked`` are functions of libraries that were linked, each with its
    library's name. ``host_variables`` are looked up by their names in the finished kernel, by a host that sets them.
    ``device`` is for targets that emulate the code.
    """

    text: str
    entry: str
    files: tuple[Path, ...]
    seconds: float
    compiler: str
    command: tuple[str, ...] = ()
    warnings: str = ""
    dynamic_shared: int = 0
    block: tuple[int, ...] = ()
    route: str = ""
    register_limit: int = 0
    exclusive: bool = False
    linked: tuple[tuple[str, str], ...] = ()
    host_variables: tuple[str, ...] = ()
    device: DeviceCode | None = None


@dataclass(frozen=True)
class Finding:
    """One thing that a dialect uses of this machine: what, its version, where it is or what it serves.

    ``install`` says how to get it, and is empty where it is there. ``is_required``: without it no fragment compiles.
    """

    what: str
    found: str
    where: str
    install: str = ""
    is_required: bool = False


@dataclass(frozen=True)
class Description:
    """A section of ``tle-raw doctor``. ``title`` names what the findings are for: "CUDA fragments"."""

    title: str
    findings: tuple[Finding, ...]


@runtime_checkable
class Adapter(Protocol):
    """One foreign language. Found by the registry under the entry-point group ``tle_raw.adapters``."""

    name: str

    def read(self, declaration: Declaration) -> Source:
        """Validate the options and read the source; raise DialectError or FragmentSourceError."""

    def files(self, source: Source) -> tuple[Path, ...]:
        """The user's files that this source reads (itself and the headers it includes), found without compiling."""

    def compiler_identity(self) -> str:
        """Name, version and digest of the compiler and of what comes with it; raise ToolchainError when missing."""

    def compile(self, source: Source, bound: BoundSignature, target: Target) -> CompilerOutput:
        """Compile for one call and one target; raise CompilationFailed, SymbolError, SignatureMismatchError."""

    def prototype(self, source: Source | None, signature: Signature) -> str:
        """The function that the author is expected to write, in the dialect's own language."""


@runtime_checkable
class SelfDescribing(Adapter, Protocol):
    """A dialect whose sources tell what they are: a TileLang PrimFunc, an MLIR module. They need no typed stub."""

    def takes(self, source: object, named: bool) -> bool:
        """Whether ``fragment(source)`` or ``dialect(…)(source)`` is for this dialect. It imports nothing.

        ``named``: the user named the dialect, or the file's suffix does. What other dialects could take as well, such
        as a plain Python function, is taken then only.
        """

    def complete(self, declaration: Declaration) -> Declaration:
        """The declaration with what ``wrapped`` tells of itself: name, line, and the signature where it has none."""


@runtime_checkable
class TracingAdapter(Adapter, Protocol):
    """A dialect with tile semantics: a region becomes Triton IR where it is called, and never meets the linker."""

    def routes(self, source: Source, backend: str) -> tuple[str, ...]:
        """The ways that a region may take on ``cuda`` or ``cpu``, the first choice first: "traced", "linked"."""

    def trace(self, source: Source, bound: BoundSignature, values: Mapping[str, Any], semantic: Any) -> list[Any]:
        """Write the region with Triton's semantic object, a compilation's or the interpreter's.

        ``values`` are Triton's values of the parameters that the call passes. The results are those that the signature
        returns, in its order. What cannot be expressed raises UntraceableError; what was written by then is dropped.
        """


@runtime_checkable
class CallTypedAdapter(TracingAdapter, Protocol):
    """A dialect whose functions have no types of their own: the arguments of each call give them."""

    def bind(
        self, source: Source, arguments: Sequence[Any], keywords: Mapping[str, Any]
    ) -> tuple[BoundSignature, dict[str, Any]]:
        """Match the values that a kernel passes, tuples and constants included, with the function's parameters.

        The values come back as ``trace`` wants them; the bound signature says in the report what crossed.
        """


@runtime_checkable
class ReturningAdapter(Adapter, Protocol):
    """A dialect whose functions say by what they return which arguments of an untyped call come back."""

    def returned(self, source: Source, bound: BoundSignature) -> tuple[int, ...]:
        """The numbers of these arguments, in the function's order; raise CallError where they cannot be told."""


@runtime_checkable
class PortingAdapter(Adapter, Protocol):
    """A dialect whose files can be turned into Triton files that call their programs as regions: ``tle-raw port``."""

    def can_port(self, text: str) -> bool:
        """Whether a Python file with this text is for this dialect. It imports nothing."""

    def port(self, request: PortRequest) -> Iterator[Answer]:
        """Run the file and say what it holds, one program after the other, then the Triton file.

        It runs in a process of its own, which a crash or the time limit may end; a TLEError ends it, too.
        """


@runtime_checkable
class KernelAdapter(Adapter, Protocol):
    """A dialect whose fragments are whole kernels: they know their grid."""

    def as_kernel(self, fragment: Any, source: Source) -> Any:
        """A launchable kernel that is just the fragment."""


@runtime_checkable
class DescribingAdapter(Adapter, Protocol):
    """A dialect that needs more of a machine than Python and Triton: ``tle-raw doctor`` shows what there is."""

    def describe(self) -> Description:
        """What was found and what is missing. It raises nothing of this package's."""


@runtime_checkable
class LaunchedAdapter(Adapter, Protocol):
    """A dialect whose fragments may be whole kernels; the caller says the block and, at each launch, the grid."""

    def as_launched_kernel(self, declaration: Declaration, source: Source, options: Mapping[str, Any]) -> Any:
        """A launchable kernel that is just the fragment; raise DialectError where it is none."""


@runtime_checkable
class BaseAdapter(LaunchedAdapter, Protocol):
    """A dialect that others build on: they hand it declarations in its own terms, and it knows none of them."""

    def as_launched_kernel_of(
        self, adapter: Adapter, declaration: Declaration, source: Source, options: Mapping[str, Any]
    ) -> Any:
        """As ``as_launched_kernel``, for the declaration of another dialect, which declares each of its regions."""


@runtime_checkable
class BatchingAdapter(Adapter, Protocol):
    """A dialect that compiles several functions of one source at once."""

    def expect(self, calls: Sequence[tuple[Source, BoundSignature]], target: Target, with_names: bool = False) -> None:
        """Calls that one kernel makes: ``compile`` will be asked for those of them that no cache holds.

        ``with_names``: a packer makes them, for which functions with bound names are compiled together, too.
        """


@runtime_checkable
class DescriptorAdapter(Adapter, Protocol):
    """A dialect whose fragments may take TMA descriptors, which the host makes for the arrays of a launch."""

    def descriptors(self, source: Source, arguments: Sequence[Any], target: Target) -> Any:
        """The descriptors for the fragment's own arguments, in memory that a kernel can be given."""


@runtime_checkable
class CompiledBefore(Adapter, Protocol):
    """A dialect whose ``compile`` only reads what a compiler made elsewhere: nothing is lost when it is done again."""

    is_compiled_before: Literal[True]

    def compile_fitted(
        self, source: Source, bound: BoundSignature, target: Target, older_llvm: bool
    ) -> tuple[CompilerOutput, LinkableModule, Path] | None:
        """Where the code is ready to be linked, what ``compile`` and the linker would give, and the file; else None."""


_OFFERED: dict[tuple[type, type], bool] = {}


def offers(adapter: Adapter, protocol: type) -> bool:
    """``isinstance``, which takes 40 µs for a protocol, asked once of each class of adapters."""
    asked = (type(adapter), protocol)
    if asked not in _OFFERED:
        _OFFERED[asked] = isinstance(adapter, protocol)
    return _OFFERED[asked]
