"""A fragment in Python code that a program writes: what stands there for it, and how that finds the fragment again.

``torch.compile`` writes a module of its own for each graph, with the source of every function that a kernel calls. It
runs that module in this process, or in one of its workers, which has imported nothing of the user's.
"""

from __future__ import annotations

import base64
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from types import FunctionType
from weakref import WeakKeyDictionary

from tle_raw.errors import RegionError, TLEError
from tle_raw.fragments.declare import declare
from tle_raw.fragments.fragment import Fragment, declared_fragments, known_fragment
from tle_raw.registry import find_adapter

# What was written for a fragment, and its identity then: torch.compile asks many times.
_WRITTEN: WeakKeyDictionary[Fragment, tuple[str, str]] = WeakKeyDictionary()


def fragment(identity: str, *, name: str, module: str = "", declared: str = "") -> Fragment:
    """The fragment of this content: of this process, of the module that declares it, or made of its declaration.

    Raises
    ------
    RegionError : it cannot be found here, or it has been edited meanwhile.
    """
    found = known_fragment(identity)
    if found is None and module:
        import_module(module)
        found = next((f for f in declared_fragments() if f.name == name and f.identity == identity), None)
    if found is None and declared:
        made = _made_of(declared)
        found = made if made.identity == identity else None
    if found is None:
        raise RegionError(
            f"generated code uses the fragment `{name}`, which this process cannot find",
            hint="declare it in a module that can be imported, or compile in this process alone: "
            "TORCHINDUCTOR_COMPILE_THREADS=1",
        )
    return found


def source_of(fragment: Fragment) -> str:
    """A function definition, as generated code expects it, and the statement that puts the fragment in its place."""
    identity = fragment.identity
    written = _WRITTEN.get(fragment)
    if written is None or written[0] != identity:
        written = _WRITTEN[fragment] = identity, _source(fragment, identity)
    asked = _name_that_is_asked_for(fragment)
    return written[1] + (f"{asked} = {_name(identity)}\n" if asked else "")


def _name_that_is_asked_for(fragment: Fragment) -> str:
    """The kernel's own name for the fragment.

    torch 2.13 writes an assignment for it. Earlier releases take for granted that the function is called so, and know
    the name only in the variable of the loop that asks.
    """
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "traverse" and frame.f_locals.get("symbol") is fragment:
            return str(frame.f_locals.get("symbol_name", ""))
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def stand_in(fragment: Fragment) -> Callable[[], None]:
    """The function that the text defines: it has the name and calls nothing."""
    return FunctionType((lambda: None).__code__, {}, _name(fragment.identity))


def _name(identity: str) -> str:
    """Fragments of one name may meet in one module."""
    return f"tle_raw_{identity[:16]}"


def _source(fragment: Fragment, identity: str) -> str:
    name, module = _name(identity), _module_of(fragment)
    where = f"module={module!r}" if module else f"declared={_declaration_of(fragment, identity)!r}"
    return (
        f"def {name}(): ...\n"
        "import tle_raw.fragments.generated_code\n"
        f"{name} = tle_raw.fragments.generated_code.fragment({identity!r}, name={fragment.name!r}, {where})\n"
    )


def _module_of(fragment: Fragment) -> str:
    """The module that declares it, where another process can import it."""
    for name, module in tuple(sys.modules.items()):
        if getattr(module, "__file__", None) == fragment.location.file and name not in ("__main__", "__mp_main__"):
            return name if _is_importable(name) else ""
    return ""


def _is_importable(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _declaration_of(fragment: Fragment, identity: str) -> str:
    """All that the fragment was made of, as text; empty where it holds objects of this process."""
    dialect, declaration, *settings = fragment.declared
    try:
        text = base64.b64encode(pickle.dumps((dialect, replace(declaration, function=None), *settings), 4)).decode()
        return text if _made_of(text).identity == identity else ""
    except (TLEError, pickle.PickleError, TypeError, AttributeError, ValueError):
        return ""


def _made_of(declared: str) -> Fragment:
    dialect, declaration, *settings = pickle.loads(base64.b64decode(declared))
    return declare(find_adapter(dialect), declaration, *settings)
