"""Settings, each a Python attribute with an environment twin: ``knobs.cache.dir`` is ``TLE_RAW_CACHE_DIR``.

>>> from tle_raw.knobs import knobs
>>> with knobs.scope():
...     knobs.compile_timeout = 30.0
...     # compiles in here give up after half a minute

The environment is read at each access, until Python sets the knob; ``del knobs.compile_timeout`` goes back to
it. Settings belong to the process, not to a thread.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from tle_raw.errors import KnobError, Row
from tle_raw.flir.passes import disabled_names, expected_disabled, expected_shown, shown_names
from tle_raw.near_names import near_names
from tle_raw.target import target_name
from tle_raw.targets.chips import DEFAULT_CHIP, chip_name

PREFIX = "TLE_RAW_"
# Called after Python has changed a setting: what depends on one looks by itself whether it is concerned.
OBSERVERS: list[Callable[[], None]] = []
ON, OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
T = TypeVar("T")


def notify_observers() -> None:
    for observer in tuple(OBSERVERS):
        observer()


# The kinds of value: each takes a Python value or the environment's text, or raises ValueError.
# The docstring is what an error says was expected.


def switch(value: object) -> bool:
    """a switch: 1 or 0, true or false, yes or no, on or off"""
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in ON and word not in OFF:
        raise ValueError
    return word in ON


def seconds(value: object) -> float:
    """a positive number of seconds"""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError
    number = float(value)
    if not (math.isfinite(number) and number > 0):
        raise ValueError
    return number


def count(value: object) -> int:
    """a whole number, 1 or more"""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError
    number = int(value)
    if number < 1:
        raise ValueError
    return number


def path(value: object) -> Path:
    """a path"""
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value) or "\0" in str(value):
        raise ValueError
    return Path(value).expanduser()


def user_cache() -> Path:
    """The cache folder by the XDG rules; for users without a home, their own name in the temporary folder."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(configured):
        return Path(configured) / "tle_raw"
    try:
        return Path.home() / ".cache" / "tle_raw"
    except RuntimeError:
        return Path(tempfile.gettempdir()) / f"tle_raw-{os.geteuid()}"


class Knob(Generic[T]):
    """One setting: how it is read, what it is when nobody set it, what it does."""

    def __init__(
        self,
        read: Callable[[object], T],
        default: T | Callable[[], T],
        doc: str,
        *,
        optional: bool = False,
        expected: Callable[[], str] | None = None,
    ) -> None:
        self.read, self._default, self.__doc__, self.optional = read, default, doc, optional
        self.expected = expected or (lambda: str(read.__doc__))

    def __set_name__(self, owner: type[Group], name: str) -> None:
        self.name = f"{owner.group}.{name}" if owner.group else name
        self.environment = PREFIX + self.name.replace(".", "_").upper()

    @overload
    def __get__(self, group: None, owner: type[Group]) -> Knob[T]: ...
    @overload
    def __get__(self, group: Group, owner: type[Group]) -> T: ...
    def __get__(self, group: Group | None, owner: type[Group]) -> Knob[T] | T:
        if group is None:
            return self
        if self.name in group.values:
            return cast(T, group.values[self.name])
        written = os.environ.get(self.environment, "")
        return self._checked(written, f"the environment variable {self.environment}") if written else self.default

    def __set__(self, group: Group, value: T) -> None:
        group.values[self.name] = self._checked(value, f"knobs.{self.name}")
        notify_observers()

    def __delete__(self, group: Group) -> None:
        group.values.pop(self.name, None)
        notify_observers()

    @property
    def default(self) -> T:
        return self._default() if callable(self._default) else self._default

    def source(self, group: Group) -> str:
        """Who gave the value: ``python``, ``environment`` or ``default``."""
        if self.name in group.values:
            return "python"
        return "environment" if os.environ.get(self.environment) else "default"

    def _checked(self, value: object, where: str) -> T:
        if value is None and self.optional:
            return cast(T, None)
        try:
            return self.read(value)
        except (ValueError, TypeError, OverflowError, RuntimeError):  # RuntimeError: no such user's home
            raise KnobError(
                f"{where} cannot have this value",
                table=[Row(f"knobs.{self.name}", self.expected(), repr(value))],
                hint=str(self.__doc__),
            ) from None


class Group:
    """Settings that belong together. All groups keep their values in one dict, for ``scope``."""

    group = ""

    def __init__(self, values: dict[str, object]) -> None:
        object.__setattr__(self, "values", values)

    values: dict[str, object]

    if not TYPE_CHECKING:  # a checker knows the settings by name, and shall complain of others

        def __setattr__(self, name: str, value: object) -> None:
            if not isinstance(vars(type(self)).get(name), Knob):
                raise self._unknown(name)
            object.__setattr__(self, name, value)

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):  # copy, pickle and inspect ask for names that nobody misspelt
                raise AttributeError(name)
            raise self._unknown(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._settings()]

    @classmethod
    def _settings(cls) -> Mapping[str, Knob[Any]]:
        return {name: knob for name, knob in vars(cls).items() if isinstance(knob, Knob)}

    def _unknown(self, name: str) -> KnobError:
        here = f"knobs.{self.group}" if self.group else "knobs"
        known = {knob.name: knob for group in GROUPS for knob in group._settings().values()}
        near = [k for k in known if k.rpartition(".")[2] == name]
        near += near_names(f"{self.group}.{name}".lstrip("."), known)
        meant = " or ".join(f"knobs.{k}" for k in dict.fromkeys(near)) or ", ".join(known)
        return UnknownKnobError(f"there is no setting {here}.{name}", hint=f"did you mean {meant}?")


