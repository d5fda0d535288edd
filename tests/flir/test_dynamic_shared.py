"""Shared memory that a fragment asks for beside its static variables: placed, counted, aligned and shared."""

import re
from pathlib import Path

import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import cause_of, compile_kernel, ptx_calls, ttgir_lines
from tle_raw import Pointer
from tle_raw.errors import RegionError, SharedMemoryError, SourceLocation
from tle_raw.fragments.adapter import CompilerOutput, Declaration, Source
from tle_raw.fragments.declare import declare
from tle_raw.fragments.parameter_types import Parameter
from tle_raw.fragments.signature import Signature

# Each thread writes its number to the memory's end and reads its neighbour's, with the address shown to the reader.
CODE = """
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0()
@own = internal addrspace(3) global [{own} x i8] undef, align 16
define i32 @{entry}(ptr addrspace(1) %out, i32 %memory) {{
  call void asm sideeffect "// MEMORY {name} $0", "r"(i32 %memory)
  {use}
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %offset = mul i32 %tid, 4
  %address = add i32 %memory, %offset
  %wide = zext i32 %address to i64
  %place = inttoptr i64 %wide to ptr addrspace(3)
  store i32 %tid, ptr addrspace(3) %place
  call void @llvm.nvvm.barrier0()
  %next = xor i32 %offset, 4
  %there = add i32 %memory, %next
  %wide2 = zext i32 %there to i64
  %place2 = inttoptr i64 %wide2 to ptr addrspace(3)
  %value = load i32, ptr addrspace(3) %place2
  %slot = sext i32 %tid to i64
  %target = getelementptr i32, ptr addrspace(1) %out, i64 %slot
  store i32 %value, ptr addrspace(1) %target
  ret i32 0
}}
"""


class Asking:
    """A dialect whose fragments ask for memory: ``size`` bytes, ``threads`` of a block, ``own`` static bytes."""

    name = "asking"

    def read(self, declaration: Declaration) -> Source:
        settings = tuple((k, str(v)) for k, v in sorted(declaration.options.items()))
        return Source(self.name, declaration.name, declaration.name, CODE, declaration.location, settings)

    def files(self, source: Source) -> tuple[Path, ...]:
        return ()

    def compiler_identity(self) -> str:
        return "by hand"

    def compile(self, source, bound, target) -> CompilerOutput:
        options = {k: int(v) for k, v in source.settings}
        entry, own = f"tle_raw_{source.name}", options.get("own", 0)
        use = 'call void asm sideeffect "// OWN $0", "l"(ptr addrspace(3) @own)' if own else ""
        text = CODE.format(entry=entry, name=source.name, own=own or 16, use=use)
        return CompilerOutput(
            text, entry, (), 0.0, "by hand",
            dynamic_shared=options["size"], block=(options.get("threads", 128),), route="asked",
        )  # fmt: skip

    def prototype(self, source, signature) -> str:
        return ""


def asking(name: str, **options: int):
    signature = Signature(name, (Parameter("out", Pointer["i32"], "InOut"),))
    return declare(Asking(), Declaration(name, signature, options, SourceLocation(__file__, 1), Path(__file__).parent))


small = asking("small", size=100 * 1024)
large = asking("large", size=150 * 1024)
odd = asking("odd", size=5000)
with_own = asking("with_own", size=4096, own=48)
of_64 = asking("of_64", size=4096, threads=64)
too_large = asking("too_large", size=230 * 1024)


@triton.jit
def one(out):
    large(out)


@triton.jit
def two(out):
    small(out)
    large(out + 128)


@triton.jit
def beside_a_tile(out, x):
    i = tl.arange(0, 512)
    v = tl.load(x + i)
    total = tl.sum(v, 0)
    odd(out + total)
    tl.store(x + i, tl.cumsum(v, 0) + total)


@triton.jit
def beside_static(out):
    with_own(out)


@triton.jit
def wrong_block(out):
    of_64(out)


@triton.jit
def too_much(out):
    too_large(out)


OUT = {"out": "*i32"}


def addresses(kernel) -> dict[str, str]:
    return dict(re.findall(r"// MEMORY (\w+) (\S+)", kernel.asm["ptx"]))


@pytest.mark.parametrize("capability", [80, 90])
def test_the_memory_is_counted_and_the_call_is_inlined(capability):
    kernel = compile_kernel(one, OUT, capability=capability)
    assert kernel.metadata.shared == 150 * 1024
    assert not ptx_calls(kernel) and kernel.asm["ptx"].count(".entry") == 1
    assert "bar.sync" in kernel.asm["ptx"] and len(ttgir_lines(kernel, "ttg.local_dealloc")) == 1


def test_regions_in_a_row_share_the_memory():
    kernel = compile_kernel(two, OUT)
    assert kernel.metadata.shared == 150 * 1024
    places = addresses(kernel)
    assert places["small"] == places["large"]


def test_the_memory_starts_at_a_multiple_of_1024_beside_tritons_own():
    kernel = compile_kernel(beside_a_tile, {"out": "*i32", "x": "*i32"})
    (alloc,) = ttgir_lines(kernel, "ttg.local_alloc")
    assert "alignment = 1024 : i32" in alloc and "<5x1024xi8" in alloc
    assert kernel.metadata.shared >= 5 * 1024
    assert kernel.metadata.shared < 5 * 1024 + 1024 + 4096


@pytest.mark.parametrize("capability", [80, 90])
def test_static_variables_do_not_shift_it(capability):
    kernel = compile_kernel(beside_static, OUT, capability=capability)
    assert ".extern .shared .align 1024 .b8 global_smem[]" in kernel.asm["ptx"]


def test_the_report_tells_of_memory_and_route():
    told = tle_raw.report(compile_kernel(one, OUT))
    assert told.regions[0].dynamic_shared == 150 * 1024 and told.regions[0].route == "asked"
    assert "inlined (asked)" in str(told) and "153600 bytes for `large`" in str(told)


def test_another_number_of_threads_is_refused_with_the_number_of_warps():
    with pytest.raises(Exception) as caught:
        compile_kernel(wrong_block, OUT)
    error = cause_of(caught.value)
    assert isinstance(error, RegionError) and "num_warps=2" in error.hint
    assert error.context.call_site.text.strip() == "of_64(out)"


def test_more_than_a_block_has_names_who_asks():
    with pytest.raises(Exception) as caught:
        compile_kernel(too_much, OUT)
    error = cause_of(caught.value)
    assert isinstance(error, SharedMemoryError)
    assert any("too_large" in row.what for row in error.table)
