"""tools/loop_stalls.py: what ptxas wrote into the instructions of loops."""

import importlib.util
import sys
from pathlib import Path

import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

TOOL = Path(__file__).parents[2] / "tools" / "loop_stalls.py"


@pytest.fixture
def tool():
    spec = importlib.util.spec_from_file_location("loop_stalls", TOOL)
    module = importlib.util.module_from_spec(spec)
    sys.modules["loop_stalls"] = module  # its dataclasses look there
    spec.loader.exec_module(module)
    yield module
    del sys.modules["loop_stalls"]


@triton.jit
def walk(x_ptr, y_ptr, n):
    at = 0
    for _ in range(n):
        at = tl.load(x_ptr + at)
    tl.store(y_ptr, at)


def test_a_loop_of_a_compiled_kernel(tool, tmp_path, capsys):
    signature = {"x_ptr": "*i32", "y_ptr": "*i32", "n": "i32"}
    kernel = triton.compile(ASTSource(walk, signature), target=GPUTarget("cuda", 90, 32))
    file = tmp_path / "walk.cubin"
    file.write_bytes(kernel.asm["cubin"])
    tool.main([str(file)])
    name, *loops = capsys.readouterr().out.splitlines()
    assert name == "walk.cubin" and len(loops) >= 1
    assert any("LDG" in loop and "cycles" in loop for loop in loops)


def test_cycles_and_ends(tool):
    def line(address: int, text: str, stall: int) -> str:
        return f"        /*{address:04x}*/  {text} ;  /* 0x{7:016x} */\n        /* 0x{stall << 41 | 1 << 45:016x} */\n"

    text = line(0, "MOV R1, R2", 4) + line(16, "@!P0 FADD R1, R1, R2", 5) + line(32, "FMUL R3, R1, R1", 1)
    text += line(48, "@P0 BRA 0x10", 15) + line(64, "BRA 0x50", 3) + line(80, "EXIT", 5)
    (loop,) = tool.find_loops(tool.read_instructions(text))
    assert [i.opcode for i in loop.instructions] == ["FADD", "FMUL", "BRA"] and loop.cycles == 21


def test_what_is_no_cubin_ends_with_the_reason(tool, tmp_path):
    file = tmp_path / "text.cubin"
    file.write_text("no cubin")
    with pytest.raises(SystemExit, match="cuobjdump"):
        tool.main([str(file)])
