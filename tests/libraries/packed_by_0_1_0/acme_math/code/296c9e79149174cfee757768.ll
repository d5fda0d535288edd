source_filename = "-"
target datalayout = "e-p6:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define dso_local noundef i32 @tle_raw_rms_rows_807f189b013fa547(i32 noundef %0, float noundef %1) local_unnamed_addr #0 {
  %3 = zext i32 %0 to i64
  %4 = inttoptr i64 %3 to ptr addrspace(3)
  %5 = addrspacecast ptr addrspace(3) %4 to ptr
  call void @llvm.assume(i1 true) [ "align"(ptr %5, i64 16) ]
  %6 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %7 = and i32 %6, 31
  %8 = icmp samesign ult i32 %6, 128
  br i1 %8, label %9, label %53

9:                                                ; preds = %2
  %10 = lshr i32 %6, 5
  %11 = tail call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %12 = lshr i32 %11, 5
  br label %13

13:                                               ; preds = %9, %41
  %14 = phi i32 [ %10, %9 ], [ %42, %41 ]
  %15 = shl nuw nsw i32 %14, 6
  br label %16

16:                                               ; preds = %13, %16
  %17 = phi i32 [ %7, %13 ], [ %25, %16 ]
  %18 = phi float [ 0.000000e+00, %13 ], [ %24, %16 ]
  %19 = add nuw nsw i32 %15, %17
  %20 = zext nneg i32 %19 to i64
  %21 = getelementptr inbounds nuw float, ptr %5, i64 %20
  %22 = load float, ptr %21, align 4
  %23 = fmul contract float %22, %22
  %24 = fadd contract float %18, %23
  %25 = add nuw nsw i32 %17, 32
  %26 = icmp samesign ult i32 %17, 32
  br i1 %26, label %16, label %27, !llvm.loop !7

27:                                               ; preds = %16
  %28 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %24, i32 16, i32 31)
  %29 = fadd contract float %24, %28
  %30 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %29, i32 8, i32 31)
  %31 = fadd contract float %29, %30
  %32 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %31, i32 4, i32 31)
  %33 = fadd contract float %31, %32
  %34 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %33, i32 2, i32 31)
  %35 = fadd contract float %33, %34
  %36 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %35, i32 1, i32 31)
  %37 = fadd contract float %35, %36
  %38 = fmul contract float %37, 1.562500e-02
  %39 = fadd contract float %1, %38
  %40 = tail call noundef float @llvm.nvvm.rsqrt.approx.f(float %39)
  br label %44

41:                                               ; preds = %44
  %42 = add nuw nsw i32 %14, %12
  %43 = icmp samesign ult i32 %42, 4
  br i1 %43, label %13, label %53, !llvm.loop !9

44:                                               ; preds = %27, %44
  %45 = phi i32 [ %7, %27 ], [ %51, %44 ]
  %46 = add nuw nsw i32 %15, %45
  %47 = zext nneg i32 %46 to i64
  %48 = getelementptr inbounds nuw float, ptr %5, i64 %47
  %49 = load float, ptr %48, align 4
  %50 = fmul contract float %40, %49
  store float %50, ptr %48, align 4
  %51 = add nuw nsw i32 %45, 32
  %52 = icmp samesign ult i32 %45, 32
  br i1 %52, label %44, label %41, !llvm.loop !10

53:                                               ; preds = %41, %2
  ret i32 0
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
!7 = distinct !{!7, !8}
!8 = !{!"llvm.loop.mustprogress"}
!9 = distinct !{!9, !8}
!10 = distinct !{!10, !8}

!tle.like.nvcc = !{}
