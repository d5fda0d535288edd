"""Which reports of racecheck are those of the way in which Triton starts the partitions of specialised warps."""

import pytest

from tests.gpu.known_hazards import States, find_states, is_known, main, reports

pytestmark = pytest.mark.one_triton

SASS = """
.text.matmul:
        /*0090*/                   USETMAXREG.DEALLOC.CTAPOOL 0x18 ;
        /*00c0*/                   BAR.SYNC.DEFER_BLOCKING 0x1 ;
        /*00d0*/                   IADD3 R2, R2, 0x1, RZ ;
        /*00f0*/                   LDS.U8 R2, [R2+UR24+0x38038] ;
        /*0110*/               @P0 BAR.SYNC.DEFER_BLOCKING 0x1 ;
        /*0170*/                   BRX R2 -0x180 ;
        /*0200*/                   LDS.U8 R3, [R2+0x40] ;
        /*0f00*/                   STS [UR8+0x100], R9 ;
        /*0f10*/                   BAR.SYNC.DEFER_BLOCKING 0x0, 0x100 ;
        /*0f80*/                   STS [UR8+0x38040], R2 ;
        /*0f90*/                   BAR.SYNC.DEFER_BLOCKING 0x1 ;
        /*1000*/                   STS [UR8+0x120], R9 ;
        /*1010*/                   BAR.SYNC.DEFER_BLOCKING 0x1 ;
.text.parts:
        /*0050*/                   UIADD3 UR8, UR4, 0x4800, URZ ;
        /*0150*/                   BAR.SYNC.DEFER_BLOCKING 0x1 ;
        /*0180*/                   LDS.U8 R4, [R4+0x340ac] ;
        /*0290*/                   STS.64 [UR5+0x388b0], RZ ;
        /*02a0*/                   BAR.SYNC.DEFER_BLOCKING 0x1 ;
        /*0300*/                   STS [UR5+0x38800], RZ ;
        /*0310*/                   BAR.SYNC.DEFER_BLOCKING 0x1 ;
.text.plain:
        /*0010*/                   STS [UR8+0x10], R2 ;
        /*0020*/                   BAR.SYNC.DEFER_BLOCKING 0x1 ;
"""
KNOWN = """========= Error: Race reported between Write access at matmul+0xf80 in gemm.py:88
=========     and Read access at matmul+0xf0 in gemm.py:88 [64 hazards]
========="""
HAZARD = """========= Error: Potential RAW hazard detected at __shared__ 0x38440 in block (0,0,0) :
=========     Write Thread (3,0,0) at matmul+0xf80 in gemm.py:88
=========     Read Thread (300,0,0) at matmul+0x200 in gemm.py:40
=========     Current Value : 2"""
LOG = f"========= COMPUTE-SANITIZER\n{KNOWN}\n{HAZARD}\nright\n========= RACECHECK SUMMARY: 2 hazards displayed"


def test_only_the_word_of_the_workers_states_is_known():
    states = find_states(SASS)
    assert states["matmul"] == States(frozenset([0xF80]), frozenset([0xF0])) and not states["plain"].writes
    assert states["parts"] == States(frozenset([0x290]), frozenset([0x180]))
    one, other = reports(LOG)
    assert (is_known(one, states), is_known(other, states)) == (True, False)
    assert not is_known(KNOWN.replace("matmul", "plain"), states)


def test_what_is_left_is_printed_and_fails(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tests.gpu.known_hazards._machine_code", lambda folder: find_states(SASS))
    log = tmp_path / "log"
    log.write_text(LOG)
    assert main(str(log), str(tmp_path)) == 1
    said = capsys.readouterr().out
    assert (
        said.startswith("1 known reports of workers' states, 1 others\n") and "0x38440" in said and "+0xf0 " not in said
    )
    log.write_text(LOG.replace(HAZARD, ""))
    assert main(str(log), str(tmp_path)) == 0
    log.write_text(LOG.replace(HAZARD, "") + "\nTraceback (most recent call last):\n")
    assert main(str(log), str(tmp_path)) == 1
