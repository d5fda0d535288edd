"""PTX is read as ptxas reads it: comments, strings and names are no calls."""

import pytest

from tle_raw.linker.ptx.read import DebugLocation, instructions_by_file, read_ptx

pytestmark = pytest.mark.one_triton

KERNEL = """\
.version 8.7
.target sm_90a
.address_size 64
// call.uni nobody, ();
.extern .func  (.param .b32 func_retval0) vprintf
(
	.param .b64 vprintf_param_0
)
;
.func  (.param .b32 func_retval0) helper$mix
(
	.param .b32 helper$mix_param_0
)
;
.func declared_only(.param .b32 p);
.global .align 8 .u64 names[2] = {generic(call_me), 7};
.visible .entry kern(
	.param .u64 .ptr .global .align 1 kern_param_0
)
.reqntid 128
{
	.reg .b32 	%call<3>;
	.loc	1 17 18                         // kern.py:17:18
	mov.u32 	%r3, %tid.x;
$L__call:
	.loc	3 8 1                           // a.h:8:1 @[ mix.cu:15:3 @[ kern.py:19:9 ] ]
	ld.global.v4.b32 { %r1, %r2,
		%r3, %r4 }, [%rd1];
	@%p1 st.shared.b32 [ %r1 ], %r2; @!%p2 bra $L__call;
	.loc	2 15 4                          // mix.cu:15:4 @[ kern.py:19:9 ]
	{ // callseq 0, 0
	.param .b32 	retval0;
	call.uni (retval0), helper$mix, (param0);
	} // callseq 0
	{
	.param .b64 param0;
	prototype_1 : .callprototype ()_ (.param .b32 _);
	@%p1 call (), %rd7, (param0), prototype_1;
	}
	.loc	1 20 0
	ret;
}
.func  (.param .b32 func_retval0) helper$mix(
	.param .b32 helper$mix_param_0
)
{
	.loc	2 3 4
	call.uni vprintf, (param0);
	ret;
}
	.file	1 "/src/kern.py"
	.file	2 "/src/mix.cu"
	.file	3 "/inc/a.h"
	.section	.debug_abbrev
	{
.b8 1  // call.uni other
	}
"""

DIRECTIVES = """\
.visible .entry k()
{
	.loc	1 5 1
	mov.u32 %r1, 1;
	.loc	2 15 10, function_name $L__info_string1, inlined_at 1 19 9 // mix.cu:15:10
	.loc	2 10 51, function_name $L__info_string1, inlined_at 2 15 10 // mix.cu:10:51
	mov.u32 %r1, 2;
	.loc	3 7 1, function_name $L__info_string1+4, inlined_at 2 10 51 // a.h
	mov.u32 %r1, 3;
	.loc	1 6 1
	mov.u32 %r1, 4;
}
.file 1 "/k.py"
.file 2 "/mix.cu"
.file 3 "/a.h"
"""


def test_entries_and_functions_are_told_apart():
    module = read_ptx(KERNEL)
    assert module.entries == ("kern",)
    assert module.functions == ("helper$mix",)
    assert module.declared == ("declared_only",)
    assert module.externs == ("vprintf",)


def test_only_real_calls_count():
    calls = [(call.target, call.indirect, call.function) for call in read_ptx(KERNEL).calls]
    assert calls == [("helper$mix", False, "kern"), ("%rd7", True, "kern"), ("vprintf", False, "helper$mix")]


def test_instructions_may_share_lines_and_span_them():
    found = [(i.opcode, i.line, i.last_line) for i in read_ptx(KERNEL).instructions[:4]]
    assert found == [
        ("mov.u32", 24, 24),
        ("ld.global.v4.b32", 27, 28),
        ("st.shared.b32", 29, 29),
        ("bra", 29, 29),
    ]


def test_chains_are_read_from_comments():
    places = read_ptx(KERNEL).instructions[1].places
    assert places == (
        DebugLocation("/inc/a.h", 8, 1),
        DebugLocation("/src/mix.cu", 15, 3),
        DebugLocation("/src/kern.py", 19, 9),
    )


def test_chains_are_read_from_directives():
    places = [i.places for i in read_ptx(DIRECTIVES).instructions]
    region = (DebugLocation("/mix.cu", 10, 51), DebugLocation("/mix.cu", 15, 10), DebugLocation("/k.py", 19, 9))
    assert places == [
        (DebugLocation("/k.py", 5, 1),),
        region,
        (DebugLocation("/a.h", 7, 1), *region),
        (DebugLocation("/k.py", 6, 1),),
    ]


def test_a_file_knows_its_instructions_excerpts_and_callers():
    share = next(share for share in instructions_by_file(KERNEL) if share.file == "/src/mix.cu")
    assert (share.own, share.instructions) == (4, 7)
    assert share.excerpts == ((27, 38), (48, 49))
    assert share.called_from == (DebugLocation("/src/kern.py", 19, 9),)


def test_ptx_without_lines_has_no_files():
    assert instructions_by_file(".visible .entry k() { ret; }") == ()


def test_text_that_is_no_ptx_has_nothing():
    module = read_ptx('} "open { call x;\n\x00')
    assert (module.entries, module.calls) == ((), ())


INLINE = """
.visible .entry k() {
	.loc	1 8 21
	// begin inline asm
	.loc	1 8 21
	mov.u32 %r1, 0x0;
	.loc	1 9 21
	ld.global.cg.b32 { %r1 }, [ %rd1 + 0 ];
	// end inline asm
	// begin inline asm
	.loc	1 8 5
	mov.u32 %r2, 0x0;
	.loc	1 9 5
	ld.global.b32 { %r2 }, [ %rd2 + 0 ];
	// end inline asm
	.loc	1 9 5
	st.global.b32 [ %rd3 + 0 ], %r2;
}
.file 1 "/k.py"
"""


def test_inline_assembly_is_where_its_first_line_is():
    places = [(i.places[0].line, i.places[0].column) for i in read_ptx(INLINE).instructions]
    assert places == [(8, 21), (8, 21), (8, 5), (8, 5), (9, 5)]
