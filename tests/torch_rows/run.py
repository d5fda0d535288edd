"""Runs rows and says how each went: ``python -m tests.torch_rows.run DEVICE FOLDER [ROW...]``.

FOLDER is for torch's caches. Each row prints ``right NAME``, or ``wrong NAME`` and why.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import sys
import time
import traceback

os.environ["TORCHINDUCTOR_CACHE_DIR"] = sys.argv[2]
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # workers take seconds to start; a row starts some

import torch

from tests.torch_rows.rows import ROWS, needs_cpu, needs_gpu


class Warnings(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if "every input is mutated" in record.getMessage():
            cause = record.exc_info[1] if record.exc_info else None
            raise AssertionError(f"{record.getMessage()}: {cause!r}") from cause


def main(device: str, names: list[str]) -> int:
    logging.getLogger("torch._dynamo").addHandler(Warnings())
    wrong = 0
    faulthandler.enable()
    elsewhere = needs_gpu if device == "cpu" else needs_cpu
    for name in names or [name for name in ROWS if not elsewhere(name)]:
        faulthandler.dump_traceback_later(240, exit=True)  # says where a row hangs
        start = time.perf_counter()
        try:
            ROWS[name](device)
            print("right", name, f"{time.perf_counter() - start:.1f}", flush=True)
        except BaseException as error:
            wrong += 1
            print("wrong", name, type(error).__name__, " ".join(str(error).split())[:600], flush=True)
            traceback.print_exc()
    return wrong


if __name__ == "__main__":
    torch.manual_seed(0)
    sys.exit(bool(main(sys.argv[1], sys.argv[3:])))
