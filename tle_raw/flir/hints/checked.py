"""A handler of a hint as it is called: what it raises, or gives that is none, is told at the hint, with its name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tle_raw.errors import SourceLocation, TLEError, ToolchainError
from tle_raw.flir.hints.comments import Hint
from tle_raw.flir.hints.handler import HintHandler
from tle_raw.flir.hints.operation import HintedOperation


@dataclass(frozen=True)
class CheckedHandler:
    """The handler of one hint; its members are those of ``HintHandler``, asked with the hint's value.

    Raises
    ------
    ToolchainError : the handler fails, or gives something else than its protocol says.
    """

    hint: Hint
    handler: HintHandler

    def operations(self) -> Sequence[str]:
        return self._names("operations")

    def targets(self) -> Sequence[str]:
        return self._names("targets")

    def expected(self) -> str:
        return self._text("expected", self.hint.value)

    def apply(self, operation: HintedOperation) -> str:
        return self._text("apply", operation, self.hint.value)

    def proof(self, target: str) -> str:
        pattern = self._text("proof", target, self.hint.value)
        try:
            re.compile(pattern)
        except re.error as error:
            raise self._failed("proof", f"gives {pattern!r}, which is no regular expression: {error}") from error
        return pattern

    def _names(self, member: str) -> Sequence[str]:
        names = self._asked(member)
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise self._failed(member, f"is {names!r}, and not names")
        return tuple(names)

    def _text(self, member: str, *arguments: Any) -> str:
        text = self._asked(member, *arguments)
        if text is not None and not isinstance(text, str):
            raise self._failed(member, f"gives {text!r}, and not a text")
        return text or ""

    def _asked(self, member: str, *arguments: Any) -> Any:
        try:
            found = getattr(self.handler, member)
            return found(*arguments) if arguments else found
        except TLEError as error:
            raise error.at(call_site=self._place()) from error.__cause__
        except Exception as error:
            raise self._failed(member, f"fails: {type(error).__name__}: {error}") from error

    def _failed(self, member: str, how: str) -> TLEError:
        kind = type(self.handler)
        text = f"the handler of the hint `{self.hint}`: {kind.__module__}.{kind.__qualname__}.{member} {how}"
        return ToolchainError(text).at(call_site=self._place())

    def _place(self) -> SourceLocation:
        return SourceLocation(self.hint.file, self.hint.line, 0, self.hint.text)
