// C's word for bool, which GCC's <stdbool.h> has in C++, too.
#ifndef TLE_RAW_C_BOOL_H
#define TLE_RAW_C_BOOL_H

#define _Bool bool

#endif  // TLE_RAW_C_BOOL_H
