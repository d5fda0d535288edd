// Products of small matrices that a warp holds together (PTX's mma), and their copies from and to shared memory
// (ldmatrix, stmatrix, movmatrix): lanes bring the addresses of their registers, the last one works out all results.
#ifndef TLE_RAW_TEAM_MATRIX_H
#define TLE_RAW_TEAM_MATRIX_H

#include <tle_raw/team/shadow.h>
#include <tle_raw/team/shared_addresses.h>
#include <tle_raw/team/small_floats.h>
#include <tle_raw/team/warp.h>

namespace tle::team {

// Of the elements of an operand, by their numbers in ptx/matrices.py; the first four are those of `format_of`.
enum Element : u32 { F16, BF16, F8E4M3, F8E5M2, TF32, F64, S8, U8, S4, U4, B1, F32, S32 };

constexpr u32 bits_of(u32 element) {
  switch (element) {
    case F16: case BF16: return 16;
    case F8E4M3: case F8E5M2: case S8: case U8: return 8;
    case S4: case U4: return 4;
    case B1: return 1;
    case F64: return 64;
    default: return 32;
  }
}

constexpr u32 MOST_ROWS = 16, COLUMNS = 8, MOST_DEPTH = 256;

// A product as ptx/matrices.py packs it in one number.
struct Shape {
  u32 rows, depth, a, b, c;
  bool saturates, by_xor;
};
TLE_INLINE Shape unpacked(u32 shape) {
  return {(shape & 1) ? 16u : 8u, shape >> 1 & 0x1ff, shape >> 10 & 15, shape >> 14 & 15, shape >> 18 & 15,
          (shape >> 22 & 1) != 0, (shape >> 23 & 1) != 0};
}

struct Product : Collective {
  u32* d;
  const u32 *a, *b, *c;
  u32 shape;
};

TLE_INLINE float from_half(u32 bits) {
  const u32 magnitude = (bits & 0x7fff) << 13, sign = (bits & 0x8000) << 16;
  const u32 finite = __builtin_bit_cast(u32, __builtin_bit_cast(float, magnitude) * 0x1p112f);
  return __builtin_bit_cast(float, sign | ((bits & 0x7c00) == 0x7c00 ? magnitude | 0x7f800000 : finite));
}

// The element with this number in a register, as the type in which products are added up.
template <u32 Type, class Number> TLE_INLINE Number element_of(u32 word, u32 index) {
  if constexpr (Type == F16) return Number(from_half(word >> 16 * index & 0xffff));
  else if constexpr (Type == BF16) return Number(__builtin_bit_cast(float, index ? word & 0xffff0000 : word << 16));
  else if constexpr (Type == F8E4M3 || Type == F8E5M2) return Number(widen(word >> 8 * index & 0xff, format_of(Type)));
  else if constexpr (Type == TF32) return Number(__builtin_bit_cast(float, word & 0xffffe000));  // the bits that are read
  else if constexpr (Type == S8) return Number(i32(word << (24 - 8 * index)) >> 24);
  else if constexpr (Type == U8) return Number(word >> 8 * index & 0xff);
  else if constexpr (Type == S4) return Number(i32(word << (28 - 4 * index)) >> 28);
  else if constexpr (Type == U4) return Number(word >> 4 * index & 15);
  else return Number(word >> index & 1);
}

// Whole matrices, of the registers of all lanes: the rows of A, and those of B, which has eight columns.
template <class Number> struct Operands {
  Number a[MOST_ROWS][MOST_DEPTH];
  Number b[MOST_DEPTH][COLUMNS];
};

// One operand. `across` and `along` are how far apart in memory neighbours are: in A's rows or B's columns, which lanes
// share by fours, and in the depth of the product, of which a register holds some.
template <class Number> struct Gathering {
  Number* to;
  u32 across, along, blocks, depth;
  const u32* Product::*registers;
};

template <u32 Type, class Number>
static void gather_as(const Gathering<Number>& how, const Warp* warp, u32 group) {
  constexpr u32 packed = bits_of(Type) < 32 ? 32 / bits_of(Type) : 1;
  const u32 count = how.blocks * 8 * how.depth / packed / WARP;
  for (u32 lane = 0; lane < WARP; ++lane) {
    const bool is_here = group >> lane & 1;
    const u32* from = is_here ? reinterpret_cast<const Product*>(warp->value[lane])->*how.registers : nullptr;
    for (u32 r = 0; r < count; ++r) {
      const u32 row = lane / 4 + r % how.blocks * 8, place = (r / how.blocks * 4 + lane % 4) * packed;
      Number* to = how.to + row * how.across + place * how.along;
      for (u32 i = 0; i < packed; ++i) {
        if (!is_here) to[i * how.along] = 0;
        else if constexpr (Type == F64) to[0] = reinterpret_cast<const double*>(from)[r];
        else to[i * how.along] = element_of<Type, Number>(from[r], i);
      }
    }
  }
}

template <class Number> TLE_INLINE void gather(u32 type, const Gathering<Number>& how, const Warp* warp, u32 group) {
  if constexpr (sizeof(Number) == 8) return gather_as<F64>(how, warp, group);
  else if constexpr (Number(0.5) == 0) {  // integers
    switch (type) {
      case S8: return gather_as<S8>(how, warp, group);
      case U8: return gather_as<U8>(how, warp, group);
      case S4: return gather_as<S4>(how, warp, group);
      case U4: return gather_as<U4>(how, warp, group);
      default: return gather_as<B1>(how, warp, group);
    }
  } else {
    switch (type) {
      case F16: return gather_as<F16>(how, warp, group);
      case BF16: return gather_as<BF16>(how, warp, group);
      case F8E4M3: return gather_as<F8E4M3>(how, warp, group);
      case F8E5M2: return gather_as<F8E5M2>(how, warp, group);
      default: return gather_as<TF32>(how, warp, group);
    }
  }
}

template <class Number> static void add_up(Number (&sums)[MOST_ROWS][COLUMNS], const Operands<Number>& of, const Shape& shape) {
  typedef Number Row __attribute__((vector_size(COLUMNS * sizeof(Number)), aligned(sizeof(Number))));
  for (u32 row = 0; row < shape.rows; ++row) {
    Row total = {};
    for (u32 k = 0; k < shape.depth; ++k) {
      const Row b = *reinterpret_cast<const Row*>(of.b[k]);
      if constexpr (Number(0.5) == 0)
        if (shape.by_xor) {
          for (u32 column = 0; column < COLUMNS; ++column) total[column] += of.a[row][k] != b[column];
          continue;
        }
      total += of.a[row][k] * b;
    }
    *reinterpret_cast<Row*>(sums[row]) = total;
  }
}

TLE_INLINE u32 added(u32 bits, float sum, const Shape&) {
  return __builtin_bit_cast(u32, __builtin_bit_cast(float, bits) + sum);
}
TLE_INLINE u32 added(u32 bits, i32 sum, const Shape& shape) {
  const i64 whole = i64(i32(bits)) + sum;
  if (!shape.saturates) return u32(whole);
  return u32(i32(whole > 0x7fffffff ? 0x7fffffff : whole < -0x80000000ll ? -0x80000000ll : whole));
}
TLE_INLINE u32 added_halves(u32 bits, float low, float high) {
  const u32 first = narrow(double(from_half(bits & 0xffff) + low), HALF, NEAREST, false);
  return first | narrow(double(from_half(bits >> 16) + high), HALF, NEAREST, false) << 16;
}

// Each lane has two neighbours of a row, of each eight rows.
template <class Number> static void multiply_as(const Warp* warp, u32 group, const Shape& shape) {
  Operands<Number> operands;
  Number sums[MOST_ROWS][COLUMNS];
  gather<Number>(shape.a, {operands.a[0], MOST_DEPTH, 1, shape.rows / 8, shape.depth, &Product::a}, warp, group);
  gather<Number>(shape.b, {operands.b[0], 1, COLUMNS, 1, shape.depth, &Product::b}, warp, group);
  add_up(sums, operands, shape);
  for (u32 rest = group; rest; rest &= rest - 1) {
    const u32 lane = u32(__builtin_ctz(rest)), column = lane % 4 * 2;
    const Product* own = reinterpret_cast<const Product*>(warp->value[lane]);
    for (u32 block = 0; block < shape.rows / 8; ++block) {
      const Number* sum = &sums[lane / 4 + block * 8][column];
      if constexpr (sizeof(Number) == 8) {
        double* d = reinterpret_cast<double*>(own->d);
        const double* c = reinterpret_cast<const double*>(own->c);
        for (u32 i = 0; i < 2; ++i) d[block * 2 + i] = c[block * 2 + i] + sum[i];
      } else if (shape.c == F16) {
        own->d[block] = added_halves(own->c[block], float(sum[0]), float(sum[1]));
      } else {
        for (u32 i = 0; i < 2; ++i) own->d[block * 2 + i] = added(own->c[block * 2 + i], sum[i], shape);
      }
    }
  }
}

static void multiply(Warp* warp, u32 group, u32 first) {
  const Shape shape = unpacked(reinterpret_cast<const Product*>(warp->value[first])->shape);
  if (shape.a == F64) multiply_as<double>(warp, group, shape);
  else if (shape.c == S32) multiply_as<i32>(warp, group, shape);
  else multiply_as<float>(warp, group, shape);
}

// Matrices of 8 x 8 elements of 16 bits. A lane has two neighbours of a row of each; its row's address is in shared
// memory, and those of matrix j are those of lanes 8j to 8j + 7.
struct MatrixCopy : Collective {
  u32* words;
  u64 address;
  u32 count;
  bool transposed, stores;
};

TLE_INLINE u16* row_of(const Warp* warp, u32 group, u32 lane, u32 bytes) {
  if (!(group >> lane & 1)) return nullptr;
  const u64 address = reinterpret_cast<const MatrixCopy*>(warp->value[lane])->address;
  return reinterpret_cast<u16*>(tle_team_shared_pointer(address, warp->site[lane]));
}

static void copy_matrices(Warp* warp, u32 group, u32 first) {
  const MatrixCopy how = *reinterpret_cast<const MatrixCopy*>(warp->value[first]);
  const bool debug = self()->team->region->debug != 0;
  for (u32 matrix = 0; matrix < how.count; ++matrix) {
    u16* rows[8];
    for (u32 row = 0; row < 8; ++row) {
      rows[row] = row_of(warp, group, matrix * 8 + row, 16);
      if (!debug || !rows[row]) continue;
      const u8* memory = reinterpret_cast<const u8*>(rows[row]);
      if (how.stores) tle_team_check_write(memory, 16, warp->site[first]);
      else tle_team_check_read(memory, 16, warp->site[first]);
    }
    for (u32 rest = group; rest; rest &= rest - 1) {
      const u32 lane = u32(__builtin_ctz(rest));
      u32& word = reinterpret_cast<const MatrixCopy*>(warp->value[lane])->words[matrix];
      u32 read = 0;
      for (u32 i = 0; i < 2; ++i) {
        const u32 along = lane % 4 * 2 + i, across = lane / 4;
        u16* const row = rows[how.transposed ? along : across];
        if (!row) continue;
        u16& element = row[how.transposed ? across : along];
        if (how.stores) element = u16(word >> 16 * i);
        else read |= u32(element) << 16 * i;
      }
      if (!how.stores) word = read;
    }
  }
}

struct Transposition : Collective {
  u32 word;
};

static void transpose(Warp* warp, u32 group, u32) {
  u16 matrix[8][8] = {};
  for (u32 rest = group; rest; rest &= rest - 1) {
    const u32 lane = u32(__builtin_ctz(rest)), word = reinterpret_cast<const Transposition*>(warp->value[lane])->word;
    for (u32 i = 0; i < 2; ++i) matrix[lane / 4][lane % 4 * 2 + i] = u16(word >> 16 * i);
  }
  for (u32 rest = group; rest; rest &= rest - 1) {
    const u32 lane = u32(__builtin_ctz(rest)), column = lane / 4, row = lane % 4 * 2;
    reinterpret_cast<Transposition*>(warp->value[lane])->word = matrix[row][column] | u32(matrix[row + 1][column]) << 16;
  }
}

TLE_INLINE void together(Collective* mine, u32 site) {
  warp_operation(~0u, COLLECTIVE, reinterpret_cast<u64>(mine), 0, site);
}

extern "C" {
TLE_COMPILED void tle_team_multiply(u32* d, const u32* a, const u32* b, const u32* c, u32 shape, u32 site) {
  Product mine;
  mine.work = multiply;
  mine.d = d, mine.a = a, mine.b = b, mine.c = c, mine.shape = shape;
  together(&mine, site);
}

// how: bit 0 transposed, bit 1 to shared memory
TLE_COMPILED void tle_team_copy_matrices(u32* words, u64 address, u32 count, u32 how, u32 site) {
  MatrixCopy mine;
  mine.work = copy_matrices;
  mine.words = words, mine.address = address, mine.count = count;
  mine.transposed = (how & 1) != 0, mine.stores = (how & 2) != 0;
  together(&mine, site);
}

TLE_COMPILED u32 tle_team_transpose(u32 word, u32 site) {
  Transposition mine;
  mine.work = transpose;
  mine.word = word;
  together(&mine, site);
  return mine.word;
}
}

}  // namespace tle::team

#endif  // TLE_RAW_TEAM_MATRIX_H
