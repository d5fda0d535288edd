// What CuPy's compiler has before a RawKernel's first line. Clang only.
#ifndef TLE_RAW_CUPY_TEXT_H
#define TLE_RAW_CUPY_TEXT_H

#include <assert.h>

#endif  // TLE_RAW_CUPY_TEXT_H
