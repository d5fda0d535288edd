"""See edits of fragment files in the running process: a kernel looks at its fragments' files before each launch."""

from __future__ import annotations

import ast
import gc
import inspect
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from weakref import WeakValueDictionary

from triton import knobs as triton_knobs
from triton.runtime.jit import JITFunction

from tle_raw.errors import TLEError
from tle_raw.fragments.fragment import Fragment, keyed_fragments, refresh, when_changed
from tle_raw.fragments.memoryless import check_memory
from tle_raw.fragments.overloaded import Overloaded
from tle_raw.knobs import knobs
from tle_raw.thread_lock import ThreadLock

PACKAGE = "tle_raw"
_LOCK = ThreadLock()


@dataclass(eq=False)
class _User:
    """A kernel with parts of this package: the functions and fragments that it reaches. Its hook keeps it alive."""

    functions: list[JITFunction]
    fragments: list[Fragment]
    on_gpu: bool = False  # it was compiled for one: the CPU's launcher looks at memory itself

    def reset(self) -> None:
        """Drop what Triton remembers of these functions in memory; its disk cache is keyed by content."""
        for function in self.functions:
            _reset_key(function)
            function.device_caches.clear()


class _BeforeLaunch:
    """At every launch: no more than one look at each file where nothing changed.

    torch.compile's workers send a kernel back by pickle; what launches it then compiles nothing any more.
    """

    def __init__(self, user: _User | None) -> None:
        self.user = user

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        if self.user is None:
            return
        if self.user.on_gpu:
            check_memory(self.user.functions[0].arg_names, args)
            check_memory(tuple(kwargs), tuple(kwargs.values()))
        disabled = knobs.disable_passes
        for fragment in self.user.fragments:
            if not fragment.had_passes_disabled(disabled) or (fragment.is_stale() and knobs.watch_files):
                refresh(self.user.fragments)

    def __reduce__(self) -> tuple[Any, ...]:
        return _BeforeLaunch, (None,)


# By id of the kernel: a JITFunction's own hash changes with its key.
_USERS: WeakValueDictionary[int, _User] = WeakValueDictionary()


def is_ours(value: Any) -> bool:
    """Whether a value that a kernel names is this package's, or one of its modules."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    return isinstance(name, str) and (name == PACKAGE or name.startswith(f"{PACKAGE}."))


class CompilationListener:
    """Triton calls this after each compilation, also when its disk cache had the kernel."""

    def __init__(self, earlier: Any) -> None:
        self.earlier = earlier

    def __bool__(self) -> bool:
        """Triton asks whether there is a listener before it computes a kernel's key: edits are seen first.

        A file that cannot be read is told where the fragment is called; other kernels do not care.
        """
        if knobs.watch_files:
            with suppress(TLEError):
                refresh(keyed_fragments())
        return True

    def __call__(self, **event: Any) -> None:
        if self.earlier is not None:
            self.earlier(**event)
        source = event.get("src")
        kernel = getattr(source, "fn", None)
        if isinstance(kernel, JITFunction):
            watch(kernel, getattr(source, "constants", {}).values())
            user = _USERS.get(id(kernel))
            if user is not None and _is_for_gpu(event):
                user.on_gpu = True
                check_memory(*_arguments_of(kernel))


def _is_for_gpu(event: dict[str, Any]) -> bool:
    return getattr(event.get("metadata", {}).get("target"), "backend", "") == "cuda"


def _arguments_of(kernel: JITFunction) -> tuple[Sequence[str], Sequence[Any]]:
    """Names and values of the launch that compiles: Triton has bound them, and asked hooks before there was one."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_locals.get("self") is kernel and "bound_args" in frame.f_locals:
            bound = dict(frame.f_locals["bound_args"])
            return tuple(bound), tuple(bound.values())
        frame = frame.f_back  # type: ignore[assignment]
    return (), ()


def install() -> None:
    """Put the listener into Triton's one slot, in front of what is there. Idempotent."""
    with _LOCK:
        there = triton_knobs.compilation.listener
        if not isinstance(there, CompilationListener):
            triton_knobs.compilation.listener = CompilationListener(there)


def watch(kernel: JITFunction, constants: Iterable[Any] = ()) -> None:
    """Make a kernel that uses fragments recompile when a file of theirs changes; plain ones are left alone."""
    with _LOCK:
        if id(kernel) in _USERS:
            return
        functions, fragments = dependencies(kernel, constants)
        if not fragments and not any(is_ours(value) for each in functions for value in _referenced(each)):
            return
        user = _User(functions, fragments)
        kernel.add_pre_run_hook(_BeforeLaunch(user))
        _USERS[id(kernel)] = user


def _forget(changed: list[Fragment]) -> None:
    for user in list(_USERS.values()):
        if any(fragment in user.fragments for fragment in changed):
            user.reset()
    # Triton also remembers the key of a kernel whose compilation failed, and which nobody watches. Nothing lists those.
    functions = [f for f in gc.get_objects() if issubclass(type(f), JITFunction)]
    for function in functions:
        if function.hash is not None and any(fragment in changed for fragment in dependencies(function)[1]):
            _reset_key(function)


when_changed(_forget)


def _reset_key(function: JITFunction) -> None:
    """Not while another thread computes it; but two that wait for each other go on."""
    is_locked = function._hash_lock.acquire(timeout=1)
    try:
        function.hash = None
    finally:
        if is_locked:
            function._hash_lock.release()


def dependencies(kernel: JITFunction, constants: Iterable[Any] = ()) -> tuple[list[JITFunction], list[Fragment]]:
    """The functions and fragments that a kernel reaches by name, itself included, and through its constants."""
    functions: dict[int, JITFunction] = {}
    fragments: dict[int, Fragment] = {}
    waiting = [kernel, *constants]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Fragment):
            fragments[id(value)] = value
        elif isinstance(value, Overloaded):
            waiting.extend(value.made)
        elif isinstance(value, JITFunction) and id(value) not in functions:
            functions[id(value)] = value
            waiting.extend(_referenced(value))
    return list(functions.values()), list(fragments.values())


def _referenced(function: JITFunction) -> Iterator[Any]:
    scope = {**function.fn.__globals__, **inspect.getclosurevars(function.fn).nonlocals}
    for node in ast.walk(function.parse()):
        if isinstance(node, (ast.Name, ast.Attribute)):
            yield _resolve(node, scope)


def _resolve(node: ast.expr, scope: dict[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return scope.get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_resolve(node.value, scope), node.attr, None)
    return None
