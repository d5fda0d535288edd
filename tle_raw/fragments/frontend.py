"""What a fragment needs of the front end: the room above, in which its calls are spelled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Frontend(Protocol):
    """Found by ``tle_raw.registry.frontend``."""

    def install(self) -> None:
        """Put this package's hooks into Triton's slots: stages, launches, the interpreter. Idempotent."""

    def source_of(self, fragment: Any) -> str:
        """Python that defines the fragment in a module of generated code."""

    def stand_in(self, fragment: Any) -> Callable[[], None]:
        """A function of the name that ``source_of`` defines."""

    def call_fragment(
        self, fragment: Any, args: Sequence[Any], keywords: dict[str, Any], semantic: Any, generator: Any
    ) -> Any:
        """``fragment(*args, **keywords)`` inside a kernel: Triton's values, or None where it returns nothing.

        ``semantic`` is the builder of the kernel that is traced, and None in Triton's interpreter.

        Raises
        ------
        RegionError : no kernel is running or traced.
        """

    def call_overloaded(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], semantic: Any, generator: Any
    ) -> Any:
        """As ``call_fragment``, for a function of which the arguments choose the fragment.

        Raises
        ------
        OverloadError : none of its fragments takes the arguments.
        """
