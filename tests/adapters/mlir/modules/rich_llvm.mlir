// What generated code of the llvm and nvvm dialects looks like: globals, attributes, atomics, inline asm, intrinsics,
// a branch, a call, vectors. Every binding that has these dialects reads and prints it.
module {
  llvm.mlir.global internal constant @table(dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>) {addr_space = 0 : i32} : !llvm.array<4 x f32>
  llvm.func @twice(%x: f32) -> f32 {
    %two = llvm.mlir.constant(2.000000e+00 : f32) : f32
    %y = llvm.fmul %x, %two : f32
    llvm.return %y : f32
  }
  llvm.func @rich(%data: !llvm.ptr<1> {llvm.noalias, llvm.align = 16 : i64}, %i: i32, %x: f32) -> f32 {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %one = llvm.mlir.constant(1 : i32) : i32
    %limit = llvm.mlir.constant(31 : i32) : i32
    %all_lanes = llvm.mlir.constant(-1 : i32) : i32
    %one_f = llvm.mlir.constant(1.000000e+00 : f32) : f32
    %slot = llvm.getelementptr inbounds %data[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %value = llvm.load %slot {alignment = 4 : i64} : !llvm.ptr<1> -> f32
    %root = llvm.intr.sqrt(%value) {fastmathFlags = #llvm.fastmath<contract>} : (f32) -> f32
    %sum = llvm.fadd %root, %x {fastmathFlags = #llvm.fastmath<contract, afn>} : f32
    %fused = llvm.intr.fma(%sum, %x, %one_f) : (f32, f32, f32) -> f32
    %clamped = llvm.intr.maxnum(%fused, %one_f) : (f32, f32) -> f32
    %next = llvm.add %i, %one overflow<nsw> : i32
    %small = llvm.icmp "slt" %next, %limit : i32
    llvm.cond_br %small, ^exchange, ^finish(%clamped : f32)
  ^exchange:
    %shuffled = nvvm.shfl.sync bfly %all_lanes, %clamped, %one, %limit : f32 -> f32
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %lane = llvm.inline_asm has_side_effects asm_dialect = att "mov.u32 $0, %laneid;", "=r" : () -> i32
    %same = llvm.icmp "eq" %thread, %lane : i32
    %chosen = llvm.select %same, %shuffled, %one_f : i1, f32
    %old = llvm.atomicrmw fadd %slot, %chosen monotonic {alignment = 4 : i64} : !llvm.ptr<1>, f32
    %called = llvm.call @twice(%old) : (f32) -> f32
    llvm.br ^finish(%called : f32)
  ^finish(%result: f32):
    %table = llvm.mlir.addressof @table : !llvm.ptr
    %entry = llvm.getelementptr %table[0, %zero] : (!llvm.ptr, i32) -> !llvm.ptr, !llvm.array<4 x f32>
    %scale = llvm.load %entry : !llvm.ptr -> f32
    %scaled = llvm.fmul %result, %scale : f32
    %undefined = llvm.mlir.poison : vector<4xf32>
    %first = llvm.insertelement %scaled, %undefined[%zero : i32] : vector<4xf32>
    %spread = llvm.shufflevector %first, %first [0, 0, 0, 0] : vector<4xf32>
    %total = "llvm.intr.vector.reduce.fadd"(%one_f, %spread) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<4xf32>) -> f32
    llvm.return %total : f32
  }
}
