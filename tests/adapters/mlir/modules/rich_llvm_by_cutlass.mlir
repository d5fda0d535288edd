// rich_llvm.mlir as nvidia-cutlass-dsl 4.8.1 (MLIR 23.0.0git) prints it: 2026-11-21.
"builtin.module"() ({
  "llvm.mlir.global"() <{addr_space = 0 : i32, constant, global_type = !llvm.array<4 x f32>, linkage = #llvm.linkage<internal>, sym_name = "table", unnamed_addr = 0 : i64, value = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>, visibility_ = 0 : i64}> ({
  }) : () -> ()
  "llvm.func"() <{CConv = #llvm.cconv<ccc>, function_type = !llvm.func<f32 (f32)>, linkage = #llvm.linkage<external>, sym_name = "twice", unnamed_addr = 0 : i64, visibility_ = 0 : i64}> ({
  ^bb0(%arg3: f32):
    %29 = "llvm.mlir.constant"() <{value = 2.000000e+00 : f32}> : () -> f32
    %30 = "llvm.fmul"(%arg3, %29) <{fastmathFlags = #llvm.fastmath<none>}> : (f32, f32) -> f32
    "llvm.return"(%30) : (f32) -> ()
  }) : () -> ()
  "llvm.func"() <{CConv = #llvm.cconv<ccc>, arg_attrs = [{llvm.align = 16 : i64, llvm.noalias}, {}, {}], function_type = !llvm.func<f32 (ptr<1>, i32, f32)>, linkage = #llvm.linkage<external>, sym_name = "rich", unnamed_addr = 0 : i64, visibility_ = 0 : i64}> ({
  ^bb0(%arg0: !llvm.ptr<1>, %arg1: i32, %arg2: f32):
    %0 = "llvm.mlir.constant"() <{value = 0 : i32}> : () -> i32
    %1 = "llvm.mlir.constant"() <{value = 1 : i32}> : () -> i32
    %2 = "llvm.mlir.constant"() <{value = 31 : i32}> : () -> i32
    %3 = "llvm.mlir.constant"() <{value = -1 : i32}> : () -> i32
    %4 = "llvm.mlir.constant"() <{value = 1.000000e+00 : f32}> : () -> f32
    %5 = "llvm.getelementptr"(%arg0, %arg1) <{elem_type = f32, noWrapFlags = 3 : i32, rawConstantIndices = array<i32: -2147483648>}> : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>
    %6 = "llvm.load"(%5) <{alignment = 4 : i64, ordering = 0 : i64}> : (!llvm.ptr<1>) -> f32
    %7 = "llvm.intr.sqrt"(%6) <{fastmathFlags = #llvm.fastmath<contract>}> : (f32) -> f32
    %8 = "llvm.fadd"(%7, %arg2) <{fastmathFlags = #llvm.fastmath<contract, afn>}> : (f32, f32) -> f32
    %9 = "llvm.intr.fma"(%8, %arg2, %4) <{fastmathFlags = #llvm.fastmath<none>}> : (f32, f32, f32) -> f32
    %10 = "llvm.intr.maxnum"(%9, %4) <{fastmathFlags = #llvm.fastmath<none>}> : (f32, f32) -> f32
    %11 = "llvm.add"(%arg1, %1) <{overflowFlags = 1 : i32}> : (i32, i32) -> i32
    %12 = "llvm.icmp"(%11, %2) <{predicate = 2 : i64}> : (i32, i32) -> i1
    "llvm.cond_br"(%12, %10)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 0, 1>}> : (i1, f32) -> ()
  ^bb1:  // pred: ^bb0
    %13 = "nvvm.shfl.sync"(%3, %10, %1, %2) <{kind = #nvvm<shfl_kind bfly>}> : (i32, f32, i32, i32) -> f32
    %14 = "nvvm.read.ptx.sreg.tid.x"() : () -> i32
    %15 = "llvm.inline_asm"() <{asm_dialect = 0 : i64, asm_string = "mov.u32 $0, %laneid;", constraints = "=r", has_side_effects, tail_call_kind = #llvm.tailcallkind<none>}> : () -> i32
    %16 = "llvm.icmp"(%14, %15) <{predicate = 0 : i64}> : (i32, i32) -> i1
    %17 = "llvm.select"(%16, %13, %4) <{fastmathFlags = #llvm.fastmath<none>}> : (i1, f32, f32) -> f32
    %18 = "llvm.atomicrmw"(%5, %17) <{alignment = 4 : i64, bin_op = 11 : i64, ordering = 2 : i64}> : (!llvm.ptr<1>, f32) -> f32
    %19 = "llvm.call"(%18) <{CConv = #llvm.cconv<ccc>, TailCallKind = #llvm.tailcallkind<none>, callee = @twice, fastmathFlags = #llvm.fastmath<none>, op_bundle_sizes = array<i32>, operandSegmentSizes = array<i32: 1, 0>}> : (f32) -> f32
    "llvm.br"(%19)[^bb2] : (f32) -> ()
  ^bb2(%20: f32):  // 2 preds: ^bb0, ^bb1
    %21 = "llvm.mlir.addressof"() <{global_name = @table}> : () -> !llvm.ptr
    %22 = "llvm.getelementptr"(%21, %0) <{elem_type = !llvm.array<4 x f32>, noWrapFlags = 0 : i32, rawConstantIndices = array<i32: 0, -2147483648>}> : (!llvm.ptr, i32) -> !llvm.ptr
    %23 = "llvm.load"(%22) <{ordering = 0 : i64}> : (!llvm.ptr) -> f32
    %24 = "llvm.fmul"(%20, %23) <{fastmathFlags = #llvm.fastmath<none>}> : (f32, f32) -> f32
    %25 = "llvm.mlir.poison"() : () -> vector<4xf32>
    %26 = "llvm.insertelement"(%25, %24, %0) : (vector<4xf32>, f32, i32) -> vector<4xf32>
    %27 = "llvm.shufflevector"(%26, %26) <{mask = array<i32: 0, 0, 0, 0>}> : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
    %28 = "llvm.intr.vector.reduce.fadd"(%4, %27) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<4xf32>) -> f32
    "llvm.return"(%28) : (f32) -> ()
  }) : () -> ()
}) : () -> ()
