"""What products look like after the pass."""

import re
import subprocess
import sys

import pytest

from tests.flir.cpu.block_matmul.compiled_products import Shape, assembly, blocked, product_text
from tle_raw.flir.cpu.block_matmul import block_matmul
from tle_raw.host.cpu import host_cpu

pytestmark = pytest.mark.one_triton

FLOATS = """
// Two panels of 64 columns, sixteen blocks of 4 rows: 4x4 accumulators of 512 bits.
// CHECK-LABEL: func.func @product
// CHECK-NOT:     memref.alloca
// CHECK:         scf.for %[[J:.*]] =
// CHECK:           scf.for %[[I:.*]] =
// CHECK-COUNT-16:    vector.load %arg2{{.*}} : memref<64x128xf32>, vector<16xf32>
// CHECK-NOT:         vector.load %arg2
// CHECK:             %{{.*}}:16 = scf.for %[[K:[a-z0-9]+]] = {{.*}} iter_args
// CHECK-COUNT-4:       vector.load %arg1[%[[K]], %{{.*}}] : memref<32x128xf32>, vector<16xf32>
// CHECK:               memref.load %arg0[%{{.*}}, %[[K]]] : memref<64x32xf32>
// CHECK:               vector.broadcast {{.*}} : f32 to vector<16xf32>
// CHECK-NEXT:          vector.fma
// CHECK:               scf.yield
// CHECK-COUNT-16:    vector.store {{.*}}, %arg2
// CHECK-NOT:     linalg.matmul
"""
SHORT_REGISTER_FILE = """
// Ten blocks of 6 rows, then one of 4, all of 2 vectors.
// CHECK-LABEL: func.func @product
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             %{{.*}}:12 = scf.for {{.*}} iter_args
// CHECK-COUNT-12:      vector.fma {{.*}} : vector<8xf32>
// CHECK-NOT:           vector.fma
// CHECK:               scf.yield
// CHECK:           %{{.*}}:8 = scf.for {{.*}} iter_args
"""
REMAINDER = """
// 37 columns are 32 + 4 + 1; five rows are one block.
// CHECK-LABEL: func.func @product
// CHECK-NOT:     scf.for
// CHECK:         vector.load %arg2{{.*}}, vector<16xf32>
// CHECK-NEXT:    {{.*}}vector.load %arg2{{.*}}, vector<16xf32>
// CHECK-NEXT:    {{.*}}vector.load %arg2{{.*}}, vector<4xf32>
// CHECK-NEXT:    {{.*}}vector.load %arg2{{.*}}, vector<1xf32>
// CHECK:         %{{.*}}:20 = scf.for
"""
SHORT_FLOATS = """
// A as a whole and B by panels are extended once.
// CHECK-LABEL: func.func @product
// CHECK-DAG:     %[[B:.*]] = memref.alloca() {alignment = 64 : i64} : memref<32x64xf32>
// CHECK-DAG:     %[[A:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64x32xf32>
// CHECK:         arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// CHECK:         vector.store {{.*}}, %[[A]]
// CHECK:         scf.for
// CHECK-COUNT-4:   arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// CHECK:           scf.for
// CHECK-NOT:         arith.extf
// CHECK:             vector.load %[[B]]
// CHECK:             memref.load %[[A]]
// CHECK:             vector.fma
"""
BYTES = """
// Two steps along K in one lane; the seventh is alone.
// CHECK-LABEL: func.func @product
// CHECK-DAG:     memref.alloca() {alignment = 64 : i64} : memref<4x16xi32>
// CHECK-DAG:     memref.alloca() {alignment = 64 : i64} : memref<16x4xi32>
// CHECK:         vector.interleave {{.*}} : vector<16xi16> -> vector<32xi16>
// CHECK:         vector.bitcast {{.*}} : vector<32xi16> to vector<16xi32>
// CHECK:         scf.for {{.*}} iter_args
// CHECK:           arith.muli {{.*}} overflow<nsw> : vector<32xi32>
// CHECK-NEXT:      vector.deinterleave
// CHECK-NEXT:      arith.addi
// CHECK-NEXT:      arith.addi
"""
BATCH = """
// CHECK-LABEL: func.func @product
// CHECK:         scf.for %[[BATCH:[a-z0-9]+]] =
// CHECK:           vector.load %arg2[%[[BATCH]], %{{.*}}, %{{.*}}] : memref<3x4x16xf64>, vector<8xf64>
// CHECK:           memref.load %arg0[%[[BATCH]],
// CHECK-NOT:     linalg.batch_matmul
"""


