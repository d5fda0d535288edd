"""Products by ``wgmma`` that run iterations ahead, in a branch that Triton's pipeliner can mask.

Up to Triton 3.8 the pipeliner ends the compilation where a product stands before the last stage; later ones put it into
a branch, which this does for the others::

    %d = "scf.if"(%true) ({ %p = "ttng.warp_group_dot"(...); yield %p }, { yield zeros }) : (i1) -> tensor<...>
"""

from __future__ import annotations

from tle_raw.linker.mlir.generic_operation import GenericOperation, read_generic

PRODUCT = "ttng.warp_group_dot"


def in_a_branch(line: str, number: int, attributes: str) -> str:
    """The lines of a branch around the product of a line in generic form.

    Parameters
    ----------
    number : of the line, for names.
    attributes : of the branch.
    """
    operation = read_generic(line)
    [type_] = operation.result_types
    indent, loc = operation.indent, operation.location
    names = [f"%tle_{what}_{number}" for what in ("always", "product", "nothing")]
    always, product, nothing = names
    zero = "0.000000e+00" if ("xf" in type_ or "xbf" in type_) else "0"
    inner = GenericOperation(
        operation.name,
        operation.operands,
        operation.types,
        operation.result_types,
        product,
        operation.properties,
        operation.attributes,
        indent + "  ",
        loc,
    )
    return "\n".join(
        (
            f'{indent}{always} = "arith.constant"() <{{value = true}}> {{{attributes}}} : () -> i1{loc}',
            f'{indent}{operation.results} = "scf.if"({always}) ({{',
            str(inner),
            f'{indent}  "scf.yield"({product}) : ({type_}) -> (){loc}',
            f"{indent}}}, {{",
            f'{indent}  {nothing} = "arith.constant"() <{{value = dense<{zero}> : {type_}}}> : () -> {type_}{loc}',
            f'{indent}  "scf.yield"({nothing}) : ({type_}) -> (){loc}',
            f"{indent}}}) {{{attributes}}} : (i1) -> {type_}{loc}",
        )
    )
