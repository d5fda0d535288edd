"""NVVM intrinsics as functions for the host: each one that a fragment uses gets a definition here.

A definition is a few lines of LLVM IR, or a call of the runtime in ``tle_raw/include/tle_raw/team``. The types are
those of the intrinsic's own declaration. What is not here cannot be emulated, and is an error that names it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tle_raw.emulation.instructions import FunctionBody
from tle_raw.emulation.numbers import (
    ROUNDINGS,
    approximate,
    float_to_integer,
    flushed,
    integer_to_float,
    narrowed,
    rounded,
)

PREFIX = "llvm.nvvm."
Definition = Callable[[FunctionBody, "re.Match[str]", Sequence[str], str], "str | None"]

# Operations of a warp, by their numbers in team/warp.h.
SYNC, UP, DOWN, XOR, INDEX, ALL, ANY, EQUAL, BALLOT, MATCH_ANY, MATCH_ALL = range(11)
SHUFFLES = {"up": UP, "down": DOWN, "bfly": XOR, "idx": INDEX}
VOTES = {"all": ALL, "any": ANY, "uni": EQUAL, "ballot": BALLOT}
REDUCTIONS = {"add": 11, "min": 12, "max": 13, "umin": 14, "umax": 15, "and": 16, "or": 17, "xor": 18}

# Intrinsics that take the number of the place that uses them as one more argument.
SITED = re.compile(
    r"(barrier|bar\.|shfl|vote|match|redux|activemask|elect|mbarrier|read\.ptx\.sreg\.lanemask|cp\.async|nanosleep|"
    r"ld[gu]\.global|atomic|mapa|wmma)"
)
_TABLE: list[tuple[re.Pattern[str], Definition]] = []


def define(name: str, types: Sequence[str], result: str) -> FunctionBody | None:
    """The body of the function that stands for ``llvm.nvvm.<name>``; None for what has no meaning on the host.

    Parameters are %a0, %a1, …, and %site for those that take one.
    """
    for pattern, definition in _TABLE:
        match = pattern.fullmatch(name)
        if match:
            body = FunctionBody()
            value = definition(body, match, types, result)
            if value is None and result != "void":
                return None
            body.do("ret void" if result == "void" else f"ret {result} {value}")
            return body
    return None


def is_sited(name: str) -> bool:
    return SITED.match(name) is not None


def intrinsic(pattern: str) -> Callable[[Definition], Definition]:
    """Registers what defines the intrinsics whose names after ``llvm.nvvm.`` match."""

    def register(definition: Definition) -> Definition:
        _TABLE.append((re.compile(pattern), definition))
        return definition

    return register


def truth(body: FunctionBody, value: str, kind: str = "i32") -> str:
    """An i1 that says whether an integer is not 0."""
    return body.value(f"icmp ne {kind} {value}, 0")


# --- who and where --------------------------------------------------------------------------------------------------


@intrinsic(r"read\.ptx\.sreg\.(tid|ntid|ctaid|nctaid|clusterid|nclusterid)\.([xyzw])")
def _index(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    what, axis = match[1].replace("cluster", "cta"), "xyzw".index(match[2])
    if match[1] != what and axis == 0:  # clusters lie along x
        blocks = body.call("i32", "tle_team_program" if what == "ctaid" else "tle_team_grid", "i32 0")
        return body.value(f"udiv i32 {blocks}, {body.call('i32', 'tle_team_cluster_size')}")
    if what == "tid":
        return body.call("i32", "tle_team_thread") if axis == 0 else "0"
    if what == "ntid":
        return body.call("i32", "tle_team_threads") if axis == 0 else "1"
    if axis == 3:
        return "0" if what == "ctaid" else "1"
    return body.call("i32", "tle_team_program" if what == "ctaid" else "tle_team_grid", f"i32 {axis}")


@intrinsic(r"read\.ptx\.sreg\.cluster\.(n?cta(?:id|rank))(?:\.([xyzw]))?")
def _cluster(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return place_in_cluster(body, match[1], match[2] or "x")


def place_in_cluster(body: FunctionBody, what: str, axis: str) -> str:
    """``ctaid`` or ``ctarank``, or with an n before it how many there are: all blocks of a cluster lie along x."""
    is_count = what.startswith("n")
    if axis != "x":
        return "1" if is_count else "0"
    return body.call("i32", "tle_team_cluster_size" if is_count else "tle_team_cluster_rank")


def cluster_barrier(body: FunctionBody, waits: bool) -> None:
    """One half of the cluster's barrier."""
    body.do(f"call void @tle_team_cluster_{'wait' if waits else 'arrive'}(i32 %site)")


