"""Assembly of one thread loses its mark as convergent, that of warps keeps it."""

import pytest

from tle_raw.linker.llvm.thread_assembly import without_warps

TEXT = r"""define void @f(i16 %h) #0 {
  %1 = call contract float asm "{  cvt.f32.f16 $0, $1;}\0A", "=f,h"(i16 %h) #1, !dbg !7, !srcloc !8
  %2 = call i32 asm sideeffect "ASSEMBLY", "=r,~{memory}"() #1
  call void @g() #1
  ret void
}

attributes #0 = { convergent nounwind "target-cpu"="sm_90a" }
attributes #1 = { convergent nounwind memory(none) }
"""


def marks(text):
    groups = dict(line.removeprefix("attributes ").split(" = ") for line in text.splitlines() if "attributes" in line)
    calls = [line for line in text.splitlines() if "call" in line]
    return ["convergent" in groups[call.split(") ")[-1].split(",")[0]] for call in calls]


@pytest.mark.parametrize(
    ("assembly", "is_warps"),
    [
        ("ld.global.cs.u32 $0, [$1];", False),
        (r"{\0A\09mov.u32 $0, %laneid;\0A}", False),
        (r"bar.sync 0;", True),
        (r"\09bar.sync 0;", True),
        (r"{\0Ashfl.sync.bfly.b32 $0, $1;}", True),
        ("vote.ballot.b32 $0, 1;", True),
        ("mma.sync.aligned.m16n8k16 $0", True),
        ("mbarrier.try_wait.parity $0", True),
        ("activemask.b32 $0;", True),
    ],
)
def test_only_what_a_thread_runs_for_itself_loses_the_mark(assembly, is_warps):
    text = TEXT.replace("ASSEMBLY", assembly)
    assert marks(text) == [True, True, True]
    assert marks(without_warps(text)) == [False, is_warps, True]


def test_what_has_no_assembly_stays():
    text = TEXT.replace(" asm ", " @asm ")
    assert without_warps(text) == text
