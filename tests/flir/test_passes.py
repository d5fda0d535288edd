"""Each pipeline is one tuple: it names what there is, all that there is, and it is what runs."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tle_raw
from tle_raw.errors import MissingPatternError
from tle_raw.flir import passes
from tle_raw.flir.cpu.passes import CPU
from tle_raw.flir.nvidia.passes import NVIDIA, NVIDIA_BUFFERS, NVIDIA_TRACED
from tle_raw.flir.pass_value import FRAGMENT_STAGE
from tle_raw.flir.run_stage import method_of, run_stage

PACKAGE = Path(tle_raw.__file__).parent
EVERY = list(dict.fromkeys(passes.every_pass()))
# Modules of FLIR's pipelines that are no passes, by what they are.
HELPERS = {
    "the machinery of pipelines": {
        "passes",
        "pass_value",
        "nvidia.pass_lists",
        "nvidia.passes",
        "nvidia.pipeline",
        "cpu.passes",
        "run_stage",
        "nvidia.edit_fragment",
        "cpu.edit_fragment",
        "print_after",
        "dump",
        "traced_failures",
        "triton_compilation",
    },
    "what a check shares between targets": {"check_block"},
    "what Triton's optimiser is told for whole kernels": {"nvidia.optimise_for_gpu"},
    "loads that begin turns before they are used: what the call and the hint share": {"early_loads"},
    "loops with groups: what their passes share": {
        "group_markers",
        "grouped_loops",
        "loop_body",
        "place_operations",
        "run_ahead",
        "operation_attributes",
        "nvidia.mask_operations",
        "nvidia.ring_buffers",
    },
    "hints in comments, before any pass": {"hints", "read_hints"},
    "loops with several executors: who does what": {
        "split_executors",
        "executor_memory",
        "nvidia.executor_loop",
        "nvidia.executor_products",
        "nvidia.executor_rings",
        "nvidia.executor_slots",
        "nvidia.executor_text",
    },
    "NVIDIA: what order_regions decides by": {"nvidia.memory_events", "nvidia.memory_order"},
    "how modules of Triton are edited, and which part of one is asked about": {
        "nvidia.insertions",
        "nvidia.line_edits",
        "nvidia.backward_slice",
        "nvidia.close_in_place",
    },
    "what Triton's first stage is kept from": {"keep_loads"},
    "NVIDIA: what pointers into buffers are, and where barriers order accesses by them": {
        "nvidia.shared_pointers",
        "nvidia.pointer_order",
        "nvidia.constant_places",
        "nvidia.load_in_place",
        "nvidia.hide_accesses",
        "nvidia.order_in_front",
    },
    "NVIDIA: where barriers stand, whatever they order": {
        "nvidia.barrier_walk",
        "nvidia.copy_order",
        "nvidia.within_warps",
    },
    "NVIDIA: types and layouts as texts": {"nvidia.blocked_layout", "nvidia.buffer_types"},
    "NVIDIA: what multiply_in_place fences by": {"nvidia.stored_slots"},
    "NVIDIA: which operands stay where they are": {"nvidia.pipe_windows"},
    "NVIDIA: what place_clusters writes, and where": {
        "nvidia.cluster_arrivals",
        "nvidia.cluster_assembly",
        "nvidia.cluster_barriers",
    },
    "NVIDIA: which barrier a value is": {"nvidia.barrier_slots"},
    "NVIDIA: partitions of specialised warps, and their results": {"nvidia.partitions", "nvidia.partition_results"},
    "CPU: the calls of its passes": {"cpu.lower_to_llvm"},
    "CPU: MLIR's bindings": {"cpu.bindings", "cpu.mlir_values", "cpu.module_text"},
    "CPU: what runs beside a kernel": {
        "cpu.single_program",
        "cpu.region_failure",
        "cpu.partition_waits",
        "cpu.run_fragment",
    },
    "CPU: what compiled programs and their launch agree on": {
        "cpu.access_kinds",
        "cpu.context_fields",
        "cpu.mbarrier_word",
    },
    "CPU: what convert writes calls of": {"cpu.libdevice"},
}

NO_PIPELINE = ("nvidia", "cpu", "dialect")  # folders that are walked by themselves, and the TLE dialect


def states():
    """What runs the passes of each stage, by pipeline."""
    from tle_raw.flir.cpu.edit_fragment import FragmentEdits as HostEdits
    from tle_raw.flir.dump import View
    from tle_raw.flir.nvidia.edit_fragment import FragmentEdits
    from tle_raw.flir.nvidia.pipeline import Compilation

    yield from ((each, View) for each in passes.DUMP)
    on_gpu = {
        **dict.fromkeys(("ttgir", "llir", "ptx", "cubin"), Compilation),
        FRAGMENT_STAGE: FragmentEdits,
    }
    yield from ((each, on_gpu[each.stage]) for each in (*NVIDIA_TRACED, *NVIDIA_BUFFERS, *NVIDIA))
    pytest.importorskip("torch_mlir")
    from tle_raw.flir.cpu.convert.convert import Conversion
    from tle_raw.flir.cpu.lower_to_llvm import Lowering
    from tle_raw.targets.cpu import stages

    on_cpu = {
        "ttir": stages._Kernel,
        "linalg": Conversion,
        "llvmir": Lowering,
        "asm": stages._Kernel,
        "obj": stages._Kernel,
        FRAGMENT_STAGE: HostEdits,
    }
    yield from ((each, on_cpu[each.stage]) for each in CPU)


@pytest.mark.parametrize("pipeline", passes.pipelines().values(), ids=lambda p: p[0].name)
def test_names_are_words_with_hyphens_and_stand_once_in_a_pipeline(pipeline):
    names = [each.name for each in pipeline]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in names)
    assert passes.ALL not in names


@pytest.mark.parametrize("each", EVERY, ids=lambda each: f"{each.stage}:{each.name}")
def test_the_file_and_the_function_of_every_pass_exist(each):
    assert (PACKAGE / each.file).is_file()
    if each.stage in ("linalg", "llvmir"):
        pytest.importorskip("torch_mlir")
    found = importlib.import_module(each.module)
    for name in each.run.split("."):
        found = getattr(found, name)
    assert callable(found)


def test_every_pass_is_run_by_a_method_of_its_name_that_calls_its_function():
    for each, state in states():
        method = method_of(state, each)
        called = each.run.rpartition(".")[2]
        text = inspect.getsource(method)
        helpers = inspect.getsource(state._check_launch) if "_check_launch" in text else ""
        assert re.search(rf"\b{called}\(", text + helpers), each


def test_every_method_of_a_pass_is_in_its_pipeline():
    found = {}
    for each, state in states():
        found.setdefault(state, set()).add(each.name.replace("-", "_"))
    for state, names in found.items():
        public = {n for n, _ in inspect.getmembers(state, inspect.isfunction) if not n.startswith("_")}
        assert public - names <= {"text", "enter", "choose_pipeline", "begin_again"}, state


def test_every_module_of_flir_is_a_pass_or_says_what_else_it_is():
    flir = PACKAGE / "flir"
    written = {each.file for each in EVERY}
    helpers = set().union(*HELPERS.values())
    found = set()
    for folder in (flir, flir / "nvidia", flir / "cpu"):
        for path in (p for p in folder.iterdir() if p.name not in ("__init__.py", "__pycache__", *NO_PIPELINE)):
            inside = str(path.relative_to(PACKAGE))
            name = ".".join(path.relative_to(flir).with_suffix("").parts)
            found.add(name)
            is_pass = any(file == inside or file.startswith(f"{inside}/") for file in written)
            assert is_pass != (name in helpers), name
    assert helpers <= found


@pytest.mark.parametrize("folder", ["linker/ptx"])
def test_every_edit_of_ptx_is_a_pass_that_can_be_disabled(folder):
    no_edits = {"__init__", "read", "statements", "unmasked", "local_memory", "code_lines"}
    edits = {f"{folder}/{f.name}" for f in (PACKAGE / folder).glob("*.py") if f.stem not in no_edits}
    assert edits == {each.file for each in EVERY if each.stage == "ptx" and each.for_speed}


def test_every_pass_for_speed_says_in_its_file_what_it_pays_and_how_it_is_disabled():
    for each in EVERY:
        if each.for_speed:
            words = importlib.import_module(each.module).__doc__
            assert f"TLE_RAW_DISABLE_PASSES={each.name}``" in words, each
            assert "samples/benchmarks/" in words, each


def test_the_lists_are_loaded_without_triton_and_mlir():
    program = (
        "import sys, types\n"
        "package = types.ModuleType('tle_raw'); package.__path__ = [sys.argv[1]]\n"
        "sys.modules['tle_raw'] = package\n"
        "from tle_raw.flir import passes\n"
        "assert not {'triton', 'torch', 'torch_mlir', 'llvmlite'} & set(sys.modules)\n"
        "assert len(list(passes.every_pass())) > 50\n"
    )
    subprocess.run([sys.executable, "-c", program, str(PACKAGE)], check=True)


class Recorded:
    """A state that writes down which of its passes ran."""

    def __init__(self, **found):
        self.found, self.ran = found, []

    def __getattr__(self, name):
        def method():
            self.ran.append(name)
            return self.found.get(name, 1)

        return method

    def text(self):
        return "module"


def test_a_stage_runs_its_passes_in_order_and_no_others():
    state = Recorded()
    run_stage(NVIDIA, "ptx", state)
    assert state.ran == [each.name.replace("-", "_") for each in NVIDIA if each.stage == "ptx"]


def test_disabled_passes_are_left_out_if_they_exist_for_speed():
    state = Recorded()
    run_stage(NVIDIA, "ptx", state, disabled={"pair-words", "verify-kernel"})
    assert "pair_words" not in state.ran and {"zero_accumulators", "verify_kernel"} <= set(state.ran)


@pytest.mark.parametrize("name", [each.name for each in EVERY if each.expects])
def test_a_pass_that_does_not_find_what_was_promised_is_an_error(name):
    each = next(each for each in EVERY if each.name == name)
    method = name.replace("-", "_")
    with pytest.raises(MissingPatternError, match=f"`{name}` did not find") as error:
        run_stage([each], each.stage, Recorded(**{method: 0}))
    assert each.file in str(error.value)
    assert ("TLE_RAW_DISABLE_PASSES" in str(error.value)) == each.for_speed
    run_stage([each], each.stage, Recorded(**{method: 1}))
    run_stage([each], each.stage, Recorded(**{method: None}))  # nobody promised anything


def test_a_pass_without_a_promise_may_find_nothing(capsys):
    others = ("pair_words", "branch_back", "sink_values", "begin_with_loads", "wide_local_addresses")
    others += ("unroll_once", "wide_products", "keep_branches")
    with tle_raw.knobs.scope():
        tle_raw.knobs.print_after = "all"
        run_stage(NVIDIA, "ptx", Recorded(zero_accumulators=0, **dict.fromkeys(others)))
    shown = re.findall("tle_raw after ([a-z-]+)", capsys.readouterr().err)
    assert shown == ["zero-accumulators", "spread-divisions"]
