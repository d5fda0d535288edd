"""The reader of LLVM text loses no byte and guesses nothing."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.linker.modules import FRAGMENT
from tle_raw.linker.llvm.text import (
    Edit,
    UnreadableIRError,
    apply_edits,
    decode_name,
    encode_name,
    read_global_alone,
    read_module,
    tokenize,
)

pytestmark = pytest.mark.one_triton


def names_of(text, kind):
    return [entity.name for entity in read_module(text).of_kind(kind)]


def test_every_kind_of_entity_is_found():
    assert names_of(FRAGMENT, "define") == ["_Z6helperf", "_Z4kepti", "entry"]
    assert names_of(FRAGMENT, "declare") == ["llvm.nvvm.barrier0", "vprintf", "_Z7nowhered"]
    assert names_of(FRAGMENT, "global") == ["table", "scratch", "unused", ".str", "llvm.used"]
    assert names_of(FRAGMENT, "comdat") == ["_Z6helperf"]
    assert names_of(FRAGMENT, "type") == ["struct.S"]
    assert len(names_of(FRAGMENT, "attributes")) == 2
    assert len(names_of(FRAGMENT, "target")) == 2


def test_what_stands_between_entities_is_space_and_comments():
    position = 0
    for entity in read_module(FRAGMENT).entities:
        assert list(tokenize(FRAGMENT, position, entity.start)) == []
        position = entity.end
    assert list(tokenize(FRAGMENT, position)) == []


def edits_of(entity):
    """Of the kinds that steps make: without the entity or its end of line, something before, within and behind it."""
    word = entity.start + 3
    return (
        Edit(entity.start, entity.end, ""),
        Edit(entity.start, entity.end + 1, ""),
        Edit(entity.start, entity.start, "@new = global i32 0\n"),
        Edit(entity.start, entity.start, "; a comment\n"),
        Edit(entity.end, entity.end, " ; {"),
        Edit(entity.end, entity.end, "\nattributes #9 = { nounwind }"),
        Edit(word, word, ""),
    )


MODULE = read_module(FRAGMENT)


@given(st.dictionaries(st.sampled_from(MODULE.entities), st.integers(0, 6), max_size=6))
def test_an_edited_module_is_the_one_that_its_text_gives(chosen):
    edits = [edits_of(entity)[kind] for entity, kind in chosen.items()]
    edited = MODULE.edited(edits)
    assert edited == read_module(apply_edits(FRAGMENT, edits))
    assert edited.edited([]) is edited


def test_an_edit_may_take_an_end_and_the_beginning_of_what_follows():
    first, second = (next(MODULE.of_kind(kind)) for kind in ("source_filename", "target"))
    edit = Edit(first.end - 2, second.start + 6, '" target')
    assert MODULE.edited([edit]) == read_module(apply_edits(FRAGMENT, [edit]))
    with pytest.raises(UnreadableIRError):
        MODULE.edited([Edit(first.start, first.end, "what")])


def test_entities_need_no_lines():
    text = (
        "@a = global i32 0 @b = global { i32, i8 } { i32 1, i8 2 }, align 4 "
        "define {i32, i8} @f() { ret {i32, i8} zeroinitializer } !0 = !{}"
    )
    assert [(e.kind, e.name) for e in read_module(text).entities] == [
        ("global", "a"),
        ("global", "b"),
        ("define", "f"),
        ("metadata", "0"),
    ]


def test_nodes_of_metadata_end_where_the_next_one_begins():
    nodes = [
        '!0 = !{!"a {", i32 7}',
        "!1 = distinct\n!{!0,\n!2 }",
        "!2 = !DIFile(\n!0 )",
        "!3 = !DILocation(line: 1)",
        "!x.y = !{!1}",
    ]
    text = "\n".join(nodes) + "\n"
    module = read_module(text)
    assert [module.source(entity) for entity in module.entities] == nodes
    assert [entity.name for entity in module.entities] == ["0", "1", "2", "3", "x.y"]


def test_a_module_is_searched_once():
    module, asked = read_module(FRAGMENT), []

    def length(given):
        asked.append(given)
        return len(given.text)

    assert (module.once(length), module.once(length)) == (len(FRAGMENT), len(FRAGMENT))
    assert asked == [module]


def test_one_variable_is_read_alone():
    alone, whole = read_global_alone(FRAGMENT, "scratch"), read_module(FRAGMENT)
    assert alone.entities == tuple(entity for entity in whole.entities if entity.name == "scratch")
    assert read_global_alone(FRAGMENT, "nobody").entities == ()


def test_quoted_names_are_decoded():
    text = '@"a b\\22" = global i32 0\ndefine void @"c{d"() {\n ret void\n}\n'
    assert names_of(text, "global") == ['a b"']
    assert names_of(text, "define") == ["c{d"]


@pytest.mark.parametrize(
    "body",
    [
        "  ; }\n",
        '  call void asm "a {\n}\n@b", ""()\n',
        '  call void asm "{ } \\22", ""()\n',
        '  %"}" = add i32 1, 2\n',
    ],
)
def test_a_brace_in_a_string_or_comment_closes_nothing(body):
    module = read_module(f"define void @f() {{\n{body}  ret void\n}}\n@after = global i32 0\n")
    assert [entity.name for entity in module.entities] == ["f", "after"]


@pytest.mark.parametrize(
    "text",
    [
        "define void @f() {",
        "hello world",
        "@a = global i32 (]",
        "BC\xc0\xde",
        "define void @f() prefix i32 1 { ret void }",
    ],
)
def test_unknown_text_is_refused_with_its_line(text):
    with pytest.raises(UnreadableIRError, match="line 2"):
        read_module(";\n" + text)


def test_two_megabytes_are_split_in_well_under_a_second():
    body = FRAGMENT[FRAGMENT.index("define dso_local float @entry") : FRAGMENT.index("declare")]
    functions = (body.replace("@entry", f"@f{i}") + f"!{i} = !DILocation(line: {i}, scope: !1)\n" for i in range(5200))
    text = "\n".join(functions)
    assert len(text) > 2_000_000
    start = time.process_time()
    assert len(read_module(text).entities) == 10400
    assert time.process_time() - start < 1.0


@given(st.text(st.characters(codec="latin-1", exclude_characters="\0"), min_size=1))
def test_names_survive_encoding(name):
    assert decode_name(encode_name("@", name)) == name
    assert [token.kind for token in tokenize(encode_name("@", name))] == ["@"]


SPELLINGS = """i32 ptr -1.0e+5 0xK3F ... "a\\22;b" %x.1 @"q-r" !dbg !0 #0 ( ) { } [ ] < > , = * ! c $c ^0 :
f0x3FB8AA3B"""
WORDS = st.sampled_from([*SPELLINGS.split(), "; note\n"])


@given(st.lists(st.tuples(WORDS, st.sampled_from([" ", "\n", "\t ", "  "]))))
def test_tokens_cover_the_text(pieces):
    text = "".join(word + space for word, space in pieces)
    position = 0
    for token in tokenize(text):
        gap = text[position : token.start]
        assert all(line.strip() == "" or line.strip().startswith(";") for line in gap.splitlines())
        assert text[token.start : token.end] == token.text
        position = token.end


@given(
    st.text(max_size=60),
    st.lists(st.tuples(st.integers(0, 60), st.text(max_size=3)), max_size=5, unique_by=lambda e: e[0]),
)
def test_edits_leave_all_other_text(text, insertions):
    edits = [Edit(min(at, len(text)), min(at, len(text)), new) for at, new in insertions]
    assert len(apply_edits(text, edits)) == len(text) + sum(len(new) for _, new in insertions)


def test_overlapping_edits_are_refused():
    with pytest.raises(ValueError, match="overlap"):
        apply_edits("abc", [Edit(0, 2, ""), Edit(1, 3, "")])
