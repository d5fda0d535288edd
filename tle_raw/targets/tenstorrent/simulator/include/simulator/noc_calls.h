// The network on chip as the two data movement kernels of a core see it.
#pragma once
#include "api/tensor/tensor_accessor.h"

namespace tt_sim {
void read_page(const PageAccess& from, uint32_t page, uint32_t local, uint32_t offset, Site site);
void write_page(const PageAccess& to, uint32_t page, uint32_t local, uint32_t offset, Site site);
void read(uint64_t from, uint32_t local, uint32_t bytes, Site site);
void write(uint32_t local, uint64_t to, uint32_t bytes, Site site);
void write_multicast(uint32_t local, uint64_t to, uint32_t bytes, uint32_t destinations, bool with_source, Site site);
void read_barrier(Site site);
void write_barrier(Site site);
void writes_flushed(Site site);
void atomic_barrier(Site site);
uint64_t core_address(uint32_t x, uint32_t y, uint32_t local);
uint64_t multicast_address(uint32_t x_start, uint32_t y_start, uint32_t x_end, uint32_t y_end, uint32_t local);
uint32_t semaphore_address(uint32_t id, Site site);
void semaphore_set(volatile uint32_t* semaphore, uint32_t value, Site site);
void semaphore_wait(volatile uint32_t* semaphore, uint32_t value, bool at_least, Site site);
void semaphore_increase(uint64_t at, uint32_t by, Site site);
void semaphore_set_remote(uint32_t local, uint64_t at, Site site);
void semaphore_set_multicast(uint32_t local, uint64_t at, uint32_t destinations, bool with_source, Site site);
uint32_t own_coordinate(bool y, bool logical);
}  // namespace tt_sim