@pytest.mark.parametrize(
    ("checks", "shape", "element", "vector_bytes"),
    [
        pytest.param(FLOATS, Shape(64, 128, 32), "f32", 64, id="floats"),
        pytest.param(SHORT_REGISTER_FILE, Shape(64, 64, 32), "f32", 32, id="short register file"),
        pytest.param(REMAINDER, Shape(5, 37, 8), "f32", 64, id="remainder"),
        pytest.param(SHORT_FLOATS, Shape(64, 128, 32), "bf16", 64, id="short floats"),
        pytest.param(BYTES, Shape(16, 16, 7), "i8", 64, id="bytes"),
        pytest.param(BATCH, Shape(4, 16, 8, batch=3), "f64", 64, id="batch"),
    ],
)
def test_structure(checks, shape, element, vector_bytes, tmp_path):
    filecheck(tmp_path, checks, blocked(product_text(shape, element), vector_bytes))


def test_products_of_one_size_share_their_scratch_memory():
    a, c = "memref<16x16xf16>", "memref<16x16xf32>"
    product = f"linalg.matmul ins(%a, %a : {a}, {a}) outs(%c : {c})"
    text = f"func.func @product(%a: {a}, %c: {c}) {{ {product} {product} return }}"
    assert blocked(text, 64).count("memref.alloca") == 2


def test_scratch_memory_is_allocated_once_though_the_product_runs_in_a_loop(tmp_path):
    checks = """
    // CHECK-LABEL: func.func @product
    // CHECK-NEXT:    memref.alloca
    // CHECK-NEXT:    memref.alloca
    // CHECK-NOT:     memref.alloca
    """
    a, c = "memref<16x16xf16>", "memref<16x16xf32>"
    text = f"""
    func.func @product(%a: {a}, %c: {c}, %n: index) {{
      scf.for %i = %n to %n step %n {{ linalg.matmul ins(%a, %a : {a}, {a}) outs(%c : {c}) }}
      return
    }}"""
    filecheck(tmp_path, checks, blocked(text, 64))


TRANSPOSED = """
func.func @product(%a: memref<8x8xf32>, %b: memref<8x8xf32>, %c: memref<8x8xf32>) {
  linalg.matmul
    indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%a, %b : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  return
}"""
DYNAMIC = """
func.func @product(%a: memref<8x?xf32>, %b: memref<?x8xf32>, %c: memref<8x8xf32>) {
  linalg.matmul ins(%a, %b : memref<8x?xf32>, memref<?x8xf32>) outs(%c : memref<8x8xf32>)
  return
}"""
COLUMN_MAJOR = """
func.func @product(%a: memref<8x8xf32, strided<[1, 8]>>, %b: memref<8x8xf32>, %c: memref<8x8xf32>) {
  linalg.matmul ins(%a, %b : memref<8x8xf32, strided<[1, 8]>>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  return
}"""
TENSORS = """
func.func @product(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %d = linalg.matmul ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %d : tensor<8x8xf32>
}"""
UNSIGNED = product_text(Shape(8, 8, 8), "i8", attributes="{cast = #linalg.type_fn<cast_unsigned>}")
MIXED = product_text(Shape(8, 8, 8), "i8").replace("outs(%c : memref<8x8xi32>)", "outs(%c : memref<8x8xi8>)")
MIXED = MIXED.replace("%c: memref<8x8xi32>", "%c: memref<8x8xi8>")


@pytest.mark.parametrize("text", [TRANSPOSED, DYNAMIC, COLUMN_MAJOR, TENSORS, UNSIGNED, MIXED])
def test_other_products_are_left_alone(text):
    from torch_mlir import ir

    with ir.Context():
        assert blocked(text, 64) == str(ir.Module.parse(text))


@pytest.mark.parametrize("vector_bytes", [0, 8, 48, 128])
def test_a_width_that_no_register_has_is_refused(vector_bytes):
    from torch_mlir import ir

    with ir.Context(), pytest.raises(ValueError, match="16, 32 or 64"):
        block_matmul(ir.Module.parse(""), vector_bytes=vector_bytes)


@pytest.mark.skipif(host_cpu().vector_bytes < 64, reason="needs a CPU with AVX-512")
@pytest.mark.parametrize(("element", "instruction"), [("f32", "vfmadd"), ("bf16", "vfmadd"), ("f64", "vfmadd")])
def test_accumulators_stay_in_registers(element, instruction):
    code = assembly(product_text(Shape(64, 64, 32), element), 64)
    assert re.search(rf"{instruction}\w+\s.*%zmm", code)
    assert not re.search(r"\(%rsp\), %zmm|%zmm\d+, -?\d*\(%rsp\)", code)


@pytest.mark.skipif("+avx512vnni" not in host_cpu().features, reason="needs a CPU with AVX-512 VNNI")
def test_llvm_finds_its_instruction_for_pairs_of_bytes():
    assert re.search(r"vpdpwssd\s.*%zmm", assembly(product_text(Shape(64, 64, 32), "i8"), 64))


def filecheck(folder, checks, text):
    """Compares with the ``CHECK`` lines as LLVM's FileCheck does."""
    (folder / "checks").write_text(checks)
    command = [sys.executable, "-m", "filecheck", str(folder / "checks")]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stderr}\n{done.stdout}\n{text}"
