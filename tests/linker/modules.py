"""Small LLVM IR texts that the linker's tests share."""

FRAGMENT = """\
; ModuleID = 'fragment.cu'
source_filename = "fragment.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%struct.S = type { i8, double, [3 x float] }
$_Z6helperf = comdat any

@table = dso_local addrspace(4) externally_initialized constant [2 x float] [float 1.0, float 2.0], align 4
@scratch = internal unnamed_addr addrspace(3) global [3 x %struct.S] undef, align 8
@unused = internal addrspace(3) global [100 x i8] undef, align 1
@.str = private unnamed_addr constant [10 x i8] c"@f { ; \\22\\0A\\00", align 1
@llvm.used = appending global [1 x ptr] [ptr @_Z6helperf], section "llvm.metadata"

; calls @nobody and { never closes
define linkonce_odr hidden noundef float @_Z6helperf(float noundef %x) local_unnamed_addr #0 comdat !dbg !4 {
  call void @llvm.nvvm.barrier0()
  %y = fadd float %x, 1.0, !dbg !5
  %p = call i32 @vprintf(ptr @.str, ptr null)
  ret float %y
}

define dso_local float @_Z4kepti(i32 %i) noinline #1 {
  %p = getelementptr [3 x %struct.S], ptr addrspace(3) @scratch, i32 0, i32 %i, i32 1
  %d = load double, ptr addrspace(3) %p
  %f = fptrunc double %d to float
  ret float %f
}

define dso_local float @entry(ptr addrspace(1) noundef readonly captures(none) %p, i32 noundef range(i32 0, 9) %n,
                              i1 zeroext %b) local_unnamed_addr #1 {
entry:
  %v = load float, ptr addrspace(1) %p, align 4
  %h = call float @_Z6helperf(float %v)
  %k = call float @_Z4kepti(i32 %n)
  %s = fadd float %h, %k
  ret float %s
}

declare void @llvm.nvvm.barrier0() #1
declare i32 @vprintf(ptr, ptr)
declare float @_Z7nowhered(double)

attributes #0 = { convergent nounwind "frame-pointer"="all" "target-cpu"="sm_90a" "target-features"="+ptx87,+sm_90a" }
attributes #1 = { nounwind memory(read, target_mem0: none, target_mem1: none) nocreateundeforpoison "tune-cpu"="x" }

!llvm.module.flags = !{!0, !1}
!llvm.dbg.cu = !{!2}
!llvm.ident = !{!6}
!nvvm.annotations = !{!7}

!0 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !3, emissionKind: DebugDirectivesOnly)
!3 = !DIFile(filename: "fragment.cu", directory: "/x")
!4 = distinct !DISubprogram(name: "helper", scope: !3, file: !3, line: 1, spFlags: DISPFlagDefinition, unit: !2)
!5 = !DILocation(line: 2, column: 3, scope: !4)
!6 = !{!"clang version 21.1.0"}
!7 = !{ptr @entry, !"kernel", i32 1}
"""

ENTRY_PARAMETERS = ("ptr addrspace(1)", "i32", "i1")
