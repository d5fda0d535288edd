"""Options are checked when the fragment is declared, sources are read anew each time."""

import pytest

from tle_raw.adapters.cuda import CudaAdapter
from tle_raw.errors import DialectError, FragmentSourceError
from tle_raw.fragments.adapter import Adapter

pytestmark = pytest.mark.one_triton

F = "__device__ void f() {}"


def test_the_adapter_keeps_the_protocol():
    assert isinstance(CudaAdapter(), Adapter)


def test_an_unknown_option_names_the_near_ones(cuda):
    with pytest.raises(DialectError, match="`flag`") as error:
        cuda.read(source=F, flag=[])
    assert "flags" in error.value.hint


@pytest.mark.parametrize("options", [{}, {"file": "a.cu", "source": F}])
def test_exactly_one_of_file_and_source_is_given(cuda, options):
    with pytest.raises(DialectError, match="file= or source="):
        cuda.read(**options)


def test_a_missing_file_names_its_neighbours(cuda, tmp_path):
    (tmp_path / "scale.cu").write_text(F)
    with pytest.raises(FragmentSourceError, match="does not exist") as error:
        cuda.read(file="scael.cu", folder=tmp_path)
    assert "scale.cu" in error.value.hint


@pytest.mark.parametrize(
    "flag", ["-o", "-oout", "-c", "-x", "-xc++", "-emit-llvm", "--cuda-gpu-arch=sm_80", "--offload-arch=sm_80",
             "-arch=sm_80", "-MD", "other.cu", "-", "-S", "--target=x86_64"]
)  # fmt: skip
def test_a_flag_that_breaks_the_adapter_is_refused(cuda, flag):
    with pytest.raises(DialectError):
        cuda.read(source=F, flags=[flag])


@pytest.mark.parametrize(
    "options", [{"source": 3}, {"source": F, "symbol": 3}, {"source": F, "block": (0, 1)}, {"source": F, "flags": 3},
                {"source": F, "block": (1, 1, 1, 1)}, {"source": F, "block": "16"}, {"source": F, "flags": [3]},
                {"source": F, "include_dirs": 3}, {"source": F, "defines": [3]}, {"file": 3},
                {"source": F, "block": True}]
)  # fmt: skip
def test_a_value_of_the_wrong_type_is_refused(cuda, options):
    with pytest.raises(DialectError):
        cuda.read(**options)


def test_an_empty_source_is_refused(cuda):
    with pytest.raises(FragmentSourceError, match="empty"):
        cuda.read(source="  \n")


def test_settings_tell_apart_all_that_changes_the_code(cuda, tmp_path):
    variants = [
        {},
        {"defines": {"A": 1}},
        {"flags": ["-O2"]},
        {"include_dirs": ["x"]},
        {"block": (8, 4)},
        {"symbol": "g"},
    ]
    settings = {cuda.read(source=F, **options).settings for options in variants}
    assert len(settings) == len(variants)


def test_inline_and_flagtrees_symbol_name_are_taken(cuda):
    assert cuda.read(source=F, inline=True, extern_func_name="g").symbol == "g"


def test_a_file_is_read_anew(cuda, tmp_path):
    file = tmp_path / "a.cu"
    file.write_text(F)
    first = cuda.read(file="a.cu", folder=tmp_path)
    file.write_text(F + "// more")
    assert cuda.read(file="a.cu", folder=tmp_path).text != first.text


def test_a_file_that_changes_meanwhile_is_noticed(cuda, tmp_path):
    file = tmp_path / "a.cu"
    file.write_text(F)
    read = cuda.read(file=file)
    file.write_text(F + "// more")
    with pytest.raises(FragmentSourceError, match="changed"):
        cuda.compile(read)


@pytest.mark.parametrize("defines", [{"A": 7, "B": None}, ["A=7", "B"]])
def test_defines_reach_the_code(cuda, entry_body, defines):
    text = "#ifndef B\n#error no B\n#endif\n__device__ int f() { return A; }"
    assert "ret i32 7" in entry_body(cuda.compile(text, result="i32", defines=defines))


def test_macros_of_the_user_leave_the_headers_alone(cuda, entry_body, entry_type):
    defines = {"T": "float", "U": "int", "N": 64, "A": 1, "value": "nothing", "x": 3, "_HIDDEN": 1}
    text = "#include <cuda_fp16.h>\n__device__ T f(__half* p) { static_assert(N == 64 && _HIDDEN); return p[N]; }"
    output = cuda.compile("#undef x\n#undef value\n" + text, ("p: pointer f16",), result="f32", defines=defines)
    assert entry_type(output) == ("float", ("ptr addrspace(1)",)) and "i64 128" in entry_body(output)


def test_flags_reach_the_code(cuda, tmp_path, entry_body):
    (tmp_path / "forced.h").write_text("#define FORCED 5\n")
    flags = ["-include", "forced.h", "-DMORE=2", "-D", "LAST=1", "-std=c++20", "--use_fast_math", "-lineinfo"]
    read = cuda.read(
        source="__device__ int f() { static_assert(__cplusplus >= 202002L); return FORCED + MORE + LAST; }",
        flags=flags,
        folder=tmp_path,
    )
    output = cuda.compile(read, result="i32")
    assert "ret i32 8" in entry_body(output)
    assert tmp_path / "forced.h" in cuda.adapter.files(read)


def test_names_with_spaces_and_unicode_work(cuda, tmp_path, entry_body):
    folder = tmp_path / "наш код $x #1"
    folder.mkdir()
    (folder / "мой файл.cu").write_text('#include "un été.h"\n__device__ int f() { return N; }')
    (folder / "un été.h").write_text("#define N 9\n")
    read = cuda.read(file="мой файл.cu", folder=folder)
    output = cuda.compile(read, result="i32")
    assert "ret i32 9" in entry_body(output)
    assert output.files == cuda.adapter.files(read) == (folder / "un été.h", folder / "мой файл.cu")
