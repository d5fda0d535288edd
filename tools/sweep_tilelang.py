"""Tries TileLang's own examples as regions: how many PrimFuncs compile, by which route, and what stops the others.

    python tools/sweep_tilelang.py FOLDER-OR-SDIST.tar.gz [--route linked] [--capability 90] [--match gemm] [--json OUT]

Every script runs in a process of its own, without a GPU: tensors are made on the CPU, and what the script hands to
TileLang's compiler is taken instead of compiled. Each PrimFunc then becomes a kernel of its own for that capability.
Scripts run as they are, with this user's rights: give it sources that you trust.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import re
import runpy
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MARK = "SWEEP "
SKIPPED = ("test_", "regression_", "conftest", "setup")  # they run the scripts beside them
OTHER_HARDWARE = ("amd", "aws", "ascend", "metal")


@dataclass
class Tried:
    """One PrimFunc. ``outcome`` is ``compiled``, or the name of the error; ``stack`` is bytes of local memory."""

    script: str
    name: str
    outcome: str
    route: str = ""
    message: str = ""
    seconds: float = 0.0
    registers: int | None = None
    stack: int | None = None
    spills: int | None = None
    shared: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--route", choices=("linked", "traced"), default=None)
    parser.add_argument("--capability", type=int, default=90)
    parser.add_argument("--match", default="", help="a regular expression: only scripts whose path holds it")
    parser.add_argument("--most", type=int, default=4, help="PrimFuncs of one script: a search makes hundreds")
    parser.add_argument("--limit", type=float, default=240.0, help="seconds for one script")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)  # in the script's own process
    options = parser.parse_args()
    if options.one:
        try_script(options.source, options.route, options.capability, options.most)
        return
    with unpacked(options.source) as folder:
        scripts = [s for s in sorted(folder.rglob("*.py")) if is_wanted(s.relative_to(folder), options.match)]
        with ThreadPoolExecutor(options.jobs) as pool:
            found = [tried for group in pool.map(lambda s: run_script(s, folder, options), scripts) for tried in group]
    if options.json:
        options.json.write_text(json.dumps([asdict(tried) for tried in found], indent=1))
    print_summary(found, len(scripts))


@contextlib.contextmanager
def unpacked(source: Path) -> Iterator[Path]:
    """The folder of the examples; a source distribution is unpacked for the time of the sweep."""
    if source.is_dir():
        yield source.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="sweep-") as work, tarfile.open(source) as archive:
        members = [m for m in archive.getmembers() if "/examples/" in m.name]
        archive.extractall(work, members, filter="data")
        yield next(Path(work).rglob("examples")).resolve()


def is_wanted(script: Path, match: str) -> bool:
    own = not script.name.startswith(SKIPPED) and script.name != "__init__.py"
    return own and script.parts[0] not in OTHER_HARDWARE and re.search(match, str(script)) is not None


def run_script(script: Path, folder: Path, options: argparse.Namespace) -> list[Tried]:
    """Run one script in its own process and gather what it says."""
    command = [sys.executable, __file__, str(script), "--one", "--capability", str(options.capability)]
    command += ["--most", str(options.most)]
    command += ["--route", options.route] if options.route else []
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=options.limit, cwd=script.parent, start_new_session=True
        )
        said = done.stdout
        trouble = "" if done.returncode == 0 else f"exit status {done.returncode}: {done.stderr.strip()[-200:]}"
    except subprocess.TimeoutExpired as late:
        said = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
        trouble = f"longer than {options.limit:g} seconds"
    lines = [line[len(MARK) :] for line in said.splitlines() if line.startswith(MARK)]
    found = [Tried(**{**json.loads(line), "script": str(script.relative_to(folder))}) for line in lines]
    if trouble:
        found.append(Tried(str(script.relative_to(folder)), "", "script", message=trouble))
    for tried in found:
        print(f"{tried.script:60} {tried.name:30} {tried.outcome:24} {tried.message[:90]}", flush=True)
    return found


def print_summary(found: list[Tried], scripts: int) -> None:
    kernels = [t for t in found if t.name]
    compiled = [t for t in kernels if t.outcome == "compiled"]
    share = 100 * len(compiled) / max(len(kernels), 1)
    print(f"\n{scripts} scripts, {len(kernels)} PrimFuncs, {len(compiled)} compiled ({share:.0f} %)")
    for route, count in Counter(t.route for t in compiled).most_common():
        print(f"  {count:4} {route}")
    print(f"  {sum(bool(t.stack) for t in compiled):4} with local memory")
    for outcome, count in Counter(t.outcome for t in kernels if t.outcome != "compiled").most_common():
        print(f"  {count:4} {outcome}")
    for message, count in Counter(t.message[:110] for t in kernels if t.outcome != "compiled").most_common():
        print(f"       {count:4} {message}")


# --- in the script's own process --------------------------------------------------------------------------------------


class Taken(BaseException):
    """Raised where a script would run its first kernel."""


def try_script(script: Path, route: str | None, capability: int, most: int) -> None:
    taken: list[Any] = []
    os.environ["TILELANG_DISABLE_CACHE"] = "1"  # what is compiled here is no kernel
    without_gpu(capability)
    take_kernels(taken)
    sys.argv = [str(script)]
    sys.path.insert(0, str(script.parent))
    error = ""
    try:
        runpy.run_path(str(script), run_name="__main__")
    except Taken:
        pass
    except BaseException as e:  # a script may do anything, and what it gave until then counts
        error = f"{type(e).__name__}: {e}"
    seen: set[int] = set()
    for kernel in taken:
        text = hash(kernel.prim_func.script())
        if text not in seen and len(seen) < most:
            seen.add(text)
            say(try_kernel(kernel, route, capability))
    if not taken:
        say(Tried("", "", "script", message=error[:200] or "it compiles nothing"))


def say(tried: Tried) -> None:
    print(MARK + json.dumps(asdict(tried)), flush=True)


def without_gpu(capability: int) -> None:
    """Let torch make its tensors on the CPU, and tell of a device of that capability."""
    import torch

    def there(value: Any) -> Any:
        return "cpu" if isinstance(value, (str, torch.device)) and "cuda" in str(value) else value

    def on_cpu(function: Any) -> Any:
        def call(*arguments: Any, **keywords: Any) -> Any:
            if "cuda" in str(keywords.get("device", "")):
                keywords["device"] = "cpu"
            arguments = tuple(
                "cpu" if isinstance(a, (str, torch.device)) and "cuda" in str(a) else a for a in arguments
            )
            return function(*arguments, **keywords)

        return call

    kinds = "randn rand zeros ones empty full arange tensor randint randperm eye linspace"
    likes = "zeros_like ones_like empty_like full_like randn_like rand_like randint_like"
    for name in f"{kinds} {likes}".split():
        setattr(torch, name, on_cpu(getattr(torch, name)))
    torch.Tensor.to = on_cpu(torch.Tensor.to)  # type: ignore[method-assign]
    torch.Tensor.cuda = lambda self, *_, **__: self  # type: ignore[assignment,method-assign]
    properties = {"name": "no GPU", "major": capability // 10, "minor": capability % 10, "multi_processor_count": 132}
    properties |= {"total_memory": 1 << 37, "shared_memory_per_block_optin": 232448, "L2_cache_size": 50 << 20}
    stands_in = type("Properties", (), properties)
    facts: dict[str, Any] = {
        "is_available": True, "current_device": 0, "device_count": 1, "get_device_name": "no GPU",
        "get_device_capability": divmod(capability, 10), "get_device_properties": stands_in,
        "synchronize": None, "set_device": None, "manual_seed": None, "empty_cache": None,
    }  # fmt: skip
    for name, value in facts.items():
        setattr(torch.cuda, name, lambda *_, value=value, **__: value)


def take_kernels(taken: list[Any]) -> None:
    """What TileLang would compile goes to ``taken``; what would run ends the script."""
    importlib.import_module("tilelang")
    kernels = importlib.import_module("tilelang.jit.kernel").JITKernel

    def take(self: Any, func: Any = None, *_: Any, pass_configs: Any = None, **__: Any) -> None:
        self.prim_func, self.pass_configs = func, dict(pass_configs or {})
        taken.append(self)

    def end(*_: Any, **__: Any) -> None:
        raise Taken

    kernels.__init__ = take
    kernels.__call__ = kernels.get_profiler = kernels.get_kernel_source = end


def try_kernel(kernel: Any, route: str | None, capability: int) -> Tried:
    import tle_raw

    start = time.perf_counter()
    name = str(kernel.prim_func.attrs["global_symbol"])
    try:
        options = {"route": route} if route else {}
        told = tle_raw.report(compiled(tle_raw.fragment(kernel, **options), capability))
        return Tried(
            "", name, "compiled", told.regions[0].route or "traced", "", time.perf_counter() - start,
            told.registers, told.stack, told.spills, told.dynamic_shared,
        )  # fmt: skip
    except Exception as error:
        while error.__cause__ is not None and not isinstance(error, tle_raw.TLEError):
            error = error.__cause__  # type: ignore[assignment]
        message = getattr(error, "message", str(error)).split("\n")[0]
        return Tried("", name, type(error).__name__, route or "", message, time.perf_counter() - start)


def compiled(fragment: Any, capability: int) -> Any:
    """The fragment as a kernel of its own, compiled ahead of time."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    whole = fragment.as_kernel()
    signature, attributes = {}, {}
    for number, parameter in enumerate(fragment.signature.parameters):
        dtype = parameter.type.dtype
        spelled = dtype.name if dtype.is_integer else dtype.triton
        is_pointer = parameter.type.kind == "pointer"
        signature[parameter.name] = f"*{spelled}" if is_pointer else spelled
        if is_pointer:
            attributes[(number,)] = [["tt.divisibility", 16]]
    source = ASTSource(whole.kernel, signature, attrs=attributes)
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": whole.num_warps})


if __name__ == "__main__":
    main()
