source_filename = "-"
target datalayout = "e-p6:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define dso_local noundef float @tle_raw_clip_e3c45e9a9aba731e(float noundef %0, float noundef %1, float noundef %2) local_unnamed_addr #0 !dbg !11 {
  %4 = tail call noundef float @llvm.maxnum.f32(float %0, float %1), !dbg !15
  %5 = tail call noundef float @llvm.minnum.f32(float %4, float %2), !dbg !22
  ret float %5, !dbg !25
}

declare float @llvm.minnum.f32(float, float) #1

declare float @llvm.maxnum.f32(float, float) #1

attributes #0 = { mustprogress nofree norecurse nosync nounwind willreturn memory(none) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_80" "target-features"="+ptx87,+sm_80" }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

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
!11 = distinct !DISubprogram(name: "tle_raw_clip_e3c45e9a9aba731e", scope: !12, file: !12, line: 2, type: !13, scopeLine: 2, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!12 = !DIFile(filename: "<tle_raw wrapper>", directory: ".")
!13 = !DISubroutineType(types: !14)
!14 = !{}
!15 = !DILocation(line: 136, column: 55, scope: !16, inlinedAt: !18)
!16 = distinct !DISubprogram(name: "fmaxf", scope: !17, file: !17, line: 136, type: !13, scopeLine: 136, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!17 = !DIFile(filename: "__clang_cuda_math.h", directory: "")
!18 = distinct !DILocation(line: 7, column: 77, scope: !19, inlinedAt: !21)
!19 = distinct !DISubprogram(name: "clip", scope: !20, file: !20, line: 7, type: !13, scopeLine: 7, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!20 = !DIFile(filename: "acme.cuh", directory: "")
!21 = distinct !DILocation(line: 6, column: 50, scope: !11)
!22 = !DILocation(line: 138, column: 55, scope: !23, inlinedAt: !24)
!23 = distinct !DISubprogram(name: "fminf", scope: !17, file: !17, line: 138, type: !13, scopeLine: 138, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !6)
!24 = distinct !DILocation(line: 7, column: 71, scope: !19, inlinedAt: !21)
!25 = !DILocation(line: 8, column: 3, scope: !11)
