"""The PTX inside fatbins and host objects, by cuobjdump, which comes with Triton."""

from __future__ import annotations

import re
import tempfile
from functools import lru_cache
from pathlib import Path

from tle_raw.errors import LinkError, ToolchainError
from tle_raw.linker.from_ptx.read_module import is_ptx
from tle_raw.linker.processes.child_process import Limits, default_memory, run_child
from tle_raw.linker.tools.cuda_tools import find_tool

_TARGET = re.compile(r"^\s*\.target\s+sm_(\d+)([af]?)", re.MULTILINE)


@lru_cache(maxsize=16)  # asked when a file is opened, when it is looked through, and for its code
def ptx_images(data: bytes, name: str, timeout: float) -> tuple[str, ...]:
    """The PTX texts that the file holds.

    Raises
    ------
    ToolchainError : there is no cuobjdump. LinkError : it cannot read the file.
    """
    tool = find_tool("cuobjdump")
    if tool is None:
        raise ToolchainError(
            "a fatbin is read by cuobjdump, which was not found", hint="reinstall Triton, which has it"
        )
    with tempfile.TemporaryDirectory(prefix="tle_raw-") as folder:
        file = Path(folder, "input.fatbin")
        file.write_bytes(data)
        run = run_child(
            [str(tool), "-xptx", "all", str(file)], limits=Limits(timeout, default_memory()), folder=Path(folder)
        )
        texts = tuple(each.read_text("utf-8", "replace") for each in sorted(Path(folder).glob("*.ptx")))
    if run.returncode is None or (run.returncode and not texts):
        said = (run.messages or run.output.decode("utf-8", "replace")).strip()
        raise LinkError(f"{name} cannot be read", log=said[-500:], hint="the file was cut, or is no fatbin")
    return tuple(filter(is_ptx, texts))


def best_image(images: tuple[str, ...], arch: str, name: str) -> str:
    """The PTX for the newest architecture that ``arch`` runs.

    Raises
    ------
    LinkError : there is none; the message says for which there are.
    """
    number = int(re.sub(r"\D", "", arch))
    runs = {}
    for text in images:
        found = _TARGET.search(text)
        if found is None:
            continue
        own = f"sm_{found[1]}{found[2]}"
        if int(found[1]) <= number and (not found[2] or own == arch or (found[2] == "f" and own[:-2] == arch[:-2])):
            runs[int(found[1]), bool(found[2])] = text
    if not runs:
        held = sorted({match[0].split()[-1] for match in map(_TARGET.search, images) if match})
        raise LinkError(
            f"{name} holds no PTX that {arch} runs",
            hint=f"it has PTX for {', '.join(held)}"
            if held
            else "it holds machine code only, which nothing inlines: build it with PTX (code=compute_…)",
        )
    return runs[max(runs)]
