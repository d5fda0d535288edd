"""One form per operation: a line of Triton IR, and the lines of the Linalg form that it must become."""

from __future__ import annotations

from typing import NamedTuple

SHAPE = "16"
ANY = "%{{.*}}"


class Form(NamedTuple):
    """``text`` uses the values of ``PRELUDE`` and defines ``%r``, of type ``result``, unless that is empty."""

    operation: str
    text: str
    result: str
    checks: str


# Arguments, and tiles of each type, that the texts may use.
TILES = {"i1": "b", "i8": "c", "i16": "s", "i32": "i", "i64": "l", "f16": "h", "bf16": "g", "f32": "f", "f64": "d"}
ARGUMENTS = ", ".join(f"%p{name}: !tt.ptr<{type_}>" for type_, name in TILES.items()) + ", %n: i32, %z: f32, %t: i64"


def tensor(element: str, shape: str = SHAPE) -> str:
    return f"tensor<{shape}x{element}>"


def _tile(type_: str, name: str, number: int) -> str:
    pointers = tensor(f"!tt.ptr<{type_}>")
    loaded = f"""
        %{name}p{number} = "tt.addptr"(%{name}s, %at{number}) : ({pointers}, {tensor("i32")}) -> {pointers}
        %{name}{number} = tt.load %{name}p{number} : {pointers}"""
    splat = f"%{name}s = tt.splat %p{name} : !tt.ptr<{type_}> -> {pointers}"
    return (splat if number == 0 else "") + loaded


PRELUDE = f"""
    %at0 = tt.make_range {{end = 16 : i32, start = 0 : i32}} : {tensor("i32")}
    %sixteen = arith.constant dense<16> : {tensor("i32")}
    %at1 = arith.addi %at0, %sixteen : {tensor("i32")}
    %at2 = arith.addi %at1, %sixteen : {tensor("i32")}
""" + "".join(_tile(type_, name, number) for type_, name in TILES.items() for number in range(3))


def module(form: Form) -> str:
    """A kernel of the one operation, which stores the result."""
    element = form.result.removesuffix(">").rpartition("x")[2] if form.result.startswith("tensor<") else form.result
    name = TILES.get(element, "i")
    if not form.result:
        store = ""
    elif form.result == tensor(element):
        store = f"tt.store %{name}p0, %r : {tensor(f'!tt.ptr<{element}>')}"
    elif form.result == element:
        store = f"tt.store %p{name}, %r : !tt.ptr<{element}>"
    else:
        size = _size(form.result)
        flat, pointers = f"tensor<{size}x{element}>", f"tensor<{size}x!tt.ptr<{element}>>"
        store = f"""
            %flat = tt.reshape %r allow_reorder : {form.result} -> {flat}
            %range = tt.make_range {{end = {size} : i32, start = 0 : i32}} : tensor<{size}xi32>
            %base = tt.splat %p{name} : !tt.ptr<{element}> -> {pointers}
            %to = tt.addptr %base, %range : {pointers}, tensor<{size}xi32>
            tt.store %to, %flat : {pointers}"""
    return f"module {{ tt.func public @kernel({ARGUMENTS}) {{ {PRELUDE} {form.text}\n {store}\n tt.return }} }}"


def _size(type_: str) -> int:
    size = 1
    for part in type_.removeprefix("tensor<").split("x")[:-1]:
        size *= int(part)
    return size


def elementwise(operation: str, types: str, checks: str = "", attributes: str = "", ready: str = "") -> Form:
    """An operation on the elements of tiles: ``types`` are the operands' and the result's element types."""
    *operands, result = types.split()
    counts: dict[str, int] = {}
    values = []
    for type_ in operands:
        values.append(f"%{TILES[type_]}{counts.setdefault(type_, 0)}")
        counts[type_] += 1
    signature = f"({', '.join(tensor(t) for t in operands)}) -> {tensor(result)}"
    text = f'{ready} %r = "{operation}"({", ".join(values)}) {attributes} : {signature}'
    checks = checks or f"{operation} {', '.join([ANY] * len(operands))}"
    return Form(operation, text, tensor(result), checks)


