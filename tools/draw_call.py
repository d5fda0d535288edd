"""Draws the way of one call: the modules of this package that a real call passes through, in order, for each route.

    python tools/draw_call.py --write               draws every route anew into ARCHITECTURE.md
    python tools/draw_call.py linked-on-nvidia      prints one route

A call runs under ``sys.setprofile`` in a process and with caches of its own, so that nothing is left out that was done
before. A module is drawn once: in the stage of Triton's compilation that entered it first, in the box of its folder.
No GPU is needed.
"""

from __future__ import annotations

import argparse
import inspect
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

HERE = Path(__file__).resolve().parent
DOCUMENT = HERE.parent / "ARCHITECTURE.md"
PACKAGE = "tle_raw"
# What everything uses: no step of the way.
LEFT_OUT = (
    *(
        "errors",
        "identity",
        "kept_identity",
        "source_files",
        "file_stamp",
        "knobs",
        "thread_lock",
        "store.",
        "fragments.file_stamps",
        "linker.processes.",
    ),
    *("linker.mlir.pause_collector", "targets.ascend."),
)
SHOWN = 12  # modules of one box that are named
KEY = "Triton makes the kernel's cache key"
STAGES = "Triton collects the stages"
TRACING = "Triton traces the kernel"
INTERPRETING = "Triton's interpreter runs the kernel"
LAUNCH = "Triton launches the kernel"


@dataclass
class Step:
    """Modules of one folder that were entered in one stage, in order."""

    stage: str
    folder: str
    modules: list[str] = field(default_factory=list)


class Recorder:
    """Collects, while a profile function is set, the modules of the package in the order of their first function."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self.seen: set[str] = set()
        self.steps: list[Step] = []
        self._lock = threading.Lock()

    @contextmanager
    def following(self):
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            yield self
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call":
            return
        name = frame.f_globals.get("__name__", "")
        if name.startswith(f"{PACKAGE}.") and name not in self.seen and _is_step(frame, name):
            self._enter(frame, name.removeprefix(f"{PACKAGE}."), name)

    def _enter(self, frame: FrameType, short: str, name: str) -> None:
        with self._lock:
            self.seen.add(name)
            self.stage = _stage_of(frame, self.stage)
            folder, _, module = short.rpartition(".")
            if hasattr(sys.modules[name], "__path__"):
                folder, module = short, "__init__"
            self._step(folder).modules.append(module)

    def _step(self, folder: str) -> Step:
        for step in self.steps:
            if (step.stage, step.folder) == (self.stage, folder):
                return step
        self.steps.append(Step(self.stage, folder))
        return self.steps[-1]


def _is_step(frame: FrameType, name: str) -> bool:
    """Functions of the way itself: neither a module's own lines nor what runs while one is imported."""
    if name.removeprefix(f"{PACKAGE}.").startswith(LEFT_OUT) or not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return False
    outer = frame.f_back
    while outer is not None:
        if outer.f_globals.get("__name__") == "importlib._bootstrap":
            return False
        outer = outer.f_back
    return True


def _stage_of(frame: FrameType | None, latest: str) -> str:
    """What Triton does at this moment, by its functions on the stack; the latest where it does nothing."""
    while frame is not None:
        function, module = frame.f_code.co_name, frame.f_globals.get("__name__")
        if function == "make_ir":
            return TRACING
        if function == "compile" and module == "triton.compiler.compiler":
            known = frame.f_locals
            return f"stage {known['ext']}" if "ext" in known else STAGES if "stages" in known else KEY
        if function == "run" and module == "triton.runtime.jit" and latest.startswith("stage "):
            return LAUNCH
        frame = frame.f_back
    return latest


# The routes.


def _linked_on_nvidia() -> Recorder:
    return _compiled("linked", "cuda", 90)


def _linked_on_the_cpu() -> Recorder:
    return _launched("linked")


def _traced_on_nvidia() -> Recorder:
    return _compiled("traced", "cuda", 90)


def _in_the_interpreter() -> Recorder:
    return _launched("linked", stage=INTERPRETING)


