"""Passes on loops and shared buffers, up to layouts for all tensors; and Triton's own TritonGPU stage."""

from __future__ import annotations

from tle_raw.flir.pass_value import CHECKS, OUTSIDE, PROMISED, Pass

ORDER_TRACED = Pass(
    "order-traced-regions",
    "ttgir",
    "flir/nvidia/order_regions.py",
    "place_in_text",
    "block barriers between traced regions and the code around them, in place of their markers",
)
TRITON_TTGIR = Pass(
    "triton-ttgir",
    "ttgir",
    "flir/nvidia/calls/triton_ttgir.py",
    "TritonTtgir.triton_ttgir",
    "Triton's own stage: layouts, the software pipeliner",
    kind=OUTSIDE,
)

# Loops whose groups run in stages.
GROUPS = (
    Pass(
        "specialise-executors",
        "ttgir",
        "flir/nvidia/specialise_executors.py",
        "specialise_executors",
        "partitions of specialised warps for loops whose groups have several executors; absent where there are none",
        expects=PROMISED,
    ),
    Pass(
        "pipeline-hints",
        "ttgir",
        "flir/nvidia/pipeline_hints.py",
        "group_hinted_loops",
        'groups for loops with regions that are called with hint="pipeline"; absent where there are none',
    ),
    Pass(
        "check-groups",
        "ttgir",
        "flir/check_groups.py",
        "check_groups",
        "the groups of pipelined loops can run in their stages; absent where there are none",
        kind=CHECKS,
    ),
    Pass(
        "reorder-loads",
        "ttgir",
        "flir/nvidia/reorder_loads.py",
        "reorder_loads",
        "the loads first in the loops that ask for it; else absent",
    ),
    Pass(
        "label-groups",
        "ttgir",
        "flir/nvidia/label_groups.py",
        "label_groups",
        "locations that name the groups, in place of their markers; absent where there are none",
    ),
)
PIPELINE_GROUPS = (
    Pass(
        "settle-layouts",
        "ttgir",
        "flir/nvidia/grouped_ttgir.py",
        "settle_layouts",
        "Triton's own passes up to its software pipeliner, of kernels with groups in stages; else absent",
        kind=OUTSIDE,
    ),
    Pass(
        "schedule-groups",
        "ttgir",
        "flir/nvidia/schedule_groups.py",
        "schedule_groups",
        "the stage and the place of every operation of loops with groups, for the pipeliner; else absent",
    ),
    Pass(
        "pipeline-groups",
        "ttgir",
        "flir/nvidia/grouped_ttgir.py",
        "pipeline_groups",
        "Triton's software pipeliner and its passes behind it, of such kernels; else absent",
        kind=OUTSIDE,
    ),
)

# Operations on shared buffers that touch tensors are markers while Triton gives the tensors their layouts.
LAYOUTS = (
    Pass(
        "take-addresses",
        "ttgir",
        "flir/nvidia/take_addresses.py",
        "take_addresses",
        "the addresses of buffers that the kernel points into; absent where there are none",
        expects=PROMISED,
    ),
    Pass(
        "check-partitions",
        "ttgir",
        "flir/nvidia/check_partitions.py",
        "check_partitions",
        "nothing that specialised warps cannot do stands beside or within them; absent where there are none",
        kind=CHECKS,
    ),
    Pass(
        "open-crossings",
        "ttgir",
        "flir/nvidia/open_crossings.py",
        "open_crossings",
        "markers in place of the operations on shared buffers that touch tensors; absent where there are none",
    ),
    Pass(
        "convert-to-ttgpuir",
        "ttgir",
        "flir/nvidia/convert_to_ttgpuir.py",
        "convert_to_ttgpuir",
        "a layout for every tensor; the regions are still port markers",
    ),
    Pass(
        "close-crossings",
        "ttgir",
        "flir/nvidia/close_crossings.py",
        "close_crossings",
        "those operations again, on the layouts; absent where there are none",
        also=("early-assign-memory-space",),
    ),
    Pass(
        "lower-tma-copy",
        "ttgir",
        "flir/nvidia/join_tma_copies.py",
        "join_tma_copies",
        "copies of the copy engine for loads by descriptors into buffers, from Triton 3.7 on; else absent",
        expects=PROMISED,
    ),
    Pass(
        "store-in-place",
        "ttgir",
        "flir/nvidia/store_in_place.py",
        "store_in_place",
        "copies of the copy engine out of buffers where they lie; absent where there are none",
        for_speed=True,
    ),
    Pass(
        "lay-out-descriptors",
        "ttgir",
        "flir/nvidia/lay_out_descriptors.py",
        "lay_out_descriptors",
        "layouts of the tensor descriptors of kernels with specialised warps; else absent",
        expects=PROMISED,
    ),
    Pass(
        "multiply-in-place",
        "ttgir",
        "flir/nvidia/multiply_in_place.py",
        "multiply_in_place",
        "wgmma on the buffers that a product's operands come from; absent where there are none, or no wgmma",
        expects=PROMISED,
    ),
    Pass(
        "yield-products",
        "ttgir",
        "flir/nvidia/yield_products.py",
        "yield_products",
        "sums of products leave the default partition in the layout that they have; absent where none does",
        for_speed=True,
    ),
    Pass(
        "arrive-by-warps",
        "ttgir",
        "flir/nvidia/arrive_by_warps.py",
        "arrive_by_warps",
        "arrivals of each warp of a partition, in place of one after all of them have met; else absent",
        for_speed=True,
    ),
    Pass(
        "fence-partitions",
        "ttgir",
        "flir/nvidia/fence_partitions.py",
        "fence_partitions",
        "fences where partitions of specialised warps hand over what threads touched; else absent",
        expects=PROMISED,
    ),
    Pass(
        "keep-operands",
        "ttgir",
        "flir/nvidia/keep_operands.py",
        "keep_operands",
        "operands of products in the background keep their memory until the wait; absent where there are none",
    ),
    Pass(
        "lower-async-load",
        "ttgir",
        "flir/nvidia/lower_async_load.py",
        "lower_async_load",
        "cp.async for copies and loads in which each thread has four bytes in a row; absent where there are none",
        expects=PROMISED,
    ),
    Pass(
        "leave-loops",
        "ttgir",
        "flir/nvidia/leave_loops.py",
        "leave_loops",
        "loops that the software pipeliner leaves alone: with named barriers, from sm_100 on with buffers; else absent",
    ),
)
