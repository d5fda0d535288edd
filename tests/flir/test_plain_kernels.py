"""A kernel without regions is Triton's alone, byte for byte, with tle_raw imported."""

import json
import os
import subprocess
import sys
from pathlib import Path


def digests(folder, *arguments):
    script = Path(__file__).with_name("plain_kernels.py")
    environment = os.environ | {"TRITON_CACHE_DIR": str(folder)}
    run = subprocess.run(
        [sys.executable, str(script), *arguments], capture_output=True, text=True, check=True, env=environment
    )
    return json.loads(run.stdout)


def test_ptx_and_cache_keys_of_plain_kernels_are_tritons_own(tmp_path):
    alone = digests(tmp_path / "alone")
    with_us = digests(tmp_path / "with", "tle_raw")
    assert len(alone) == 14
    assert with_us == alone