_PLAIN = """
    arith.addf arith.subf arith.mulf arith.divf arith.remf : f32 f32 f32
    arith.maximumf arith.minimumf arith.maxnumf arith.minnumf : f16 f16 f16
    arith.negf math.absf math.ceil math.floor math.cos math.sin math.exp math.exp2 : f32 f32
    math.log math.log2 math.sqrt math.rsqrt math.erf : f64 f64
    arith.addi arith.subi arith.muli arith.andi arith.ori arith.xori arith.shli arith.shrsi arith.shrui : i32 i32 i32
    arith.maxsi arith.maxui arith.minsi arith.minui : i64 i64 i64
    arith.extsi arith.extui : i8 i32
    arith.trunci : i64 i16
    arith.sitofp arith.uitofp : i32 f32
    math.absi : i32 i32
"""
PLAIN = [
    elementwise(operation, types)
    for line in _PLAIN.strip().splitlines()
    for operation in line.partition(":")[0].split()
    for types in [line.partition(":")[2].strip()]
]
_GUARDED = "arith.cmpi eq\n arith.select\n {operation} "
_SATURATED = "arith.cmpf olt\n arith.cmpf oge\n arith.select\n {operation} \n arith.select\n arith.select"
ELEMENTWISE = [
    *PLAIN,
    elementwise("arith.cmpi", "i32 i32 i1", "arith.cmpi slt", "{predicate = 2 : i64}"),
    elementwise("arith.cmpf", "f32 f32 i1", "arith.cmpf olt", "{predicate = 4 : i64}"),
    elementwise("arith.select", "i1 f32 f32 f32", "arith.select %{{.*}} : f32"),
    *[
        elementwise(name, "i32 i32 i32", _GUARDED.format(operation=name))
        for name in ("arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.floordivsi", "arith.ceildivsi")
    ],
    elementwise("arith.fptosi", "f32 i32", _SATURATED.format(operation="arith.fptosi")),
    elementwise("arith.fptoui", "f32 i32", _SATURATED.format(operation="arith.fptoui")),
    elementwise("arith.extf", "f16 f32", "arith.extf %{{.*}} : f16 to f32"),
    elementwise("arith.truncf", "f32 bf16", "arith.truncf %{{.*}} : f32 to bf16"),
    elementwise("arith.bitcast", "f32 i32", "arith.bitcast %{{.*}} : f32 to i32"),
    elementwise("math.fma", "f32 f32 f32 f32", "math.fma"),
    elementwise("math.fma", "f16 f16 f16 f16", "arith.mulf %{{.*}} : f64\n arith.addf %{{.*}} : f64"),
    elementwise("tt.bitcast", "i16 f16", "arith.bitcast %{{.*}} : i16 to f16"),
    elementwise("tt.fp_to_fp", "f32 f16", "math.trunc\n arith.truncf", "{rounding = 0 : i32}"),
    elementwise("tt.mulhiui", "i64 i64 i64", "arith.mului_extended"),
    elementwise("tt.precise_divf", "f32 f32 f32", "arith.divf"),
    elementwise("tt.precise_sqrt", "f32 f32", "math.sqrt"),
    elementwise("tt.approx_divf", "f32 f32 f32", "arith.divf"),
    elementwise("tt.clampf", "f32 f32 f32 f32", "arith.maxnumf\n arith.minnumf", "{propagateNan = 0 : i32}"),
    elementwise(
        "tt.extern_elementwise",
        "f32 f32",
        "math.tanh",
        '{libname = "", libpath = "", symbol = "__nv_tanhf", pure = true}',
    ),
]

