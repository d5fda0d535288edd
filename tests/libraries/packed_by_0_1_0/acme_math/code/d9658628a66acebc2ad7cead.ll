source_filename = "-"
target datalayout = "e-p6:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define dso_local void @tle_raw_rms_rows_fecd60ef98701944(ptr noundef readonly captures(none) %0) local_unnamed_addr #0 !dbg !11 {
  %2 = load ptr, ptr %0, align 8, !dbg !15
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 8, !dbg !16
  %4 = load ptr, ptr %3, align 8, !dbg !16
  %5 = load float, ptr %4, align 4, !dbg !17
  call void @llvm.assume(i1 true) [ "align"(ptr %2, i64 16) ], !dbg !18
  %6 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !24
  %7 = and i32 %6, 31, !dbg !31
  %8 = icmp samesign ult i32 %6, 128, !dbg !32
  br i1 %8, label %9, label %53, !dbg !33

9:                                                ; preds = %1
  %10 = lshr i32 %6, 5, !dbg !34
  %11 = tail call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %12 = lshr i32 %11, 5
  br label %13, !dbg !33

13:                                               ; preds = %41, %9
  %14 = phi i32 [ %10, %9 ], [ %42, %41 ]
  %15 = shl nuw nsw i32 %14, 6
  br label %16, !dbg !35

16:                                               ; preds = %16, %13
  %17 = phi i32 [ %7, %13 ], [ %25, %16 ]
  %18 = phi float [ 0.000000e+00, %13 ], [ %24, %16 ]
  %19 = add nuw nsw i32 %17, %15, !dbg !36
  %20 = zext nneg i32 %19 to i64, !dbg !42
  %21 = getelementptr inbounds nuw float, ptr %2, i64 %20, !dbg !42
  %22 = load float, ptr %21, align 4, !dbg !43
  %23 = fmul contract float %22, %22, !dbg !44
  %24 = fadd contract float %18, %23, !dbg !45
  %25 = add nuw nsw i32 %17, 32, !dbg !46
  %26 = icmp samesign ult i32 %17, 32, !dbg !47
  br i1 %26, label %16, label %27, !dbg !35, !llvm.loop !48

27:                                               ; preds = %16
  %28 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %24, i32 16, i32 31), !dbg !51
  %29 = fadd contract float %24, %28, !dbg !55
  %30 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %29, i32 8, i32 31), !dbg !51
  %31 = fadd contract float %29, %30, !dbg !55
  %32 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %31, i32 4, i32 31), !dbg !51
  %33 = fadd contract float %31, %32, !dbg !55
  %34 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %33, i32 2, i32 31), !dbg !51
  %35 = fadd contract float %33, %34, !dbg !55
  %36 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %35, i32 1, i32 31), !dbg !51
  %37 = fadd contract float %35, %36, !dbg !55
  %38 = fmul contract float %37, 1.562500e-02, !dbg !56
  %39 = fadd contract float %5, %38, !dbg !57
  %40 = tail call noundef float @llvm.nvvm.rsqrt.approx.f(float %39), !dbg !58
  br label %44, !dbg !62

41:                                               ; preds = %44
  %42 = add nuw nsw i32 %14, %12, !dbg !63
  %43 = icmp samesign ult i32 %42, 4, !dbg !32
  br i1 %43, label %13, label %53, !dbg !33, !llvm.loop !64

44:                                               ; preds = %44, %27
  %45 = phi i32 [ %7, %27 ], [ %51, %44 ]
  %46 = add nuw nsw i32 %45, %15, !dbg !66
  %47 = zext nneg i32 %46 to i64, !dbg !69
  %48 = getelementptr inbounds nuw float, ptr %2, i64 %47, !dbg !69
  %49 = load float, ptr %48, align 4, !dbg !70
  %50 = fmul contract float %40, %49, !dbg !71
  store float %50, ptr %48, align 4, !dbg !72
  %51 = add nuw nsw i32 %45, 32, !dbg !73
  %52 = icmp samesign ult i32 %45, 32, !dbg !74
  br i1 %52, label %44, label %41, !dbg !62, !llvm.loop !75

53:                                               ; preds = %41, %1
  ret void, !dbg !77
}

declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1

declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32) #2

declare noundef range(i32 1, 1025) i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #1

declare void @llvm.assume(i1 noundef) #3

declare float @llvm.nvvm.rsqrt.approx.f(float) #4

