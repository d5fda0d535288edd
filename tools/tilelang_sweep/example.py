"""One example in a process of its own: the script runs as it is, with our kernels in the place of TileLang's."""

from __future__ import annotations

import argparse
import ast
import os
import resource
import signal
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tilelang_sweep.checks import read_script
from tilelang_sweep.compare import agrees_with_evaluation, agrees_with_tilelang
from tilelang_sweep.convert import try_kernel
from tilelang_sweep.machine import Missing, without_gpu, without_triton
from tilelang_sweep.results import NEWER, Tried, say
from tilelang_sweep.stand_in import Session, StandIn, Taken
from tilelang_sweep.test_files import Cases, run_tests

MOST_MISSING = 8
MEMORY = 12 << 30  # bytes of address space, where a script computes its inputs on the CPU
SMALL = {  # options of the scripts that say how large their arrays are, and what is enough on a CPU
    "batch": 1, "b": 1, "m": 256, "n": 256, "k": 256, "seq_len": 256, "seqlen": 256, "n_ctx": 256, "N_CTX": 256,
    "kv_seqlen": 256, "seq_kv": 256, "seq_q": 256, "q_seqlen": 256, "k_seqlen": 256,
    "s": 256, "S": 256, "SKV": 512, "skv": 512, "kv_ctx": 512,
    "M": 256, "N": 256, "K": 256, "H": 64, "W": 64, "num_tokens": 64, "tokens": 64,
}  # fmt: skip


class TimeIsUp(BaseException):
    """The limit of the script's own process."""


def try_script(script: Path, options: argparse.Namespace) -> None:
    """Say what became of each kernel of the script."""
    os.environ["TILELANG_DISABLE_CACHE"] = "1"  # what is compiled here is no kernel of TileLang's
    sys.dont_write_bytecode = True
    capability = max(options.capability, 100) if NEWER.search(str(script)) else options.capability
    has_gpu = options.run and _has_gpu()
    session = Session(options.run, has_gpu, options.route)
    if not has_gpu:
        os.environ["TORCHDYNAMO_DISABLE"] = "1"  # it asks the GPU's driver
        without_gpu(capability)
    if not options.run:
        without_triton(capability)
    session.install()
    if options.run:
        tests = options.root / script.relative_to(options.root).parts[0]
        session.checks.watch(tests if options.tests else script.parent)
    sys.argv = [str(script), *(_small_options(script) if options.run and not has_gpu else [])]
    sys.path[0:0] = [str(script.parent), *map(str, options.python_path)]
    os.chdir(options.root if options.tests else script.parent)
    signal.signal(signal.SIGALRM, _time_is_up)
    signal.alarm(int(options.limit))
    error = _run(script, session, options)
    signal.alarm(int(options.limit))
    try:
        if options.list:
            session.list_kernels(options.most)
        elif options.run:
            _judge(session, [k for k in session.kernels if not (options.tests and k.judged)], error)
        else:
            for kernel in session.kernels[: options.most]:
                try_kernel(kernel, options.route, capability)
                say(kernel.tried)
    except TimeIsUp:
        error = error or TimeIsUp(f"longer than {options.limit:g} seconds")
        late = [kernel for kernel in session.kernels[: options.most] if not kernel.tried.outcome]
        for kernel in late:  # one that no compiler ended with is tried, too
            kernel.tried.outcome, kernel.tried.message = TimeIsUp.__name__, _words(error)
            say(kernel.tried)
    for kernel in session.kernels if options.run else []:
        say(kernel.tried)
    if not session.kernels:
        say(Tried("", "", "script", message=_words(error) if error else "it compiles nothing"))


def _time_is_up(*_: Any) -> None:
    raise TimeIsUp("longer than the limit")


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def _run(script: Path, session: Session, options: argparse.Namespace) -> BaseException | None:
    """Without launches tensors hold nothing, so that no reference costs time; some scripts need their values."""
    execute = _tests_of(session, options.tests) if options.tests else _execute
    if options.run:
        import tle_raw

        if not session.alone:
            tle_raw.knobs.target = "cpu"
        return _run_with_missing(script, execute)
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    session.checks.accept_everything()
    item = torch.Tensor.item
    torch.Tensor.item = lambda self: 0  # type: ignore[assignment,method-assign]
    with FakeTensorMode(allow_non_fake_inputs=True):
        error = _run_with_missing(script, execute)
    torch.Tensor.item = item  # type: ignore[method-assign]
    if isinstance(error, TimeIsUp) or (session.kernels and (error is None or not _needs_values(error))):
        return error  # without a kernel, an operation of torch's library has hidden it from tensors that hold nothing
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.argv += _small_options(script)
    earlier = session.kernels[:]
    session.kernels.clear()
    error = _run_with_missing(script, execute)
    if len(session.kernels) < len(earlier):
        session.kernels[:] = earlier
    return error


