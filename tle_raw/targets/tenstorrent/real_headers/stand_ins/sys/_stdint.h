// Of newlib, which the vendor's compiler has; the one here has another C library.
#include <stdint.h>
