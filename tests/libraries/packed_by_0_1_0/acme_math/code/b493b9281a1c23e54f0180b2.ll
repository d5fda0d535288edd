source_filename = "-"
target datalayout = "e-p6:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%struct.__half = type { i16 }

define dso_local noundef i32 @tle_raw_rms_rows_c97d021f6e17dad5(i32 noundef %0, float noundef %1) local_unnamed_addr #0 {
  %3 = zext i32 %0 to i64
  %4 = inttoptr i64 %3 to ptr addrspace(3)
  %5 = addrspacecast ptr addrspace(3) %4 to ptr
  call void @llvm.assume(i1 true) [ "align"(ptr %5, i64 16) ]
  %6 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %7 = and i32 %6, 31
  %8 = icmp samesign ult i32 %6, 128
  br i1 %8, label %9, label %57

9:                                                ; preds = %2
  %10 = lshr i32 %6, 5
  %11 = tail call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %12 = lshr i32 %11, 5
  br label %13

13:                                               ; preds = %9, %43
  %14 = phi i32 [ %10, %9 ], [ %44, %43 ]
  %15 = shl nuw nsw i32 %14, 6
  br label %16

16:                                               ; preds = %13, %16
  %17 = phi i32 [ %7, %13 ], [ %27, %16 ]
  %18 = phi float [ 0.000000e+00, %13 ], [ %26, %16 ]
  %19 = add nuw nsw i32 %15, %17
  %20 = zext nneg i32 %19 to i64
  %21 = getelementptr inbounds nuw %struct.__half, ptr %5, i64 %20
  %22 = load i16, ptr %21, align 2
  %23 = tail call contract noundef float asm "{  cvt.f32.f16 $0, $1;}\0A", "=f,h"(i16 %22) #5, !srcloc !7
  %24 = tail call contract noundef float asm "{  cvt.f32.f16 $0, $1;}\0A", "=f,h"(i16 %22) #5, !srcloc !7
  %25 = fmul contract float %23, %24
  %26 = fadd contract float %18, %25
  %27 = add nuw nsw i32 %17, 32
  %28 = icmp samesign ult i32 %17, 32
  br i1 %28, label %16, label %29, !llvm.loop !8

29:                                               ; preds = %16
  %30 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %26, i32 16, i32 31)
  %31 = fadd contract float %26, %30
  %32 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %31, i32 8, i32 31)
  %33 = fadd contract float %31, %32
  %34 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %33, i32 4, i32 31)
  %35 = fadd contract float %33, %34
  %36 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %35, i32 2, i32 31)
  %37 = fadd contract float %35, %36
  %38 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %37, i32 1, i32 31)
  %39 = fadd contract float %37, %38
  %40 = fmul contract float %39, 1.562500e-02
  %41 = fadd contract float %1, %40
  %42 = tail call noundef float @llvm.nvvm.rsqrt.approx.f(float %41)
  br label %46

43:                                               ; preds = %46
  %44 = add nuw nsw i32 %14, %12
  %45 = icmp samesign ult i32 %44, 4
  br i1 %45, label %13, label %57, !llvm.loop !10

46:                                               ; preds = %29, %46
  %47 = phi i32 [ %7, %29 ], [ %55, %46 ]
  %48 = add nuw nsw i32 %15, %47
  %49 = zext nneg i32 %48 to i64
  %50 = getelementptr inbounds nuw %struct.__half, ptr %5, i64 %49
  %51 = load i16, ptr %50, align 2
  %52 = tail call contract noundef float asm "{  cvt.f32.f16 $0, $1;}\0A", "=f,h"(i16 %51) #5, !srcloc !7
  %53 = fmul contract float %42, %52
  %54 = tail call i16 asm "{  cvt.rn.f16.f32 $0, $1;}\0A", "=h,f"(float %53) #5, !srcloc !11
  store i16 %54, ptr %50, align 2
  %55 = add nuw nsw i32 %47, 32
  %56 = icmp samesign ult i32 %47, 32
  br i1 %56, label %46, label %43, !llvm.loop !12

57:                                               ; preds = %43, %2
  ret i32 0
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

!llvm.module.flags = !{!0, !1, !2, !3}
!llvm.ident = !{!4, !5}
!nvvmir.version = !{!6}

!0 = !{i32 2, !"SDK Version", [2 x i32] [i32 12, i32 8]}
!1 = !{i32 1, !"wchar_size", i32 4}
!2 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
!3 = !{i32 7, !"frame-pointer", i32 2}
!4 = !{!"clang version 21.1.0"}
!5 = !{!"clang version 3.8.0 (tags/RELEASE_380/final)"}
!6 = !{i32 2, i32 0}
!7 = !{i64 2148067009}
!8 = distinct !{!8, !9}
!9 = !{!"llvm.loop.mustprogress"}
!10 = distinct !{!10, !9}
!11 = !{i64 2148002269}
!12 = distinct !{!12, !9}

!tle.like.nvcc = !{}
