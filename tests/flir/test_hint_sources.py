"""Where hints are read: in what Triton has of a function, wherever its file is and whatever became of it."""

import importlib.util
import linecache
import os
from itertools import count

import numpy as np
import pytest

import tle_raw
from tests.support import compile_kernel
from tle_raw.errors import HintWarning

KERNEL = """import triton
import triton.language as tl
import tle_raw.language as tle

@triton.jit
def k(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B) + NUMBER
    tl.store(o + i, tl.load(x + i))  HINTS
"""
_NUMBERS = count(1)  # in each text: Triton keeps kernels by their text, not by their file
SIGNATURE = {"x": "*fp32", "o": "*fp32", "n": "i32"}


def written(path, hints="# @hint: stream", text=KERNEL):
    path.write_text(text.replace("HINTS", hints).replace("NUMBER", str(next(_NUMBERS))))
    spec = importlib.util.spec_from_file_location(f"hinted_{next(_NUMBERS)}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def on_a_cpu(kernel):
    x, o = np.random.rand(512).astype(np.float32), np.zeros(512, np.float32)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        made = kernel[(1,)](x, o, 2, B=64)
    return [(hint.text, hint.place.line, hint.reason) for hint in tle_raw.report(made).hints]


@pytest.mark.every_triton(4)
@pytest.mark.parametrize("name", ["ü.py", 'quo"te.py', "back\\slash.py", "a blank.py"])
def test_files_of_any_name(tmp_path, name):
    """On a CPU: ptxas takes no quotes in them, and that of Triton 3.6 ASCII alone."""
    assert on_a_cpu(written(tmp_path / name).k) == [("stream", 8, "")]


@pytest.mark.every_triton(1)
def test_a_folder_with_blanks_on_a_gpu(tmp_path):
    kernel = written(tmp_path / "a blank.py", "# @hint: shared_memory").k
    made = compile_kernel(kernel, SIGNATURE, {"B": 512})
    (hint,) = tle_raw.report(made).hints
    assert hint.place.file == str(tmp_path / "a blank.py") and hint.reason == ""


def edited(path):
    path.write_text("# a line more\n\n\n" + path.read_text())
    os.utime(path, (1, 1))
    linecache.checkcache()


def without_the_hint(path):
    path.write_text(path.read_text().replace("# @hint: stream", ""))
    os.utime(path, (1, 1))
    linecache.checkcache()


def gone(path):
    path.unlink()
    linecache.checkcache()


def forgotten(path):
    linecache.clearcache()


@pytest.mark.every_triton(1)
@pytest.mark.parametrize("what", [edited, without_the_hint, gone, forgotten], ids=lambda what: what.__name__)
def test_files_that_have_changed_since_they_were_imported(tmp_path, what):
    kernel = written(path := tmp_path / "kernels.py").k
    what(path)
    assert on_a_cpu(kernel) == [("stream", 8, "")]


NESTED = """import triton
import triton.language as tl
import tle_raw.language as tle

class Kernels:
    def make():
        @triton.jit
        def helper(p, i):
            return tl.load(p +
                           i + NUMBER)

        FUNCTIONS = (helper,)

        @triton.jit  # @hint: unroll=2
        def k(x, o, n, B: tl.constexpr):
            i = tl.arange(0, B)
            tl.store(o + i, helper(x, i) + tl.load(x,
                     ) + tl.load(
                x + 1 + i))  HINTS
        return k
k = Kernels.make()
"""


@pytest.mark.every_triton(1)
def test_functions_within_others(tmp_path):
    made = compile_kernel(written(tmp_path / "nested.py", "# @hint: shared_memory", NESTED).k, SIGNATURE, {"B": 512})
    assert made.asm["ttgir"].count("ttg.async_copy_global_to_local") == 1  # neither the scalar's nor the helper's
    told = [(hint.text, hint.place.line, hint.reason) for hint in tle_raw.report(made).hints]
    assert told == [
        ("unroll=2", 14, "no operation that it is for (loop for) comes from its line"),
        ("shared_memory", 19, ""),
    ]


def test_a_function_with_another_text_has_its_hints(tmp_path):
    kernel = written(tmp_path / "first.py", "").k
    kernel._unsafe_update_src(kernel.src.replace("i))", "i))  # @hint: stream=never"))
    assert on_a_cpu(kernel) == [("stream=never", 8, "")]


def test_all_hints_of_a_comment_count(tmp_path):
    kernel = written(tmp_path / "two.py", "# @hint: stream  # @Hint: eviction='evict_first'# all").k
    assert on_a_cpu(kernel) == [("stream", 8, ""), ("eviction='evict_first'", 8, "")]


@pytest.mark.parametrize("hints", ["# @hint stream", "#@hints: stream", "# @hint:", "# @hint: ,"])
def test_what_has_not_the_form_of_a_hint_is_warned_of(tmp_path, hints):
    kernel = written(tmp_path / "other.py", hints).k
    with pytest.warns(HintWarning, match=r"is no hint: a hint is written `#@hint: name`"):
        ((text, line, reason),) = on_a_cpu(kernel)
    assert (text, line) == (hints, 8) and "is written" in reason


IN_A_LOOP = KERNEL.replace("  HINTS", "").replace("    tl.store", "    for _ in range(n):  HINTS\n        tl.store")


@pytest.mark.parametrize("value", ["99999999999999", "0", "²", '"4"'])
@pytest.mark.parametrize(("hint", "text"), [("vectorise", KERNEL), ("num_stages", IN_A_LOOP)])
@pytest.mark.every_triton(3)
def test_numbers_that_are_none_are_warned_of(tmp_path, hint, text, value):
    kernel = written(tmp_path / "numbers.py", f"# @hint: {hint}={value}", text).k
    with pytest.warns(HintWarning, match="takes (nothing, or a power|a number from 1 to 1024)"):
        made = compile_kernel(kernel, SIGNATURE, {"B": 512})
    assert "its value should be" in tle_raw.report(made).hints[0].reason


PACKAGE = """
class Handler:
    name, also, operations, targets = "acme", (), ("tt.store",), ("cpu",)
    def expected(self, value):
        return ""
    def proof(self, target, value):
        return PROOF
    def apply(self, operation, value):
        BODY
"""


def installed(folder, package, hint, body="return ''", proof="''"):
    """A package with one entry point; its module has its name."""
    (folder / f"{package}.py").write_text(PACKAGE.replace("BODY", body).replace("PROOF", proof))
    metadata = folder / f"{package}-1.5.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.5\n")
    (metadata / "entry_points.txt").write_text(f"[tle_raw.hints]\n{hint} = {package}:Handler\n")


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_package_adds_a_hint(site):
    installed(site, "acme_one", "acme_one", "operation.set_attributes({'acme.note': 'unit'})")
    kernel = written(site / "uses.py", '# @hint: acme_one=sag "ä\\n"').k
    assert on_a_cpu(kernel) == [('acme_one=sag "ä\\n"', 8, "")]


