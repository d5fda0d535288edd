// Torch's host classes, for text that stays and is never run: fields, bases and bodies of host code that is not known
// to be that. Nothing is defined, and a call that torch would refuse may be taken. `light.h` only declares them, and
// includes this file where a program was seen to need more.
#ifndef TLE_RAW_TORCH_HOST_CLASSES_H
#define TLE_RAW_TORCH_HOST_CLASSES_H

#include <ATen/core/TensorAccessor.h>
#include <c10/core/Device.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/Stream.h>
#include <c10/util/ArrayRef.h>
#include <functional>
#include <initializer_list>

namespace tle_raw::torch {
// Has what no kernel's parameter may have: the sizes of these classes are not torch's.
struct OfHost {
  virtual ~OfHost();
};
// An argument of any type, or none.
struct Any : OfHost {
  Any();
  template <class T>
  Any(T&&);
  Any(std::initializer_list<int64_t>);
};
}  // namespace tle_raw::torch

#define TLE_RAW_ANY                                                                                            \
  ::tle_raw::torch::Any = {}, ::tle_raw::torch::Any = {}, ::tle_raw::torch::Any = {}, ::tle_raw::torch::Any = {}, \
      ::tle_raw::torch::Any = {}, ::tle_raw::torch::Any = {}

namespace c10::detail {}
namespace c10::impl {}
namespace at::detail {}
namespace at::indexing {}
namespace at::native {}

namespace c10 {
template <class T>
class intrusive_ptr : ::tle_raw::torch::OfHost {
 public:
  using element_type = T;
  intrusive_ptr();
  intrusive_ptr(std::nullptr_t);
  intrusive_ptr(const intrusive_ptr&);
  intrusive_ptr(intrusive_ptr&&) noexcept;
  template <class U>
  intrusive_ptr(const intrusive_ptr<U>&);
  explicit intrusive_ptr(T*);
  ~intrusive_ptr();
  intrusive_ptr& operator=(const intrusive_ptr&);
  intrusive_ptr& operator=(intrusive_ptr&&) noexcept;
  T* get() const;
  T& operator*() const;
  T* operator->() const;
  explicit operator bool() const;
  bool defined() const;
  void reset();
  template <class... A>
  static intrusive_ptr make(A&&...);
};
template <class T, class... A>
intrusive_ptr<T> make_intrusive(A&&...);
struct intrusive_ptr_target : ::tle_raw::torch::OfHost {};

class SymInt : ::tle_raw::torch::OfHost {
 public:
  SymInt();
  SymInt(int64_t);
  operator int64_t() const;
  int64_t expect_int() const;
  int64_t guard_int(const char*, int64_t) const;
};
using SymIntArrayRef = ArrayRef<SymInt>;

class Scalar : ::tle_raw::torch::OfHost {
 public:
  Scalar();
  template <class T>
  Scalar(T);
  template <class T>
  T to() const;
  double toDouble() const;
  int64_t toLong() const;
};

struct Storage : ::tle_raw::torch::OfHost {
  void* data() const;
  size_t nbytes() const;
};

struct TensorOptions : ::tle_raw::torch::OfHost {
  TensorOptions();
  template <class T>
  TensorOptions(T);
  TensorOptions device(TLE_RAW_ANY) const;
  TensorOptions dtype(TLE_RAW_ANY) const;
  TensorOptions layout(TLE_RAW_ANY) const;
  TensorOptions requires_grad(TLE_RAW_ANY) const;
  TensorOptions pinned_memory(TLE_RAW_ANY) const;
  TensorOptions memory_format(TLE_RAW_ANY) const;
};

class IValue : ::tle_raw::torch::OfHost {
 public:
  IValue();
  template <class T>
  IValue(T);
  template <class T>
  T to() const;
};

template <class T>
class List : ::tle_raw::torch::OfHost {
 public:
  List();
  size_t size() const;
  T get(size_t) const;
  T operator[](size_t) const;
  const T* begin() const;
  const T* end() const;
};

namespace cuda {
enum class CaptureStatus : int { None, Active, Invalidated };
using CaptureId_t = unsigned long long;

class CUDAStream : ::tle_raw::torch::OfHost {
 public:
  explicit CUDAStream(Stream);
  operator cudaStream_t() const;
  operator Stream() const;
  cudaStream_t stream() const;
  Stream unwrap() const;
  Device device() const;
  DeviceIndex device_index() const;
  StreamId id() const;
  bool query() const;
  void synchronize() const;
  int priority() const;
  bool operator==(const CUDAStream&) const;
};
class CUDAGuard : ::tle_raw::torch::OfHost {
 public:
  explicit CUDAGuard(DeviceIndex);
  explicit CUDAGuard(Device);
};
class OptionalCUDAGuard : ::tle_raw::torch::OfHost {
 public:
  explicit OptionalCUDAGuard(TLE_RAW_ANY);
  void set_index(DeviceIndex);
  void set_device(Device);
};
class CUDAStreamGuard : ::tle_raw::torch::OfHost {
 public:
  explicit CUDAStreamGuard(Stream);
};

struct DeviceAssertionsData;
struct CUDAKernelLaunchRegistry {
  static CUDAKernelLaunchRegistry& get_singleton_ref();
  uint32_t insert(TLE_RAW_ANY);
  bool has_failed() const;
  DeviceAssertionsData* get_uvm_assertions_ptr_for_current_device();
};

CUDAStream getCurrentCUDAStream(DeviceIndex = -1);
CUDAStream getDefaultCUDAStream(DeviceIndex = -1);
CUDAStream getStreamFromPool(TLE_RAW_ANY);
DeviceIndex current_device();
DeviceIndex device_count() noexcept;
void set_device(DeviceIndex);
bool hasPrimaryContext(DeviceIndex);
void device_synchronize();
CaptureStatus currentStreamCaptureStatusMayInitCtx();
std::optional<CaptureId_t> currentStreamCaptureIdMayInitCtx();
}  // namespace cuda
}  // namespace c10

