// Circular buffers as all three kernels of a core see them.
#pragma once
#include "simulator/formats.h"
#include "simulator/site.h"

namespace tt_sim {
void reserve_back(uint32_t buffer, uint32_t pages, Site site);
void push_back(uint32_t buffer, uint32_t pages, Site site);
void wait_front(uint32_t buffer, uint32_t pages, Site site);
void pop_front(uint32_t buffer, uint32_t pages, Site site);
bool pages_reservable(uint32_t buffer, uint32_t pages, Site site);
bool pages_available(uint32_t buffer, uint32_t pages, Site site);
uint32_t page_bytes(uint32_t buffer, Site site);
uint32_t write_pointer(uint32_t buffer, Site site);
uint32_t read_pointer(uint32_t buffer, Site site);
tt::DataFormat data_format(uint32_t buffer, Site site);
uint32_t runtime_argument(int index, Site site);
uint32_t common_runtime_argument(int index, Site site);
}  // namespace tt_sim

inline void cb_reserve_back(uint32_t cb, uint32_t pages, TT_SIM_SITE) { tt_sim::reserve_back(cb, pages, site); }
inline void cb_push_back(uint32_t cb, uint32_t pages, TT_SIM_SITE) { tt_sim::push_back(cb, pages, site); }
inline void cb_wait_front(uint32_t cb, uint32_t pages, TT_SIM_SITE) { tt_sim::wait_front(cb, pages, site); }
inline void cb_pop_front(uint32_t cb, uint32_t pages, TT_SIM_SITE) { tt_sim::pop_front(cb, pages, site); }

template <typename T>
inline T get_arg_val(int index, TT_SIM_SITE) {
    static_assert(sizeof(T) == 4, "a runtime argument has 4 bytes: pass 8-byte values as two of them");
    return __builtin_bit_cast(T, tt_sim::runtime_argument(index, site));
}
template <typename T>
inline T get_common_arg_val(int index, TT_SIM_SITE) {
    static_assert(sizeof(T) == 4, "a runtime argument has 4 bytes: pass 8-byte values as two of them");
    return __builtin_bit_cast(T, tt_sim::common_runtime_argument(index, site));
}
