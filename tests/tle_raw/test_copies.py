"""A fragment is one thing: copies are itself, and a pickle names the module that declares it."""

import copy
import pickle
import subprocess
import sys

import pytest

import tle_raw
from tle_raw import Element
from tle_raw.errors import FragmentPicklingError, TLEError

pytestmark = pytest.mark.one_triton
TEXT = "define float @twice(float %x) {\n  %y = fadd float %x, %x\n  ret float %y\n}\n"


@tle_raw.dialect("llvm", source=TEXT)
def twice(x: Element["f32"]) -> Element["f32"]: ...


under_another_name = tle_raw.fragment(TEXT.replace("twice", "double"), dialect="llvm", signature=twice.signature)


def test_copies_are_the_fragment_itself():
    assert copy.copy(twice) is twice
    assert copy.deepcopy({"activation": [twice]})["activation"][0] is twice


@pytest.mark.parametrize("fragment", [twice, under_another_name])
def test_a_pickle_gives_the_fragment_back(fragment):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(fragment, protocol)) is fragment


def test_a_fragment_that_no_module_holds_says_so():
    @tle_raw.dialect("llvm", source=TEXT)
    def twice(x: Element["f32"]) -> Element["f32"]: ...

    with pytest.raises(FragmentPicklingError, match="no module holds it") as caught:
        pickle.dumps(twice)
    assert isinstance(caught.value, pickle.PicklingError) and isinstance(caught.value, TLEError)
    assert caught.value.context.source == twice.location


def test_another_process_imports_the_module(tmp_path):
    (tmp_path / "kernels.py").write_text(
        "import tle_raw\nfrom tle_raw import Element\n"
        f"@tle_raw.dialect('llvm', source={TEXT!r})\n"
        "def twice(x: Element['f32']) -> Element['f32']: ...\n"
    )
    dump = "import pickle, sys, kernels; sys.stdout.buffer.write(pickle.dumps(kernels.twice))"
    load = "import pickle, sys; print(pickle.load(sys.stdin.buffer).symbol)"
    pickled = subprocess.run([sys.executable, "-c", dump], cwd=tmp_path, capture_output=True, check=True).stdout
    told = subprocess.run([sys.executable, "-c", load], cwd=tmp_path, input=pickled, capture_output=True, check=True)
    assert told.stdout == b"twice\n"
