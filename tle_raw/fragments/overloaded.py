"""Several fragments under one name: which one a call means follows from its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from triton.runtime.jit import ConstexprFunction

from tle_raw.errors import SourceLocation
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.fragment import Fragment
from tle_raw.fragments.pickling import imported, name_in_module
from tle_raw.fragments.signature import Signature
from tle_raw.fragments.told_once import told_once
from tle_raw.registry import frontend


class Overloaded(ConstexprFunction):
    """A function of a library. Call it inside a ``@triton.jit`` function like a fragment.

    Nothing is made until it is called: ``make`` gives its fragments, ``signatures`` what they take, in the order in
    which they are tried. ``key`` tells all that can change their code. ``accept`` raises where a fragment that fits
    cannot take a call all the same.
    """

    def __init__(
        self,
        name: str,
        doc: str,
        location: SourceLocation,
        *,
        signatures: Callable[[], Sequence[Signature]],
        make: Callable[[], Sequence[Fragment]],
        key: Callable[[], str],
        accept: Callable[[Fragment, BoundSignature], None] = lambda fragment, bound: None,
    ) -> None:
        # ConstexprFunction.__init__ wants a Python function with a body; this has none.
        self.location = location
        self.accept = accept
        self._signatures, self._make, self._key_of = signatures, make, key
        self._made: tuple[Fragment, ...] | None = None
        self.__name__ = self.__qualname__ = self._fn_name = name
        self.__doc__ = doc
        self.__globals__: dict[str, Any] = {}
        self.used_global_vals: dict[Any, Any] = {}
        self.hash = None

    @property
    def name(self) -> str:
        """The name by which it is called."""
        return str(self.__name__)

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """What it takes: one signature an overload."""
        return tuple(self._signatures())

    @property
    def fragments(self) -> tuple[Fragment, ...]:
        """One fragment an overload; they are made when they are asked for first.

        Raises
        ------
        TLEError : the library cannot be used; the message says why.
        """
        if self._made is None:
            self._made = tuple(self._make())
        return self._made

    @property
    def made(self) -> tuple[Fragment, ...]:
        """Those that are made already."""
        return self._made or ()

    @property
    def __signature__(self) -> inspect.Signature:
        """The parameters and what comes back, of the only overload; of several the names that the first one has."""
        known = self.signatures
        only = known[0] if len(known) == 1 else None
        parameters = [
            inspect.Parameter(
                p.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                annotation=str(p).partition(": ")[2] if only else inspect.Parameter.empty,
            )
            for p in known[0].passed
        ]
        given = [*only.returned, *([only.result] if only.result else [])] if only else []
        back = ", ".join(str(getattr(each, "type", each)) for each in given)
        back = f"({back})" if len(given) > 1 else back
        return inspect.Signature(parameters, return_annotation=back or (None if only else inspect.Signature.empty))

    def __repr__(self) -> str:
        return f"<tle_raw library function {'; '.join(map(str, self.signatures))}>"

    # --- what Triton asks -------------------------------------------------------------------------------------

    @property
    def cache_key(self) -> str:
        """Digest of everything that can change the code of any of its overloads."""
        return self._key_of()

    def __hash__(self) -> int:
        return id(self) >> 4

    def __eq__(self, other: object) -> bool:
        return self is other

    @told_once
    def __call__(self, *args: Any, _semantic: Any = None, _generator: Any = None, **kwargs: Any) -> Any:
        return frontend().call_overloaded(self, args, kwargs, _semantic, _generator)

    # --- what torch.compile asks, which takes it for a function of Python -------------------------------------

    @property
    def src(self) -> str:
        """Python that puts this function under its name into a module of generated code."""
        module, name = name_in_module(self)
        return f"def {name}(): ...\nfrom {module} import {name}\n"

    @property
    def fn(self) -> Callable[[], None]:
        """A function of the name that ``src`` defines."""
        return FunctionType((lambda: None).__code__, {}, self.name)

    # --- what Python asks -------------------------------------------------------------------------------------

    def __copy__(self) -> Overloaded:
        return self

    def __deepcopy__(self, memo: object) -> Overloaded:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """By name, as a function: another process imports the module that holds it."""
        return imported, name_in_module(self)
