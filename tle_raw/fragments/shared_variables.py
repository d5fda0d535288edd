"""``tle_raw.shared_variable``: a ``__constant__`` or ``__device__`` variable of a library, set once for all kernels.

On stock Triton each kernel is a module of its own, with its own copy of the variable. A value that was set goes into
every module that is loaded, and into those that are loaded later.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tle_raw.errors import LaunchError
from tle_raw.fragments.fragment import Fragment
from tle_raw.fragments.module_variables import (
    ModuleVariable,
    is_of_fragment,
    source_name,
    symbols_in_ptx,
    variable_in_module,
)

_KNOWN: list[SharedVariable] = []


class SharedVariable:
    """A variable of some fragments, in every kernel that uses it.

    Attributes
    ----------
    name : as in the source, namespaces included.
    of_fragments : the names of the fragments whose variable it is.
    """

    def __init__(self, name: str, fragments: Sequence[Fragment]) -> None:
        self.name = name
        self.of_fragments = tuple(fragment.name for fragment in fragments)
        self._places: list[ModuleVariable] = []
        self._value: Any = None

    def set(self, values: Any) -> None:
        """Copy an array of NumPy, a torch tensor, or a NumPy number of the variable's size into every kernel's copy.

        Kernels that write the variable write their own copy. What kernels share while they run is a tensor, which is
        passed to them.

        Raises
        ------
        LaunchError : the sizes differ, or the driver refuses; of kernels that are loaded later, when they are.
        """
        for place in self._places:
            place.set(values)
        self._value = values

    def __len__(self) -> int:
        """The kernels that are loaded and have a copy."""
        return len(self._places)

    def take(self, module: Any, symbol: str) -> None:
        """A module that was loaded has the variable, under this symbol, if it is one of these fragments'."""
        if source_name(symbol) != self.name or not any(is_of_fragment(symbol, name) for name in self.of_fragments):
            return
        place = variable_in_module(module, self.name, symbol)
        if self._value is not None:
            place.set(self._value)
        self._places.append(place)


def shared_variable(name: str, fragments: Sequence[Fragment] | Fragment) -> SharedVariable:
    """A variable of fragments, such as those of one library, to set once for all kernels that use it.

    Make it before such kernels are launched: those that are loaded by then keep what they have. Asked for again, it is
    the same object, which knows the kernels that were loaded since it was made.

    Parameters
    ----------
    name : as in the CUDA source: ``"filter::weights"``.
    fragments : whose variable it is.

    Raises
    ------
    LaunchError : something is no fragment.
    """
    listed = (fragments,) if isinstance(fragments, Fragment) else tuple(fragments)
    wrong = next((each for each in listed if not isinstance(each, Fragment)), None)
    if wrong is not None or not listed:
        raise LaunchError(f"a shared variable is one of fragments, not of {type(wrong).__name__}")
    from triton import knobs

    knobs.runtime.kernel_load_end_hook.add(_loaded)
    names = tuple(fragment.name for fragment in listed)
    made = next((known for known in _KNOWN if (known.name, known.of_fragments) == (name, names)), None)
    if made is None:
        made = SharedVariable(name, listed)
        _KNOWN.append(made)
    return made


def _loaded(module: Any, function: Any, name: str, files: Any, digest: str) -> None:
    symbols = list(getattr(module, "variables", None) or _symbols_of_files(files))
    for symbol in symbols:
        for known in _KNOWN:
            known.take(module, symbol)


def _symbols_of_files(files: Any) -> list[str]:
    """The variables that the kernel's PTX shows, from Triton's own cache."""
    path = next((file for file in dict(files or {}).values() if str(file).endswith(".ptx")), None)
    try:
        return symbols_in_ptx(Path(path).read_text()) if path else []
    except OSError:
        return []
