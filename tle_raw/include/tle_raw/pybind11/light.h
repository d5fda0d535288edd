// pybind11's names, for host code that stays and is never run, in the place of its headers: those take a compiler as
// long as all of CUB, for functions that no GPU's code can call. Nothing is defined, and a call that pybind11 would
// refuse may be taken. A program that asks for more reads its own headers.
#ifndef TLE_RAW_PYBIND11_LIGHT_H
#define TLE_RAW_PYBIND11_LIGHT_H

// What programs get along with those headers without asking.
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

struct _object;
typedef struct _object PyObject;

namespace pybind11 {
using ssize_t = std::ptrdiff_t;
using size_t = std::size_t;
struct Any {  // an argument of any type, or none
  Any();
  template <class T>
  Any(T&&);
};
#define TLE_RAW_PYTHONS \
  ::pybind11::Any = {}, ::pybind11::Any = {}, ::pybind11::Any = {}, ::pybind11::Any = {}, ::pybind11::Any = {}

class object;
class handle {
 public:
  handle();
  handle(PyObject*);
  virtual ~handle();  // no kernel's parameter may have that: the sizes of these classes are not pybind11's
  PyObject* ptr() const;
  const handle& inc_ref() const;
  const handle& dec_ref() const;
  object attr(Any) const;
  object operator[](Any) const;
  template <class... A>
  object operator()(A&&...) const;
  template <class T>
  T cast() const;
  bool is_none() const;
  bool is(Any) const;
  template <class T>
  bool contains(T&&) const;
  handle* begin() const;
  handle* end() const;
  explicit operator bool() const;
};
class object : public handle {
 public:
  object();
  template <class T>
  object(const T&);
  template <class T>
  object& operator=(T&&);
  handle release();
};
#define TLE_RAW_PYTHON(name)          \
  class name : public object {        \
   public:                            \
    name();                           \
    template <class... A>             \
    name(A&&...);                     \
    template <class T>                \
    name& operator=(T&&);             \
    size_t size() const;              \
    bool empty() const;               \
    template <class... A>             \
    void append(A&&...) const;        \
    operator std::string() const;     \
  };
TLE_RAW_PYTHON(str)
TLE_RAW_PYTHON(bytes)
TLE_RAW_PYTHON(none)
TLE_RAW_PYTHON(list)
TLE_RAW_PYTHON(dict)
TLE_RAW_PYTHON(tuple)
TLE_RAW_PYTHON(set)
TLE_RAW_PYTHON(sequence)
TLE_RAW_PYTHON(iterable)
TLE_RAW_PYTHON(iterator)
TLE_RAW_PYTHON(function)
TLE_RAW_PYTHON(cpp_function)
TLE_RAW_PYTHON(type)
TLE_RAW_PYTHON(slice)
TLE_RAW_PYTHON(capsule)
TLE_RAW_PYTHON(args)
TLE_RAW_PYTHON(kwargs)
TLE_RAW_PYTHON(dtype)
#undef TLE_RAW_PYTHON
#define TLE_RAW_PYTHON(name, number) \
  class name : public object {       \
   public:                           \
    name();                          \
    template <class T>               \
    name(T&&);                       \
    operator number() const;         \
  };
TLE_RAW_PYTHON(int_, long long)
TLE_RAW_PYTHON(float_, double)
TLE_RAW_PYTHON(bool_, bool)
#undef TLE_RAW_PYTHON

struct buffer_info {
  void* ptr;
  ssize_t itemsize, size;
  std::string format;
  ssize_t ndim;
  std::vector<ssize_t> shape, strides;
  bool readonly;
  template <class... A>
  buffer_info(A&&...);
};
class buffer : public object {
 public:
  template <class... A>
  buffer(A&&...);
  buffer_info request(bool = false) const;
};
class array : public buffer {
 public:
  enum { c_style = 1, f_style = 2, forcecast = 16 };
  template <class... A>
  array(A&&...);
  ssize_t size() const;
  ssize_t nbytes() const;
  ssize_t itemsize() const;
  ssize_t ndim() const;
  ssize_t shape(ssize_t) const;
  ssize_t strides(ssize_t) const;
  const ssize_t* shape() const;
  const ssize_t* strides() const;
  const void* data(TLE_RAW_PYTHONS) const;
  void* mutable_data(TLE_RAW_PYTHONS);
  void resize(TLE_RAW_PYTHONS);
};
template <class T, int flags = array::forcecast>
class array_t : public array {
 public:
  template <class... A>
  array_t(A&&...);
  const T* data(TLE_RAW_PYTHONS) const;
  T* mutable_data(TLE_RAW_PYTHONS);
  const T& at(TLE_RAW_PYTHONS) const;
  template <int N = 1>
  array_t unchecked() const;
  template <int N = 1>
  array_t mutable_unchecked();
  template <class... A>
  T& operator()(A&&...) const;
};

class module_ : public object {
 public:
  template <class... A>
  module_& def(A&&...);
  module_ def_submodule(TLE_RAW_PYTHONS);
  static module_ import(const char*);
  object& doc();
};
using module = module_;
template <class... T>
class class_ : public object {
 public:
  template <class... A>
  class_(A&&...);
#define TLE_RAW_PYTHON(name) \
  template <class... A>      \
  class_& name(A&&...);
  TLE_RAW_PYTHON(def)
  TLE_RAW_PYTHON(def_static)
  TLE_RAW_PYTHON(def_readwrite)
  TLE_RAW_PYTHON(def_readonly)
  TLE_RAW_PYTHON(def_property)
  TLE_RAW_PYTHON(def_property_readonly)
  TLE_RAW_PYTHON(def_buffer)
#undef TLE_RAW_PYTHON
};
template <class T>
class enum_ : public class_<T> {
 public:
  template <class... A>
  enum_(A&&...);
  enum_& value(TLE_RAW_PYTHONS);
  enum_& export_values();
};
template <class... A, class... B>
Any init(B&&...);
template <class... A>
Any pickle(A&&...);
struct arg {
  explicit arg(const char*);
  template <class T>
  arg operator=(T&&) const;
  arg& noconvert(bool = true);
  arg& none(bool = true);
};
enum class return_value_policy : uint8_t {
  automatic, automatic_reference, take_ownership, copy, move, reference, reference_internal
};
template <class... T>
struct call_guard {};
template <size_t, size_t>
struct keep_alive {};
struct gil_scoped_acquire {
  gil_scoped_acquire();
  ~gil_scoped_acquire();
};
struct gil_scoped_release {
  explicit gil_scoped_release(bool = false);
  ~gil_scoped_release();
};
#define TLE_RAW_PYTHON(name)                        \
  struct name : std::runtime_error {                \
    using std::runtime_error::runtime_error;        \
    name();                                         \
  };
TLE_RAW_PYTHON(error_already_set)
TLE_RAW_PYTHON(cast_error)
TLE_RAW_PYTHON(stop_iteration)
TLE_RAW_PYTHON(index_error)
TLE_RAW_PYTHON(key_error)
TLE_RAW_PYTHON(value_error)
TLE_RAW_PYTHON(type_error)
#undef TLE_RAW_PYTHON
template <class T, class... A>
object cast(T&&, A&&...);
template <class T>
T cast(const handle&);
template <class T>
T reinterpret_borrow(handle);
template <class T>
T reinterpret_steal(handle);
template <class T>
bool isinstance(handle);
bool isinstance(handle, handle);
bool hasattr(handle, Any);
object getattr(handle, TLE_RAW_PYTHONS);
void setattr(handle, TLE_RAW_PYTHONS);
size_t len(handle);
template <class... A>
tuple make_tuple(A&&...);
template <class... A>
void print(A&&...);
namespace literals {
arg operator""_a(const char* name, std::size_t);
}
namespace detail {}
}  // namespace pybind11

#define PYBIND11_MODULE(name, variable, ...) [[maybe_unused]] static void tle_raw_init_##name(::pybind11::module_& variable)
#define PYBIND11_MAKE_OPAQUE(...)
#define PYBIND11_NUMPY_DTYPE(...) ((void)0)

#endif  // TLE_RAW_PYBIND11_LIGHT_H
