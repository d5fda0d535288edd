"""PTX fragments inside kernels for GPUs: inlined, one entry; and what is refused, by name."""

import contextlib
import subprocess

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.adapters.ptx.test_numbers import SUM
from tests.support import compile_kernel, ptx_calls
from tle_raw import Element, InOut, Pointer, Scalar, Tile
from tle_raw.errors import FragmentSourceError, LinkError, SignatureMismatchError, SymbolError, UnresolvedSymbolError
from tle_raw.linker.from_ptx.convert import convert
from tle_raw.linker.from_ptx.read_module import read_ptx_module
from tle_raw.linker.machine_code.sass import read_cubin

pytestmark = pytest.mark.every_triton(2)

HALF = """
.version 9.5
.target sm_80
.address_size 64
.visible .func (.param .b32 result) half_of(.param .b32 half_of_param_0) {
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [half_of_param_0];
  mul.rn.f32 %r2, %r1, 0f3F000000;
  st.param.b32 [result], %r2;
  ret;
}
"""


def half_of(x: Element["f32"]) -> Element["f32"]: ...


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_a_block_function_is_inlined(ptx_of, capability):
    def sums(t: InOut[Tile["f32", "N"]], g: Pointer["f32"], n: Scalar["i32"], twice: Scalar["i1"]) -> Scalar["f32"]: ...

    fragment = tle_raw.fragment(ptx_of(SUM), dialect="ptx", signature=sums)

    @triton.jit
    def kernel(x, g, n, N: tl.constexpr):
        offsets = tl.arange(0, N)
        tile, total = fragment(tl.load(x + offsets), g, n, True)
        tl.store(x + offsets, tile + total)

    compiled = compile_kernel(kernel, {"x": "*fp32", "g": "*fp32", "n": "i32"}, {"N": 256}, capability)
    assert compiled.asm["ptx"].count(".entry") == 1 and not ptx_calls(compiled)
    facts = read_cubin(compiled.asm["cubin"])
    assert len(facts.entries) == 1
    assert all("__internal" in name for name in facts.calls)  # the assembler's own division


def test_text_of_a_newer_ptx_version():
    fragment = tle_raw.fragment(HALF, dialect="ptx", signature=half_of)

    @triton.jit
    def kernel(x, N: tl.constexpr):
        offsets = tl.arange(0, N)
        tl.store(x + offsets, fragment(tl.load(x + offsets)))

    compiled = compile_kernel(kernel, {"x": "*fp32"}, {"N": 128})
    assert not ptx_calls(compiled) and "mul" in compiled.asm["ptx"]


def _refused(text, stub=half_of, target="cuda:90", **options):
    with pytest.raises(tle_raw.TLEError) as caught:
        tle_raw.fragment(text, dialect="ptx", signature=stub, **options).compile(target)
    return caught.value


@pytest.mark.one_triton
def test_what_is_wrong_is_named():
    assert isinstance(_refused("define void @f() { ret void }"), FragmentSourceError)
    error = _refused(HALF[:-60])
    assert isinstance(error, LinkError) and "never closed" in str(error)
    error = _refused(HALF.replace("mul.rn.f32", "mull.rn.f32"))
    assert isinstance(error, LinkError) and "mull.rn.f32" in str(error) and "mull" in error.context.source.text
    assert isinstance(_refused(HALF, symbol="whole_of"), SymbolError)
    assert "kernel" in str(
        _refused(HALF.replace(".func (.param .b32 result)", ".entry").replace("[result]", "[half_of_param_0]"))
    )
    called = HALF.replace("  ret;", "  { call.uni missing, (); }\n  ret;")
    called = called.replace(".visible", ".extern .func missing();\n.visible")
    error = _refused(called)
    assert isinstance(error, UnresolvedSymbolError) and "missing" in str(error)


@pytest.mark.one_triton
def test_sizes_are_compared_with_the_signature():
    def half_of(x: Element["f64"]) -> Element["f64"]: ...

    assert isinstance(_refused(HALF, half_of), SignatureMismatchError)

    def half_of(x: Element["f32"], y: Element["f32"]) -> Element["f32"]: ...

    assert "2 are passed" in str(_refused(HALF, half_of))


@pytest.mark.one_triton
def test_two_functions_of_one_name_and_a_branch_to_nowhere():
    body = HALF[HALF.index(".visible") :]
    assert "already" in str(_refused(HALF + body))
    assert "nowhere" in str(_refused(HALF.replace("  ret;", "  bra $away;")))


@pytest.mark.one_triton
def test_damaged_text_is_never_anything_but_an_error_of_ours():
    random = np.random.default_rng(7)
    for _ in range(400):
        text = list(HALF)
        place = int(random.integers(0, len(text)))
        if random.random() < 0.5:
            text[place] = str(random.choice(list("{}()[];,.%$@!0aZ \n")))
        else:
            del text[place : place + int(random.integers(1, 30))]
        with contextlib.suppress(tle_raw.TLEError):
            convert(read_ptx_module("".join(text)), {"half_of": None})


@pytest.mark.one_triton
def test_an_archive_with_a_fatbin(tmp_path):
    """An archive as binutils writes it, whose member is a fatbin with PTX."""
    member, archive = tmp_path / "member_with_a_long_name.fatbin", tmp_path / "lib.a"
    member.write_bytes(fatbin(HALF.replace("9.5", "7.8")))
    subprocess.run(["ar", "rcs", archive, member], check=True)
    fragment = tle_raw.fragment(archive, signature=half_of)
    assert fragment.dialect == "ptx"
    from tle_raw.flir.cpu.run_fragment import run_fragment

    x = np.random.default_rng(1).standard_normal(77).astype("f4")
    np.testing.assert_array_equal(run_fragment(fragment.compile("cpu"), {"x": x})[0], x / 2)
    archive.write_bytes(archive.read_bytes()[:-200])
    with pytest.raises(LinkError, match=r"was cut|ends within|holds no device code"):
        tle_raw.fragment(archive, signature=half_of).compile("cuda:90")


def fatbin(ptx: str) -> bytes:
    """A fatbin of one image, which is not compressed: NVIDIA's header, an entry's header, the text."""
    data = ptx.encode() + b"\0"
    data += bytes(-len(data) % 8)
    entry = bytearray(0x60)
    for place, size, number in (
        (0, 2, 1), (2, 2, 0x101), (4, 4, len(entry)), (8, 8, len(data)), (20, 4, 0x40), (26, 2, 7), (28, 4, 80),
        (40, 8, 0x11), (0x40, 4, 0x48), (0x44, 4, 0x10),
    ):  # fmt: skip
        entry[place : place + size] = number.to_bytes(size, "little")
    body = bytes(entry) + data
    head = (0xBA55ED50).to_bytes(4, "little") + b"\1\0\x10\0" + len(body).to_bytes(8, "little")
    return head + body