def _needs_values(error: BaseException) -> bool:
    """Tensors that hold nothing end a script which asks what they hold."""
    return type(error).__name__ in ("DynamicOutputShapeException", "DataDependentOutputException", "RuntimeError")


def _tests_of(session: Session, most: int) -> Callable[[Path], None]:
    """Runs a file of tests; in each test's end its kernels are judged."""

    def ended(error: BaseException | None) -> None:
        new = [kernel for kernel in session.kernels if kernel.tried.case == cases.case]
        session.checks.failed = ""  # what a test makes of a comparison is its own
        if session.launches:
            _judge(session, new, error)

    def execute(script: Path) -> None:
        session.case = lambda: cases.case
        if error := run_tests(script, cases):
            raise error

    cases = Cases(most, ended)
    return execute


def _run_with_missing(script: Path, execute: Callable[[Path], None]) -> BaseException | None:
    """Run it; once more for each package that is not there."""
    missing = Missing()
    for _ in range(MOST_MISSING):
        try:
            execute(script)
        except ModuleNotFoundError as error:
            name = (error.name or "").split(".")[0]
            if not name or name in missing.names:
                return error
            missing.names.append(name)
            continue
        except SystemExit as error:
            return None if not error.code else error
        except BaseException as error:  # a script may do anything, and what it gave until then counts
            return error
        return None
    return ModuleNotFoundError(f"it needs {', '.join(missing.names)}")


def _execute(script: Path) -> None:
    module = types.ModuleType("__main__")
    module.__file__ = str(script)
    sys.modules["__main__"] = module
    exec(read_script(script.read_bytes(), str(script)), module.__dict__)


def _small_options(script: Path) -> list[str]:
    """The script's own options for the sizes of its arrays, where it has them."""
    found = []
    for node in ast.walk(ast.parse(script.read_bytes())):
        if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "add_argument":
            continue
        names = [a.value for a in node.args if isinstance(a, ast.Constant) and str(a.value).startswith("--")]
        given = {k.arg: k.value for k in node.keywords}
        default = given.get("default")
        for name in names:
            small = SMALL.get(name.lstrip("-"))
            if small and isinstance(default, ast.Constant) and isinstance(default.value, int) and default.value > small:
                found += [name, str(small)]
    return found


def _judge(session: Session, kernels: Sequence[StandIn], error: BaseException | None) -> None:
    """What each kernel's numbers are worth, from what its script, or its test, said at its end."""
    checks = session.checks
    wrong = checks.failed or (_words(error) if isinstance(error, AssertionError) else "")
    for kernel in kernels:
        kernel.judged, tried = True, kernel.tried
        if not tried.outcome:
            tried.outcome, tried.numbers, tried.message = "not launched", "failed", _words(error)
        if tried.numbers not in ("ran", "right") or (tried.numbers == "right" and not wrong):
            continue
        if session.alone and kernel.before is not None:
            tried.numbers, tried.message = agrees_with_tilelang(kernel)
            tried.checked_by = "TileLang alone"
            tried.message = f"{tried.message}; its script: {wrong}" if wrong else tried.message
        elif wrong:
            tried.numbers, tried.checked_by, tried.message = "wrong", "its script", wrong
        else:
            tried.numbers = "not checked" if error is None else tried.numbers
            tried.message = "" if error is None else _words(error)
            _evaluated(session, kernel)


def _evaluated(session: Session, kernel: StandIn) -> None:
    """What no check of the script said: where there is no GPU, an evaluation of the PrimFunc says it."""
    tried = kernel.tried
    if session.alone or tried.numbers not in ("ran", "not checked") or not kernel.before or not kernel.after:
        return
    numbers, message = agrees_with_evaluation(kernel)
    if numbers in ("right", "wrong"):
        tried.numbers, tried.message, tried.checked_by = numbers, message, "float64 evaluation"
    else:
        tried.message = f"{message}; {tried.message}" if tried.message else message


def _words(error: BaseException | None) -> str:
    if error is None:
        return "its script never launches it"
    if isinstance(error, Taken):
        return "a kernel before it does not run here"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines)[:200]}"
