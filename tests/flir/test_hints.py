"""``#@hint:`` comments: which operations they mean, what they do, and what is said of those that do nothing."""

from __future__ import annotations

import importlib.metadata
import linecache
import re
import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.flir.hinted_kernels import staged
from tests.frontends.raw.meeting_kernels import unpack
from tests.support import compile_kernel
from tle_raw import registry
from tle_raw.errors import HintWarning, LoweringError, ReportError
from tle_raw.flir.hints import handler
from tle_raw.flir.hints.comments import read_hints
from tle_raw.flir.hints.places import place_hints

# Comments are where Triton's users write them, without a blank behind the sign.
SIGNATURE = {"x": "*fp32", "o": "*fp32", "n": "i32"}
COPY = r"cp\.async\.c[ag]"


@triton.jit
def on_one_line(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n, other=0))  # @hint: shared_memory


@triton.jit
def on_several_lines(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(
        x + i,
        mask=i < n,
        other=0,
    )  # staged so: @hint: nothing  # @hint: shared_memory
    b = tl.load(x + i + B)
    tl.store(o + i, a + b)


@triton.jit
def two_on_a_line(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i) + tl.load(x + B + i))  # @hint: shared_memory
    tl.store(o + i + B, tl.load(x + 2 * B + i))


@triton.jit
def in_other_files(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.static_assert(True, "#@hint: shared_memory")
    tl.store(o + i, staged(x, i) + tl.load(x + i + B))


@triton.jit
def in_a_loop(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for k in range(n):  # @hint: num_stages=4
        acc += tl.load(x + k * B + i)  # @hint: shared_memory
    tl.store(o + i, acc)


@triton.jit
def without_hints(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n, other=0))


@triton.jit
def forgotten(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    value = tl.load(x + i)  # @hint: eviction=evict_last
    tl.store(o + i, value, mask=i < n)  # @hint: eviction=evict_first


@triton.jit
def gathered(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    runs = tl.load(o + i).to(tl.int32)
    tl.store(o + i, tl.load(x + runs))  # @hint: vectorise=4


@triton.jit
def gathered_rows(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    runs = tl.load(o + i).to(tl.int32)
    tl.store(o + i, tl.load(x + runs))  # @hint: vectorize


@triton.jit
def unrolled(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for k in tl.range(0, n):  # @hint: unroll=3
        acc = acc * 0.5 + tl.load(x + k * B + i)
    tl.store(o + i, acc)


@triton.jit
def without_effect(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    first = tl.load(x)  # @hint: shared_memory
    # @hint: num_stages=2
    for k in tl.range(0, n, num_stages=3):  # @hint: num_stages=2
        first += tl.load(x + k)
    tl.store(o + i, first, eviction_policy="evict_last")  # @hint: eviction=evict_first, stream, shared_memory


@triton.jit
def misspelt(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    value = tl.load(x + i)  # @hint: sharedmemory
    tl.store(o + i, value)  # @hint: eviction=soon


@triton.jit
def product(a, b, c, K, B: tl.constexpr):
    r = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in tl.range(0, K, B):
        left = tl.load(a + r[:, None] * K + k + r[None, :])  # @hint: shared_memory
        right = tl.load(b + (k + r[:, None]) * B + r[None, :])
        acc = tl.dot(left, right.to(tl.float16), acc)
    tl.store(c + r[:, None] * B + r[None, :], acc)


@triton.jit
def unpacked(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    rows, columns, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros((M, N), tl.float32)
    a_at = a + rows[:, None] * K + depth[None, :]
    b_at = b + depth[:, None] * N + columns[None, :]
    for _ in tl.range(0, K, BK, num_stages=3):
        tile = tl.load(a_at)
        values = tle.call(
            unpack,
            [tile],
        )  # @hint: pipeline
        acc = tl.dot(values, tl.load(b_at), acc)
        a_at += BK
        b_at += BK * N
    tl.store(c + rows[:, None] * N + columns[None, :], acc)


def hints_of(kernel):
    """What the report says of each hint, by its text."""
    return {hint.text: hint.reason for hint in tle_raw.report(kernel).hints}


def copies(kernel):
    return len(re.findall(COPY, kernel.asm["ptx"]))


@pytest.mark.every_triton(4)
@pytest.mark.parametrize("kernel", [on_one_line, on_several_lines, in_other_files], ids=lambda k: k.__name__)
def test_the_load_of_a_hint_is_staged_and_no_other(kernel):
    made = compile_kernel(kernel, SIGNATURE, {"B": 512})
    assert made.asm["ttgir"].count("ttg.async_copy_global_to_local") == 1 and copies(made)
    assert hints_of(made)["shared_memory"] == ""
    assert made.asm["ttir"].count('tle.hint = "shared_memory"') == 1


@pytest.mark.every_triton(1)
def test_a_hint_is_for_every_call_on_its_line():
    made = compile_kernel(two_on_a_line, SIGNATURE, {"B": 512})
    assert copies(made) == 2


@pytest.mark.every_triton(1)
def test_a_loop_has_as_many_stages_as_the_hint_says():
    made = compile_kernel(in_a_loop, SIGNATURE, {"B": 512})
    assert hints_of(made) == {"num_stages=4": "", "shared_memory": ""}
    assert made.asm["ttgir"].count("ttg.async_copy_global_to_local") == 4  # three in front of the loop, one in it
    assert "tt.num_stages = 4" in made.asm["ttir"]


def test_the_values_are_those_without_hints():
    x, o = np.random.default_rng(7).standard_normal(7 * 512, np.float32), np.empty(512, np.float32)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        in_a_loop[(1,)](x, o, 7, B=512)
        assert np.allclose(o, x.reshape(7, 512).astype(np.float64).sum(0), atol=1e-5)
        unrolled[(1,)](x, o, 7, B=512)
    expected = np.zeros(512)
    for row in x.reshape(7, 512).astype(np.float64):
        expected = expected * 0.5 + row
    assert np.allclose(o, expected, atol=1e-5)


@triton.jit
def unrolled_too_often(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for k in tl.range(0, n):  # @hint: unroll=160
        acc = acc * 0.5 + tl.load(x + k * B + i)
    tl.store(o + i, acc)


@pytest.mark.one_triton
def test_what_is_unrolled_too_often_for_a_cpu_is_named():
    x = np.zeros(512, np.float32)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        with pytest.raises(LoweringError, match="more elementwise operations follow from each other"):
            unrolled_too_often[(1,)](x, x, 2, B=512)


def test_a_kernel_without_hints_is_left_alone():
    made = compile_kernel(without_hints, SIGNATURE, {"B": 512})
    assert not hasattr(made.metadata, "tle_raw_hints") and copies(made) == 0
    with pytest.raises(ReportError, match="no region and no hint"):
        tle_raw.report(made)


@pytest.mark.every_triton(1)
def test_eviction_is_that_of_the_access():
    ptx = (made := compile_kernel(forgotten, SIGNATURE, {"B": 512})).asm["ptx"]
    assert re.search(r"ld\.global.*evict_last", ptx)
    assert re.search(r"st\.global.*evict_first", ptx)
    assert hints_of(made) == {"eviction=evict_last": "", "eviction=evict_first": ""}


@pytest.mark.every_triton(2)
@pytest.mark.parametrize(("kernel", "numbers"), [(gathered, {"B": 1024}), (gathered_rows, {"B": 64})])
def test_promised_runs_are_read_at_once(kernel, numbers):
    made = compile_kernel(kernel, SIGNATURE, numbers)
    assert "" in hints_of(made).values()
    scattered = made.asm["ptx"]
    assert len(re.findall(r"ld\.global\S*\.v4\.", scattered)) >= 2  # the runs, and where they begin


@pytest.mark.every_triton(1)
def test_a_loop_is_unrolled():
    made = compile_kernel(unrolled, SIGNATURE, {"B": 128})
    assert hints_of(made) == {"unroll=3": ""}
    assert made.asm["ttir"].count("tt.load") >= 3


def test_hints_without_effect_are_told():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # they are right, and nothing to warn of
        made = compile_kernel(without_effect, SIGNATURE, {"B": 128})
    report = tle_raw.report(made)
    told = [(hint.place.line - report.hints[0].place.line, hint.text, hint.reason) for hint in report.hints]
    assert told == [
        (0, "shared_memory", "it loads no block of pointers"),
        (1, "num_stages=2", "no operation that it is for (loop for) comes from its line"),
        (2, "num_stages=2", "the loop says num_stages itself"),
        (4, "eviction=evict_first", "the call has an eviction_policy of its own"),
        (4, "stream", "it means something on cpu, not on cuda"),
        (4, "shared_memory", "no operation that it is for (load) comes from its line"),
    ]
    assert "hint `stream` at test_hints.py:" in str(report) and "had no effect" in str(report)


@triton.jit
def no_fragment(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i))  # @hint: pipeline


def test_a_hint_for_fragments_says_so_where_there_is_none():
    report = tle_raw.report(compile_kernel(no_fragment, SIGNATURE, {"B": 128}))
    assert report.hints[0].reason == "no operation that it is for (call of a fragment) comes from its line"


def test_unknown_hints_warn_once_with_the_line_and_near_names():
    with pytest.warns(HintWarning) as caught:
        made = compile_kernel(misspelt, SIGNATURE, {"B": 128})
        compile_kernel(misspelt, SIGNATURE, {"B": 256})
    first, second = sorted((str(each.message) for each in caught), key=len, reverse=True)[-2:]
    assert len(caught) == 2
    assert "unknown hint `sharedmemory`: did you mean shared_memory?" in first + second
    assert "the hint `eviction=soon` takes normal or evict_first or evict_last" in first + second
    assert "value = tl.load(x + i)  # @hint: sharedmemory" in first + second and "test_hints.py:" in first
    assert copies(made) == 0


@pytest.mark.every_triton(1)
def test_the_other_operand_of_a_product_stays_pipelined():
    signature = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "K": "i32"}
    made = compile_kernel(product, signature, {"B": 64}, multiples="K")
    assert made.asm["ttgir"].count("ttg.async_copy_global_to_local") == 6  # two blocks, three stages
    odd = compile_kernel(product, signature, {"B": 64})  # rows that begin at odd places are no copies of four bytes
    assert hints_of(odd) == {"shared_memory": "the compiler made nothing of it that the PTX of its lines shows"}


@pytest.mark.every_triton(1)
def test_a_region_is_pipelined_by_the_comment_of_its_call():
    signature, sizes = {"a": "*i8", "b": "*fp16", "c": "*fp32", "K": "i32"}, {"M": 64, "N": 64, "BK": 32}
    made = compile_kernel(unpacked, signature, sizes)
    assert made.asm["ttgir"].count("tt.extern_elementwise") == 2  # one in front of the loop, and one in it
    assert hints_of(made) == {"pipeline": ""} and tle_raw.report(made).one_kernel


def test_hints_are_in_the_key():
    def kernel_with(comment, name):
        text = f"import triton, triton.language as tl\n@triton.jit\ndef k(x):\n    tl.store(x, 1.0)  {comment}\n"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        names: dict = {}
        exec(compile(text, name, "exec"), names)
        return names["k"]

    keys = {kernel_with(comment, f"<hint {comment}>").cache_key for comment in ("", "# @hint: stream")}
    assert len(keys) == 2


class Marked:
    """A hint of somebody else: it writes an attribute."""

    name, also, operations, targets = "acme", (), ("tt.load",), ("cuda", "cpu")

    def expected(self, value):
        return "" if value else "a word"

    def proof(self, target, value):
        return ""

    def apply(self, operation, value):
        operation.set_attributes({"acme.note": f'"{value}"'})
        return ""


@triton.jit
def marked(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i))  # @hint: acme=soft


def test_others_add_hints_of_their_own(monkeypatch):
    point = importlib.metadata.EntryPoint("acme", f"{__name__}:Marked", "tle_raw.hints")
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == "tle_raw.hints" else [])
    monkeypatch.setattr(handler.HINTS, "_loaded", {})
    made = compile_kernel(marked, SIGNATURE, {"B": 128})
    assert 'acme.note = "soft"' in made.asm["ttir"] and hints_of(made) == {"acme=soft": ""}
    assert "acme" in handler.known_hints()
    monkeypatch.setattr(registry, "entry_points", lambda group: [])
    monkeypatch.setattr(handler.HINTS, "_loaded", {})
    monkeypatch.setattr(handler.HINTS, "_registered", {**handler.HINTS._registered})
    handler.register_hint(Marked())
    assert handler.find_handler("acme").expected("") == "a word"


@triton.jit
def streamed(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i) * 2)  # @hint: stream


@triton.jit
def kept(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i) * 2)  # @hint: eviction=evict_last


@pytest.mark.parametrize(("kernel", "how"), [(streamed, "always"), (kept, "never")])
def test_stores_of_cpus_go_past_the_caches_where_a_hint_says_so(kernel, how):
    x, o = np.random.default_rng(3).standard_normal(4096, np.float32), np.zeros(4096, np.float32)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        made = kernel[(4,)](x, o, 4096, B=1024)
    assert np.array_equal(o, x * 2)
    assert dict(made.metadata.tle_raw_told) == {"stores": how}
    assert made.run._streams((4, 1, 1), (x, o, 4096)) is (how == "always")


def test_what_is_read_from_a_source():
    source = [
        "def k():\n",
        '    f("#@hint: none")  # text, #@hint:a , B-c = 4 # @hint: d\n',
        "    return 1  # hint: none\n",
    ]
    hints = read_hints(source, "k.py")
    assert [(h.name, h.value, h.line) for h in hints] == [("a", "", 2), ("b_c", "4", 2), ("d", "", 2)]
    assert read_hints(["x = (  # @hint: a\n"], "k.py") == []
    placed = place_hints(source, hints)
    assert placed.function_around(2) == (1, 3) and [h.name for h in placed.hints()] == ["a", "b_c", "d"]


PAGE = (Path(__file__).parents[2] / "docs/hints.md").read_text()


def test_the_page_names_every_hint_and_its_example_runs(tmp_path, capsys):
    rows = re.findall(r"^\| (`[^|]*) \|", PAGE, re.MULTILINE)
    assert {re.split(r"[=`]", row)[1] for row in rows} == {each.name for each in handler.HINTS.registered()}
    ((name, example),) = re.findall(r"<!-- example: (\S+) -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / name).write_text(example)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        runpy.run_path(str(tmp_path / name))
    assert "hint `eviction=evict_first` at hints.py:15 was taken" in capsys.readouterr().out
