"""Find adapters, targets and the front end by name; third parties add theirs through entry points."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast

from tle_raw.errors import DialectError, ToolchainError
from tle_raw.near_names import did_you_mean

if TYPE_CHECKING:  # the settings ask the targets for their passes, and these rooms read settings
    from tle_raw.fragments.adapter import Adapter
    from tle_raw.fragments.frontend import Frontend
    from tle_raw.targets.base import TargetBackend

# What is spelled inside kernels stands above the fragments, which call it without importing it.
FRONTEND = "tle_raw.frontends.raw.frontend"


class Named(Protocol):
    """What can be registered."""

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


class Registry(Generic[T]):
    """The classes that one group of entry points names, each made once, and what this process registered.

    Parameters
    ----------
    group : the entry points'.
    what, whose : for messages: what a name names, and how what is found under it is called: "the adapter of dialect".
    has_extras : what cannot be imported is installed as an extra of this package.
    guesses : for an unknown name the nearest one is shown, not all.
    """

    def __init__(
        self,
        group: str,
        what: str,
        whose: str,
        *,
        has_extras: bool = False,
        guesses: bool = False,
    ) -> None:
        self.group, self.what, self.whose = group, what, whose
        self.has_extras, self.guesses = has_extras, guesses
        self._registered: dict[str, T] = {}
        self._loaded: dict[str, T] = {}

    def register(self, added: T) -> None:
        """Add one for this process, before any entry point of the same name."""
        self._registered[added.name] = added

    def registered(self) -> tuple[T, ...]:
        """What this process added."""
        return tuple(self._registered.values())

    def names(self) -> list[str]:
        """All that can be found, sorted."""
        return sorted({*self._registered, *(point.name for point in entry_points(group=self.group))})

    def find(self, name: str) -> T:
        """What has the name.

        Raises
        ------
        DialectError : nothing has. ToolchainError : its package cannot be imported, or fails, or several offer it.
        """
        found = self._registered.get(name) or self._loaded.get(name)
        return found or self._loaded.setdefault(name, self._load(name))

    def offered(self, name: str) -> list[EntryPoint]:
        """The entry points of a name, those of one package that is found twice counted once."""
        points = [point for point in entry_points(group=self.group) if point.name == name]
        return list({(offerer(point), point.value): point for point in points}.values())

    def _load(self, name: str) -> T:
        points = self.offered(name)
        if not points:
            raise self._unknown(name)
        if len(points) > 1:
            raise ToolchainError(
                f"{len(points)} packages offer {self.whose} {name!r}: {', '.join(map(offerer, points))}",
                hint="uninstall all but one, or register the one that is meant in this process",
            )
        try:
            return cast(T, points[0].load()())
        except ImportError as e:
            hint = f"pip install 'tle_raw[{name}]'" if self.has_extras else ""
            raise ToolchainError(f"{self.whose} {name!r} cannot be imported: {e}", hint=hint) from e
        except Exception as e:
            text = f"{self.whose} {name!r}, of {offerer(points[0])}, cannot be made: {type(e).__name__}: {e}"
            raise ToolchainError(text) from e

    def _unknown(self, name: str) -> DialectError:
        known = self.names()
        listed = f"known {self.what}s: {', '.join(known) or 'none'}"
        hint = did_you_mean(name, known if self.guesses else (), listed, quote="'")
        return DialectError(f"unknown {self.what} {name!r}", hint=hint)


def offerer(point: EntryPoint) -> str:
    """The package of an entry point, and where in it."""
    package = point.dist
    return f"{package.name} {package.version} ({point.value})" if package else point.value


ADAPTERS: Registry[Adapter] = Registry(
    "tle_raw.adapters", "dialect", "the adapter of dialect", has_extras=True, guesses=True
)
TARGETS: Registry[TargetBackend] = Registry("tle_raw.targets", "target", "the target")

register_adapter, adapter_names, find_adapter = ADAPTERS.register, ADAPTERS.names, ADAPTERS.find
register_target, target_names, find_target = TARGETS.register, TARGETS.names, TARGETS.find


@cache
def frontend() -> Frontend:
    """What a fragment's call in a kernel means, and what it needs of Triton."""
    return cast("Frontend", import_module(FRONTEND))
