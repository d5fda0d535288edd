"""Modules that lie in the current folder are not executed, whatever is compiled there."""

import subprocess
import sys

PLANTED = ("json", "tempfile", "triton", "llvmlite", "tle_raw", "torch_mlir", "sitecustomize", "usercustomize", "numpy")
PROGRAM = """
import sys
import tle_raw
from tle_raw import Element
from tle_raw.linker.tools.llvmlite_binding import load_llvmlite

def g(x: Element["f32"]) -> Element["f32"]: ...

TEXT = "define float @g(float %x) {\\n  ret float %x\\n}\\n"
MLIR = "func.func @g(%x: f32) -> f32 {\\n  %y = math.tan %x : f32\\n  return %y : f32\\n}\\n"
CUDA = "__device__ float g(float x) { return x; }\\n"
tle_raw.knobs.cache.enabled = False
with open(sys.argv[1] + "/g.bc", "wb") as file:
    file.write(load_llvmlite().parse_assembly(TEXT).as_bitcode())
for source, dialect in ((TEXT, "llvm"), (sys.argv[1] + "/g.bc", "llvm"), (MLIR, "mlir"), (CUDA, "cuda")):
    tle_raw.fragment(source, signature=g, dialect=dialect).compile(target="cuda:90")
print("compiled all")
"""


def test_what_lies_in_the_current_folder_is_not_executed(tmp_path):
    here, program = tmp_path / "here", tmp_path / "elsewhere" / "program.py"
    for folder in (here, program.parent):
        folder.mkdir()
    for name in PLANTED:
        (here / f"{name}.py").write_text(f"open({str(tmp_path / name)!r}, 'w')\nraise SystemExit(7)")
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(program), str(program.parent)], cwd=here, capture_output=True, text=True, timeout=240
    )
    assert done.stdout == "compiled all\n", done.stderr[-3000:]
    assert [name for name in PLANTED if (tmp_path / name).exists()] == []
