"""Runs one script of PyCUDA's in this process, with every launch on Triton's CPU target, and says what came of it."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import json
import signal
import sys
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np

from pycuda_sweep.host_driver import Anything, Function, GlobalVariable, bytes_behind, install
from pycuda_sweep.results import REGION, Tried, say

MOST_LAUNCHES = 60  # of one kernel: scripts that measure launch it thousands of times
BLOCK = (128,)  # where nobody says which
_NUMPY = {"f16": "f2", "f32": "f4", "f64": "f8", "i1": "?"}
_OBJECTS = {"elementwise": ("ElementwiseKernel",), "reduction": ("ReductionKernel",),
            "scan": ("InclusiveScanKernel", "ExclusiveScanKernel")}  # fmt: skip


class OutOfTime(BaseException):
    """The script had its time."""


class Session:
    """One script's kernels."""

    def __init__(self, script: Path, package: Path) -> None:
        self.script, self.package = script, package
        self.tried: dict[Any, Tried] = {}
        self.fragments: dict[Any, Any] = {}
        self._kernels: dict[Any, Any] = {}
        self._shared: dict[Any, int] = {}
        self._unchecked: list[Tried] = []
        self.lines: set[int] = set()
        self.skipped = False

    # --- what PyCUDA asks -------------------------------------------------------------------------------------

    def launch(
        self, function: Function, grid: tuple[int, ...], block: tuple[int, ...], arguments: bytes, shared: int
    ) -> None:
        key = self.declare(function.module.made_of, function.symbol)
        tried = self.tried[key]
        tried.launches, tried.block = tried.launches + 1, block
        self._shared[key] = max(self._shared.get(key, 0), shared)
        if tried.outcome != REGION or tried.numbers == "failed" or tried.launches > MOST_LAUNCHES:
            self.skipped = True
            return
        try:
            chosen = (key, block, shared)
            if chosen not in self._kernels:
                self._kernels[chosen] = self.fragments[key].as_kernel(block=block, shared=shared)
            passed = _unpacked(self._kernels[chosen].signature, arguments)
            self._run(self._kernels[chosen], passed, grid, function.module.variables)
            self._ran(tried)
        except Exception as error:
            self._failed(tried, error)

    def _run(self, kernel: Any, passed: list[Any], grid: tuple[int, ...], variables: dict[str, GlobalVariable]) -> None:
        import tle_raw

        compiled = kernel.warmup(*passed, grid=grid) if variables else None
        for name, variable in variables.items():
            with contextlib.suppress(tle_raw.errors.ReportError):  # a kernel need not use it
                tle_raw.variable(compiled, name).set(np.frombuffer(variable.value, np.uint8))
        kernel(*passed, grid=grid)

    def _ran(self, tried: Tried) -> None:
        if tried.numbers != "right":
            tried.numbers = "ran"
        if tried not in self._unchecked:
            self._unchecked.append(tried)

    def _failed(self, tried: Tried, error: BaseException) -> None:
        tried.numbers, tried.message = "failed", _words(error)
        self.skipped = True
        say(tried)

    def declare(self, made_of: dict[str, Any], symbol: str) -> Any:
        """The key of a kernel; its fragment is made when it is first asked for."""
        from tle_raw import pycuda

        key = (made_of["source"], symbol)
        if key not in self.tried:
            kind = made_of.get("kind", "SourceModule")
            tried = self.tried[key] = Tried(self.script.name, kind, symbol, REGION, number=len(self.tried))
            try:
                given = {k: v for k, v in made_of.items() if k != "kind"}
                module = pycuda.SourceModule(**{**given, "include_dirs": [*given["include_dirs"], self.headers]})
                shared = {"shared": 16384} if "extern __shared__" in made_of["source"] else {}
                self.fragments[key] = module.get_function(symbol, **shared)
                self.fragments[key].compile("cuda:90")
            except Exception as error:
                tried.outcome, tried.message = type(_cause(error)).__name__, _words(error)
            say(tried)
        return key

    @property
    def headers(self) -> str:
        return str(self.package / "cuda")

    def holds(self) -> None:
        """An assertion of the script holds: what ran until now is right."""
        for tried in self._unchecked:
            tried.numbers = "right"
        self._unchecked = []

    def fails(self) -> None:
        """An assertion does not hold. Where a launch was left out, that tells nothing."""
        for tried in self._unchecked if not self.skipped else ():
            tried.numbers, tried.message = "wrong", "the script's assertion does not hold"

    # --- objects of PyCUDA's own ------------------------------------------------------------------------------

    def object_made(self, kind: str, made: Any) -> None:
        import tle_raw

        tried = Tried(self.script.name, kind, "", REGION, number=len(self.tried))
        tried.name = f"{kind} {tried.number}"
        self.tried[id(made), kind] = tried
        made._tle_raw_tried = tried
        try:
            fragment = made._tle_raw_fragment = tle_raw.fragment(made)
            tried.name = fragment.name
            fragment.compile("cuda:90", **dict.fromkeys(fragment.signature.names, 1024))
            if kind in ("ElementwiseKernel", "ReductionKernel"):
                fragment.as_kernel(block=BLOCK).compile("cuda:90")
            tried.cubin = kind in ("ElementwiseKernel", "ReductionKernel")
        except Exception as error:
            tried.outcome, tried.message = type(_cause(error)).__name__, _words(error)
        say(tried)

    def call_elementwise(self, made: Any, original: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Our fragment in the place of PyCUDA's generated kernel."""
        tried = getattr(made, "_tle_raw_tried", None)
        if tried is None or tried.outcome != REGION or options.get("range") or options.get("slice"):
            return original(made, *arguments, **options)
        tried.launches += 1
        if tried.launches > MOST_LAUNCHES or tried.numbers == "failed":
            self.skipped = True
            return None
        try:
            kernel = self._kernels.setdefault(id(made), made._tle_raw_fragment.as_kernel(block=BLOCK))
            size = next(a.mem_size for a in arguments if hasattr(a, "mem_size"))
            given = [int(a.gpudata) if hasattr(a, "gpudata") else a for a in arguments]
            passed = [_argument(p, v) for p, v in zip(kernel.signature.parameters, [*given, size])]
            kernel(*passed, grid=max(1, min(64, -(-size // BLOCK[0]))))
            self._ran(tried)
        except Exception as error:
            self._failed(tried, error)
        return None

    # --- after the script -------------------------------------------------------------------------------------

    def finish(self, ended: str) -> None:
        """Machine code of every kernel, of those that nobody fetched, too. ``ended`` says why the script stopped."""
        from tle_raw.adapters.cpp.declarations import functions

        for module in list(_MODULES):
            for found in functions(module["source"]):
                if found.is_kernel and found.is_definition and found.template is None:
                    self.declare(module, found.qualified)
        for key, tried in self.tried.items():
            if tried.outcome == REGION and key in self.fragments:
                block = tried.block if _is_launchable(tried.block) else BLOCK
                try:
                    shared = self._shared.get(key) or self.fragments[key]._declaration.options.get("shared", 0)
                    self.fragments[key].as_kernel(block=block, shared=shared).compile("cuda:90")
                    tried.cubin = True
                except Exception as error:
                    tried.message = _words(error)
            if not tried.launches:
                tried.message = tried.message or ended
            say(tried)


_MODULES: list[dict[str, Any]] = []


def try_script(script: Path, package: Path, limit: float) -> None:
    """Run the script for at most ``limit`` seconds, then compile what it gave."""
    import tle_raw

    tle_raw.knobs.target = "cpu"
    session = Session(script, package)
    _imitate_missing(script)
    install(package, session.launch)
    _watch(session)
    tree = ast.parse(script.read_text(), str(script))
    code = compile(ast.fix_missing_locations(_Assertions().visit(tree)), str(script), "exec")
    scope = {"__name__": "__main__", "__file__": str(script), "__sweep_holds__": session.holds}
    sys.argv = [str(script)]
    signal.signal(signal.SIGALRM, _out_of_time)
    signal.setitimer(signal.ITIMER_REAL, limit)
    ended = ""
    try:
        exec(code, scope)
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
    except AssertionError:
        session.fails()
    except (Exception, SystemExit, OutOfTime) as error:
        ended = f"the script ends: {_words(error)}"
    signal.setitimer(signal.ITIMER_REAL, 0)
    if ended:
        _read_the_rest(ast.parse(script.read_text(), str(script)), scope, session)
    session.finish(ended)
    if not session.tried:
        say(Tried(script.name, "", "", "script", message=ended or "it makes no kernel"))


def _out_of_time(*_: Any) -> None:
    raise OutOfTime("it had its time")


def _watch(session: Session) -> None:
    """Note what makes a module, and every elementwise, reduction and scan kernel that the script makes."""
    import pycuda.compiler

    from tle_raw import pycuda as ours

    compiled = pycuda.compiler.compile

    def compile_noted(*arguments: Any, **keywords: Any) -> bytes:
        made_of = json.loads(compiled(*arguments, **keywords))
        made_of["kind"] = "SourceModule" if _is_scripts(session, 2) else "generated"
        _MODULES.append(made_of)
        return json.dumps(made_of).encode()

    pycuda.compiler.compile = compile_noted
    ours.remember()
    for module, kinds in _OBJECTS.items():
        with contextlib.suppress(ImportError):  # PyCUDA's scans need Mako
            for kind in kinds:
                _note_objects(session, getattr(importlib.import_module(f"pycuda.{module}"), kind), kind)
    elementwise = importlib.import_module("pycuda.elementwise").ElementwiseKernel
    original = elementwise.__call__
    elementwise.__call__ = lambda made, *a, **k: session.call_elementwise(made, original, a, k)


def _note_objects(session: Session, kind: Any, name: str) -> None:
    make = kind.__init__

    def made(self: Any, *arguments: Any, **keywords: Any) -> None:
        make(self, *arguments, **keywords)
        if _is_scripts(session, 2):
            session.object_made(name, self)

    kind.__init__ = made


def _is_scripts(session: Session, depth: int) -> bool:
    """Whether the frame that asks PyCUDA for something is the script's own."""
    frame: Any = sys._getframe(depth)
    own = str(Path(__file__).parent)
    while frame.f_code.co_filename.startswith(own) or frame.f_code.co_filename.endswith(("compiler.py", "recorded.py")):
        frame = frame.f_back
    if frame.f_code.co_filename != str(session.script):
        return False
    session.lines.add(frame.f_lineno)
    return True


def _read_the_rest(tree: ast.Module, scope: dict[str, Any], session: Session) -> None:
    """Kernels behind the place where a script ended, as far as the names that it has by then tell their text."""
    kinds = {"SourceModule", "Elementwise", *(kind for kinds in _OBJECTS.values() for kind in kinds)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        if name in kinds and not session.lines.intersection(lines):
            with contextlib.suppress(Exception):
                eval(compile(ast.Expression(node), str(session.script), "eval"), scope)


class _Assertions(ast.NodeTransformer):
    """Each assertion of the script, when it holds, says so."""

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        said = ast.Expr(ast.Call(ast.Name("__sweep_holds__", ast.Load()), [], []))
        return [node, ast.copy_location(said, node)]


def _imitate_missing(script: Path) -> None:
    """Packages that the script imports and that are not here, such as those that draw, do nothing."""
    imports = [n for n in ast.walk(ast.parse(script.read_text())) if isinstance(n, (ast.Import, ast.ImportFrom))]
    names = [alias.name for n in imports if isinstance(n, ast.Import) for alias in n.names]
    names += [n.module for n in imports if isinstance(n, ast.ImportFrom) and n.module]
    for name in sorted(set(names)):
        top = name.split(".")[0]
        if top != "pycuda" and (top in _IMITATED or importlib.util.find_spec(top) is None):
            _IMITATED.add(top)
            parts = name.split(".")
            for count in range(1, len(parts) + 1):
                sys.modules.setdefault(".".join(parts[:count]), _Imitation(".".join(parts[:count])))


_IMITATED: set[str] = set()


class _Imitation(types.ModuleType):
    __all__: list[str] = []  # noqa: RUF012
    __path__: list[str] = []  # noqa: RUF012

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()


def _unpacked(signature: Any, data: bytes) -> list[Any]:
    """The arguments that a launch of CUDA's would pass, each at its own alignment."""
    offset, values = 0, []
    for parameter in signature.parameters:
        size = 8 if _is_pointer(parameter) else parameter.type.dtype.itemsize
        offset = -(-offset // size) * size
        part = data[offset : offset + size]
        if len(part) < size:
            raise ValueError("the launch passes fewer arguments than the kernel takes")
        dtype = "u8" if _is_pointer(parameter) else _numpy(parameter.type.dtype)
        values.append(_argument(parameter, np.frombuffer(part, dtype)[0].item()))
        offset += size
    return values


def _argument(parameter: Any, value: Any) -> Any:
    """An array over the memory at an address, or the number."""
    if not _is_pointer(parameter):
        return value.item() if hasattr(value, "item") else value
    if not value:
        raise ValueError("a pointer is null")
    dtype = np.dtype(_numpy(parameter.type.dtype))
    count = bytes_behind(value) // dtype.itemsize
    return np.frombuffer((np.ctypeslib.ctypes.c_char * (count * dtype.itemsize)).from_address(value), dtype)


def _is_pointer(parameter: Any) -> bool:
    return type(parameter.type).__name__ == "Pointer"


def _numpy(dtype: Any) -> str:
    return _NUMPY.get(dtype.name) or f"{dtype.name[0]}{dtype.itemsize}"


def _is_launchable(block: tuple[int, ...]) -> bool:
    threads = int(np.prod(block)) if block else 0
    return 32 <= threads <= 1024 and threads & (threads - 1) == 0


def _cause(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _words(error: BaseException) -> str:
    """One line: the message, and the compiler's own first error."""
    cause = _cause(error)
    text = getattr(cause, "message", "") or str(cause)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"{type(cause).__name__}: {' | '.join(lines[:2])}"[:200]