ROUTES: dict[str, tuple[Callable[[], Recorder], dict[str, str]]] = {
    "linked-on-nvidia": (_linked_on_nvidia, {}),
    "linked-on-the-cpu": (_linked_on_the_cpu, {"TLE_RAW_TARGET": "cpu"}),
    "traced-on-nvidia": (_traced_on_nvidia, {}),
    "in-the-interpreter": (_in_the_interpreter, {"TRITON_INTERPRET": "1", "TLE_RAW_TARGET": "cpu"}),
}


def _program(name: str) -> Any:
    import importlib

    sys.path.insert(0, str(HERE))
    return importlib.import_module(f"drawn_calls.{name}")


def _compiled(name: str, backend: str, capability: int) -> Recorder:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    program = _program(name)
    source = ASTSource(program.kernel, program.SIGNATURE, {"N": 256})
    recorder = Recorder(KEY)
    with recorder.following():
        triton.compile(source, target=GPUTarget(backend, capability, 32))
    return recorder


def _launched(name: str, stage: str = KEY) -> Recorder:
    import torch

    program = _program(name)
    x, bias = torch.ones(4, 256), torch.ones(256)
    y = torch.zeros_like(x)
    recorder = Recorder(stage)
    with recorder.following():
        program.kernel[(4,)](x, bias, y, N=256)
    assert (y == 2).all()
    return recorder


# The picture.


def picture(steps: list[Step]) -> str:
    """A Mermaid flowchart: one box a step, one frame a stage."""
    lines = ["```mermaid", "flowchart TD"]
    for before, step in zip([None, *steps], steps):
        if before is None or before.stage != step.stage:
            lines += ["  end"] * (before is not None)
            lines.append(f'  subgraph {_stage_id(step)}["{step.stage}"]')
        lines.append(f'    {_id(step)}["{_label(step)}"]')
    lines.append("  end")
    lines += [f"  {_id(one)} --> {_id(next_)}" for one, next_ in pairwise(steps)]
    return "\n".join([*lines, "```"])


def _stage_id(step: Step) -> str:
    return step.stage.split()[1]


def _id(step: Step) -> str:
    """The same for the same step, whatever stands before it, so that a new drawing differs only where the way does."""
    return f"{_stage_id(step)}_{step.folder.replace('.', '_') or PACKAGE}"


def _label(step: Step) -> str:
    named = ", ".join(step.modules[:SHOWN])
    more = len(step.modules) - SHOWN
    return f"<b>{step.folder.replace('.', '/') or PACKAGE}</b><br/>{named}{f' and {more} more' if more > 0 else ''}"


def draw(route: str) -> str:
    """The picture of one route, from a process of its own with empty caches."""
    with tempfile.TemporaryDirectory() as folder:
        caches = {"TRITON_CACHE_DIR": f"{folder}/triton", "TLE_RAW_CACHE_DIR": f"{folder}/tle_raw"}
        command = [sys.executable, str(HERE / "draw_call.py"), "--here", route]
        environment = {**os.environ, **caches, **ROUTES[route][1]}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{route}: {done.stderr}")
    return done.stdout.strip()


def write(document: Path, pictures: dict[str, str]) -> None:
    """Put each picture between its two markers, ``<!-- call: ROUTE -->`` and ``<!-- end of call -->``."""
    text = document.read_text()
    for route, drawn in pictures.items():
        start, end = f"<!-- call: {route} -->\n", "<!-- end of call -->"
        before, found, rest = text.partition(start)
        if not found or end not in rest:
            raise SystemExit(f"{document} has no markers for {route}")
        text = f"{before}{start}{drawn}\n{end}" + rest.partition(end)[2]
    document.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("routes", nargs="*", choices=[*ROUTES, []], help="all of them when none is named")
    parser.add_argument("--write", action="store_true", help=f"into {DOCUMENT.name}")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    routes = asked.routes or list(ROUTES)
    if asked.here:
        print(picture(ROUTES[routes[0]][0]().steps))
        return
    pictures = {route: draw(route) for route in routes}
    if asked.write:
        write(DOCUMENT, pictures)
    else:
        print("\n\n".join(pictures.values()))


if __name__ == "__main__":
    main()
