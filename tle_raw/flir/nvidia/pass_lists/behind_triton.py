"""Passes on shared buffers around Triton's own TritonGPU stage and behind it."""

from __future__ import annotations

from tle_raw.flir.pass_value import CHECKS, DECIDES, PROMISED, Pass

EXPLICIT_TTGIR = Pass(
    "explicit-ttgir",
    "ttgir",
    "flir/nvidia/explicit_ttgir.py",
    "explicit_ttgir",
    "the passes of kernels that wait for products themselves, in place of Triton's stage; else absent",
    expects=PROMISED,
)
CHECK_PHASES = Pass(
    "check-phases",
    "ttgir",
    "flir/nvidia/check_phases.py",
    "check_phases",
    "no wait for a phase of a barrier that cannot be, as far as phases are constants; absent where there are none",
    kind=CHECKS,
)
NAMED_BARRIERS = Pass(
    "place-named-barriers",
    "ttgir",
    "flir/nvidia/place_named_barriers.py",
    "place_named_barriers",
    "bar.sync and bar.arrive for waits and arrivals at named barriers; absent where there are none",
    expects=PROMISED,
)
KEEP_WAITS = Pass(
    "keep-waits",
    "ttgir",
    "flir/nvidia/keep_waits.py",
    "keep_waits",
    "the kernel's own numbers in waits for groups of copies; absent where all are waited for",
)

CONVERT_RESULTS = Pass(
    "convert-results",
    "ttgir",
    "flir/nvidia/convert_results.py",
    "convert_results",
    "changes of the layout of what comes out of divided loops behind their partitions; absent where there are none",
)
DEFER_STORES = Pass(
    "defer-stores",
    "ttgir",
    "flir/nvidia/defer_stores.py",
    "defer_stores",
    "tiles that loops store by descriptors in memory of their own, and later waits; absent where Triton does it",
    for_speed=True,
)
RELEASE_LAYOUTS = Pass(
    "release-layouts",
    "ttgir",
    "flir/nvidia/release_layouts.py",
    "release_layouts",
    "conversions for what held tensors in the kernel's own layouts; absent where there are none",
)
READ_BUFFERS = Pass(
    "read-buffers",
    "ttgir",
    "flir/nvidia/read_buffers.py",
    "read_buffers",
    "which buffers take the shared memory; absent where there are none",
    kind=DECIDES,
)
ORDER_POINTERS = Pass(
    "order-pointers",
    "ttgir",
    "flir/nvidia/order_pointers.py",
    "order_pointers",
    "block barriers between accesses by pointers into buffers, and their marks; absent where there are none",
)
ORDER_COPIES = Pass(
    "order-copies",
    "ttgir",
    "flir/nvidia/order_copies.py",
    "order_copies",
    "block barriers where mbarriers, copies and products in the background want them; absent where there are none",
    for_speed=True,
)
PLACE_CLUSTERS = Pass(
    "place-clusters",
    "ttgir",
    "flir/nvidia/place_clusters.py",
    "place_clusters",
    "the instructions of what blocks of a cluster and of a grid do with each other; absent where they do nothing",
    expects=PROMISED,
)
READ_BACK = Pass(
    "read-back",
    "ttgir",
    "flir/parse_module.py",
    "parse_module",
    "a module again of the text that passes behind Triton's stage handed on; absent where none did",
)