def is_in_cluster(body: FunctionBody) -> str:
    """An i1 that says whether the launch has clusters."""
    return body.value(f"icmp ugt i32 {body.call('i32', 'tle_team_cluster_size')}, 1")


@intrinsic(r"read\.ptx\.sreg\.(laneid|warpid|nwarpid|warpsize|smid|nsmid|gridid)")
def _place(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return special_register(body, match[1], result)


def special_register(body: FunctionBody, name: str, result: str) -> str:
    """A special register that does not depend on an axis."""
    if name in ("laneid", "warpid"):
        thread = body.call("i32", "tle_team_thread")
        return body.value(f"and i32 {thread}, 31" if name == "laneid" else f"lshr i32 {thread}, 5")
    if name == "nwarpid":
        return body.value(f"lshr i32 {body.call('i32', 'tle_team_threads')}, 5")
    return {"warpsize": "32", "WARP_SZ": "32", "nsmid": "1"}.get(name, "0")


@intrinsic(r"read\.ptx\.sreg\.lanemask\.(eq|le|lt|ge|gt)")
def _lane_mask(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return lane_mask(body, match[1])


def lane_mask(body: FunctionBody, which: str) -> str:
    lane = special_register(body, "laneid", "i32")
    bit = body.value(f"shl i32 1, {lane}")
    below = body.value(f"sub i32 {bit}, 1")
    up_to = body.value(f"or i32 {bit}, {below}")
    if which in ("eq", "lt", "le"):
        return {"eq": bit, "lt": below, "le": up_to}[which]
    return body.value(f"xor i32 {below if which == 'ge' else up_to}, -1")


@intrinsic(r"read\.ptx\.sreg\.(clock|clock64|globaltimer)")
def _clock(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    value = body.call("i64", "tle_team_clock")
    return value if result == "i64" else body.value(f"trunc i64 {value} to i32")


@intrinsic(r"read\.ptx\.sreg\.(pm\d|dynamic_smem_size|total_smem_size|envreg(?:[03-9]|\d\d+))")
def _nothing(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return "0"


@intrinsic(r"read\.ptx\.sreg\.envreg([12])")
def _grid_memory(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return grid_memory(body, high=match[1] == "1")


def grid_memory(body: FunctionBody, *, high: bool) -> str:
    """Half of the address at which cooperative groups have the barrier of the grid, as the driver gives it."""
    address = body.call("i64", "tle_team_grid_memory")
    return body.value(f"trunc i64 {body.value(f'lshr i64 {address}, 32') if high else address} to i32")


@intrinsic(r"is_explicit_cluster")
def _is_cluster(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return is_in_cluster(body)


# --- barriers and warps -----------------------------------------------------------------------------------------


def barrier(
    body: FunctionBody, number: str = "0", expected: str = "0", predicate: str = "0", site: str = "%site"
) -> str:
    """Wait for the block; how many predicates were true."""
    return body.call("i32", "tle_team_barrier", *(f"i32 {x}" for x in (number, expected, predicate, site)))


@intrinsic(r"barrier0|barrier(?:\.cta)?\.sync(?:\.aligned)?(?:\.(?:all|count|cnt))?|bar\.sync|barrier(?:\.n)?")
def _barrier(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return barrier(body, *(f"%a{i}" for i in range(len(types))))


@intrinsic(r"barrier\.cta\.arrive(?:\.aligned)?\.count")
def _arrive(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> None:
    body.do("call void @tle_team_arrive(i32 %a0, i32 %a1, i32 %site)")


@intrinsic(r"barrier0\.(popc|and|or)|barrier\.cta\.red\.(popc|and|or)(?:\.aligned)?\.(all|count)")
def _barrier_reduction(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    predicate = f"%a{len(types) - 1}"
    numbers = [f"%a{i}" for i in range(len(types) - 1)] if match[2] else []
    if types[-1] == "i1":
        predicate = body.value(f"zext i1 {predicate} to i32")
    number, expected = (*numbers, "0", "0")[:2]
    count = barrier(body, number, expected, predicate)
    return reduced(body, match[1] or match[2], count, expected, result)


def reduced(body: FunctionBody, operation: str, count: str, expected: str, result: str) -> str:
    """What popc, and, or make of the number of true predicates."""
    if operation == "popc":
        return count
    if operation == "and":
        wanted = expected if expected != "0" else body.call("i32", "tle_team_threads")
        bit = body.value(f"icmp uge i32 {count}, {wanted}")
    else:
        bit = truth(body, count)
    return bit if result == "i1" else body.value(f"zext i1 {bit} to {result}")


def warp(
    body: FunctionBody, operation: int, mask: str, value: str = "0", argument: str = "0", site: str = "%site"
) -> str:
    """One operation of the lanes in ``mask``; i64: the value in the low half, the predicate in bit 32."""
    return body.call(
        "i64", "tle_team_warp", f"i32 {mask}", f"i32 {operation}", f"i64 {value}", f"i32 {argument}", f"i32 {site}"
    )


@intrinsic(r"bar\.warp\.sync")
def _warp_sync(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> None:
    warp(body, SYNC, "%a0")


def shuffle(
    body: FunctionBody, mode: str, mask: str, value: str, distance: str, clamp: str, site: str = "%site"
) -> str:
    wide = body.value(f"zext i32 {value} to i64")
    low = body.value(f"and i32 {distance}, 65535")
    argument = body.value(f"or i32 {low}, {body.value(f'shl i32 {clamp}, 16')}")
    return warp(body, SHUFFLES[mode], mask, wide, argument, site)


@intrinsic(r"shfl\.sync\.(up|down|bfly|idx)\.(i32|f32)(p?)")
def _shuffle(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    value = "%a1" if match[2] == "i32" else body.value("bitcast float %a1 to i32")
    both = shuffle(body, match[1], "%a0", value, "%a2", "%a3")
    low = body.value(f"trunc i64 {both} to i32")
    if match[2] == "f32":
        low = body.value(f"bitcast i32 {low} to float")
    return with_predicate(body, low, both, result) if match[3] else low


def with_predicate(body: FunctionBody, value: str, both: str, result: str) -> str:
    """``{ value, i1 }`` of what a warp operation gave."""
    bit = truth(body, body.value(f"lshr i64 {both}, 32"), "i64")
    kind = result.strip("{ }").split(",")[0]
    first = body.value(f"insertvalue {result} poison, {kind} {value}, 0")
    return body.value(f"insertvalue {result} {first}, i1 {bit}, 1")


@intrinsic(r"vote\.(all|any|uni|ballot)\.sync")
def _vote(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    both = warp(body, VOTES[match[1]], "%a0", body.value("zext i1 %a1 to i64"))
    low = body.value(f"trunc i64 {both} to i32")
    return low if result == "i32" else truth(body, low)


@intrinsic(r"match\.(any|all)\.sync\.(i32|i64)(p?)")
def _match(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    value = "%a1" if match[2] == "i64" else body.value("zext i32 %a1 to i64")
    both = warp(body, MATCH_ANY if match[1] == "any" else MATCH_ALL, "%a0", value)
    low = body.value(f"trunc i64 {both} to i32")
    return with_predicate(body, low, both, result) if match[3] else low


@intrinsic(r"redux\.sync\.(add|umin|umax|min|max|and|or|xor)")
def _reduce(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    both = warp(body, REDUCTIONS[match[1]], "%a1", body.value("zext i32 %a0 to i64"))
    return body.value(f"trunc i64 {both} to i32")


@intrinsic(r"activemask")
def _active(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return body.call("i32", "tle_team_active", "i32 %site")


@intrinsic(r"(membar\.(cta|gl|sys)|fence\..*)")
def _fence(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> None:
    body.do("fence seq_cst")


@intrinsic(r"barrier\.cluster\..*")
def _cluster_barrier(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> None:
    cluster_barrier(body, "wait" in match[0])


@intrinsic(r"mbarrier\.(init|inval|arrive|arrive\.noComplete|test\.wait)(?:\.shared)?|cp\.async\.mbarrier\.arrive(.*)")
def _counting_barrier(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str | None:
    """A word of the block's own in 64 bits, as in inline PTX (``ptx/mbarrier.py``)."""
    if match[1] == "init":
        body.do("call void @tle_team_mbarrier_init(ptr %a0, i32 %a1)")
    elif match[1] == "test.wait":
        phase = body.value("lshr i64 %a1, 63")
        return truth(body, body.call("i32", "tle_team_mbarrier_test", "ptr %a0", f"i64 {phase}", "i32 %site"))
    elif match[1] != "inval" and (match[1] or "noinc" in match[2]):  # without noinc the arrival is counted on top
        count = "%a1" if len(types) > 1 else "1"
        state = body.call("i64", "tle_team_mbarrier_arrive", "ptr %a0", f"i32 {count}", "i64 0")
        return state if result == "i64" else None
    return None


@intrinsic(r"nanosleep")
def _sleep(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> None:
    body.do("call void @tle_team_spin(ptr null, i32 %site)")


@intrinsic(r"exit")
def _exit(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> None:
    body.do("call void @tle_team_exit()")


# --- memory ---------------------------------------------------------------------------------------------------------


@intrinsic(r"isspacep\.(shared|local|global|const|shared\.cluster)")
def _space(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    if match[1] == "const":
        return "false"
    if match[1] == "shared.cluster":
        return truth(body, body.call("i32", "tle_team_is_of_cluster", "ptr %a0"))
    shared = truth(body, body.call("i32", "tle_team_is_shared", "ptr %a0"))
    local = truth(body, body.call("i32", "tle_team_is_local", "ptr %a0"))
    if match[1] != "global":
        return local if match[1] == "local" else shared
    return body.value(f"xor i1 {body.value(f'or i1 {shared}, {local}')}, true")


@intrinsic(r"ld[gu]\.global\.[ifp]\..*")
def _cached_load(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return body.value(f"load {result}, ptr %a0, align 1")


@intrinsic(r"mapa(?:\.shared\.cluster)?")
def _map_address(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return body.call("ptr", "tle_team_cluster_map", "ptr %a0", "i32 %a1", "i32 %site")


@intrinsic(r"getctarank(?:\.shared\.cluster)?")
def _rank_of_address(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return body.call("i32", "tle_team_cluster_rank_of", "ptr %a0")


@intrinsic(r"ptr\..*")
def _same_pointer(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return "%a0"


@intrinsic(r"cp\.async\.c[ag]\.shared\.global\.(4|8|16)(\.s)?")
def _copy(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> None:
    size = match[1]
    if match[2]:  # so many bytes are read, the rest is zeros
        body.do(f"call void @llvm.memset.p0.i64(ptr %a0, i8 0, i64 {size}, i1 false)")
        size = body.value("zext i32 %a2 to i64")
    body.do(f"call void @llvm.memcpy.p0.p0.i64(ptr %a0, ptr %a1, i64 {size}, i1 false)")


@intrinsic(
    r"cp\.async\.(commit\.group|wait\.group|wait\.all)|discard\..*|prefetch.*|applypriority.*|griddepcontrol\..*"
)
def _no_effect(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> None:
    pass  # copies are done at once, and caches are the host's own


_ATOMICS = {"add": "add", "inc": "uinc_wrap", "dec": "udec_wrap"}


@intrinsic(r"atomic\.load\.(add|inc|dec)\.(f32|f64|32)(?:\..*)?")
def _atomic(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    operation = "fadd" if match[2][0] == "f" else _ATOMICS[match[1]]
    return body.value(f"atomicrmw {operation} ptr %a0, {result} %a1 seq_cst")


_GENERIC_ATOMICS = {"add": "add", "exch": "xchg", "max": "max", "min": "min", "inc": "uinc_wrap", "dec": "udec_wrap"}


@intrinsic(r"atomic\.(add|exch|max|min|inc|dec|and|or|xor|cas)\.gen\.([if])\.(cta|sys)\..*")
def _scoped_atomic(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    if match[1] == "cas":
        pair = body.value(f"cmpxchg ptr %a0, {result} %a1, {result} %a2 seq_cst seq_cst")
        return body.value(f"extractvalue {{ {result}, i1 }} {pair}, 0")
    operation = _GENERIC_ATOMICS.get(match[1], match[1])
    return body.value(f"atomicrmw {'f' * (match[2] == 'f')}{operation} ptr %a0, {result} %a1 seq_cst")


# --- integers -------------------------------------------------------------------------------------------------------


@intrinsic(r"mulhi\.(s|us|i|ui|ll|ull)")
def _high_product(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    bits, extend = int(result[1:]), "zext" if "u" in match[1] else "sext"
    a, b = (body.value(f"{extend} {result} %a{i} to i{2 * bits}") for i in range(2))
    product = body.value(f"mul i{2 * bits} {a}, {b}")
    return body.value(f"trunc i{2 * bits} {body.value(f'lshr i{2 * bits} {product}, {bits}')} to {result}")


@intrinsic(r"mul24\.(i|ui)")
def _product_of_24_bits(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    shift = "ashr" if match[1] == "i" else "lshr"
    a, b = (body.value(f"{shift} i32 {body.value(f'shl i32 %a{i}, 8')}, 8") for i in range(2))
    return body.value(f"mul i32 {a}, {b}")


@intrinsic(r"sad\.(s|us|i|ui|ll|ull)")
def _sum_of_differences(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    sign = "u" if "u" in match[1] else "s"
    largest, smallest = (
        body.call(result, f"llvm.{sign}{m}.{result}", f"{result} %a0", f"{result} %a1") for m in ("max", "min")
    )
    return body.value(f"add {result} {body.value(f'sub {result} {largest}, {smallest}')}, %a2")


@intrinsic(r"prmt")
def _permute(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return body.call("i32", "tle_team_permute", "i32 %a0", "i32 %a1", "i32 %a2")


@intrinsic(r"fns")
def _find_set(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return body.call("i32", "tle_team_find_nth_set", "i32 %a0", "i32 %a1", "i32 %a2")


@intrinsic(r"idp([24])a\.([su])\.([su])")
def _dot(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    signs = (match[2] == "s") + 2 * (match[3] == "s")
    first = "0"
    if match[1] == "2":
        first = body.value("select i1 %a2, i32 2, i32 0")
    width = 1 if match[1] == "4" else 2
    return body.call(
        "i32",
        "tle_team_dot",
        "i32 %a0",
        "i32 %a1",
        f"i32 %a{len(types) - 1}",
        f"i32 {signs}",
        f"i32 {width}",
        f"i32 {first}",
    )


@intrinsic(r"f?rev(?:8)?\.b?32|brev(32|64)|popc\.(i|ll)|clz\.(i|ll)")
def _bits(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str | None:
    return None if "rev" not in match[0] else body.call(result, f"llvm.bitreverse.{result}", f"{result} %a0")


# --- floats ---------------------------------------------------------------------------------------------------------


@intrinsic(r"bitcast\.(?:f2i|i2f|ll2d|d2ll)")
def _bitcast(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return body.value(f"bitcast {types[0]} %a0 to {result}")


@intrinsic(r"lohi\.i2d")
def _from_halves(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    low, high = (body.value(f"zext i32 %a{i} to i64") for i in range(2))
    upper = body.value(f"shl i64 {high}, 32")
    both = body.value(f"or i64 {low}, {upper}")
    return body.value(f"bitcast i64 {both} to double")


@intrinsic(r"d2i\.(lo|hi)")
def _half_of_double(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    bits = body.value("bitcast double %a0 to i64")
    if match[1] == "hi":
        bits = body.value(f"lshr i64 {bits}, 32")
    return body.value(f"trunc i64 {bits} to i32")


_UNARY = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "rint", "fabs": "fabs"}


@intrinsic(r"(floor|ceil|trunc|round|fabs)(\.ftz)?\.(f|d|f32|f64|f16|v2f16|bf16|v2bf16)")
def _unary(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    function = f"llvm.{_UNARY[match[1]]}.{llvm_suffix(result)}"
    return flushed(body, body.call(result, function, f"{result} %a0"), result, bool(match[2]))


def llvm_suffix(kind: str) -> str:
    """``float`` is f32 in the name of an intrinsic, ``<2 x half>`` is v2f16."""
    vector = re.fullmatch(r"<(\d+) x (\w+)>", kind)
    if vector:
        return f"v{vector[1]}{llvm_suffix(vector[2])}"
    return {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}.get(kind, kind)


@intrinsic(r"f(min|max)(\.ftz)?(\.nan)?\.(f|d|f16|f16x2|bf16|bf16x2)")
def _extreme(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str | None:
    if result not in ("float", "double", "half", "<2 x half>"):
        return None
    kind = "imum" if match[3] else "num"
    function = f"llvm.{match[1]}{kind}.{llvm_suffix(result)}"
    return flushed(body, body.call(result, function, f"{result} %a0", f"{result} %a1"), result, bool(match[2]))


@intrinsic(r"saturate(\.ftz)?\.(f|d)")
def _saturate(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return saturated(body, "%a0", result)


def saturated(body: FunctionBody, value: str, kind: str) -> str:
    """Between 0 and 1; NaN becomes 0."""
    suffix = llvm_suffix(kind)
    above = body.call(kind, f"llvm.maxnum.{suffix}", f"{kind} {value}", f"{kind} 0.0")
    return body.call(kind, f"llvm.minnum.{suffix}", f"{kind} {above}", f"{kind} 1.0")


@intrinsic(r"(add|mul|div|fma|rcp|sqrt)\.(rn|rz|rm|rp)(\.ftz)?\.(f|d)")
def _rounded(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    operands = [flushed(body, f"%a{i}", result, bool(match[3])) for i in range(len(types))]
    return flushed(body, rounded(body, match[1], match[2], result, operands), result, bool(match[3]))


@intrinsic(r"(ex2|lg2|sin|cos|rsqrt|rcp|sqrt|div|tanh)\.(?:approx|full)(\.ftz)?(?:\.(?:f|d|f32|f64|f16|v2f16))?")
def _approximate(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    ftz = bool(match[2])
    operands = [flushed(body, f"%a{i}", result, ftz) for i in range(len(types))]
    return flushed(body, approximate(body, match[1], result, operands), result, ftz)


@intrinsic(r"sqrt\.f")
def _root(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return approximate(body, "sqrt", result, ["%a0"])


@intrinsic(r"(f|d)2(i|ui|ll|ull)\.(rn|rz|rm|rp)(\.ftz)?")
def _to_integer(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    value = flushed(body, "%a0", types[0], bool(match[4]))
    return float_to_integer(body, value, types[0], match[3], result, signed="u" not in match[2])


@intrinsic(r"(i|ui|ll|ull)2(f|d)\.(rn|rz|rm|rp)")
def _from_integer(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return integer_to_float(body, "%a0", types[0], match[3], result, signed="u" not in match[1])


@intrinsic(r"d2f\.(rn|rz|rm|rp)(\.ftz)?")
def _to_float(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    if match[1] == "rn":
        value = body.value("fptrunc double %a0 to float")
    else:
        value = body.call("float", "tle_team_narrow_f32", "double %a0", f"i32 {ROUNDINGS[match[1]]}")
    return flushed(body, value, "float", bool(match[2]))


@intrinsic(r"f2h\.rn(\.ftz)?")
def _to_half(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    value = flushed(body, "%a0", "float", bool(match[1]))
    return body.value(f"bitcast half {body.value(f'fptrunc float {value} to half')} to i16")


@intrinsic(r"f2(bf16)\.(rn|rz)(\.relu)?")
def _to_bfloat(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str | None:
    if match[3]:
        return None
    bits = narrowed(body, body.value("fpext float %a0 to double"), "bf16", match[2])
    low = body.value(f"trunc i32 {bits} to i16")
    return low if result == "i16" else body.value(f"bitcast i16 {low} to {result}")