class UnknownKnobError(KnobError, AttributeError):
    """A setting that does not exist. An AttributeError too, so that ``hasattr`` says no."""


class CacheKnobs(Group):
    """The compiled fragments on disk."""

    group = "cache"

    dir = Knob(path, user_cache, "folder of the compiled fragments")
    enabled = Knob(switch, True, "take compiled fragments from the disk; off: each process compiles its own")


class CudaKnobs(Group):
    """The CUDA toolchain; each is found by itself when not set."""

    group = "cuda"

    clang = Knob[Path | None](path, None, "the clang to use", optional=True)
    toolkit = Knob[Path | None](path, None, "folder of a CUDA toolkit, for its headers", optional=True)
    cccl = Knob[Path | None](path, None, "folder that holds nv/target, cub and cuda/std", optional=True)


class CpuKnobs(Group):
    """Launches on the CPU."""

    group = "cpu"

    threads = Knob[int | None](count, None, "threads of a launch; by default one per core", optional=True)
    progress = Knob[float | None](
        seconds,
        None,
        "seconds between the lines that a long launch prints; off by default",
        optional=True,
    )
    chip = Knob(chip_name, DEFAULT_CHIP, "the DSA whose local memories `tle.dsa` has on the CPU")
    patience = Knob(seconds, 10.0, "seconds that all programs of a launch may wait for memory that does not change")


class Knobs(Group):
    """All settings of tle_raw."""

    compile_timeout = Knob(seconds, 300.0, "seconds that a foreign compiler may take")
    watch_files = Knob(switch, True, "see edits of fragment files within a running process")
    line_info = Knob(switch, True, "keep the fragment's source lines for profilers and debuggers")
    verify = Knob(switch, True, "check the finished kernel: one entry, no call left")
    print_after = Knob(
        shown_names,
        "",
        "print kernels after these FLIR passes; `tle-raw inspect --passes` lists them",
        expected=expected_shown,
    )
    disable_passes = Knob(
        disabled_names,
        "",
        "compile without these passes, all of which exist for speed",
        expected=expected_disabled,
    )
    racecheck = Knob(
        switch,
        False,
        "each thread arrives at barriers of specialised warps: racecheck follows them, and they are slower",
    )
    like_nvcc = Knob(
        switch,
        False,
        "loops of CUDA code end as nvcc's do, and ptxas unrolls more of them: some are faster, some slower",
    )
    debug = Knob(switch, False, "kernels on the CPU check what they do: array bounds, barriers, tiles never written")
    target = Knob[str | None](
        target_name,
        None,
        "target of compilations that name none, such as cuda:90; cpu launches kernels there",
        optional=True,
    )

    def __init__(self) -> None:
        super().__init__({})
        object.__setattr__(self, "cache", CacheKnobs(self.values))
        object.__setattr__(self, "cuda", CudaKnobs(self.values))
        object.__setattr__(self, "cpu", CpuKnobs(self.values))

    cache: CacheKnobs
    cuda: CudaKnobs
    cpu: CpuKnobs

    @contextmanager
    def scope(self) -> Iterator[Knobs]:
        """Give every setting back, at the end of the ``with``, what Python had set before it."""
        before = dict(self.values)
        try:
            yield self
        finally:
            self.values.clear()
            self.values.update(before)
            notify_observers()

    def reset(self) -> None:
        """Forget everything that Python has set: the environment rules again."""
        self.values.clear()
        notify_observers()

    def describe(self) -> list[Description]:
        """One line per setting, with a value that cannot be read reported instead of raised."""
        return [
            _described(group, name, knob)
            for group in (self, self.cache, self.cuda, self.cpu)
            for name, knob in group._settings().items()
        ]


GROUPS: tuple[type[Group], ...] = (Knobs, CacheKnobs, CudaKnobs, CpuKnobs)


@dataclass(frozen=True)
class Description:
    """One setting as ``tle-raw doctor`` shows it."""

    name: str
    environment: str
    value: object
    default: object
    source: str
    doc: str
    error: str = ""

    @property
    def differs(self) -> bool:
        """Somebody set it to something else than its default."""
        return bool(self.error) or self.value != self.default


def _described(group: Group, name: str, knob: Knob[Any]) -> Description:
    value, error = None, ""
    try:
        value = getattr(group, name)
    except KnobError as e:
        error = str(e)
    doc = str(knob.__doc__)
    return Description(knob.name, knob.environment, value, knob.default, knob.source(group), doc, error)


knobs = Knobs()
