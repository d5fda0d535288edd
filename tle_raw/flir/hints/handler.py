"""What a hint means: the protocol of its handler, and the handlers that there are."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Protocol

from tle_raw.errors import ToolchainError
from tle_raw.flir.hints.handlers.eviction import Eviction
from tle_raw.flir.hints.handlers.loops import NumStages, Unroll
from tle_raw.flir.hints.handlers.pipeline import Pipeline
from tle_raw.flir.hints.handlers.shared_memory import SharedMemory
from tle_raw.flir.hints.handlers.stream import Stream
from tle_raw.flir.hints.handlers.vectorise import Vectorise
from tle_raw.flir.hints.operation import HintedOperation

GROUP = "tle_raw.hints"


class HintHandler(Protocol):
    """The meaning of one name in ``#@hint: name`` or ``#@hint: name=value``.

    Third parties add theirs by the entry-point group ``tle_raw.hints``, each a class that is made without arguments,
    or for a process by ``tle_raw.flir.hints.handler.register_hint``.

    Attributes
    ----------
    name : in comments; ``also`` are other spellings of it.
    operations : the names of the operations of Triton IR that it may stand at; ``scf.for`` and ``scf.while`` are loops.
    targets : ``cuda``, ``cpu``, … On others it has no effect, and the report says so.
    """

    @property
    def name(self) -> str: ...
    @property
    def also(self) -> Sequence[str]: ...
    @property
    def operations(self) -> Sequence[str]: ...
    @property
    def targets(self) -> Sequence[str]: ...

    def expected(self, value: str) -> str:
        """What the value should be, in a few words, where this one is none; "" where it is right."""

    def proof(self, target: str, value: str) -> str:
        """A regular expression for opcodes that the PTX of its lines, or a CPU's assembly, holds where it had an
        effect; "" where nothing shows it.
        """

    def apply(self, operation: HintedOperation, value: str) -> str:
        """Edit the operation; "" or, in a few words, why the hint has no effect on it."""


OWN: tuple[HintHandler, ...] = (
    SharedMemory(), Pipeline(), NumStages(), Unroll(), Eviction(), Vectorise(), Stream(),
)  # fmt: skip
_REGISTERED: dict[str, HintHandler] = {}
_LOADED: dict[str, HintHandler] = {}


def register_hint(handler: HintHandler) -> None:
    """Add a handler for this process; one of the same name gives way to it."""
    _REGISTERED[handler.name] = handler


def find_handler(name: str) -> HintHandler | None:
    """That of a name or another spelling of it; None where nobody knows the name.

    Raises
    ------
    ToolchainError : the package that offers it cannot be imported.
    """
    for handler in (*_REGISTERED.values(), *OWN):
        if name == handler.name or name in handler.also:
            return handler
    if name not in _LOADED:
        for point in entry_points(group=GROUP, name=name):
            try:
                _LOADED[name] = point.load()()
            except ImportError as error:
                raise ToolchainError(f"the handler of the hint {name!r} cannot be imported: {error}") from error
    return _LOADED.get(name)


def known_hints() -> list[str]:
    """All names, without other spellings."""
    own = {handler.name for handler in (*_REGISTERED.values(), *OWN)}
    return sorted(own | {point.name for point in entry_points(group=GROUP)})
