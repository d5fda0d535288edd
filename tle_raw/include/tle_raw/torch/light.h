// What device code takes of torch: its numbers, and names of host classes as far as declarations say them. In the place
// of headers that hold torch's host code, which takes a compiler half a minute to read.
#ifndef TLE_RAW_TORCH_LIGHT_H
#define TLE_RAW_TORCH_LIGHT_H

// What programs get along with those headers without asking.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#include <c10/core/ScalarType.h>
#include <c10/macros/Macros.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Float8_e4m3fn.h>
#include <c10/util/Float8_e4m3fnuz.h>
#include <c10/util/Float8_e5m2.h>
#include <c10/util/Half.h>
#include <c10/util/Optional.h>
#include <c10/util/complex.h>

namespace c10 {
class Device;
class IValue;
class Scalar;
class Stream;
struct Storage;
struct TensorOptions;
template <class T>
class ArrayRef;
template <class T>
class List;
template <class T>
class intrusive_ptr;
using IntArrayRef = ArrayRef<int64_t>;
namespace cuda {
class CUDAGuard;
class CUDAStream;
class OptionalCUDAGuard;
}  // namespace cuda
}  // namespace c10

namespace at {
using namespace c10;
class Generator;
class Tensor;
class TensorBase;
using TensorList = ArrayRef<Tensor>;
namespace cuda {
using namespace c10::cuda;
}
}  // namespace at

namespace torch {
using namespace at;
class Library;
template <class T>
class class_;
struct CustomClassHolder {};
namespace autograd {}
namespace cuda {}
}  // namespace torch

#ifdef TLE_RAW_TORCH_CLASSES
#include <tle_raw/torch/host_classes.h>
#endif
#ifdef TLE_RAW_TORCH_ACCESSORS  // arrays with their sizes, which kernels take as parameters
#include <ATen/core/TensorAccessor.h>
#endif
#if defined(TLE_RAW_TORCH_CLASSES) || defined(TLE_RAW_TORCH_ACCESSORS)
#undef TORCH_CHECK
#undef TORCH_CHECK_NOT_IMPLEMENTED
#undef TORCH_INTERNAL_ASSERT
#undef TORCH_WARN
#undef AT_ASSERT
#undef AT_ASSERTM
#undef AT_ERROR
#undef C10_CUDA_CHECK
#undef C10_CUDA_KERNEL_LAUNCH_CHECK
#endif

#define TORCH_CHECK(...) ((void)0)
#define TORCH_CHECK_NOT_IMPLEMENTED(...) ((void)0)
#define TORCH_INTERNAL_ASSERT(...) ((void)0)
#define TORCH_WARN(...) ((void)0)
#define AT_ASSERT(...) ((void)0)
#define AT_ASSERTM(...) ((void)0)
#define AT_ERROR(...) ((void)0)
#define C10_CUDA_CHECK(...) ((void)0)
#define AT_CUDA_CHECK(...) ((void)0)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() ((void)0)

#endif  // TLE_RAW_TORCH_LIGHT_H
