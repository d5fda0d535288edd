// Upstream dialects above LLVM, all that torch-mlir, jaxlib, IREE and xDSL have in common.
module {
  func.func @rich(%t: memref<64xf32, 3>, %n: i32, %x: f32) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.000000e+00 : f32
    %limit = arith.index_cast %n : i32 to index
    %thread = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
    %threads = "gpu.block_dim"() <{dimension = #gpu<dim x>}> : () -> index
    scf.for %i = %thread to %c64 step %threads {
      %v = memref.load %t[%i] : memref<64xf32, 3>
      %small = arith.cmpi slt, %i, %limit : index
      %r = scf.if %small -> (f32) {
        %e = math.exp %v : f32
        %s = arith.mulf %e, %x fastmath<contract> : f32
        scf.yield %s : f32
      } else {
        %sum = scf.for %k = %c0 to %limit step %c1 iter_args(%a = %zero) -> (f32) {
          %b = arith.addf %a, %v : f32
          scf.yield %b : f32
        }
        scf.yield %sum : f32
      }
      memref.store %r, %t[%i] : memref<64xf32, 3>
    }
    return
  }
}
