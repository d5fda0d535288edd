// Functions for both sides end the program where something is wrong. On the device nvcc has code without a meaning there,
// which is never reached in programs that are right; here it is a trap.
#ifndef TLE_RAW_ENDS_OF_PROGRAMS_H
#define TLE_RAW_ENDS_OF_PROGRAMS_H

#include <stdlib.h>

extern "C" {
__attribute__((device)) [[noreturn]] inline void exit(int) noexcept { __builtin_trap(); }
__attribute__((device)) [[noreturn]] inline void _Exit(int) noexcept { __builtin_trap(); }
__attribute__((device)) [[noreturn]] inline void abort() noexcept { __builtin_trap(); }
}

#endif  // TLE_RAW_ENDS_OF_PROGRAMS_H
