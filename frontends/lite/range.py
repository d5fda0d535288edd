"""``tle.range``: ``tl.range`` whose body may be cut into groups that run in stages.

Triton's code generator takes two iterators, and tells them by identity. So ``tle.range`` is ``tl.range`` where it
stands in the head of a ``for`` statement that is being traced: when the code generator looks the name up, the arguments
that are ours are taken out of the statement, before it sees them, and the body gets a first and a last statement, which
write and check what they ask for. Elsewhere it is the function below, which Triton's interpreter calls.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import operator
from collections.abc import Callable
from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentCountError, ArgumentTypeError, RegionError, Row
from tle_raw.flir import group_markers
from tle_raw.flir.group_markers import LoopSchedule
from tle_raw.frontends.lite.arguments import describe_value, plain
from tle_raw.frontends.lite.code_generator import errors_at, visited
from tle_raw.frontends.lite.executors import check_kernel, read_executors
from tle_raw.frontends.lite.kernel_function import kernel_function
from tle_raw.frontends.lite.loop_options import OWN, read_options
from tle_raw.frontends.lite.open_loops import OpenLoop, interpreted_loop
from tle_raw.regions.stages import check_stages, is_looked_at
from tle_raw.triton_types import Semantic

LOOP = "tle_loop"  # attribute of a `for` statement: what is open while its body is traced
_WRITTEN = "tle_written"  # likewise: its arguments and its body, as the kernel has them
_CONSTANTS = ("num_stages", "flatten", "warp_specialize", *OWN)
_GROUPS = "groups of pipelined loops"


def _range(
    arg1: Any,
    arg2: Any = None,
    step: Any = None,
    num_stages: Any = None,
    loop_unroll_factor: Any = None,
    disallow_acc_multi_buffer: Any = False,
    flatten: Any = False,
    warp_specialize: Any = False,
    disable_licm: Any = False,
    reorder: Any = False,
    pipe_stages: Any = None,
    pipe_orders: Any = None,
    executors: Any = None,
    _semantic: Any = None,
    _generator: Any = None,
) -> Any:
    """``tl.range``, in whose body groups of operations may run in stages: iterations of the loop overlap.

    It stands in the head of a ``for`` statement, spelled ``tle.range``. With a list of ``pipe_stages`` the body is made
    of groups, ``with tle.pipeline_group(i):``. On NVIDIA GPUs each step of the loop runs stage 0 of one iteration,
    stage 1 of the iteration before, and so on: what a group loads is under way until a group of a later stage uses it,
    in buffers that Triton's pipeliner makes. On CPUs and in Triton's interpreter the iterations follow each other, with
    the same values.

    A group may use values of groups of its stage and of earlier ones, and of the iteration before also those of the
    next later stage. What stands outside of groups runs with the group that needs it first. Only loads, stores, atomic
    additions and their like, linked regions, and what has no effects may stand in other stages than the last. What
    groups do to memory is not followed: a load in an early stage comes before the stores of later stages of the
    iterations before.

    Parameters
    ----------
    arg1, arg2, step, num_stages, loop_unroll_factor, disallow_acc_multi_buffer, flatten, warp_specialize,
    disable_licm : as for ``tl.range``.
    reorder : the loads of the body come first, of all iterations that ``loop_unroll_factor`` puts into it: a promise
        that none reads what the body stores before it. A constant.
    pipe_stages : the stage of each group, a list of constants from 0 on. A number is ``num_stages``: Triton decides.
    pipe_orders : the place of each group among the groups of its stage; as they are numbered where it is not given.
    executors : who runs each group, a list of numbers: on NVIDIA GPUs each executor is a partition of warps, which
        begin together and wait for each other's values, as in ``tle.gpu.warp_specialize``. The launch's own warps are
        the executor that makes what is used behind the loop. ``range(4, 8)`` is one executor of up to four warps.
        Values go through shared memory, in as many slots as there are stages.

    Raises
    ------
    ArgumentTypeError : an argument is no constant of its kind.
    ScheduleError : a group needs a value that a later one makes, or cannot run in its stage, or does not stand there;
        groups that do not split into executors.
    """
    given = {"reorder": reorder, "pipe_stages": pipe_stages, "pipe_orders": pipe_orders, "executors": executors}
    given |= {"num_stages": num_stages, "flatten": flatten, "warp_specialize": warp_specialize}
    if _generator is not None:
        raise RegionError("tle.range stands in the head of a for statement, under this name")
    schedule, _ = read_options(given)
    start, stop = (0, arg1) if arg2 is None else (arg1, arg2)
    numbers = builtins.range(
        _number("start", start), _number("stop", stop), _number("step", 1 if step is None else step)
    )
    return interpreted_loop(OpenLoop(schedule), numbers)


range_function = kernel_function(_range, "range")
range_function.__name__ = range_function.__qualname__ = "range"


def _number(name: str, value: Any) -> int:
    value = plain(value)
    if isinstance(value, core.tensor) and value.type.is_int():  # the interpreter keeps a scalar in an array
        return int(value.handle.data.item())
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentTypeError(
            "tle.range: the bounds of a loop are integers", table=[Row(name, "an integer", describe_value(value))]
        ) from None


def look_up_range() -> Any:
    """What the name ``tle.range`` stands for: ``tl.range`` in the head of a loop that is being traced."""
    looking, looping = visited("visit_Attribute"), visited("visit_For")
    if looking is None or looping is None or looping[1].iter.func is not looking[1]:
        return range_function
    generator, statement = looping
    with errors_at(generator, looking[1]):
        _open(generator, statement)
    return core.range


def _open(generator: Any, statement: ast.For) -> None:
    """Take our arguments out of a statement, and put the loop's first and last statement in where they ask for it."""
    call = statement.iter
    assert isinstance(call, ast.Call)
    if not hasattr(statement, _WRITTEN):  # a statement within a loop is traced more than once
        setattr(statement, _WRITTEN, (call.args, call.keywords, statement.body))
    arguments, keywords, body = getattr(statement, _WRITTEN)
    nodes = _bind(arguments, keywords)
    if not any(name in nodes for name in OWN):
        setattr(statement, LOOP, OpenLoop(LoopSchedule()))
        return
    given = {name: _value(generator, name, nodes[name]) for name in _CONSTANTS if name in nodes}
    schedule, number = read_options(given)
    passed = {name: node for name, node in nodes.items() if name not in OWN}
    if number is not None:
        passed["num_stages"] = nodes["pipe_stages"]
    call.args = []
    call.keywords = [ast.keyword(name, node) for name, node in passed.items()]
    loop = OpenLoop(schedule)
    setattr(statement, LOOP, loop)
    statement.body = body
    if schedule.executors and not is_looked_at():
        check_kernel(generator.semantic)
    if schedule.is_marked or schedule.reorder:
        begin, end = _statement(statement, _begin(loop)), _statement(statement, _end(loop))
        statement.body = [begin, *body, end]


