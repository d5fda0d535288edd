// Calls of the reader and writer kernels.
#pragma once
#include "simulator/noc_calls.h"

#define FORCE_INLINE inline __attribute__((always_inline))
#define tt_l1_ptr
#define ALWI FORCE_INLINE

#ifndef NOC_INDEX
#define NOC_INDEX 0
#endif
inline constexpr uint8_t noc_index = NOC_INDEX;

namespace tt_sim {
// my_x[noc_index] and my_y[noc_index]: the coordinates of the core that asks.
template <bool Y>
struct OwnCoordinate {
    uint8_t operator[](unsigned) const { return static_cast<uint8_t>(own_coordinate(Y, false)); }
};
}  // namespace tt_sim
inline constexpr tt_sim::OwnCoordinate<false> my_x{};
inline constexpr tt_sim::OwnCoordinate<true> my_y{};
inline uint8_t get_absolute_logical_x() { return static_cast<uint8_t>(tt_sim::own_coordinate(false, true)); }
inline uint8_t get_absolute_logical_y() { return static_cast<uint8_t>(tt_sim::own_coordinate(true, true)); }

inline bool cb_pages_reservable_at_back(uint32_t cb, uint32_t pages, TT_SIM_SITE) {
    return tt_sim::pages_reservable(cb, pages, site);
}
inline bool cb_pages_available_at_front(uint32_t cb, uint32_t pages, TT_SIM_SITE) {
    return tt_sim::pages_available(cb, pages, site);
}
inline uint32_t get_tile_size(uint32_t cb, TT_SIM_SITE) { return tt_sim::page_bytes(cb, site); }
inline tt::DataFormat get_dataformat(uint32_t cb, TT_SIM_SITE) { return tt_sim::data_format(cb, site); }
inline uint32_t get_write_ptr(uint32_t cb, TT_SIM_SITE) { return tt_sim::write_pointer(cb, site); }
inline uint32_t get_read_ptr(uint32_t cb, TT_SIM_SITE) { return tt_sim::read_pointer(cb, site); }

inline void noc_async_read_page(uint32_t page, const TensorAccessor& from, uint32_t local, uint32_t offset = 0,
                                uint8_t = noc_index, TT_SIM_SITE) {
    tt_sim::read_page(from, page, local, offset, site);
}
inline void noc_async_write_page(uint32_t page, const TensorAccessor& to, uint32_t local, uint32_t = 0,
                                 uint32_t offset = 0, uint8_t = noc_index, TT_SIM_SITE) {
    tt_sim::write_page(to, page, local, offset, site);
}
inline void noc_async_read_tile(uint32_t tile, const TensorAccessor& from, uint32_t local, uint32_t offset = 0,
                                uint8_t = noc_index, TT_SIM_SITE) {
    tt_sim::read_page(from, tile, local, offset, site);
}
inline void noc_async_write_tile(uint32_t tile, const TensorAccessor& to, uint32_t local, uint8_t = noc_index,
                                 TT_SIM_SITE) {
    tt_sim::write_page(to, tile, local, 0, site);
}
inline void noc_async_read(uint64_t from, uint32_t local, uint32_t bytes, uint8_t = noc_index, TT_SIM_SITE) {
    tt_sim::read(from, local, bytes, site);
}
inline void noc_async_write(uint32_t local, uint64_t to, uint32_t bytes, uint8_t = noc_index, TT_SIM_SITE) {
    tt_sim::write(local, to, bytes, site);
}
inline void noc_async_write_multicast(uint32_t local, uint64_t to, uint32_t bytes, uint32_t destinations, bool = false,
                                      uint8_t = noc_index, TT_SIM_SITE) {
    tt_sim::write_multicast(local, to, bytes, destinations, false, site);
}
inline void noc_async_write_multicast_loopback_src(uint32_t local, uint64_t to, uint32_t bytes, uint32_t destinations,
                                                   bool = false, uint8_t = noc_index, TT_SIM_SITE) {
    tt_sim::write_multicast(local, to, bytes, destinations, true, site);
}
inline void noc_async_read_barrier(uint8_t = noc_index, TT_SIM_SITE) { tt_sim::read_barrier(site); }
inline void noc_async_write_barrier(uint8_t = noc_index, TT_SIM_SITE) { tt_sim::write_barrier(site); }
inline void noc_async_writes_flushed(uint8_t = noc_index, TT_SIM_SITE) { tt_sim::writes_flushed(site); }
inline void noc_async_atomic_barrier(uint8_t = noc_index, TT_SIM_SITE) { tt_sim::atomic_barrier(site); }
inline void noc_async_full_barrier(uint8_t = noc_index, TT_SIM_SITE) {
    tt_sim::read_barrier(site);
    tt_sim::write_barrier(site);
    tt_sim::atomic_barrier(site);
}

inline uint64_t get_noc_addr(uint32_t x, uint32_t y, uint32_t local, uint8_t = noc_index) {
    return tt_sim::core_address(x, y, local);
}
inline uint64_t get_noc_addr(uint32_t local, uint8_t = noc_index) {
    return tt_sim::core_address(my_x[0], my_y[0], local);
}
inline uint64_t get_noc_addr(uint32_t page, const TensorAccessor& accessor, uint32_t offset = 0, uint8_t = noc_index,
                             TT_SIM_SITE) {
    return tt_sim::page_address(accessor, page, offset, site);
}
inline uint64_t get_noc_multicast_addr(uint32_t x_start, uint32_t y_start, uint32_t x_end, uint32_t y_end,
                                       uint32_t local, uint8_t = noc_index) {
    return tt_sim::multicast_address(x_start, y_start, x_end, y_end, local);
}

inline uint32_t get_semaphore(uint32_t id, TT_SIM_SITE) { return tt_sim::semaphore_address(id, site); }
inline void noc_semaphore_set(volatile tt_l1_ptr uint32_t* semaphore, uint32_t value, TT_SIM_SITE) {
    tt_sim::semaphore_set(semaphore, value, site);
}
inline void noc_semaphore_wait(volatile tt_l1_ptr uint32_t* semaphore, uint32_t value, TT_SIM_SITE) {
    tt_sim::semaphore_wait(semaphore, value, false, site);
}
inline void noc_semaphore_wait_min(volatile tt_l1_ptr uint32_t* semaphore, uint32_t value, TT_SIM_SITE) {
    tt_sim::semaphore_wait(semaphore, value, true, site);
}
inline void noc_semaphore_inc(uint64_t at, uint32_t by, uint8_t = noc_index, uint8_t = 0, TT_SIM_SITE) {
    tt_sim::semaphore_increase(at, by, site);
}
inline void noc_semaphore_set_remote(uint32_t local, uint64_t at, uint8_t = noc_index, TT_SIM_SITE) {
    tt_sim::semaphore_set_remote(local, at, site);
}
inline void noc_semaphore_set_multicast(uint32_t local, uint64_t at, uint32_t destinations, bool = false,
                                        uint8_t = noc_index, TT_SIM_SITE) {
    tt_sim::semaphore_set_multicast(local, at, destinations, false, site);
}
inline void noc_semaphore_set_multicast_loopback_src(uint32_t local, uint64_t at, uint32_t destinations, bool = false,
                                                     uint8_t = noc_index, TT_SIM_SITE) {
    tt_sim::semaphore_set_multicast(local, at, destinations, true, site);
}

void kernel_main();
