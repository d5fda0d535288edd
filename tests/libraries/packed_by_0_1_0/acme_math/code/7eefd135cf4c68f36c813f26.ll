source_filename = "-"
target datalayout = "e-p6:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%struct.__half = type { i16 }

define dso_local void @tle_raw_rms_rows_fdf406a8c04c779c(ptr noundef readonly captures(none) %0) local_unnamed_addr #0 !dbg !11 {
  %2 = load ptr, ptr %0, align 8, !dbg !15
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 8, !dbg !16
  %4 = load ptr, ptr %3, align 8, !dbg !16
  %5 = load float, ptr %4, align 4, !dbg !17
  call void @llvm.assume(i1 true) [ "align"(ptr %2, i64 16) ], !dbg !18
  %6 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !24
  %7 = and i32 %6, 31, !dbg !31
  %8 = icmp samesign ult i32 %6, 128, !dbg !32
  br i1 %8, label %9, label %56, !dbg !33

9:                                                ; preds = %1
  %10 = lshr i32 %6, 5, !dbg !34
  %11 = tail call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %12 = lshr i32 %11, 5
  br label %13, !dbg !33

13:                                               ; preds = %42, %9
  %14 = phi i32 [ %10, %9 ], [ %43, %42 ]
  %15 = shl nuw nsw i32 %14, 6
  br label %16, !dbg !35

16:                                               ; preds = %16, %13
  %17 = phi i32 [ %7, %13 ], [ %26, %16 ]
  %18 = phi float [ 0.000000e+00, %13 ], [ %25, %16 ]
  %19 = add nuw nsw i32 %17, %15, !dbg !36
  %20 = zext nneg i32 %19 to i64, !dbg !42
  %21 = getelementptr inbounds nuw %struct.__half, ptr %2, i64 %20, !dbg !42
  %22 = load i16, ptr %21, align 2, !dbg !43
  %23 = tail call contract noundef float asm "{  cvt.f32.f16 $0, $1;}\0A", "=f,h"(i16 %22) #5, !dbg !47, !srcloc !50
  %24 = fmul contract float %23, %23, !dbg !51
  %25 = fadd contract float %18, %24, !dbg !52
  %26 = add nuw nsw i32 %17, 32, !dbg !53
  %27 = icmp samesign ult i32 %17, 32, !dbg !54
  br i1 %27, label %16, label %28, !dbg !35, !llvm.loop !55

28:                                               ; preds = %16
  %29 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %25, i32 16, i32 31), !dbg !58
  %30 = fadd contract float %25, %29, !dbg !62
  %31 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %30, i32 8, i32 31), !dbg !58
  %32 = fadd contract float %30, %31, !dbg !62
  %33 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %32, i32 4, i32 31), !dbg !58
  %34 = fadd contract float %32, %33, !dbg !62
  %35 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %34, i32 2, i32 31), !dbg !58
  %36 = fadd contract float %34, %35, !dbg !62
  %37 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %36, i32 1, i32 31), !dbg !58
  %38 = fadd contract float %36, %37, !dbg !62
  %39 = fmul contract float %38, 1.562500e-02, !dbg !63
  %40 = fadd contract float %5, %39, !dbg !64
  %41 = tail call noundef float @llvm.nvvm.rsqrt.approx.f(float %40), !dbg !65
  br label %45, !dbg !69

42:                                               ; preds = %45
  %43 = add nuw nsw i32 %14, %12, !dbg !70
  %44 = icmp samesign ult i32 %43, 4, !dbg !32
  br i1 %44, label %13, label %56, !dbg !33, !llvm.loop !71

45:                                               ; preds = %45, %28
  %46 = phi i32 [ %7, %28 ], [ %54, %45 ]
  %47 = add nuw nsw i32 %46, %15, !dbg !73
  %48 = zext nneg i32 %47 to i64, !dbg !76
  %49 = getelementptr inbounds nuw %struct.__half, ptr %2, i64 %48, !dbg !76
  %50 = load i16, ptr %49, align 2, !dbg !77
  %51 = tail call contract noundef float asm "{  cvt.f32.f16 $0, $1;}\0A", "=f,h"(i16 %50) #5, !dbg !79, !srcloc !50
  %52 = fmul contract float %41, %51, !dbg !81
  %53 = tail call i16 asm "{  cvt.rn.f16.f32 $0, $1;}\0A", "=h,f"(float %52) #5, !dbg !82, !srcloc !90
  store i16 %53, ptr %49, align 2, !dbg !91
  %54 = add nuw nsw i32 %46, 32, !dbg !92
  %55 = icmp samesign ult i32 %46, 32, !dbg !93
  br i1 %55, label %45, label %42, !dbg !69, !llvm.loop !94

