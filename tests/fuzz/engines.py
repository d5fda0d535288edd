"""The two engines that cases run on, as processes that stay: the CPU backend, and Triton's interpreter."""

from __future__ import annotations

import os
import pickle
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from tests.fuzz.cases import Case

SECONDS = 120  # for one kernel, its compilation included


class EngineError(Exception):
    """The engine could not run the case: it raised an exception, crashed, or did not come to an end."""


class Engine:
    """Starts its process at the first case, and again after one that ended it."""

    def __init__(self, kind: str):
        self.kind = kind
        self._process: subprocess.Popen[bytes] | None = None
        self._messages: IO[bytes] | None = None

    def run(self, case: Case) -> dict[str, np.ndarray]:
        process = self._process or self._start()
        assert process.stdin
        pickle.dump(case, process.stdin)
        process.stdin.flush()
        answer = self._answer()
        if isinstance(answer, str):
            raise EngineError(f"the {self.kind} failed:\n{answer}")
        return answer

    def stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
        if self._messages:
            self._messages.close()
        self._process = self._messages = None

    def _start(self) -> subprocess.Popen[bytes]:
        # Without contraction of a * b + c, arithmetic on elements is right to the last bit on both sides.
        environment = {**os.environ, "TRITON_DEFAULT_FP_FUSION": "0", "PYTHONFAULTHANDLER": "1"}
        environment.pop("TRITON_INTERPRET", None)
        if self.kind == "interpreter":
            environment["TRITON_INTERPRET"] = "1"
        elif self.kind == "backend":
            environment["TLE_RAW_TARGET"] = "cpu"  # where there is a GPU, too
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115  (closed in stop)
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("engine_process.py")), self.kind],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._messages, env=environment,
        )  # fmt: skip
        if self._answer() != "ready":
            raise AssertionError("the engine begins with another word")
        return self._process

    def _answer(self) -> Any:
        assert self._process and self._process.stdout and self._messages
        ready, _, _ = select.select([self._process.stdout], [], [], SECONDS)
        try:
            if not ready:
                raise EngineError(f"the {self.kind} did not answer within {SECONDS} s")
            return pickle.load(self._process.stdout)
        except (EOFError, EngineError, pickle.UnpicklingError) as error:
            self._process.kill()
            status = self._process.wait()
            self._messages.seek(0)
            said = self._messages.read()[-6000:].decode(errors="replace")
            self.stop()
            raise EngineError(f"{error or f'the {self.kind} ended with status {status}'}\n{said}") from error