attributes #0 = { convergent norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_80" "target-features"="+ptx87,+sm_80" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { convergent nocallback nounwind memory(inaccessiblemem: readwrite) }
attributes #3 = { mustprogress nocallback nofree nosync nounwind willreturn memory(inaccessiblemem: write) }
attributes #4 = { mustprogress nocallback nofree nosync nounwind willreturn memory(none) }

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
!11 = distinct !DISubprogram(name: "tle_raw_rms_rows_fecd60ef98701944", scope: !12, file: !12, line: 1, type: !13, scopeLine: 1, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!12 = !DIFile(filename: "<tle_raw wrapper>", directory: ".")
!13 = !DISubroutineType(types: !14)
!14 = !{}
!15 = !DILocation(line: 2, column: 63, scope: !11)
!16 = !DILocation(line: 3, column: 72, scope: !11)
!17 = !DILocation(line: 3, column: 57, scope: !11)
!18 = !DILocation(line: 90, column: 47, scope: !19, inlinedAt: !21)
!19 = distinct !DISubprogram(name: "data", scope: !20, file: !20, line: 90, type: !13, scopeLine: 90, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!20 = !DIFile(filename: "arguments.h", directory: "")
!21 = distinct !DILocation(line: 97, column: 33, scope: !22, inlinedAt: !23)
!22 = distinct !DISubprogram(name: "operator tile<float, 0>", scope: !20, file: !20, line: 96, type: !13, scopeLine: 96, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!23 = distinct !DILocation(line: 4, column: 28, scope: !11)
!24 = !DILocation(line: 53, column: 3, scope: !25, inlinedAt: !27)
!25 = distinct !DISubprogram(name: "__fetch_builtin_x", scope: !26, file: !26, line: 53, type: !13, scopeLine: 53, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!26 = !DIFile(filename: "__clang_cuda_builtin_vars.h", directory: "")
!27 = distinct !DILocation(line: 18, column: 20, scope: !28, inlinedAt: !30)
!28 = distinct !DISubprogram(name: "rms_rows<float, 4, 64>", scope: !29, file: !29, line: 17, type: !13, scopeLine: 17, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
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
!43 = !DILocation(line: 21, column: 60, scope: !28, inlinedAt: !30)
!44 = !DILocation(line: 21, column: 72, scope: !28, inlinedAt: !30)
!45 = !DILocation(line: 21, column: 50, scope: !28, inlinedAt: !30)
!46 = !DILocation(line: 21, column: 39, scope: !28, inlinedAt: !30)
!47 = !DILocation(line: 21, column: 30, scope: !28, inlinedAt: !30)
!48 = distinct !{!48, !35, !49, !50}
!49 = !DILocation(line: 21, column: 91, scope: !28, inlinedAt: !30)
!50 = !{!"llvm.loop.mustprogress"}
!51 = !DILocation(line: 181, column: 1, scope: !52, inlinedAt: !54)
!52 = distinct !DISubprogram(name: "__shfl_xor_sync", scope: !53, file: !53, line: 181, type: !13, scopeLine: 181, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!53 = !DIFile(filename: "__clang_cuda_intrinsics.h", directory: "")
!54 = distinct !DILocation(line: 22, column: 49, scope: !28, inlinedAt: !30)
!55 = !DILocation(line: 22, column: 46, scope: !28, inlinedAt: !30)
!56 = !DILocation(line: 23, column: 36, scope: !28, inlinedAt: !30)
!57 = !DILocation(line: 23, column: 40, scope: !28, inlinedAt: !30)
!58 = !DILocation(line: 280, column: 45, scope: !59, inlinedAt: !61)
!59 = distinct !DISubprogram(name: "rsqrtf", scope: !60, file: !60, line: 280, type: !13, scopeLine: 280, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!60 = !DIFile(filename: "__clang_cuda_math.h", directory: "")
!61 = distinct !DILocation(line: 23, column: 25, scope: !28, inlinedAt: !30)
!62 = !DILocation(line: 24, column: 5, scope: !28, inlinedAt: !30)
!63 = !DILocation(line: 19, column: 49, scope: !28, inlinedAt: !30)
!64 = distinct !{!64, !33, !65, !50}
!65 = !DILocation(line: 25, column: 3, scope: !28, inlinedAt: !30)
!66 = !DILocation(line: 174, column: 64, scope: !37, inlinedAt: !67)
!67 = distinct !DILocation(line: 183, column: 18, scope: !40, inlinedAt: !68)
!68 = distinct !DILocation(line: 24, column: 71, scope: !28, inlinedAt: !30)
!69 = !DILocation(line: 183, column: 12, scope: !40, inlinedAt: !68)
!70 = !DILocation(line: 24, column: 71, scope: !28, inlinedAt: !30)
!71 = !DILocation(line: 24, column: 83, scope: !28, inlinedAt: !30)
!72 = !DILocation(line: 24, column: 58, scope: !28, inlinedAt: !30)
!73 = !DILocation(line: 24, column: 39, scope: !28, inlinedAt: !30)
!74 = !DILocation(line: 24, column: 30, scope: !28, inlinedAt: !30)
!75 = distinct !{!75, !62, !76, !50}
!76 = !DILocation(line: 24, column: 90, scope: !28, inlinedAt: !30)
!77 = !DILocation(line: 5, column: 1, scope: !11)