def _bind(arguments: list[ast.expr], keywords: list[ast.keyword]) -> dict[str, ast.expr]:
    """The nodes of the arguments by the names of ``tle.range``."""
    if any(isinstance(node, ast.Starred) for node in arguments) or any(each.arg is None for each in keywords):
        raise ArgumentCountError("tle.range: arguments are written one by one, without stars")
    known = [name for name in inspect.signature(_range).parameters if not name.startswith("_")]
    try:
        bound = inspect.signature(_range).bind(*arguments, **{str(each.arg): each.value for each in keywords})
    except TypeError as error:
        raise ArgumentCountError(f"tle.range: {error}", hint=f"it takes {', '.join(known)}") from None
    if any(name not in known for name in bound.arguments):
        raise ArgumentCountError("tle.range: too many arguments", hint=f"it takes {', '.join(known)}")
    return dict(bound.arguments)


def _value(generator: Any, name: str, node: ast.expr) -> Any:
    return read_executors(generator, node) if name == "executors" else generator.visit(node)


def _statement(near: ast.For, function: Callable[..., None]) -> ast.stmt:
    """A statement that calls a function of the language."""
    held: Any = function  # the code generator takes any constant for what it is
    made = ast.Expr(ast.Call(ast.Constant(held), [], []))
    ast.copy_location(made, near)
    made.end_lineno, made.end_col_offset = near.lineno, near.col_offset
    return ast.fix_missing_locations(made)


def _begin(loop: OpenLoop) -> Callable[..., None]:
    def begin(_semantic: Any = None, _generator: Any = None) -> None:
        loop.begin()
        write_marker(group_markers.LOOP, loop.schedule.to_text(), _semantic)

    return kernel_function(begin, "range")


def _end(loop: OpenLoop) -> Callable[..., None]:
    def end(_semantic: Any = None, _generator: Any = None) -> None:
        loop.end()

    return kernel_function(end, "range")


def write_marker(symbol: str, text: str, semantic: Semantic) -> None:
    """A marker in the kernel's Triton IR, unless the IR is made to be looked at."""
    builder = semantic.builder
    if check_stages(builder.options, _GROUPS):
        builder.create_extern_elementwise(text, "", symbol, [builder.get_int32(0)], core.int32.to_ir(builder), False)
