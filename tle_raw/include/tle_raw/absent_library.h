// In the place of a header of NVIDIA's libraries of numbers for hosts that nobody has (cublas_v2.h, cufft.h,
// cusparse.h, …): they include this one of the toolkit's own, and programs take it for granted behind them.
#if __has_include(<cuComplex.h>)
#include <cuComplex.h>
#endif