_COMBINE = '^bb0(%a: f32, %b: f32):\n %c = arith.addf %a, %b : f32\n "tt.{name}.return"(%c) : (f32) -> ()'
_ATOMIC = "{{atomic_rmw_op = {kind} : i32, sem = {sem} : i32, scope = 1 : i32}}"
_POINTERS = tensor("!tt.ptr<i32>")
MEMORY = [
    Form("tt.load", f"%r = tt.load %fp1, %b0, %f0 : {tensor('!tt.ptr<f32>')}", tensor("f32"),
         "scf.if\n llvm.load\n scf.yield\n else\n scf.yield"),
    Form("tt.store", f"tt.store %fp0, %f1, %b0 : {tensor('!tt.ptr<f32>')}", "", "scf.if\n llvm.store"),
    Form("tt.addptr", f"%q = tt.addptr %fs, %at2 : {tensor('!tt.ptr<f32>')}, {tensor('i32')}\n"
         f"%r = tt.load %q : {tensor('!tt.ptr<f32>')}", tensor("f32"), "arith.extsi\n llvm.getelementptr"),
    Form("tt.ptr_to_int", f"%r = tt.ptr_to_int %fp0 : {tensor('!tt.ptr<f32>')} -> {tensor('i64')}", tensor("i64"),
         "llvm.ptrtoint"),
    Form("tt.int_to_ptr", f"%q = tt.int_to_ptr %l0 : {tensor('i64')} -> {tensor('!tt.ptr<f32>')}\n"
         f"%r = tt.load %q : {tensor('!tt.ptr<f32>')}", tensor("f32"), "llvm.inttoptr\n llvm.load"),
    Form("tt.atomic_rmw", f'%r = "tt.atomic_rmw"(%ip0, %i0, %b0) {_ATOMIC.format(kind=4, sem=1)} : '
         f"({_POINTERS}, {tensor('i32')}, {tensor('i1')}) -> {tensor('i32')}", tensor("i32"),
         "scf.for\n scf.if\n llvm.atomicrmw add %{{.*}} monotonic"),
    Form("tt.atomic_cas", f'%r = "tt.atomic_cas"(%ip0, %i0, %i1) {{{{sem = 4 : i32, scope = 1 : i32}}}} : '
         f"({_POINTERS}, {tensor('i32')}, {tensor('i32')}) -> {tensor('i32')}".replace("{{", "{").replace("}}", "}"),
         tensor("i32"), "llvm.cmpxchg %{{.*}} acq_rel acquire"),
    Form("tt.atomic_load", f'%r = "tt.atomic_load"(%ip0) {{sem = 2 : i32, scope = 1 : i32}} : ({_POINTERS}) -> '
         f"{tensor('i32')}", tensor("i32"), "llvm.load %{{.*}} atomic acquire"),
    Form("tt.atomic_store", f'"tt.atomic_store"(%ip0, %i0) {{sem = 3 : i32, scope = 1 : i32}} : ({_POINTERS}, '
         f"{tensor('i32')}) -> ()", "", "llvm.store %{{.*}} atomic release"),
    Form("tt.atomic_poll", f'%r = "tt.atomic_poll"(%ip0, %i0, %t) {{sem = 2 : i32, scope = 1 : i32}} : ({_POINTERS}, '
         f"{tensor('i32')}, i64) -> {tensor('i1')}", tensor("i1"),
         "llvm.call @clock_gettime\n scf.while\n llvm.load %{{.*}} atomic acquire\n @tle.wait\n scf.condition"),
]  # fmt: skip
SHAPES = [
    Form("tt.make_range", f"%r = tt.make_range {{end = 48 : i32, start = 32 : i32}} : {tensor('i32')}", tensor("i32"),
         "linalg.index 0\n arith.addi %{{.*}}, %c32_i32"),
    Form("tt.splat", f"%r = tt.splat %z : f32 -> {tensor('f32')}", tensor("f32"), "llvm.store %arg10"),
    Form("tt.unsplat", '%o = tt.splat %z : f32 -> tensor<1xf32>\n %r = "tt.unsplat"(%o) : (tensor<1xf32>) -> f32',
         "f32", "llvm.store %arg10"),
    Form("tt.expand_dims", f"%r = tt.expand_dims %f0 {{axis = 0 : i32}} : {tensor('f32')} -> tensor<1x16xf32>",
         "tensor<1x16xf32>", "llvm.load\n llvm.store"),
    Form("tt.broadcast", f"%e = tt.expand_dims %f0 {{axis = 1 : i32}} : {tensor('f32')} -> tensor<16x1xf32>\n"
         "%r = tt.broadcast %e : tensor<16x1xf32> -> tensor<16x4xf32>", "tensor<16x4xf32>", "arith.divui\n llvm.store"),
    Form("tt.reshape", f"%m = tt.reshape %f0 : {tensor('f32')} -> tensor<4x4xf32>\n"
         "%r = tt.trans %m {order = array<i32: 1, 0>} : tensor<4x4xf32> -> tensor<4x4xf32>", "tensor<4x4xf32>",
         "arith.remui\n arith.divui\n llvm.load"),
    Form("tt.trans", f"%m = tt.reshape %f0 : {tensor('f32')} -> tensor<8x2xf32>\n"
         "%r = tt.trans %m {order = array<i32: 1, 0>} : tensor<8x2xf32> -> tensor<2x8xf32>", "tensor<2x8xf32>",
         "arith.muli %{{.*}}, %c2\n llvm.load"),
    Form("tt.join", f"%r = tt.join %f0, %f1 : {tensor('f32')} -> tensor<16x2xf32>", "tensor<16x2xf32>",
         "arith.cmpi eq, %{{.*}}, %c0\n arith.select"),
    Form("tt.split", f"%m = tt.reshape %f0 : {tensor('f32')} -> tensor<8x2xf32>\n"
         "%r, %rest = tt.split %m : tensor<8x2xf32> -> tensor<8xf32>", "tensor<8xf32>",
         "arith.muli %{{.*}}, %c2\n llvm.load"),
    Form("tt.cat", f'%r = "tt.cat"(%f0, %f1) : ({tensor("f32")}, {tensor("f32")}) -> {tensor("f32", "32")}',
         tensor("f32", "32"), "arith.cmpi ult\n arith.remui\n arith.select"),
    Form("tt.gather", f'%r = "tt.gather"(%f0, %i0) {{axis = 0 : i32}} : ({tensor("f32")}, {tensor("i32")}) -> '
         f"{tensor('f32')}", tensor("f32"), "arith.minui %{{.*}} : index\n memref.load"),
]  # fmt: skip
REGIONS = [
    Form("tt.reduce", f'%r = "tt.reduce"(%f0) ({{ {_COMBINE.format(name="reduce")} }}) {{axis = 0 : i32}} : '
         f"({tensor('f32')}) -> f32", "f32", "linalg.generic\n vector.shuffle\n arith.addf\n vector.extract"),
    Form("tt.scan", f'%r = "tt.scan"(%f0) ({{ {_COMBINE.format(name="scan")} }}) {{axis = 0 : i32, reverse = false}} : '
         f"({tensor('f32')}) -> {tensor('f32')}", tensor("f32"), "memref.store\n scf.for\n arith.addf\n memref.store"),
    Form("tt.map_elementwise", f'%r = "tt.map_elementwise"(%f0) ({{ ^bb0(%a: f32):\n %c = arith.negf %a : f32\n'
         f'"tt.map_elementwise.return"(%c) : (f32) -> () }}) {{pack = 1 : i32}} : ({tensor("f32")}) -> {tensor("f32")}',
         tensor("f32"), "arith.negf\n llvm.store"),
    Form("tt.histogram", f'%r = "tt.histogram"(%i0) : ({tensor("i32")}) -> {tensor("i32")}', tensor("i32"),
         "linalg.generic\n scf.for\n arith.cmpi ult\n scf.if\n memref.load\n memref.store"),
    Form("tt.dot", "%m = tt.reshape %f0 : tensor<16xf32> -> tensor<4x4xf32>\n"
         "%r = tt.dot %m, %m, %m : tensor<4x4xf32> * tensor<4x4xf32> -> tensor<4x4xf32>", "tensor<4x4xf32>",
         "linalg.matmul ins(%[[A:.*]], %[[B:.*]] : memref<4x4xf32>, memref<4x4xf32>) outs("),
    Form("tt.dot_scaled", "%m = tt.reshape %g0 : tensor<16xbf16> -> tensor<4x4xbf16>\n"
         "%acc = tt.reshape %f0 : tensor<16xf32> -> tensor<4x4xf32>\n"
         '%r = "tt.dot_scaled"(%m, %m, %acc) {a_elem_type = 5 : i32, b_elem_type = 5 : i32, fastMath = false, '
         "lhs_k_pack = true, rhs_k_pack = true, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : "
         "(tensor<4x4xbf16>, tensor<4x4xbf16>, tensor<4x4xf32>) -> tensor<4x4xf32>", "tensor<4x4xf32>",
         "arith.extf\n linalg.matmul"),
    Form("scf.for", "%zero = arith.constant 0 : i32\n %one = arith.constant 1 : i32\n"
         f"%r = scf.for %k = %zero to %n step %one iter_args(%c = %f0) -> ({tensor('f32')}) : i32 {{\n"
         f"%s = arith.addf %c, %c : {tensor('f32')}\n scf.yield %s : {tensor('f32')} }}", tensor("f32"),
         "linalg.generic {{.*}} outs(%[[C:.*]] : memref<16xf32>)\n scf.for\n linalg.generic {{.*}} outs(%[[C]]"),
    Form("scf.if", f"%q = arith.trunci %n : i32 to i1\n"
         f"%r = scf.if %q -> ({tensor('f32')}) {{ scf.yield %f0 : {tensor('f32')} }} "
         f"else {{ scf.yield %f1 : {tensor('f32')} }}", tensor("f32"),
         "scf.if\n linalg.generic {{.*}} outs(%[[R:.*]] :\n else\n linalg.generic {{.*}} outs(%[[R]]"),
    Form("scf.while", f"%r = scf.while (%c = %f0) : ({tensor('f32')}) -> {tensor('f32')} {{\n"
         f"%q = arith.trunci %n : i32 to i1\n scf.condition(%q) %c : {tensor('f32')} }} do {{\n"
         f"^bb0(%v: {tensor('f32')}):\n"
         f"%w = arith.negf %v : {tensor('f32')}\n scf.yield %w : {tensor('f32')} }}", tensor("f32"),
         "scf.while\n linalg.generic\n scf.condition\n arith.negf"),
    Form("scf.index_switch", f"%x = arith.index_cast %n : i32 to index\n %r = scf.index_switch %x -> {tensor('f32')}\n"
         f"case 3 {{ scf.yield %f0 : {tensor('f32')} }} default {{ scf.yield %f1 : {tensor('f32')} }}", tensor("f32"),
         "scf.index_switch\n case 3\n linalg.generic\n default\n linalg.generic"),
    Form("scf.execute_region", f"%r = scf.execute_region -> {tensor('f32')} {{\n"
         f"%w = arith.negf %f0 : {tensor('f32')}\n"
         f"scf.yield %w : {tensor('f32')} }}", tensor("f32"), "arith.negf\n llvm.store"),
]  # fmt: skip
PROGRAM = [
    Form("tt.get_program_id", "%r = tt.get_program_id y : i32", "i32", "llvm.store %arg13, %arg3"),
    Form("tt.get_num_programs", "%r = tt.get_num_programs z : i32", "i32", "llvm.store %arg17, %arg3"),
    Form("arith.constant", f"%r = arith.constant dense<2.5> : {tensor('f32')}", tensor("f32"),
         "%[[C:.*]] = arith.constant 2.5\n llvm.store %[[C]]"),
    Form("ub.poison", f'%r = "ub.poison"() <{{value = #ub.poison}}> : () -> {tensor("f32")}', tensor("f32"),
         "llvm.store %cst"),
    Form("tt.assert", f'"tt.assert"(%b0) {{message = "no"}} : ({tensor("i1")}) -> ()', "",
         "scf.for\n func.call @tle.fail"),
    Form("tt.print", f'"tt.print"(%i0) {{prefix = " v: ", hex = false, isSigned = array<i32: 1>}} : '
         f"({tensor('i32')}) -> ()", "", "scf.for\n llvm.call @printf\n llvm.call @fflush"),
    Form("llvm.intr.assume", '%q = arith.trunci %n : i32 to i1\n "llvm.intr.assume"(%q) '
         "{op_bundle_sizes = array<i32>} : (i1) -> ()", "", "return"),
    Form("gpu.barrier", '"gpu.barrier"() : () -> ()', "", "return"),
]  # fmt: skip
FORMS = [*ELEMENTWISE, *MEMORY, *SHAPES, *REGIONS, *PROGRAM]
