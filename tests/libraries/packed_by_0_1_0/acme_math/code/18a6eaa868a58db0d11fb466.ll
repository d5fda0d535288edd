source_filename = "-"
target datalayout = "e-p6:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define dso_local float @tle_raw_softplus_d509e1e182f714a7(float noundef %0) local_unnamed_addr #0 !dbg !11 {
  %2 = fcmp contract ogt float %0, 2.000000e+01, !dbg !15
  br i1 %2, label %47, label %3, !dbg !19

3:                                                ; preds = %1
  %4 = tail call float @llvm.fma.f32(float %0, float 0x3F777313A0000000, float 5.000000e-01), !dbg !20
  %5 = tail call float @llvm.nvvm.saturate.f(float %4) #4, !dbg !20
  %6 = tail call float @llvm.nvvm.fma.rm.f(float %5, float 2.520000e+02, float 0x4168000020000000) #4, !dbg !20
  %7 = fadd float %6, 0xC168000FE0000000, !dbg !20
  %8 = fneg float %7, !dbg !20
  %9 = tail call float @llvm.fma.f32(float %0, float 0x3FF7154760000000, float %8), !dbg !20
  %10 = tail call float @llvm.fma.f32(float %0, float 0x3E54AE0C00000000, float %9), !dbg !20
  %11 = bitcast float %6 to i32, !dbg !20
  %12 = shl i32 %11, 23, !dbg !20
  %13 = bitcast i32 %12 to float, !dbg !20
  %14 = tail call float @llvm.nvvm.ex2.approx.ftz.f(float %10) #4, !dbg !20
  %15 = fmul float %14, %13, !dbg !20
  %16 = tail call float @llvm.nvvm.add.rz.f(float %15, float 1.000000e+00) #4, !dbg !24
  %17 = bitcast float %16 to i32, !dbg !24
  %18 = add i32 %17, -1061158912, !dbg !24
  %19 = and i32 %18, -8388608, !dbg !24
  %20 = bitcast float %15 to i32, !dbg !24
  %21 = sub i32 %20, %19, !dbg !24
  %22 = bitcast i32 %21 to float, !dbg !24
  %23 = sub i32 1082130432, %19, !dbg !24
  %24 = bitcast i32 %23 to float, !dbg !24
  %25 = tail call float @llvm.fma.f32(float %24, float 2.500000e-01, float -1.000000e+00), !dbg !24
  %26 = fadd float %25, %22, !dbg !24
  %27 = sitofp i32 %19 to float, !dbg !24
  %28 = fmul float %27, 0x3E80000000000000, !dbg !24
  %29 = tail call float @llvm.fma.f32(float %26, float 0xBFA737EF00000000, float 0x3FBB000240000000), !dbg !24
  %30 = tail call float @llvm.fma.f32(float %29, float %26, float 0xBFC0EF1C00000000), !dbg !24
  %31 = tail call float @llvm.fma.f32(float %30, float %26, float 0x3FC28C8EA0000000), !dbg !24
  %32 = tail call float @llvm.fma.f32(float %31, float %26, float 0xBFC54D1BA0000000), !dbg !24
  %33 = tail call float @llvm.fma.f32(float %32, float %26, float 0x3FC995F3C0000000), !dbg !24
  %34 = tail call float @llvm.fma.f32(float %33, float %26, float 0xBFD0000840000000), !dbg !24
  %35 = tail call float @llvm.fma.f32(float %34, float %26, float 0x3FD5555CC0000000), !dbg !24
  %36 = tail call float @llvm.fma.f32(float %35, float %26, float -5.000000e-01), !dbg !24
  %37 = fmul float %26, %36, !dbg !24
  %38 = tail call float @llvm.fma.f32(float %37, float %26, float %26), !dbg !24
  %39 = tail call float @llvm.fma.f32(float %28, float 0x3FE62E4300000000, float %38), !dbg !24
  %40 = icmp ugt i32 %20, 2139095039, !dbg !24
  %41 = icmp sgt i32 %20, -1082130432
  %42 = tail call float @llvm.fma.f32(float %15, float 0x7FF0000000000000, float 0x7FF0000000000000)
  %43 = select i1 %41, float %42, float %39
  %44 = fcmp oeq float %15, 0.000000e+00
  %45 = select i1 %44, float -0.000000e+00, float %43
  %46 = select i1 %40, float %45, float %39, !dbg !24
  br label %47, !dbg !19

47:                                               ; preds = %1, %3
  %48 = phi contract float [ %46, %3 ], [ %0, %1 ], !dbg !19
  ret float %48, !dbg !27
}

declare float @llvm.nvvm.saturate.f(float) #1

declare float @llvm.nvvm.fma.rm.f(float, float, float) #1

declare float @llvm.nvvm.ex2.approx.ftz.f(float) #2

declare float @llvm.nvvm.add.rz.f(float, float) #1

declare float @llvm.fma.f32(float, float, float) #3

attributes #0 = { mustprogress nofree norecurse nosync nounwind willreturn memory(none) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_80" "target-features"="+ptx87,+sm_80" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { mustprogress nocallback nofree nosync nounwind willreturn memory(none) }
attributes #3 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #4 = { nounwind }

!llvm.module.flags = !{!0, !1, !2, !3, !4, !5}
!llvm.dbg.cu = !{!6}
!llvm.ident = !{!8, !9}
!nvvmir.version = !{!10}

!0 = !{i32 2, !"SDK Version", [2 x i32] [i32 12, i32 8]}
!1 = !{i32 7, !"Dwarf Version", i32 2}
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 1, !"wchar_size", i32 4}
!4 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
!5 = !{i32 7, !"frame-pointer", i32 2}
!6 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !7, producer: "clang version 21.1.0", isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly, splitDebugInlining: false, nameTableKind: None)
!7 = !DIFile(filename: "-", directory: ".")
!8 = !{!"clang version 21.1.0"}
!9 = !{!"clang version 3.8.0 (tags/RELEASE_380/final)"}
!10 = !{i32 2, i32 0}
!11 = distinct !DISubprogram(name: "tle_raw_softplus_d509e1e182f714a7", scope: !12, file: !12, line: 1, type: !13, scopeLine: 1, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!12 = !DIFile(filename: "<tle_raw wrapper>", directory: ".")
!13 = !DISubroutineType(types: !14)
!14 = !{}
!15 = !DILocation(line: 4, column: 54, scope: !16, inlinedAt: !18)
!16 = distinct !DISubprogram(name: "softplus", scope: !17, file: !17, line: 4, type: !13, scopeLine: 4, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!17 = !DIFile(filename: "acme.cuh", directory: "")
!18 = distinct !DILocation(line: 3, column: 50, scope: !11)
!19 = !DILocation(line: 4, column: 52, scope: !16, inlinedAt: !18)
!20 = !DILocation(line: 113, column: 43, scope: !21, inlinedAt: !23)
!21 = distinct !DISubprogram(name: "expf", scope: !22, file: !22, line: 113, type: !13, scopeLine: 113, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!22 = !DIFile(filename: "__clang_cuda_math.h", directory: "")
!23 = distinct !DILocation(line: 4, column: 72, scope: !16, inlinedAt: !18)
!24 = !DILocation(line: 179, column: 45, scope: !25, inlinedAt: !26)
!25 = distinct !DISubprogram(name: "log1pf", scope: !22, file: !22, line: 179, type: !13, scopeLine: 179, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!26 = distinct !DILocation(line: 4, column: 65, scope: !16, inlinedAt: !18)
!27 = !DILocation(line: 5, column: 3, scope: !11)