@pytest.mark.parametrize(
    ("body", "proof", "told"),
    [
        ("raise KeyError('shape')", "''", r"acme_\d+\.Handler\.apply fails: KeyError: 'shape'"),
        ("return 3", "''", r"acme_\d+\.Handler\.apply gives 3, and not a text"),
        ("return ''", "'('", r"acme_\d+\.Handler\.proof gives '\(', which is no regular expression"),
        ("operation.set_attributes({'acme.note': '}{'})", "''", r"no Triton IR any more.*`acme_\d+` at"),
    ],
)
def test_a_handler_that_fails_is_named(site, body, proof, told):
    package = f"acme_{next(_NUMBERS)}"
    installed(site, package, package, body, proof)
    kernel = written(site / "fails.py", f"# @hint: {package}").k
    with pytest.raises(Exception, match=told) as raised:
        on_a_cpu(kernel)
    error = str(raised.value)
    assert "fails.py:8" in error and package in error


def test_two_packages_of_one_hint_are_told(site):
    installed(site, "acme_left", "acme_both")
    installed(site, "acme_right", "acme_both")
    kernel = written(site / "both.py", "# @hint: acme_both").k
    with pytest.raises(Exception, match=r"2 packages offer the handler of the hint 'acme_both'") as raised:
        on_a_cpu(kernel)
    said = str(raised.value)
    assert "acme_left 1.5 (acme_left:Handler)" in said and "acme_right 1.5" in said and "both.py:8" in said


def test_a_package_that_offers_one_of_our_hints_is_told(site):
    installed(site, "acme_own", "nontemporal")
    kernel = written(site / "own.py", "# @hint: nontemporal").k
    with pytest.warns(HintWarning, match=r"one of tle_raw's own: that of acme_own 1\.5 \(acme_own:Handler\) is not"):
        assert on_a_cpu(kernel) == [("nontemporal", 8, "")]


def test_a_package_that_cannot_be_made_is_named(site):
    installed(site, "acme_made", "acme_made")
    (site / "acme_made.py").write_text("class Handler:\n    def __init__(self): raise ValueError('no licence')\n")
    kernel = written(site / "made.py", "# @hint: acme_made").k
    with pytest.raises(Exception, match=r"of acme_made 1\.5 .*cannot be made: ValueError: no licence"):
        on_a_cpu(kernel)
