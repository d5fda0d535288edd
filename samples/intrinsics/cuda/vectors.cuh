// Runs of neighbours in shared memory, up to 16 bytes of them in one access.
#ifndef TLE_PRIMITIVES_VECTORS_CUH
#define TLE_PRIMITIVES_VECTORS_CUH

#include "numbers.cuh"

namespace tle_primitives {

template <int BYTES> struct word_of_size { using type = typename bits_of_size<BYTES>::type; };
template <> struct word_of_size<16> { using type = uint4; };

// How many elements a thread takes at once, where each of so many threads has `share` of them.
template <class T> constexpr int vector_of(int share) { return most(1, least(share, 16 / int(sizeof(T)))); }

template <int COUNT, class T> __device__ inline void load_vector(computed_t<T> (&values)[COUNT], const T* from) {
  using Word = typename word_of_size<COUNT * sizeof(T)>::type;
  const Word word = *reinterpret_cast<const Word*>(from);
  T elements[COUNT];
  memcpy(elements, &word, sizeof(word));
  for (int i = 0; i < COUNT; ++i) values[i] = computed_t<T>(elements[i]);
}

template <int COUNT, class T> __device__ inline void store_vector(T* to, const computed_t<T> (&values)[COUNT]) {
  using Word = typename word_of_size<COUNT * sizeof(T)>::type;
  T elements[COUNT];
  for (int i = 0; i < COUNT; ++i) elements[i] = T(values[i]);
  Word word;
  memcpy(&word, elements, sizeof(word));
  *reinterpret_cast<Word*>(to) = word;
}

}  // namespace tle_primitives

#endif
