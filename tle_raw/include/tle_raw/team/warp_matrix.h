// The matrices of CUDA's mma.h (PTX's wmma), which a warp holds together in an order that CUDA leaves open: here a lane
// has neighbours of the rows, and where all lanes have more elements than the matrix, they begin again with the first.
#ifndef TLE_RAW_TEAM_WARP_MATRIX_H
#define TLE_RAW_TEAM_WARP_MATRIX_H

#include <tle_raw/team/matrix.h>

namespace tle::team {

constexpr u32 MOST_ELEMENTS = 512;

// A copy as nvvm/matrices.py packs it in one number. `count` is how many elements a lane has.
struct Form {
  u32 rows, columns, bytes, count;
  bool by_columns;
};
TLE_INLINE Form unpacked_form(u32 how) {
  return {how & 63, how >> 6 & 63, how >> 12 & 15, how >> 16 & 31, (how >> 21 & 1) != 0};
}

TLE_INLINE u64 offset_of(const Form& form, u32 lane, u32 index, u32 stride) {
  const u32 element = (lane * form.count + index) % (form.rows * form.columns);
  const u64 row = element / form.columns, column = element % form.columns;
  return (form.by_columns ? column * stride + row : row * stride + column) * form.bytes;
}

struct WarpProduct : Collective {
  u8* d;
  const u8 *a, *b, *c;
  u32 shape, kinds;
};

struct Extents {
  u32 rows, columns, depth, a, b, c, d;
  bool saturates;
};
TLE_INLINE Extents unpacked_extents(const WarpProduct& product) {
  const u32 shape = product.shape, kinds = product.kinds;
  return {shape & 63, shape >> 6 & 63, shape >> 12 & 63, kinds & 15, kinds >> 4 & 15, kinds >> 8 & 15, kinds >> 12 & 15,
          (shape >> 18 & 1) != 0};
}

// One operand of all lanes. Those of f16 have 16 elements, whatever their matrix has.
template <u32 Type, class Number>
static void collect_as(Number* to, u32 size, const Warp* warp, u32 group, const u8* WarpProduct::*registers) {
  constexpr u32 packed = Type == F64 ? 1 : 32 / bits_of(Type);
  const u32 count = Type == F16 ? 16 : size / WARP;
  for (u32 rest = group; rest; rest &= rest - 1) {
    const u32 lane = u32(__builtin_ctz(rest));
    const u8* from = reinterpret_cast<const WarpProduct*>(warp->value[lane])->*registers;
    for (u32 i = 0; i < count; ++i) {
      Number& element = to[(lane * count + i) % size];
      if constexpr (Type == F64) element = reinterpret_cast<const double*>(from)[i];
      else element = element_of<Type, Number>(reinterpret_cast<const u32*>(from)[i / packed], i % packed);
    }
  }
}

template <class Number>
static void collect(Number* to, u32 type, u32 size, const Warp* warp, u32 group, const u8* WarpProduct::*registers) {
  for (u32 i = 0; i < size; ++i) to[i] = 0;
  if constexpr (sizeof(Number) == 8) return collect_as<F64>(to, size, warp, group, registers);
  else if constexpr (Number(0.5) == 0) {
    if (type == S8) return collect_as<S8>(to, size, warp, group, registers);
    return collect_as<U8>(to, size, warp, group, registers);
  } else {
    if (type == F16) return collect_as<F16>(to, size, warp, group, registers);
    if (type == BF16) return collect_as<BF16>(to, size, warp, group, registers);
    return collect_as<TF32>(to, size, warp, group, registers);
  }
}

TLE_INLINE u32 half_of(const u8* halves, u32 index) { return reinterpret_cast<const u16*>(halves)[index]; }

// One element of the sums: of the types of C and D only those of halves may differ.
template <class Number> TLE_INLINE void finish(const WarpProduct* own, u32 index, Number sum, const Extents& of) {
  if constexpr (sizeof(Number) == 8) {
    reinterpret_cast<double*>(own->d)[index] = reinterpret_cast<const double*>(own->c)[index] + sum;
  } else if constexpr (Number(0.5) == 0) {
    const Shape how = {0, 0, 0, 0, 0, of.saturates, false};
    reinterpret_cast<u32*>(own->d)[index] = added(reinterpret_cast<const u32*>(own->c)[index], sum, how);
  } else {
    const float before = of.c == F16 ? from_half(half_of(own->c, index)) : reinterpret_cast<const float*>(own->c)[index];
    if (of.d == F16) reinterpret_cast<u16*>(own->d)[index] = u16(narrow(double(before + sum), HALF, NEAREST, of.saturates));
    else reinterpret_cast<float*>(own->d)[index] = before + sum;
  }
}

template <class Number> static void multiply_warp_as(const Warp* warp, u32 group, const Extents& of) {
  Number a[MOST_ELEMENTS], b[MOST_ELEMENTS];
  collect(a, of.a, of.rows * of.depth, warp, group, &WarpProduct::a);
  collect(b, of.b, of.depth * of.columns, warp, group, &WarpProduct::b);
  const u32 count = of.rows * of.columns / WARP;
  for (u32 rest = group; rest; rest &= rest - 1) {
    const u32 lane = u32(__builtin_ctz(rest));
    for (u32 i = 0; i < count; ++i) {
      const u32 row = (lane * count + i) / of.columns, column = (lane * count + i) % of.columns;
      Number sum = 0;
      for (u32 k = 0; k < of.depth; ++k) sum += a[row * of.depth + k] * b[k * of.columns + column];
      finish(reinterpret_cast<const WarpProduct*>(warp->value[lane]), i, sum, of);
    }
  }
}

static void multiply_warp(Warp* warp, u32 group, u32 first) {
  const Extents of = unpacked_extents(*reinterpret_cast<const WarpProduct*>(warp->value[first]));
  if (of.a == F64) multiply_warp_as<double>(warp, group, of);
  else if (of.c == S32) multiply_warp_as<i32>(warp, group, of);
  else multiply_warp_as<float>(warp, group, of);
}

// Lanes meet before what they read and after what they have written, as in the one instruction that it is on a GPU.
extern "C" {
TLE_COMPILED void tle_team_load_warp_matrix(u8* registers, const u8* memory, u32 stride, u32 how, u32 site) {
  const Form form = unpacked_form(how);
  warp_operation(~0u, SYNC, 0, 0, site);
  for (u32 i = 0; i < form.count; ++i) {
    const u8* from = memory + offset_of(form, self()->lane, i, stride);
    if (self()->team->region->debug) tle_team_check_read(from, form.bytes, site);
    __builtin_memcpy(registers + i * form.bytes, from, form.bytes);
  }
}

TLE_COMPILED void tle_team_store_warp_matrix(u8* registers, u8* memory, u32 stride, u32 how, u32 site) {
  const Form form = unpacked_form(how);
  warp_operation(~0u, SYNC, 0, 0, site);
  for (u32 i = 0; i < form.count; ++i) {
    u8* to = memory + offset_of(form, self()->lane, i, stride);
    if (self()->team->region->debug) tle_team_check_write(to, form.bytes, site);
    __builtin_memcpy(to, registers + i * form.bytes, form.bytes);
  }
  warp_operation(~0u, SYNC, 0, 0, site);
}

TLE_COMPILED void tle_team_multiply_warp_matrices(u8* d, const u8* a, const u8* b, const u8* c, u32 shape, u32 kinds, u32 site) {
  WarpProduct mine;
  mine.work = multiply_warp;
  mine.d = d, mine.a = a, mine.b = b, mine.c = c, mine.shape = shape, mine.kinds = kinds;
  together(&mine, site);
}
}

}  // namespace tle::team

#endif  // TLE_RAW_TEAM_WARP_MATRIX_H
