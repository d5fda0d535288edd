"""Rows: operators of ``torch.library``, transforms, tensors without memory."""

from __future__ import annotations

import copy

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tests.torch_rows.kernels import ROWS, B, check_halved, halve, halved, numbers
from tests.torch_rows.modes import compiled


@torch.library.triton_op("tle_raw_rows::halve", mutates_args={})
def halve_operator(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    torch.library.wrap_triton(halve)[(x.numel() // B,)](x, out, B=B)
    return out


halve_operator.register_autograd(lambda context, gradient: halve_operator(gradient.contiguous()))


@torch.library.custom_op("tle_raw_rows::opaque_halve", mutates_args=())
def opaque_halve(x: torch.Tensor) -> torch.Tensor:
    return halved(x)


@opaque_halve.register_fake
def _(x):
    return torch.empty_like(x)


@opaque_halve.register_vmap
def _(info, in_dims, x):
    return opaque_halve(x.movedim(in_dims[0], 0).contiguous()), 0


def triton_op(device):
    check_halved(halve_operator, device)
    check_halved(compiled(lambda x: halve_operator(x)), device)


def gradient_of_a_triton_op(device):
    for function in (halve_operator, compiled(lambda x: halve_operator(x))):
        x = torch.randn(ROWS, B, device=device, requires_grad=True)
        function(x).sum().backward()
        assert (x.grad == 0.5).all()


def custom_op(device):
    check_halved(opaque_halve, device)
    check_halved(compiled(lambda x: opaque_halve(x)), device)
    torch.library.opcheck(opaque_halve, (numbers(device)[0],))


def vmap_by_a_rule(device):
    check_halved(torch.func.vmap(opaque_halve), device)


def fake_tensors_of_operators(device):
    """Operators tell shapes of tensors without memory, and nothing is launched."""
    with FakeTensorMode():
        x = torch.empty(ROWS, B, device=device)
        for operator in (halve_operator, opaque_halve):
            assert operator(x).shape == (ROWS, B)
    assert opaque_halve(torch.empty(ROWS, B, device="meta")).shape == (ROWS, B)


# --- refusals ------------------------------------------------------------------------------------------------------


def _refuses(why, function, *arguments):
    """On a GPU Triton itself looks at the arguments of a kernel's first launch, and some errors are its own then."""
    halved(numbers(str(arguments[0].device).replace("meta", "cuda" if torch.cuda.is_available() else "cpu"))[0])
    try:
        function(*arguments)
    except Exception as error:
        assert type(error).__name__ == "LaunchError" and why in str(error), repr(error)
    else:
        raise AssertionError(f"no error says {why!r}")


def vmap_of_a_launch(device):
    _refuses("BatchedTensor", torch.func.vmap(halved), numbers(device)[0])


def functionalize_of_a_launch(device):
    _refuses("FunctionalTensor", torch.func.functionalize(halved), numbers(device)[0])


def gradient_of_a_launch(device):
    _refuses("GradTrackingTensor", torch.func.grad(lambda x: halved(x).sum()), numbers(device)[0])


def launch_on_a_fake_tensor(device):
    with FakeTensorMode() as mode:
        x = torch.empty(ROWS, B, device=device)
    _refuses("FakeTensor", lambda x: _under(mode, halved, x), x)


def _under(mode, function, x):
    with mode:
        return function(x)


def launch_on_a_meta_tensor(device):
    _refuses("meta", halved, torch.empty(ROWS, B, device="meta"))


def launch_on_freed_memory(device):
    x = numbers(device)[0]
    x.untyped_storage().resize_(0)
    _refuses("freed", lambda x: halve[(ROWS,)](x, x, B=B), x)


def compiled_after_a_copy(device):
    """A kernel that was copied, as modules are, is the same kernel."""
    module = copy.deepcopy(Halving())
    check_halved(compiled(module), device)


class Halving(torch.nn.Module):
    def forward(self, x):
        return halved(x)
