"""Bad input: a named error with MLIR's own words and the user's line, never a crash."""

import pytest

import tle_raw
from tle_raw import Scalar
from tle_raw.errors import CompilationFailed, DialectError, FragmentSourceError, SymbolError, ToolchainError
from tle_raw.knobs import knobs
from tle_raw.linker.processes.child_process import Finished

pytestmark = pytest.mark.every_triton(2)


def in_function(body: str, result: str = "%x") -> str:
    return f"func.func @f(%x: f32) -> f32 {{\n  {body}\n  return {result} : f32\n}}\n"


@pytest.mark.parametrize(
    ("body", "message", "shown"),
    [
        ("%y = arith.addfx %x, %x : f32", "custom op 'arith.addfx' is unknown", "arith.addfx"),
        ('%y = "arith.addfx"(%x) : (f32) -> f32', "arith.addfx", "arith.addfx"),
        ("%y = vendor.op %x : f32", "Dialect `vendor' not found", "vendor.op"),
        ('%y = "vendor.op"(%x) : (f32) -> f32', "with an unregistered dialect", "vendor.op"),
        ("%y = arith.addf %x, %z : f32", "use of undeclared SSA value name", "%z"),
        ("%y = arith.addi %x, %x : f32", "op operand #0 must be signless", "arith.addi"),
        ("%i = arith.constant 1 : i32 %y = arith.addf %x, %i : f32", "different type than prior uses", "%i : f32"),
        ("%i = arith.constant 1 : i32 %y = arith.mulf %i, %i : i32", "must be floating-point-like", "arith.mulf"),
        ("%m = memref.alloca() : memref<4xf32> %y = memref.load %m[%x] : memref<4xf32>", "different type", "%m[%x]"),
        ("scf.yield %x : f32", "scf.yield", "scf.yield"),
        ("%y = scf.if %x -> f32 {", "", ""),
        ("llvm.return %x : f32", "llvm.return", "llvm.return"),
        ("%y = math.exp %x : i32", "", "math.exp"),
        ("%y = nvvm.warpgroup.thing %x : f32", "nvvm.warpgroup.thing", "nvvm.warpgroup"),
        ('%y = "tensor.cast"(%x) : (f32) -> f32', "tensor", "tensor.cast"),
    ],
)
def test_mlirs_own_words_at_the_users_line(refusal, body, message, shown):
    error = refusal(in_function(body))
    assert isinstance(error, CompilationFailed)
    assert message in error.message
    assert shown in error.context.source.text
    assert error.context.fragment == "f"


def test_the_line_is_that_of_the_python_file():
    @tle_raw.dialect(
        "mlir",
        source="""
        func.func @wrong(%x: f32) -> f32 {
          %y = arith.addf %x, %unknown : f32
          return %y : f32
        }
        """,
    )
    def wrong(x: Scalar["f32"]) -> Scalar["f32"]: ...

    with pytest.raises(CompilationFailed) as caught:
        wrong.compile("cuda:90")
    place = caught.value.context.source
    with open(__file__) as file:
        assert file.read().splitlines()[place.line - 1] == place.text
    assert place.file == __file__ and "%unknown" in place.text[place.column - 1 :]


def test_the_line_of_a_file(tmp_path):
    path = tmp_path / "wrong.mlir"
    path.write_text("\n\n" + in_function("%y = arith.addf %x, %z : f32"))
    with pytest.raises(CompilationFailed) as caught:
        tle_raw.fragment(path).compile("cuda:90")
    place = caught.value.context.source
    assert (place.file, place.line) == (str(path), 4) and str(place) in str(caught.value)


FUNCTIONS = """
module {
  func.func @one(%x: f32) -> f32 { return %x : f32 }
  func.func private @hidden(%x: f32) -> f32 { return %x : f32 }
  func.func private @declared(f32) -> f32
  module @left { func.func @both(%x: f32) -> f32 { return %x : f32 } }
  gpu.module @right {
    func.func @both(%x: f32) -> f32 { %y = arith.negf %x : f32 return %y : f32 }
    gpu.func @kernel(%x: f32) kernel { gpu.return }
    gpu.func @device(%x: f32) -> f32 { gpu.return %x : f32 }
  }
}
"""


@pytest.mark.parametrize(
    ("symbol", "message", "hint"),
    [
        ("on", "the module has no function `on`", "did you mean one"),
        ("zzzz", "the module has no function `zzzz`", "the functions here are one, hidden (private)"),
        ("hidden", "`hidden` is private to its module", "make it public"),
        ("declared", "`declared` is only declared", "the functions here are"),
        ("both", "`both` is ambiguous", "symbol='left::both'"),
        ("kernel", "`kernel` is a kernel", "cannot be called"),
        ("device", "`device` is a gpu.func", "func.func"),
    ],
)
def test_symbols(symbol, message, hint):
    with pytest.raises(SymbolError) as caught:
        tle_raw.fragment(FUNCTIONS, symbol=symbol)
    assert message in caught.value.message and hint in caught.value.hint


@pytest.mark.one_triton
def test_nested_modules_are_unwrapped(run):
    assert run(tle_raw.fragment(FUNCTIONS, symbol="left::both"), x=2.0) == 2
    assert run(tle_raw.fragment(FUNCTIONS, symbol="@right::@both"), x=2.0) == -2


