"""Integers: halves of products, dot products, permutations, bits."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tle_raw.emulation.instructions import FunctionBody
from tle_raw.emulation.nvvm.table import intrinsic


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