namespace at {
class TensorBase : ::tle_raw::torch::OfHost {
 public:
  TensorBase();
  TensorBase(const TensorBase&);
  TensorBase(TensorBase&&) noexcept;
  ~TensorBase();
  TensorBase& operator=(const TensorBase&);
  TensorBase& operator=(TensorBase&&) noexcept;

  int64_t dim() const;
  int64_t ndimension() const;
  int64_t numel() const;
  int64_t size(int64_t) const;
  int64_t stride(int64_t) const;
  int64_t element_size() const;
  int64_t storage_offset() const;
  size_t itemsize() const;
  size_t nbytes() const;
  c10::SymInt sym_size(int64_t) const;
  c10::SymInt sym_numel() const;
  c10::SymIntArrayRef sym_sizes() const;
  IntArrayRef sizes() const;
  IntArrayRef strides() const;

  bool defined() const;
  bool has_storage() const;
  bool is_contiguous(TLE_RAW_ANY) const;
  bool is_cpu() const;
  bool is_cuda() const;
  bool is_meta() const;
  bool is_same(const TensorBase&) const;
  bool is_sparse() const;
  bool is_floating_point() const;
  bool requires_grad() const;
  Device device() const;
  Layout layout() const;
  int64_t get_device() const;
  ScalarType dtype() const;
  ScalarType scalar_type() const;
  Storage storage() const;
  TensorOptions options() const;
  std::string toString() const;

  void* data_ptr() const;
  void* mutable_data_ptr() const;
  const void* const_data_ptr() const;
  template <class T>
  T* data_ptr() const;
  template <class T>
  T* mutable_data_ptr() const;
  template <class T>
  const T* const_data_ptr() const;

