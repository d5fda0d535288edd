"""What contexts are made of on the host: exchanges, agreements, memory, faults, places in a mesh. No GPU."""

import pickle
import subprocess
import sys
import threading

import pytest

from tle_raw.distributed import FileExchange, context, contexts, device_mesh
from tle_raw.distributed.agreement import among_processes, within_process
from tle_raw.distributed.faults import fault_of
from tle_raw.distributed.heap import Heap, bytes_of, tensor_at
from tle_raw.errors import ContextError, MeshError, PeerError, ToolchainError
from tle_raw.frontends.distributed import context_layout as layout
from tle_raw.frontends.distributed.check_members import check_members
from tle_raw.frontends.distributed.context_layout import Layout
from tle_raw.frontends.distributed.device_ranks import coordinates, groups, groups_along, ranks_of

pytestmark = pytest.mark.one_triton


def in_threads(work, world=3):
    results = [None] * world

    def run(rank):
        try:
            results[rank] = work(rank)
        except ContextError as error:
            results[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(world)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return results


def test_members_that_share_a_folder_tell_each_other(tmp_path):
    def work(rank):
        exchange = FileExchange(tmp_path / "new", rank, 3)
        return [exchange.all_gather(f"{rank} at {step}".encode()) for step in range(20)]

    expected = [[f"{rank} at {step}".encode() for rank in range(3)] for step in range(20)]
    assert in_threads(work) == [expected] * 3


def test_a_member_that_does_not_come_is_named(tmp_path):
    with pytest.raises(ContextError, match="members 0, 2 did not come"):
        FileExchange(tmp_path, 1, 3, timeout=0.05).all_gather(b"here")


def test_members_that_do_different_things_all_hear_of_it(tmp_path):
    def work(rank):
        agreement = among_processes(FileExchange(tmp_path, rank, 3))
        agreement.agree("tensor", "as all")
        agreement.agree("tensor", f"of {min(rank, 1)}")

    for error in in_threads(work):
        assert isinstance(error, ContextError) and "member 2" in str(error) and "tensor: of 1" in str(error)


def test_members_of_one_process_are_compared_with_the_first():
    first, second = within_process(2)
    first.agree("tensor", "a")
    first.agree("tensor", "b")
    second.agree("tensor", "a")
    with pytest.raises(ContextError, match="different things"):
        second.agree("tensor", "c")


def test_tensors_lie_one_after_the_other_until_memory_is_used_up():
    heap = Heap(1024, 4096)
    assert [heap.take(size) for size in (1, 512, 513)] == [1024, 1536, 2048]
    with pytest.raises(ContextError, match="used up"):
        heap.take(1025)
    heap.reset()
    assert heap.take(3072) == 1024


def test_a_tensor_without_torch_has_an_address_and_a_type():
    array = tensor_at(4096, (3, 5), "float16", 0, None)
    assert array.data_ptr() == 4096 and bytes_of((3, 5), "float16") == 30
    assert array.__cuda_array_interface__["typestr"] == "<f2"
    with pytest.raises(ContextError, match="a name"):
        tensor_at(0, (1,), "float17", 0, None)


def test_parts_of_a_region_do_not_overlap():
    sizes = Layout(world=3, bytes=1000, blocks=7, slots=5)
    at = sizes.offsets
    assert list(at.values()) == sorted(at.values()) and all(offset % 512 == 0 for offset in at.values())
    assert at[layout.EXPECTED] - at[layout.ARRIVALS] >= 4 * 3 * 7
    assert sizes.region_bytes == at[layout.TENSORS] + 1024
    table = sizes.table(1, [100, 200, 300], 77, 2.5)
    assert table[layout.RANK] == 1 and table[layout.HEAPS : layout.HEAPS + 4] == [100, 200, 300, 0]
    assert table[layout.TIME_LIMIT] == 2_500_000_000 and table[layout.REPORT] == 77


def test_a_fault_says_who_waited_for_whom_and_where():
    place = [int.from_bytes(part, "little") for part in (b"two_step", b"s:42\0\0\0\0")]
    fault = fault_of([layout.AT_BARRIER, 3, 1, 17, 0, 4, 5, 0, *place, 0, 0])
    assert (fault.rank, fault.awaited, fault.place) == (3, 1, "two_steps:42")
    assert "device 3, program 17: waited at a barrier for device 1" in str(fault)
    again = pickle.loads(pickle.dumps(fault))
    assert isinstance(again, PeerError) and (again.rank, again.awaited, again.place) == (3, 1, "two_steps:42")
    fault = fault_of([layout.AT_SIGNAL, 0, -1, 2, 9, 0, 1, 0, *place, 0, 0])
    assert fault.awaited is None and "signal 9" in str(fault)


@pytest.mark.parametrize("kind", range(layout.AT_BARRIER, layout.NO_SUCH_MEMBER + 1))
def test_every_fault_has_a_message(kind):
    assert "device 0" in str(fault_of([kind, 0, 1, 0, 0, 1, 2, 0, 0, 0, 0, 0]))


def test_sizes_are_checked_before_anything_is_made():
    with pytest.raises(ContextError, match="sizes are numbers"):
        contexts([0, 1], bytes=0)
    with pytest.raises(ContextError, match="each GPU once"):
        contexts([1, 1], bytes=8)
    with pytest.raises(ContextError, match="group of processes"):
        context("everybody", bytes=8)


def test_a_machine_without_a_driver_is_told_what_to_do():
    program = (
        "import ctypes, tle_raw.distributed as d\n"
        "def missing(*_): raise OSError('no file')\n"
        "ctypes.CDLL = missing\n"
        "try: d.contexts([0, 1], bytes=8)\n"
        "except Exception as e: print(type(e).__name__, 'simulate' in str(e))\n"
        "import sys; print('torch' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert said == [ToolchainError.__name__, "True", "False"]


def test_a_mesh_of_other_devices_than_the_contexts_is_refused_before_the_launch():
    class Member:
        layout = Layout(world=2, bytes=8)

        def data_ptr(self):
            raise AssertionError("it was launched")

    check_members([device_mesh({"device": 2, "block": 4})], [3, Member(), None])
    with pytest.raises(MeshError, match="other devices than the context"):
        check_members([device_mesh({"node": 2, "device": 2})], [3, Member(), None])


def test_devices_come_before_what_lies_within_them():
    mesh = device_mesh({"node": 2, "device": [("x", 2), ("y", 3)], "block": 4})
    assert coordinates(mesh, "node") == [0] * 6 + [1] * 6
    assert coordinates(mesh, "x") == [0, 0, 0, 1, 1, 1] * 2
    assert coordinates(mesh[1, :, 1:], "y") == [-1] * 6 + [-1, 0, 1] * 2
    assert groups(mesh[0]) == [0] * 6 + [-1] * 6
    assert groups_along(mesh, ("y",)) == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert groups_along(mesh, ("node",)) == [0, 1, 2, 3, 4, 5] * 2
    devices = device_mesh({"device": [("x", 2), ("y", 3)]})
    assert ranks_of(devices[:, 2]) == (2, 5) and coordinates(devices.flatten(), 0) == list(range(6))
    with pytest.raises(MeshError, match="lies within devices"):
        coordinates(mesh, "block")
    with pytest.raises(MeshError, match="has blocks"):
        ranks_of(mesh)
