source_filename = "-"
target datalayout = "e-p6:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define dso_local void @tle_raw_count_bytes_fcf17b004aedce26(ptr noundef readonly captures(none) %0) local_unnamed_addr #0 !dbg !11 {
  %2 = load ptr, ptr %0, align 8, !dbg !15
  %3 = load ptr, ptr %2, align 8, !dbg !16
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 8, !dbg !17
  %5 = load ptr, ptr %4, align 8, !dbg !17
  %6 = load i32, ptr %5, align 4, !dbg !18
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 16, !dbg !19
  %8 = load ptr, ptr %7, align 8, !dbg !19
  %9 = load ptr, ptr %8, align 8, !dbg !20
  %10 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !21
  %11 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x(), !dbg !28
  %12 = mul i32 %10, %11, !dbg !31
  %13 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !32
  %14 = add i32 %12, %13, !dbg !35
  %15 = icmp slt i32 %14, %6, !dbg !36
  br i1 %15, label %16, label %29, !dbg !37

16:                                               ; preds = %1
  %17 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %18 = mul i32 %17, %11
  br label %19, !dbg !37

19:                                               ; preds = %19, %16
  %20 = phi i32 [ %14, %16 ], [ %27, %19 ]
  %21 = sext i32 %20 to i64, !dbg !38
  %22 = getelementptr inbounds i8, ptr %3, i64 %21, !dbg !38
  %23 = load i8, ptr %22, align 1, !dbg !38
  %24 = zext i8 %23 to i64, !dbg !39
  %25 = getelementptr inbounds nuw i32, ptr %9, i64 %24, !dbg !39
  %26 = atomicrmw add ptr %25, i32 1 seq_cst, align 4, !dbg !40
  %27 = add i32 %20, %18, !dbg !47
  %28 = icmp slt i32 %27, %6, !dbg !36
  br i1 %28, label %19, label %29, !dbg !37, !llvm.loop !48

29:                                               ; preds = %19, %1
  ret void, !dbg !51
}

declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1

declare noundef range(i32 1, 1025) i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #1

declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1

declare noundef range(i32 1, -2147483648) i32 @llvm.nvvm.read.ptx.sreg.nctaid.x() #1

attributes #0 = { mustprogress nofree norecurse nounwind memory(readwrite, inaccessiblemem: none) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_80" "target-features"="+ptx87,+sm_80" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }

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
!11 = distinct !DISubprogram(name: "tle_raw_count_bytes_fcf17b004aedce26", scope: !12, file: !12, line: 1, type: !13, scopeLine: 1, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!12 = !DIFile(filename: "<tle_raw wrapper>", directory: ".")
!13 = !DISubroutineType(types: !14)
!14 = !{}
!15 = !DILocation(line: 2, column: 141, scope: !11)
!16 = !DILocation(line: 2, column: 117, scope: !11)
!17 = !DILocation(line: 3, column: 68, scope: !11)
!18 = !DILocation(line: 3, column: 55, scope: !11)
!19 = !DILocation(line: 4, column: 111, scope: !11)
!20 = !DILocation(line: 4, column: 97, scope: !11)
!21 = !DILocation(line: 66, column: 3, scope: !22, inlinedAt: !24)
!22 = distinct !DISubprogram(name: "__fetch_builtin_x", scope: !23, file: !23, line: 66, type: !13, scopeLine: 66, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!23 = !DIFile(filename: "__clang_cuda_builtin_vars.h", directory: "")
!24 = distinct !DILocation(line: 12, column: 16, scope: !25, inlinedAt: !27)
!25 = distinct !DISubprogram(name: "count_bytes", scope: !26, file: !26, line: 11, type: !13, scopeLine: 11, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!26 = !DIFile(filename: "acme.cuh", directory: "")
!27 = distinct !DILocation(line: 5, column: 3, scope: !11)
!28 = !DILocation(line: 79, column: 3, scope: !29, inlinedAt: !30)
!29 = distinct !DISubprogram(name: "__fetch_builtin_x", scope: !23, file: !23, line: 79, type: !13, scopeLine: 79, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!30 = distinct !DILocation(line: 12, column: 29, scope: !25, inlinedAt: !27)
!31 = !DILocation(line: 12, column: 27, scope: !25, inlinedAt: !27)
!32 = !DILocation(line: 53, column: 3, scope: !33, inlinedAt: !34)
!33 = distinct !DISubprogram(name: "__fetch_builtin_x", scope: !23, file: !23, line: 53, type: !13, scopeLine: 53, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!34 = distinct !DILocation(line: 12, column: 42, scope: !25, inlinedAt: !27)
!35 = !DILocation(line: 12, column: 40, scope: !25, inlinedAt: !27)
!36 = !DILocation(line: 12, column: 57, scope: !25, inlinedAt: !27)
!37 = !DILocation(line: 12, column: 3, scope: !25, inlinedAt: !27)
!38 = !DILocation(line: 12, column: 108, scope: !25, inlinedAt: !27)
!39 = !DILocation(line: 12, column: 106, scope: !25, inlinedAt: !27)
!40 = !DILocation(line: 341, column: 10, scope: !41, inlinedAt: !43)
!41 = distinct !DISubprogram(name: "__iAtomicAdd", scope: !42, file: !42, line: 340, type: !13, scopeLine: 340, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!42 = !DIFile(filename: "__clang_cuda_device_functions.h", directory: "")
!43 = distinct !DILocation(line: 107, column: 10, scope: !44, inlinedAt: !46)
!44 = distinct !DISubprogram(name: "atomicAdd", scope: !45, file: !45, line: 105, type: !13, scopeLine: 106, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!45 = !DIFile(filename: "device_atomic_functions.hpp", directory: "")
!46 = distinct !DILocation(line: 12, column: 91, scope: !25, inlinedAt: !27)
!47 = !DILocation(line: 12, column: 64, scope: !25, inlinedAt: !27)
!48 = distinct !{!48, !37, !49, !50}
!49 = !DILocation(line: 12, column: 120, scope: !25, inlinedAt: !27)
!50 = !{!"llvm.loop.mustprogress"}
!51 = !DILocation(line: 6, column: 1, scope: !11)