  template <class T, size_t N>
  TensorAccessor<T, N> accessor() const;
  template <class T, size_t N, template <class> class P = DefaultPtrTraits, class I = int64_t>
  GenericPackedTensorAccessor<T, N, P, I> generic_packed_accessor() const;
  template <class T, size_t N, template <class> class P = DefaultPtrTraits, class I = int64_t>
  GenericPackedTensorAccessor<T, N, P, I> packed_accessor() const;
  template <class T, size_t N, template <class> class P = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, P> packed_accessor32() const;
  template <class T, size_t N, template <class> class P = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, P> packed_accessor64() const;
};

#define TLE_RAW_TENSORS(name) Tensor name(TLE_RAW_ANY) const;
class Tensor : public TensorBase {
 public:
  Tensor();
  Tensor(const Tensor&);
  Tensor(Tensor&&) noexcept;
  explicit Tensor(const TensorBase&);
  ~Tensor();
  Tensor& operator=(const Tensor&);
  Tensor& operator=(Tensor&&) noexcept;
  template <class T>
  Tensor& operator=(const T&);

  Tensor operator[](::tle_raw::torch::Any) const;
  template <class T = Scalar>
  T item() const;
  template <class T>
  T* data() const;
  std::vector<Tensor> split(TLE_RAW_ANY) const;
  std::vector<Tensor> unbind(TLE_RAW_ANY) const;
  std::vector<Tensor> chunk(TLE_RAW_ANY) const;
  bool equal(TLE_RAW_ANY) const;
  TLE_RAW_TENSORS(abs)
  TLE_RAW_TENSORS(add)
  TLE_RAW_TENSORS(add_)
  TLE_RAW_TENSORS(all)
  TLE_RAW_TENSORS(any)
  TLE_RAW_TENSORS(argsort)
  TLE_RAW_TENSORS(clone)
  TLE_RAW_TENSORS(contiguous)
  TLE_RAW_TENSORS(copy_)
  TLE_RAW_TENSORS(cpu)
  TLE_RAW_TENSORS(cuda)
  TLE_RAW_TENSORS(cumsum)
  TLE_RAW_TENSORS(detach)
  TLE_RAW_TENSORS(div)
  TLE_RAW_TENSORS(div_)
  TLE_RAW_TENSORS(exp)
  TLE_RAW_TENSORS(expand)
  TLE_RAW_TENSORS(expand_as)
  TLE_RAW_TENSORS(fill_)
  TLE_RAW_TENSORS(flatten)
  TLE_RAW_TENSORS(grad)
  TLE_RAW_TENSORS(index)
  TLE_RAW_TENSORS(index_select)
  TLE_RAW_TENSORS(matmul)
  TLE_RAW_TENSORS(max)
  TLE_RAW_TENSORS(mean)
  TLE_RAW_TENSORS(min)
  TLE_RAW_TENSORS(mm)
  TLE_RAW_TENSORS(mul)
  TLE_RAW_TENSORS(mul_)
  TLE_RAW_TENSORS(narrow)
  TLE_RAW_TENSORS(new_empty)
  TLE_RAW_TENSORS(new_full)
  TLE_RAW_TENSORS(new_zeros)
  TLE_RAW_TENSORS(permute)
  TLE_RAW_TENSORS(repeat)
  TLE_RAW_TENSORS(reshape)
  TLE_RAW_TENSORS(resize_)
  TLE_RAW_TENSORS(select)
  TLE_RAW_TENSORS(slice)
  TLE_RAW_TENSORS(squeeze)
  TLE_RAW_TENSORS(sub)
  TLE_RAW_TENSORS(sum)
  TLE_RAW_TENSORS(t)
  TLE_RAW_TENSORS(to)
  TLE_RAW_TENSORS(toType)
  TLE_RAW_TENSORS(transpose)
  TLE_RAW_TENSORS(type)
  TLE_RAW_TENSORS(unsqueeze)
  TLE_RAW_TENSORS(view)
  TLE_RAW_TENSORS(view_as)
  TLE_RAW_TENSORS(zero_)
};
#undef TLE_RAW_TENSORS

#define TLE_RAW_OPERATOR(sign)                   \
  Tensor operator sign(const Tensor&, const Tensor&); \
  Tensor operator sign(const Tensor&, Scalar);   \
  Tensor operator sign(Scalar, const Tensor&);
TLE_RAW_OPERATOR(+)
TLE_RAW_OPERATOR(-)
TLE_RAW_OPERATOR(*)
TLE_RAW_OPERATOR(/)
TLE_RAW_OPERATOR(%)
TLE_RAW_OPERATOR(&)
TLE_RAW_OPERATOR(|)
TLE_RAW_OPERATOR(^)
TLE_RAW_OPERATOR(==)
TLE_RAW_OPERATOR(!=)
TLE_RAW_OPERATOR(<)
TLE_RAW_OPERATOR(>)
TLE_RAW_OPERATOR(<=)
TLE_RAW_OPERATOR(>=)
#undef TLE_RAW_OPERATOR
#define TLE_RAW_OPERATOR(sign)                   \
  Tensor& operator sign(Tensor&, const Tensor&); \
  Tensor& operator sign(Tensor&, Scalar);
TLE_RAW_OPERATOR(+=)
TLE_RAW_OPERATOR(-=)
TLE_RAW_OPERATOR(*=)
TLE_RAW_OPERATOR(/=)
TLE_RAW_OPERATOR(&=)
TLE_RAW_OPERATOR(|=)
#undef TLE_RAW_OPERATOR
Tensor operator-(const Tensor&);
Tensor operator!(const Tensor&);
Tensor operator~(const Tensor&);

class Generator : ::tle_raw::torch::OfHost {
 public:
  template <class T>
  T* get() const;
  Device device() const;
};

class TensorIteratorBase : ::tle_raw::torch::OfHost {
 public:
  int ndim() const;
  int ntensors() const;
  int ninputs() const;
  int noutputs() const;
  int64_t numel() const;
  int64_t element_size(int) const;
  int64_t num_output_elements() const;
  IntArrayRef shape() const;
  IntArrayRef strides(int) const;
  void* data_ptr(int) const;
  Device device(int = 0) const;
  ScalarType dtype(int = 0) const;
  ScalarType common_dtype() const;
  ScalarType input_dtype(int = 0) const;
  const Tensor& tensor(int) const;
  const Tensor& input(int = 0) const;
  const Tensor& output(int = 0) const;
  bool can_use_32bit_indexing() const;
  bool is_contiguous() const;
  bool is_trivial_1d() const;
  bool is_cpu_scalar(int) const;
  bool is_scalar(int) const;
  void remove_operand(int);
  template <class T>
  T scalar_value(int);
  template <class T>
  T original_scalar_value(int);
  struct Parts {
    TensorIteratorBase* begin() const;
    TensorIteratorBase* end() const;
  };
  Parts with_32bit_indexing() const;
};
class TensorIterator : public TensorIteratorBase {};

struct GradMode {
  static bool is_enabled();
  static void set_enabled(bool);
};
struct AutoGradMode {
  explicit AutoGradMode(bool);
  ~AutoGradMode();
};
struct NoGradGuard {
  NoGradGuard();
  ~NoGradGuard();
};

namespace cuda {
cudaDeviceProp* getCurrentDeviceProperties();
cudaDeviceProp* getDeviceProperties(c10::DeviceIndex);
int warp_size();
}  // namespace cuda
}  // namespace at

namespace tle_raw::torch {
// What a function gives that nobody knows: a tensor, or what is wanted.
struct Result : at::Tensor {
  template <class T>
  operator T() const;
};
}  // namespace tle_raw::torch

namespace torch::autograd {
using Variable = at::Tensor;
using variable_list = std::vector<at::Tensor>;
struct AutogradContext {
  void save_for_backward(variable_list);
  variable_list get_saved_variables() const;
  struct Saved {
    c10::IValue& operator[](const std::string&);
  } saved_data;
};
template <class T>
struct Function {
  template <class... A>
  static ::tle_raw::torch::Result apply(A&&...);
};
}  // namespace torch::autograd

#endif  // TLE_RAW_TORCH_HOST_CLASSES_H
