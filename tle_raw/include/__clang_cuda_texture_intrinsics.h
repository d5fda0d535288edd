// In front of clang's header of this name: what reads a surface must stay where it is between the writes.
//
// Clang's functions for reads are pure assembly, so that two reads of one place become one, whatever was written in
// between. With the macro all assembly of that header has side effects: its functions keep their order.
#ifdef TLE_RAW_ORDERED_SURFACES
#pragma push_macro("asm")
#pragma push_macro("volatile")
#define asm __asm__ __volatile__
#define volatile
#endif
#include_next <__clang_cuda_texture_intrinsics.h>
#ifdef TLE_RAW_ORDERED_SURFACES
#pragma pop_macro("volatile")
#pragma pop_macro("asm")
#endif