@pytest.mark.one_triton
def test_nested_modules_are_unwrapped_by_libtriton_too(run):
    from tle_raw.adapters.mlir.lower import lower

    text = """
module attributes {llvm.data_layout = "e-m:e", llvm.target_triple = "x86_64-unknown-linux-gnu", dlti.dl_spec = #dlti.dl_spec<>} {
  gpu.module @inner attributes {llvm.data_layout = "e"} {
    llvm.func @helper(%x: f32) -> f32 { %y = math.exp %x : f32 llvm.return %y : f32 }
    llvm.func @f(%x: f32) -> f32 { %y = llvm.call @helper(%x) : (f32) -> f32 llvm.return %y : f32 }
  }
  llvm.func @other(%x: f32) -> f32 { llvm.return %x : f32 }
}
"""  # noqa: E501
    for route in ("libtriton", "torch_mlir"):
        lowered = lower(text, "f", arch="sm_90a", route=route)
        assert "@helper" in lowered.llvm_ir and "@other" not in lowered.llvm_ir
        assert "x86" not in lowered.llvm_ir and "nvptx64" in lowered.llvm_ir
    assert abs(run(tle_raw.fragment(text, symbol="f"), x=1.0) - 2.718281828) < 1e-6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "module {}", "sorce": ""}, "takes no option `sorce`"),
        ({"source": "module {}", "file": "x.mlir"}, "both give the code"),
        ({"source": 3}, "source= takes text or bytecode"),
        ({"source": "module {}", "symbol": 3}, "symbol= takes a function's name"),
        ({"source": "module {}", "block": (0, 1)}, "block= takes one to three sizes"),
        ({"source": "module {}", "block": (1, 1, 1, 1)}, "block= takes one to three sizes"),
        ({"file": 3}, "file= takes a path"),
        ({}, "takes file=, source= or module="),
    ],
)
def test_options(options, message):
    with pytest.raises(DialectError) as caught:

        @tle_raw.dialect("mlir", **options)
        def f(x: Scalar["f32"]): ...

    assert message in caught.value.message


def test_a_body_beside_a_source_is_refused():
    with pytest.raises(DialectError, match="has a body"):

        @tle_raw.dialect("mlir", source="module {}")
        def f(x: Scalar["f32"]) -> Scalar["f32"]:
            return x + 1


def test_what_is_no_module():
    with pytest.raises(FragmentSourceError, match=r"no MLIR can be read from a builtins\.int"):
        tle_raw.fragment(3, dialect="mlir")
    with pytest.raises(DialectError, match="which dialect int belongs to"):
        tle_raw.fragment(3)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xfe\x00", "neither MLIR text nor MLIR bytecode"),
        (b"", "the source is empty"),
        (b"ML\xefR\x0dMLIR99.0.0\x00rubbish", "the bytecode cannot be read"),
    ],
)
def test_bytes_that_are_no_module(data, message):
    with pytest.raises(FragmentSourceError) as caught:
        tle_raw.fragment(data, dialect="mlir")
    assert message in caught.value.message
    if data.startswith(b"ML"):
        assert "MLIR 99.0.0" in caught.value.hint


def test_a_missing_file(tmp_path):
    (tmp_path / "scale.mlir").write_text("module {}")
    with pytest.raises(FragmentSourceError, match="does not exist") as caught:
        tle_raw.fragment(tmp_path / "scal.mlir")
    assert "scale.mlir" in caught.value.hint


def test_time_runs_out(refusal):
    with knobs.scope():
        knobs.compile_timeout = 0.01
        error = refusal(in_function("// takes longer"))
    assert isinstance(error, CompilationFailed) and "did not finish within 0.01 seconds" in error.message


def test_a_crash_is_an_error(monkeypatch):
    """The child ends as an assertion of LLVM's would end it."""
    from tle_raw.adapters.mlir import child

    said = "python: Casting.h:566: Assertion `isa<To>(Val)' failed.\nStack dump:\n#0 0x1"
    monkeypatch.setattr(child, "run_python", lambda *_, **__: Finished(-6, b"", said))
    with pytest.raises(CompilationFailed) as caught:
        child.ask({"task": "lower"}, "")
    assert "MLIR crashed (SIGABRT)" in caught.value.message
    assert caught.value.log == "python: Casting.h:566: Assertion `isa<To>(Val)' failed."


def test_without_bindings_upstream_dialects_ask_for_them(monkeypatch):
    from tle_raw.adapters.mlir import routes

    monkeypatch.setattr(routes, "installed", lambda: ())
    with pytest.raises(ToolchainError) as caught:
        routes.choose_route("func.func @f(%t: memref<4xf32, 3>) {\n  return\n}")
    assert "tle_raw[mlir]" in caught.value.hint
    assert routes.choose_route(in_function("%y = math.exp %x : f32")) == "libtriton"


def test_other_targets_are_refused():
    fragment = tle_raw.fragment(in_function(""))
    with pytest.raises(DialectError, match="unknown target 'hip'"):
        fragment.compile("hip")
