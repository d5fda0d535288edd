"""The files of a fragment are known before it is compiled."""

import pytest

from tle_raw.adapters.cpp.includes import closure, includes_of
from tle_raw.linker.processes.run_compiler import dependency_files

pytestmark = pytest.mark.one_triton


def write(folder, **files):
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".h")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def names(found):
    return [path.name for path in found.files]


def test_includes_are_followed_through_folders(tmp_path):
    write(tmp_path, a='#include "b.h"\n#include <inc.h>', b="", inc__inc='#  include "deep.h"', inc__deep="")
    assert names(closure('#include "a.h"', tmp_path, [tmp_path / "inc"])) == ["a.h", "b.h", "deep.h", "inc.h"]


def test_toolchain_headers_are_left_out(tmp_path):
    found = closure("#include <cuda_fp16.h>\n#include <vector>", tmp_path, [])
    assert found.files == () and not found.has_computed


def test_dead_branches_count(tmp_path):
    write(tmp_path, a="")
    assert names(closure('#if 0\n#include "a.h"\n#endif', tmp_path, [])) == ["a.h"]


def test_a_cycle_ends(tmp_path):
    write(tmp_path, a='#include "b.h"', b='#include "a.h"')
    assert names(closure('#include "a.h"', tmp_path, [])) == ["a.h", "b.h"]


def test_include_next_takes_all_that_it_could_mean(tmp_path):
    write(tmp_path, one__a="#include_next <a.h>", two__a="")
    found = closure("#include <a.h>", None, [tmp_path / "one", tmp_path / "two"])
    assert [path.parent.name for path in found.files] == ["one", "two"]


def test_a_computed_include_is_noticed():
    assert closure("#define H <a.h>\n#include H", None, []).has_computed
    assert includes_of('#include \\\n "x.h"')[0].name == "x.h"


def test_a_computed_include_asks_the_compiler(cuda, tmp_path):
    write(tmp_path, deep="#define N 3\n", other="")
    text = '#define HEADER "deep.h"\n#include HEADER\n__device__ int f() { return N; }'
    read = cuda.read(source=text, folder=tmp_path)
    assert cuda.adapter.files(read) == (tmp_path / "deep.h",)
    assert cuda.compile(read, result="i32").files == (tmp_path / "deep.h",)


def test_a_changed_header_changes_the_entry_name(cuda, tmp_path):
    write(tmp_path, a="#define N 1\n")
    read = cuda.read(source='#include "a.h"\n__device__ int f() { return N; }', folder=tmp_path)
    first = cuda.adapter.unit(read, cuda.bound(result="i32"))
    write(tmp_path, a="#define N 2\n")
    assert cuda.adapter.unit(read, cuda.bound(result="i32")) != first


def test_files_that_the_compiler_read_are_within_the_closure(cuda, tmp_path):
    write(tmp_path, a='#include "b.h"\n#include <cuda_fp16.h>\n', b="", inc__c="#define C 1\n", unused="")
    text = '#include "a.h"\n#include <c.h>\n#if 0\n#include "unused.h"\n#endif\n__device__ int f() { return C; }'
    read = cuda.read(source=text, folder=tmp_path, include_dirs=["inc"])
    read_files = cuda.compile(read, result="i32").files
    assert [path.name for path in read_files] == ["a.h", "b.h", "c.h"]
    assert set(read_files) < set(cuda.adapter.files(read))


def test_a_dependency_file_is_read():
    text = "out.ll: - /a\\ b/c.h \\\n  /d\\#e/f$$.h /g.h\n"
    assert list(map(str, dependency_files(text))) == ["/a b/c.h", "/d#e/f$.h", "/g.h"]


def test_a_name_that_no_file_can_have_is_none_of_the_users(tmp_path):
    found = closure(f'#include "{"x" * 300}.h"\n#include <{"y/" * 3000}z.h>', tmp_path, [tmp_path])
    assert found.files == ()
