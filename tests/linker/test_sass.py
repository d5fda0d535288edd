"""Facts of machine code, from what the tools of several versions print."""

import pytest

from tle_raw.linker.machine_code.sass import CubinFacts, facts_of, read_cubin
from tle_raw.linker.tools import cuda_tools

pytestmark = pytest.mark.one_triton

USAGE = """
Resource usage:
 Common:
  GLOBAL:143 CONSTANT[4]:88
 Function kern:
  REG:25 STACK:48 SHARED:1248 LOCAL:8 CONSTANT[0]:560 TEXTURE:0 SURFACE:0 SAMPLER:0
"""
LISTING = """\
\t.headerflags\t@"EF_CUDA_TEXMODE_UNIFIED EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"
        .other          kern,@"STO_CUDA_ENTRY STV_DEFAULT"
.text.kern:
\t//## File "/k.py", line 16
        /*0000*/                   LDC R1, c[0x0][0x28] ;
\t//## File "/mix.cu", line 12 inlined at "/k.py", line 19
\t//## File "/k.py", line 19
        /*0010*/              @!P0 CALL.REL.NOINC `($kern$_Z6helperf$mix) ;
        /*0020*/                   CALL.ABS.NOINC R8 ;
        /*0030*/               @P1 LDL R3, [R10+0x14] ;
        /*0040*/                   STL.64 [R1+0x28], R2 ;
        /*0050*/                   CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_rn_f64_full) ;
.L_x_1:
        /*0060*/                   NOP;
"""


def test_resources_are_read():
    facts = facts_of(USAGE, LISTING)
    assert (facts.entries, facts.registers, facts.stack, facts.local) == (("kern",), 25, 48, 8)


def test_the_systems_kilobyte_is_left_out():
    assert facts_of(USAGE, LISTING).static_shared == 224
    assert facts_of(USAGE, LISTING.replace("SM90", "SM80")).static_shared == 1248


def test_calls_have_their_targets():
    assert facts_of(USAGE, LISTING).calls == (
        "_Z6helperf$mix",
        "(through a register)",
        "$__internal_0_$__cuda_sm20_div_rn_f64_full",
    )


def test_instructions_and_local_traffic_are_counted():
    facts = facts_of(USAGE, LISTING)
    assert (facts.instructions, facts.code_bytes, facts.local_loads, facts.local_stores) == (6, 112, 1, 1)


def test_lines_come_with_their_callers():
    lines = {line.places: line.instructions for line in facts_of(USAGE, LISTING).lines}
    assert lines == {(("/k.py", 16),): 1, (("/mix.cu", 12), ("/k.py", 19)): 6}


def test_cuobjdumps_listing_names_entries_through_the_table():
    listing = "\tFunction : kern\n        /*0000*/        CALL.REL.NOINC 0xf30 ;    /* 0x0000000800307944 */\n"
    facts = facts_of(USAGE, listing)
    assert facts.entries == ("kern",)
    assert facts.calls == ("0xf30",)


def test_bytes_that_are_no_cubin_give_a_reason():
    facts = read_cubin(b"no cubin")
    assert facts == CubinFacts(reason=facts.reason)
    assert facts.reason


@pytest.fixture
def no_tools(monkeypatch):
    monkeypatch.setattr(cuda_tools, "find_tool", lambda name: None)


@pytest.mark.usefixtures("no_tools")
def test_absent_tools_give_a_reason():
    assert "not found" in read_cubin(b"").reason


def test_a_tool_that_hangs_is_given_up(tmp_path, monkeypatch):
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 5\n")
    slow.chmod(0o755)
    monkeypatch.setattr(cuda_tools, "find_tool", lambda name: slow)
    assert "longer than" in cuda_tools.run_tool("slow", timeout=0.1).reason


def test_tools_are_taken_from_the_toolkit_last(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin" / "tle-raw-test-tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    cuda_tools.find_tool.cache_clear()
    assert cuda_tools.find_tool("tle-raw-test-tool") == tool
    cuda_tools.find_tool.cache_clear()
