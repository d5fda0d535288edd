// Operators new and delete in device code, which nvcc knows without any header. Clang's own <new> defines them.
#ifndef TLE_RAW_NEW_DELETE_H
#define TLE_RAW_NEW_DELETE_H

#if defined(__clang__) && defined(__CUDA__) && __has_include(<new>)
#include <new>
#endif

#endif  // TLE_RAW_NEW_DELETE_H
