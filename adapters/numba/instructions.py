"""Instructions of libNVVM that LLVM has under other names: a mode, which is a constant, chooses one of several."""

_OPERANDS = "i32 %mask, i32 %v, i32 %lane, i32 %clamp"
_SHUFFLES = {0: "idx", 1: "up", 2: "down", 3: "bfly"}
_VOTES = {0: "all", 1: "any", 2: "uni"}


def _shuffle() -> list[str]:
    lines = ['define {i32, i1} @"tle.numba.shfl.sync.i32"(i32 %mask, i32 %mode, i32 %v, i32 %lane, i32 %clamp) {']
    lines += [_switch(_SHUFFLES)]
    for name in _SHUFFLES.values():
        lines += [
            f"{name}:",
            f"  %{name}.r = call {{i32, i1}} @llvm.nvvm.shfl.sync.{name}.i32p({_OPERANDS})",
            f"  ret {{i32, i1}} %{name}.r",
        ]
    declared = [f"declare {{i32, i1}} @llvm.nvvm.shfl.sync.{n}.i32p(i32, i32, i32, i32)" for n in _SHUFFLES.values()]
    return [*lines, "none:", "  unreachable", "}", *declared]


def _vote() -> list[str]:
    lines = ['define {i32, i1} @"tle.numba.vote.sync"(i32 %mask, i32 %mode, i1 %v) {', _switch({**_VOTES, 3: "ballot"})]
    for name in _VOTES.values():
        lines += [
            f"{name}:",
            f"  %{name}.p = call i1 @llvm.nvvm.vote.{name}.sync(i32 %mask, i1 %v)",
            f"  %{name}.r = insertvalue {{i32, i1}} {{i32 0, i1 undef}}, i1 %{name}.p, 1",
            f"  ret {{i32, i1}} %{name}.r",
        ]
    lines += [
        "ballot:",
        "  %ballot.p = call i32 @llvm.nvvm.vote.ballot.sync(i32 %mask, i1 %v)",
        "  %ballot.r = insertvalue {i32, i1} {i32 undef, i1 false}, i32 %ballot.p, 0",
        "  ret {i32, i1} %ballot.r",
        "none:",
        "  unreachable",
        "}",
        "declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)",
    ]
    return lines + [f"declare i1 @llvm.nvvm.vote.{name}.sync(i32, i1)" for name in _VOTES.values()]


def _match(bits: int) -> list[str]:
    own, theirs = f"match.all.sync.i{bits}", f"llvm.nvvm.match.all.sync.i{bits}p"
    return [
        f'define {{i32, i1}} @"tle.numba.{own}"(i32 %mask, i{bits} %v) {{',
        f"  %r = call {{i32, i1}} @{theirs}(i32 %mask, i{bits} %v)",
        "  ret {i32, i1} %r",
        "}",
        f"declare {{i32, i1}} @{theirs}(i32, i{bits})",
    ]


def _switch(cases: dict[int, str]) -> str:
    listed = " ".join(f"i32 {mode}, label %{name}" for mode, name in cases.items())
    return f"  switch i32 %mode, label %none [{listed}]"


INSTRUCTIONS = "\n".join([*_shuffle(), *_vote(), *_match(32), *_match(64), ""])
