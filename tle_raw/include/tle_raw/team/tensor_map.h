// What stands for a tensor map (PTX's, of 128 bytes) on the CPU, and copies of blocks by it: cp.async.bulk.tensor.
#ifndef TLE_RAW_TEAM_TENSOR_MAP_H
#define TLE_RAW_TEAM_TENSOR_MAP_H

#include <tle_raw/team/shadow.h>

namespace tle::team {

constexpr int MOST_AXES = 5;

// Filled by tle_raw/flir/cpu/convert/descriptors.py, and by frontends for Triton's interpreter: outermost axis first.
struct TensorMap {
  u8* base;
  u64 fill;  // of what lies outside of the array: the bits of one element
  i32 rank, swizzle;  // swizzle: 0, or in which bits of an address rows of 32 (1), 64 (2) or 128 bytes (3) are mixed
  i64 bytes;  // of an element
  i64 sizes[MOST_AXES], strides[MOST_AXES], box[MOST_AXES];  // strides count elements; the last is 1
};

// Where the copy engine puts a byte: groups of 16 bytes change places, by the number of their row of 128 bytes.
TLE_INLINE u8* swizzled(u8* shared, i32 swizzle) {
  const u64 address = reinterpret_cast<u64>(shared), mixed = (1u << swizzle) - 1;
  return reinterpret_cast<u8*>(address ^ (address >> 7 & mixed) << 4);
}

// A row of a block in shared memory and in the array, group by group where groups are mixed.
TLE_INLINE void copy_row(u8* shared, u8* there, i64 bytes, i32 swizzle, bool into) {
  for (i64 done = 0, count; done < bytes; done += count) {
    count = bytes - done;
    u8* here = shared + done;
    if (swizzle) {
      const i64 left = 16 - i64(reinterpret_cast<u64>(here) % 16);
      count = count < left ? count : left;
      here = swizzled(here, swizzle);
    }
    __builtin_memcpy(into ? here : there + done, into ? there + done : here, u64(count));
  }
}

// Debug: what an access may touch, and that it has been written.
TLE_INLINE void check_access(const u8* pointer, i64 bytes, bool writes, u32 site) {
  if (bytes <= 0 || !self()->team->region->debug) return;
  if (writes) tle_team_check_write(pointer, u64(bytes), site);
  else tle_team_check_read(pointer, u64(bytes), site);
}

// The copy engine's rules: where a block begins along the innermost axis is a multiple of 16 bytes, and a block that is
// stored may reach beyond the array, and may not begin before it. For another one it ends the kernel.
constexpr i64 GRANULE = 16;

[[noreturn]] TLE_RARE static void report_odd_place(i64 place, i64 element, u32 site) {
  Message(self()->team).text("a block begins at place ").number(place).text(" of the innermost axis, ")
      .number(place * element).text(" bytes from its start: a descriptor copies from multiples of 16 bytes on");
  give_up(self()->team, OUT_OF_BOUNDS, site);
}

[[noreturn]] TLE_RARE static void report_negative_place(i64 axis, i64 place, u32 site) {
  Message(self()->team).text("a block is stored from place ").number(place).text(" of axis ").number(axis)
      .text(" on, and a descriptor stores from no negative one");
  give_up(self()->team, OUT_OF_BOUNDS, site);
}

// Copy the box at these places, innermost axis first, row by row. Gives its bytes.
TLE_INLINE i64 copy_box(const TensorMap* map, u8* shared, const i32* at, bool into, u32 site) {
  const int rank = map->rank;
  if (at[0] * map->bytes % GRANULE) report_odd_place(at[0], map->bytes, site);
  const i64 element = map->bytes, columns = map->box[rank - 1];
  i64 rows = 1;
  for (int axis = 0; axis + 1 < rank; ++axis) rows *= map->box[axis];
  for (i64 row = 0; row < rows; ++row, shared += columns * element) {
    i64 rest = row, offset = 0;
    bool inside = true;
    for (int axis = rank - 2; axis >= 0; --axis) {
      const i64 place = at[rank - 1 - axis] + rest % map->box[axis];
      rest /= map->box[axis];
      inside = inside && place >= 0 && place < map->sizes[axis];
      offset += place * map->strides[axis];
    }
    // Neighbours along the innermost axis are neighbours in memory: a tensor map knows no other arrays.
    const i64 end = map->sizes[rank - 1] - at[0];
    const i64 first = !inside ? columns : at[0] < 0 ? -i64(at[0]) : 0;
    const i64 last = end < columns ? end : columns, bytes = (last - first) * element;
    u8* there = map->base + (offset + at[0] + first) * element;
    u8* here = shared + first * element;
    check_access(into ? shared : here, into ? columns * element : bytes, into, site);
    check_access(there, bytes, !into, site);
    if (into)
      for (i64 column = 0; column < columns; ++column)
        if (column < first || column >= last)
          __builtin_memcpy(swizzled(shared + column * element, map->swizzle), &map->fill, u64(element));
    copy_row(here, there, bytes, map->swizzle, into);
  }
  return rows * columns * element;
}

}  // namespace tle::team

extern "C" {

TLE_EXPORTED i64 tle_team_load_box(const tle::team::TensorMap* map, u8* shared, i32 a, i32 b, i32 c, i32 d, i32 e, u32 site) {
  const i32 at[] = {a, b, c, d, e};
  return tle::team::copy_box(map, shared, at, true, site);
}

TLE_EXPORTED i64 tle_team_store_box(const tle::team::TensorMap* map, u8* shared, i32 a, i32 b, i32 c, i32 d, i32 e, u32 site) {
  const i32 at[] = {a, b, c, d, e};
  for (i64 axis = 0; axis < map->rank; ++axis)
    if (at[axis] < 0) tle::team::report_negative_place(map->rank - 1 - axis, at[axis], site);
  return tle::team::copy_box(map, shared, at, false, site);
}
}

#endif  // TLE_RAW_TEAM_TENSOR_MAP_H
