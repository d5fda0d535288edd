// What operations of the matrix unit share.
#pragma once
#include "failure.hpp"
#include "registers.hpp"

namespace tt_sim {
const char* operation_name(MatrixSetup::Kind kind);
double page_size(uint32_t id);
void broadcast_tile(BroadcastType type, Tile& tile);
void transpose_tile_values(Tile& tile);

// An error where the last init call was another one; `same` compares what else the operation needs.
template <typename Same>
void expect_setup(const char* call, MatrixSetup::Kind kind, Site site, Same same) {
    const MatrixSetup& setup = computing(call, site).setup;
    if (setup.kind == kind && same(setup)) return;
    if (setup.kind == MatrixSetup::nothing) fail(site, text("%s without its init call", call));
    fail(site, text("%s, but the last init call (line %u) set up %s%s", call, setup.site.line,
                    operation_name(setup.kind), setup.kind == kind ? " of another kind" : ""));
}
}  // namespace tt_sim