56:                                               ; preds = %42, %1
  ret void, !dbg !96
}

declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1

declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32) #2

declare noundef range(i32 1, 1025) i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #1

declare void @llvm.assume(i1 noundef) #3

declare float @llvm.nvvm.rsqrt.approx.f(float) #4

attributes #0 = { convergent nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_80" "target-features"="+ptx87,+sm_80" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { convergent nocallback nounwind memory(inaccessiblemem: readwrite) }
attributes #3 = { mustprogress nocallback nofree nosync nounwind willreturn memory(inaccessiblemem: write) }
attributes #4 = { mustprogress nocallback nofree nosync nounwind willreturn memory(none) }
attributes #5 = { convergent nounwind memory(none) }

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
!11 = distinct !DISubprogram(name: "tle_raw_rms_rows_fdf406a8c04c779c", scope: !12, file: !12, line: 1, type: !13, scopeLine: 1, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!12 = !DIFile(filename: "<tle_raw wrapper>", directory: ".")
!13 = !DISubroutineType(types: !14)
!14 = !{}
!15 = !DILocation(line: 2, column: 64, scope: !11)
!16 = !DILocation(line: 3, column: 72, scope: !11)
!17 = !DILocation(line: 3, column: 57, scope: !11)
!18 = !DILocation(line: 90, column: 47, scope: !19, inlinedAt: !21)
!19 = distinct !DISubprogram(name: "data", scope: !20, file: !20, line: 90, type: !13, scopeLine: 90, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!20 = !DIFile(filename: "arguments.h", directory: "")
!21 = distinct !DILocation(line: 97, column: 33, scope: !22, inlinedAt: !23)
!22 = distinct !DISubprogram(name: "operator tile<__half, 0>", scope: !20, file: !20, line: 96, type: !13, scopeLine: 96, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!23 = distinct !DILocation(line: 4, column: 29, scope: !11)
!24 = !DILocation(line: 53, column: 3, scope: !25, inlinedAt: !27)
!25 = distinct !DISubprogram(name: "__fetch_builtin_x", scope: !26, file: !26, line: 53, type: !13, scopeLine: 53, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!26 = !DIFile(filename: "__clang_cuda_builtin_vars.h", directory: "")
!27 = distinct !DILocation(line: 18, column: 20, scope: !28, inlinedAt: !30)
!28 = distinct !DISubprogram(name: "rms_rows<__half, 4, 64>", scope: !29, file: !29, line: 17, type: !13, scopeLine: 17, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!29 = !DIFile(filename: "acme.cuh", directory: "")
!30 = distinct !DILocation(line: 4, column: 3, scope: !11)
!31 = !DILocation(line: 18, column: 32, scope: !28, inlinedAt: !30)
!32 = !DILocation(line: 19, column: 40, scope: !28, inlinedAt: !30)
!33 = !DILocation(line: 19, column: 3, scope: !28, inlinedAt: !30)
!34 = !DILocation(line: 19, column: 30, scope: !28, inlinedAt: !30)
!35 = !DILocation(line: 21, column: 5, scope: !28, inlinedAt: !30)
!36 = !DILocation(line: 174, column: 64, scope: !37, inlinedAt: !39)
!37 = distinct !DISubprogram(name: "offset<int, int>", scope: !38, file: !38, line: 170, type: !13, scopeLine: 170, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!38 = !DIFile(filename: "tile.h", directory: "")
!39 = distinct !DILocation(line: 183, column: 18, scope: !40, inlinedAt: !41)
!40 = distinct !DISubprogram(name: "operator()<int, int>", scope: !38, file: !38, line: 177, type: !13, scopeLine: 177, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!41 = distinct !DILocation(line: 21, column: 60, scope: !28, inlinedAt: !30)
!42 = !DILocation(line: 183, column: 12, scope: !40, inlinedAt: !41)
!43 = !DILocation(line: 138, column: 95, scope: !44, inlinedAt: !46)
!44 = distinct !DISubprogram(name: "operator float", scope: !45, file: !45, line: 138, type: !13, scopeLine: 138, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!45 = !DIFile(filename: "cuda_fp16.hpp", directory: "")
!46 = distinct !DILocation(line: 21, column: 60, scope: !28, inlinedAt: !30)
!47 = !DILocation(line: 708, column: 1, scope: !48, inlinedAt: !49)
!48 = distinct !DISubprogram(name: "__half2float", scope: !45, file: !45, line: 705, type: !13, scopeLine: 706, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!49 = distinct !DILocation(line: 138, column: 82, scope: !44, inlinedAt: !46)
!50 = !{i64 2148066986}
!51 = !DILocation(line: 21, column: 72, scope: !28, inlinedAt: !30)
!52 = !DILocation(line: 21, column: 50, scope: !28, inlinedAt: !30)
!53 = !DILocation(line: 21, column: 39, scope: !28, inlinedAt: !30)
!54 = !DILocation(line: 21, column: 30, scope: !28, inlinedAt: !30)
!55 = distinct !{!55, !35, !56, !57}
!56 = !DILocation(line: 21, column: 91, scope: !28, inlinedAt: !30)
!57 = !{!"llvm.loop.mustprogress"}
!58 = !DILocation(line: 181, column: 1, scope: !59, inlinedAt: !61)
!59 = distinct !DISubprogram(name: "__shfl_xor_sync", scope: !60, file: !60, line: 181, type: !13, scopeLine: 181, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!60 = !DIFile(filename: "__clang_cuda_intrinsics.h", directory: "")
!61 = distinct !DILocation(line: 22, column: 49, scope: !28, inlinedAt: !30)
!62 = !DILocation(line: 22, column: 46, scope: !28, inlinedAt: !30)
!63 = !DILocation(line: 23, column: 36, scope: !28, inlinedAt: !30)
!64 = !DILocation(line: 23, column: 40, scope: !28, inlinedAt: !30)
!65 = !DILocation(line: 280, column: 45, scope: !66, inlinedAt: !68)
!66 = distinct !DISubprogram(name: "rsqrtf", scope: !67, file: !67, line: 280, type: !13, scopeLine: 280, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!67 = !DIFile(filename: "__clang_cuda_math.h", directory: "")
!68 = distinct !DILocation(line: 23, column: 25, scope: !28, inlinedAt: !30)
!69 = !DILocation(line: 24, column: 5, scope: !28, inlinedAt: !30)
!70 = !DILocation(line: 19, column: 49, scope: !28, inlinedAt: !30)
!71 = distinct !{!71, !33, !72, !57}
!72 = !DILocation(line: 25, column: 3, scope: !28, inlinedAt: !30)
!73 = !DILocation(line: 174, column: 64, scope: !37, inlinedAt: !74)
!74 = distinct !DILocation(line: 183, column: 18, scope: !40, inlinedAt: !75)
!75 = distinct !DILocation(line: 24, column: 71, scope: !28, inlinedAt: !30)
!76 = !DILocation(line: 183, column: 12, scope: !40, inlinedAt: !75)
!77 = !DILocation(line: 138, column: 95, scope: !44, inlinedAt: !78)
!78 = distinct !DILocation(line: 24, column: 71, scope: !28, inlinedAt: !30)
!79 = !DILocation(line: 708, column: 1, scope: !48, inlinedAt: !80)
!80 = distinct !DILocation(line: 138, column: 82, scope: !44, inlinedAt: !78)
!81 = !DILocation(line: 24, column: 83, scope: !28, inlinedAt: !30)
!82 = !DILocation(line: 549, column: 1, scope: !83, inlinedAt: !84)
!83 = distinct !DISubprogram(name: "__float2half", scope: !45, file: !45, line: 546, type: !13, scopeLine: 547, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!84 = distinct !DILocation(line: 4690, column: 55, scope: !85, inlinedAt: !87)
!85 = distinct !DISubprogram(name: "__half", scope: !86, file: !86, line: 4690, type: !13, scopeLine: 4690, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!86 = !DIFile(filename: "cuda_fp16.h", directory: "")
!87 = distinct !DILocation(line: 4690, column: 47, scope: !88, inlinedAt: !89)
!88 = distinct !DISubprogram(name: "__half", scope: !86, file: !86, line: 4690, type: !13, scopeLine: 4690, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!89 = distinct !DILocation(line: 24, column: 60, scope: !28, inlinedAt: !30)
!90 = !{i64 2148002246}
!91 = !DILocation(line: 24, column: 58, scope: !28, inlinedAt: !30)
!92 = !DILocation(line: 24, column: 39, scope: !28, inlinedAt: !30)
!93 = !DILocation(line: 24, column: 30, scope: !28, inlinedAt: !30)
!94 = distinct !{!94, !69, !95, !57}
!95 = !DILocation(line: 24, column: 90, scope: !28, inlinedAt: !30)
!96 = !DILocation(line: 5, column: 1, scope: !11)
