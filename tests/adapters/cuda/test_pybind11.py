"""pybind11's headers are not read: what a program's host code says of its names is declared in their place."""

import pytest

import tle_raw
from tle_raw.adapters.cpp import precompiled_headers
from tle_raw.adapters.cpp.installed_headers import folder_with
from tle_raw.adapters.cuda.host_files import ProgramFiles

pytestmark = pytest.mark.one_triton
needs_pybind11 = pytest.mark.skipif(folder_with("pybind11/pybind11.h") is None, reason="pybind11 is not installed")

PROGRAM = """
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
namespace py = pybind11;
using namespace py::literals;
struct Net {
  int a;
  py::object o;
  py::array_t<float> w;
  py::object key(int x) const { return py::cast(new Net{x}); }
  template <class T>
  py::tuple all(py::array_t<T, py::array::c_style | py::array::forcecast> x) {
    auto info = x.request();
    py::gil_scoped_release release;
    if (info.ndim != 2) throw py::value_error("two");
    py::list l;
    l.append(py::cast(3));
    py::dict d;
    d["a"] = 1;
    py::print("x", l, d);
    return py::make_tuple(x, l, py::none());
  }
};
PYBIND11_MODULE(mine, m) {
  m.doc() = "text";
  m.def("all", [](Net& n, py::array_t<float> x) { return n.all(x); }, "x"_a, py::arg("y") = 3);
  py::class_<Net>(m, "Net").def(py::init<int, float>()).def_readwrite("a", &Net::a);
  py::enum_<std::memory_order>(m, "E").value("A", std::memory_order_relaxed).export_values();
}
__global__ void twice(float* x) { x[threadIdx.x] *= 2; }
"""


@pytest.fixture
def read(monkeypatch):
    """The files of pybind11's that each run read."""
    found, run = [], precompiled_headers.run_compiler

    def compiler(command, *rest):
        made = run(command, *rest)
        found.append((made.returncode, [f for f in made.files if f.parent.name == "pybind11"]))
        return made

    monkeypatch.setattr(precompiled_headers, "run_compiler", compiler)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cuda:90"
        yield found


def compiled(text):
    return tle_raw.fragment(text, dialect="cuda", symbol="twice").as_kernel(block=32).compile("cuda:90").asm["cubin"]


def test_a_program_that_makes_a_module_reads_none_of_its_headers(read):
    assert compiled(PROGRAM)
    assert [code for code, _ in read] == [0, 0], "the prototype and the code"
    stand_ins = ProgramFiles((), (PROGRAM,)).pybind11s_headers.values()
    assert {path.resolve() for _, files in read for path in files} <= {path.resolve() for path in stand_ins}


@needs_pybind11
def test_what_is_not_declared_has_the_program_read_its_own_headers(read):
    text = PROGRAM.replace("PYBIND11_MODULE(mine", "struct Mine : py::detail::generic_type { };\nPYBIND11_MODULE(mine")
    assert compiled(text)
    assert read[0][0] != 0 and len({path.resolve() for path in read[-1][1]}) > 1


def test_headers_of_the_users_own_are_read(tmp_path):
    own = tmp_path / "pybind11" / "pybind11.h"
    assert ProgramFiles((own,), ("#include <pybind11/pybind11.h>\n",)).pybind11s_headers == {}
    assert ProgramFiles((), ("#include <vector>\n",)).pybind11s_headers == {}
