"""The error tree: every failure says where, what was expected, what came and what to do next."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tle_raw.columns import columns

_WIDEST = 400  # of a line that is shown


@dataclass(frozen=True)
class SourceLocation:
    """A line of the user's text: a fragment's source, or the call in the Triton kernel."""

    file: str
    line: int
    column: int = 0
    text: str = ""

    def __str__(self) -> str:
        column = f":{self.column}" if self.column else ""
        return f"{self.file}:{self.line}{column}" if self.line else self.file  # bitcode has no lines


@dataclass(frozen=True)
class Row:
    """One line of an expected-against-got table."""

    what: str
    expected: str
    got: str

    @property
    def differs(self) -> bool:
        """Whether the row shows a difference."""
        return self.expected != self.got


@dataclass(frozen=True)
class Context:
    """Where an error happened; filled in from the inside (compiler) to the outside (kernel call)."""

    fragment: str = ""
    source: SourceLocation | None = None
    call_site: SourceLocation | None = None


class TLEError(Exception):
    """Root of every error of this package.

    Parameters
    ----------
    message : one sentence: what is wrong.
    table : expected-against-got rows, shown as a table; rows that differ are marked.
    hint : what to do next.
    log : the tail of an external tool's output, already mapped to the user's lines.
    context : fragment name, the fragment's line and the kernel's line.
    """

    def __init__(
        self,
        message: str,
        *,
        table: Sequence[Row] = (),
        hint: str = "",
        log: str = "",
        context: Context = Context(),
    ) -> None:
        Exception.__init__(self, message)  # a class may be an error of Triton's as well, which takes other arguments
        self.message = message
        self.table = tuple(table)
        self.hint = hint
        self.log = log
        self.context = context

    def at(
        self,
        *,
        fragment: str | None = None,
        source: SourceLocation | None = None,
        call_site: SourceLocation | None = None,
    ) -> TLEError:
        """Add the places that are not known yet; what is known stays. Returns self, to be raised."""
        known = self.context
        self.context = replace(
            known,
            fragment=known.fragment or fragment or "",
            source=known.source or source,
            call_site=known.call_site or call_site,
        )
        return self

    def __str__(self) -> str:
        # A file's name that is no UTF-8 must not keep the error from being printed.
        return "\n".join(_render(self)).encode("utf-8", "backslashreplace").decode()

    def __reduce__(
        self,
    ) -> tuple[Any, ...]:  # keyword-only arguments: exceptions must survive deepcopy and process pools
        return _rebuild, (type(self), self.message, self.table, self.hint, self.log, self.context)


def _rebuild(
    kind: type[TLEError], message: str, table: Sequence[Row], hint: str, log: str, context: Context
) -> TLEError:
    return kind(message, table=table, hint=hint, log=log, context=context)


def _render(error: TLEError) -> Iterator[str]:
    context = error.context
    yield f"fragment `{context.fragment}`: {error.message}" if context.fragment else error.message
    for label, location in (("fragment", context.source), ("called at", context.call_site)):
        if location:
            yield f"  {label}: {location}"
            if location.text:
                yield from _render_line(location.text.rstrip(), location.column)
    yield from _render_table(error.table)
    if error.log:
        yield from ("  | " + line for line in error.log.rstrip().splitlines())
    if error.hint:
        yield f"  hint: {error.hint}"


def _render_line(text: str, column: int) -> Iterator[str]:
    """A line of the user's with a mark below its column; of a very long one the part around it."""
    start = max(column - _WIDEST // 2, 0) if len(text) > _WIDEST else 0
    yield f"    {text[start : start + _WIDEST]}"
    if column:
        yield "    " + " " * (column - start - 1) + "^"


def _render_table(rows: Sequence[Row]) -> Iterator[str]:
    if not rows:
        return
    lines = columns([("", "expected", "got"), *((row.what, row.expected, row.got) for row in rows)], indent="")
    marks = [False, *(row.differs for row in rows)]
    yield from (f"  {'>' if marked else ' '} {line}" for line, marked in zip(lines, marks))


class SignatureError(TLEError):
    """A fragment's declaration is wrong: an unknown dtype, a missing annotation, a tile of rank 5."""


class DialectError(TLEError):
    """An unknown dialect, or options that the dialect does not take."""


class FragmentSourceError(TLEError):
    """A fragment's source file is missing or cannot be read, or no source was given."""


class FragmentPicklingError(TLEError, pickle.PicklingError):
    """A fragment cannot be pickled: no module holds it under a name."""


class CallError(TLEError):
    """A call inside a kernel does not fit the fragment's signature."""


class ArgumentCountError(CallError):
    """More or fewer arguments than the signature has, or an unknown keyword."""


class ArgumentTypeError(CallError):
    """An argument of another kind or dtype: a tile where a pointer belongs, f16 for f32."""


class ShapeError(CallError):
    """A tile of another rank or dim, a dim that is not a power of two, or a shape that cannot be known."""


class TileIndexError(CallError):
    """The index of a tile lies beyond the grid of tiles, or has another rank than the tensor."""


class LayoutError(CallError):
    """A layout of shared or tensor memory that cannot be, or that does not fit the buffer's shape and dtype."""


class SharedBufferError(CallError):
    """A shared buffer is used as it cannot be: after it was freed, through a view that its layout does not have."""


class LocalMemoryError(CallError):
    """A local memory of a DSA is used as it cannot be: it is too small, or no path leads from one to the other."""


class PipeError(CallError):
    """A pipe that would come to a standstill, or a slot, an end or memory of one that two sides would use at a time."""


class ScheduleError(CallError):
    """The groups of a pipelined loop cannot run in the stages, or in the order, that they are given."""


class MeshError(CallError, ValueError):
    """A mesh or a sharding that cannot be: an axis that is not there, or is used twice; a size that does not fit."""


class MeshTypeError(CallError, TypeError):
    """What a mesh or a sharding is made of has another type: no size, no name of an axis, no mesh."""


class MeshIndexError(CallError, IndexError):
    """An index that lies beyond an axis of a mesh, or a mesh with fewer axes than indices."""


class ContextError(TLEError):
    """A context of several devices cannot be made or used: its members disagree, or cannot reach each other."""


class PeerError(TLEError, RuntimeError):
    """A wait for another device came to nothing, or a launch asked for one that is not there.

    ``rank`` waited for ``awaited``, which is None where any one might have come; ``place`` is the call in the kernel.
    """

    def __init__(
        self, message: str, *, rank: int = 0, awaited: int | None = None, place: str = "", **rest: Any
    ) -> None:
        super().__init__(message, **rest)
        self.rank, self.awaited, self.place = rank, awaited, place

    def __reduce__(self) -> tuple[Any, ...]:
        return (*super().__reduce__(), {"rank": self.rank, "awaited": self.awaited, "place": self.place})


class PipelineHintWarning(UserWarning):
    """A region that is called with ``hint="pipeline"`` does not run ahead: the message says where, and why."""


class HintWarning(UserWarning):
    """A ``#@hint:`` comment that nobody knows, or with a value that it does not take: the message says where."""


class WarpMaskWarning(UserWarning):
    """A warp function of before Volta, such as ``__shfl_down``, names no mask: the message says where."""


class OverloadError(CallError):
    """No overload of a library's function takes the arguments of a call; the log lists what each takes."""


class BindingError(CallError):
    """One dim or dtype name received two different values in one call, or none."""


class RegionError(TLEError):
    """A region stands where it cannot work: warp-specialised partitions, num_ctas > 1, a wrong block size."""


class SharedMemoryError(RegionError):
    """The kernel with its fragments needs more shared memory than the device has."""


class ToolchainError(TLEError):
    """A compiler, a header or a tool is missing or too old; the hint says what to install."""


class CompilationFailed(TLEError):
    """The fragment's own compiler refused it; the log carries its diagnostics at the user's lines."""


class SymbolError(TLEError):
    """The fragment's function is missing, or its name is overloaded or ambiguous."""


class SignatureMismatchError(TLEError):
    """The function exists, but its parameters do not fit the fragment's signature."""


class LinkError(TLEError):
    """The compiled fragment cannot be linked."""


class UnresolvedSymbolError(LinkError):
    """A device function that the fragment calls is defined nowhere."""


class DuplicateSymbolError(LinkError):
    """One symbol is defined twice, by two modules or within one."""


class AbiError(LinkError):
    """The LLVM function's type differs from what the ports pass."""


class UnsupportedFeatureError(LinkError):
    """A language feature that cannot work inside a Triton kernel: `extern __shared__`, dynamic parallelism."""


class UntraceableError(TLEError):
    """A construct of a fragment's language that Triton's own operations cannot express.

    ``others`` are those that stand behind it, in order; ``log`` tells of them in words.
    """

    others: tuple[UntraceableError, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return (*super().__reduce__(), {"others": self.others})


class VerificationError(TLEError):
    """The finished kernel does not hold what was promised: a call is left, or there are several entries."""


class MissingPatternError(TLEError):
    """A pass found nothing where the kernel promised something: what the compiler writes has changed."""


class CacheError(TLEError):
    """The cache folder cannot be used at all."""


class KnobError(TLEError):
    """A setting has a value that it cannot take."""


class ReportError(TLEError):
    """A report was asked of something that is no compiled kernel, or that holds no region."""


class ManifestError(TLEError):
    """A library's manifest is wrong: the message says the file, the line and the key."""


class LibraryError(TLEError):
    """A packed library cannot be used as it is: it is newer, damaged, gone, or there twice in two versions."""


class LoweringError(TLEError):
    """An operation of Triton's language that the target cannot run; the message names it."""


class LaunchError(TLEError):
    """A launch on the CPU that cannot work: a tensor of a GPU, an array of objects, a negative grid."""


class KernelFailed(TLEError, RuntimeError):
    """A check inside a kernel failed while it ran on the CPU. It is a RuntimeError, as what a GPU's driver reports.

    ``kind`` names the check, ``program`` is the failed program's place in the grid.
    """

    def __init__(self, message: str, *, kind: str = "", program: tuple[int, int, int] = (0, 0, 0), **rest: Any) -> None:
        super().__init__(message, **rest)
        self.kind, self.program = kind, program

    def __reduce__(self) -> tuple[Any, ...]:
        return (*super().__reduce__(), {"kind": self.kind, "program": self.program})


class DeadlockError(KernelFailed):
    """Simulated devices, or blocks of a cluster or a grid, wait for each other: the table says who, where, for what."""


class RaceError(KernelFailed):
    """Two devices, or two blocks of a cluster, access the same memory with nothing between that orders them."""
