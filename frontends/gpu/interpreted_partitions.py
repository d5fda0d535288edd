"""Specialised warps in Triton's interpreter: a thread for each partition, of which one runs at a time.

A partition runs until it waits for a phase that is not complete; then it is the next one's turn. Where all that are
left wait, nobody can complete anything any more: the error says who waits for what.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tle_raw.errors import Row, SharedBufferError, SourceLocation, TLEError
from tle_raw.regions.interpret import interpreted_call_site
from tle_raw.regions.partitions import Partition, inside


class _OverError(BaseException):
    """Another partition failed: this one ends where it waits."""


class Turns:
    """The partitions of one ``warp_specialize``, and whose turn it is."""

    def __init__(self, partitions: Sequence[Partition]) -> None:
        self.partitions = partitions
        self.changed = threading.Condition()
        self.turn = 0
        self.over: set[int] = set()
        self.waiting: dict[int, tuple[SourceLocation | None, str]] = {}  # who has looked in vain since anybody got on
        self.asked: set[int] = set()  # whose region has asked since then, and may have seen something meanwhile
        self.failure: BaseException | None = None
        self.results: list[Any] = [None] * len(partitions)

    def run(self, bodies: Sequence[Callable[[], Any]]) -> list[Any]:
        """What the partitions return, when all are done; what one of them raises is raised."""
        threads = [
            threading.Thread(target=contextvars.copy_context().run, args=(self._partition, number, body), daemon=True)
            for number, body in enumerate(bodies)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.failure is not None:
            raise self.failure
        return self.results

    def wait_until(self, complete: Callable[[], bool], missing: Callable[[], str]) -> None:
        """Let the others run until a phase is complete; ``missing`` says what it wants.

        Raises
        ------
        SharedBufferError : all partitions that are left wait.
        """
        here, number = interpreted_call_site(), self._number()
        while not complete():
            self._looked_in_vain(number, here, missing())
            self._pass_on()
            self._come(number)
        self.went_on()

    def let_others_run(self, has_written: bool) -> None:
        """A region of this partition waits, for what is not known here: it looks again when it is its turn.

        Raises
        ------
        SharedBufferError : all partitions that are left wait, and it has looked in vain.
        """
        number = self._number()
        if has_written:
            self.went_on()
        if number in self.asked:
            self._looked_in_vain(number, interpreted_call_site(), "what the region waits for")
        self.asked.add(number)
        self._pass_on()
        self._come(number)

    def went_on(self) -> None:
        """Somebody got on: whoever waits looks again."""
        self.waiting.clear()
        self.asked.clear()

    def _partition(self, number: int, body: Callable[[], Any]) -> None:
        _TURNS.set((self, number))
        try:
            self._come(number)
            with inside(self.partitions[number]):
                self.results[number] = body()
        except _OverError:
            pass
        except BaseException as error:
            self.failure = self.failure or error
        finally:
            with self.changed:
                self.over.add(number)
                self.waiting.pop(number, None)
            self._pass_on()

    def _number(self) -> int:
        found = _TURNS.get()
        assert found is not None
        return found[1]

    def _come(self, number: int) -> None:
        with self.changed:
            self.changed.wait_for(lambda: self.turn == number or self.failure is not None)
        if self.failure is not None:
            raise _OverError

    def _pass_on(self) -> None:
        with self.changed:
            left = [number for number in range(len(self.partitions)) if number not in self.over]
            self.turn = next((number for number in left if number > self.turn), left[0] if left else -1)
            self.changed.notify_all()

    def _looked_in_vain(self, number: int, site: SourceLocation | None, missing: str) -> None:
        self.waiting[number] = site, missing
        if len(self.waiting) == len(self.partitions) - len(self.over):
            raise self._standstill()

    def _standstill(self) -> TLEError:
        rows = [
            Row(self.partitions[number].name, "a phase that is complete", f"waits at {_place(site)}: {missing}")
            for number, (site, missing) in sorted(self.waiting.items())
        ]
        return SharedBufferError(
            "tle.gpu.warp_specialize: all partitions wait for barriers that nobody completes", table=rows
        )


_TURNS: contextvars.ContextVar[tuple[Turns, int] | None] = contextvars.ContextVar("turns", default=None)


def current_turns() -> Turns | None:
    """Those of the partition that is interpreted; None outside of partitions."""
    found = _TURNS.get()
    return None if found is None else found[0]


def _place(site: SourceLocation | None) -> str:
    return "a line that is not known" if site is None else f"{site.file}:{site.line}"
