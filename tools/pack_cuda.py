"""Compiles kernels of other packages by tle_raw and by nvcc, and packs both machine codes for ``launch_cuda.py``.

    python tools/pack_cuda.py FOLDER PACK [--match vllm] [--work FOLDER] [--nvcc nvcc] [--arch 90] [--only-pack]

FOLDER holds the unpacked source distributions, as for ``sweep_cuda.py``. Of the list (``cuda_sweep/kernels.tsv``) those
are taken whose launch is known (``cuda_sweep/launches.txt``). nvcc gets the source that clang was given: without host
code, with the headers that stand in for missing ones. It is not called again where the folder of work has its machine
code; neither compiler needs a GPU. PACK is a ``tar.xz`` of some kilobytes a kernel: no source is in it.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from cuda_sweep.build import compile_ours, compile_theirs, described
from cuda_sweep.kernels import Listed, listed
from cuda_sweep.launches import Launch, launches
from cuda_sweep.pack import entry_of, write_pack


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=Path)
    parser.add_argument("pack", type=Path)
    parser.add_argument("--match", default="", help="only kernels whose package and symbol hold this")
    parser.add_argument("--work", type=Path, default=Path("packed"), help="a folder for machine code of its own")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--arch", type=int, default=90)
    parser.add_argument("--only-pack", action="store_true", help="compile nothing, pack what is there")
    options = parser.parse_args()
    import triton

    known = list(launches())
    entries, images = [], {}
    for index, kernel in enumerate(listed()):
        launch = next((launch for launch in known if launch.fits(kernel.package, kernel.symbol)), None)
        if launch is None or options.match not in f"{kernel.package} {kernel.symbol}":
            continue
        folder = options.work / f"{index:03}"
        if not options.only_pack:
            _apart(kernel, index, launch, folder, options)
        found = entry_of(folder, triton.__version__, index, kernel, launch)
        if isinstance(found, str):
            print(f"{index:3} {kernel.package} {kernel.name}: {found}")
            continue
        entry, own = found
        entries.append(entry)
        images |= own
    write_pack(options.pack, entries, images)
    print(f"{len(entries)} kernels, {options.pack.stat().st_size} bytes")


def _apart(kernel: Listed, index: int, launch: Launch, folder: Path, options: Any) -> None:
    """In a process of its own, which has what this one has imported."""
    import tle_raw.adapters.cuda.adapter  # noqa: F401

    child = os.fork()
    if child == 0:
        try:
            _build(kernel, index, launch, folder, options)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def _build(kernel: Listed, index: int, launch: Launch, folder: Path, options: Any) -> None:
    import triton

    folder.mkdir(parents=True, exist_ok=True)
    root = kernel.root(options.sources.resolve())
    kernel = replace(kernel, block=launch.block(kernel.block))
    facts: dict[str, Any] = {"block": kernel.block, "shared": launch.shared_bytes}
    start, theirs = time.monotonic(), folder / "nvcc.cubin"
    try:
        if root is None:
            raise FileNotFoundError(f"{kernel.package}-{kernel.version}")
        compiled, asked = compile_ours(kernel, root, f"cuda:{options.arch}", launch.shared_bytes, not theirs.is_file())
        (folder / f"ours-{triton.__version__}.cubin").write_bytes(compiled.asm["cubin"])
        facts |= described(kernel, root, compiled)
        if asked is not None and not theirs.is_file():
            with tempfile.TemporaryDirectory() as folder_of_nvcc:
                theirs.write_bytes(compile_theirs(asked, root, Path(folder_of_nvcc), options.nvcc))
    except Exception as error:
        facts["error"] = f"{type(error).__name__}: {error}"[:1500]
    (folder / f"facts-{triton.__version__}.json").write_text(json.dumps(facts, indent=1))
    seconds = time.monotonic() - start
    print(f"{index:3} {kernel.package:18} {kernel.name:40} {seconds:6.1f} s {facts.get('error', '')[:120]}", flush=True)


if __name__ == "__main__":
    main()
