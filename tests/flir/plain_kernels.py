"""Kernels in the constructs of Triton's tutorials, without any region; run as a script it prints their PTX's digests.

python plain_kernels.py            Triton alone
python plain_kernels.py tle_raw    with tle_raw imported and a fragment declared
"""

import hashlib
import json
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.language.extra import libdevice


@triton.jit
def vector_add(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@triton.jit
def softmax(x, y, o, n, B: tl.constexpr):
    for row in tl.range(tl.program_id(0), n, tl.num_programs(0), num_stages=3):
        i = tl.arange(0, B)
        v = tl.load(x + row * n + i, i < n, other=-float("inf"))
        e = tl.exp(v - tl.max(v, 0))
        tl.store(o + row * n + i, e / tl.sum(e, 0), i < n)


@triton.jit
def matmul(x, y, o, n, B: tl.constexpr):
    group = tl.program_id(0) // 8
    i = (group * B + tl.arange(0, B)) % n
    k = tl.arange(0, B)
    a, b = x + i[:, None] * n + k[None, :], y + k[:, None] * n + i[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for s in range(tl.cdiv(n, B)):
        left = tl.load(a, k[None, :] < n - s * B, other=0.0).to(tl.float16)
        right = tl.load(b, k[:, None] < n - s * B, other=0.0).to(tl.float16)
        acc = tl.dot(left, right, acc)
        a += B
        b += B * n
    tl.store(o + i[:, None] * n + i[None, :], tl.where(acc >= 0, acc, 0.01 * acc))


@triton.jit
def dropout(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    keep = tl.rand(n, i) > 0.5
    tl.store(o + i, tl.where(keep, tl.load(x + i) / 0.5, 0.0))


@triton.jit
def layer_norm(x, y, o, n, B: tl.constexpr):
    total = tl.zeros((B,), tl.float32)
    for c in range(0, n, B):
        i = c + tl.arange(0, B)
        total += tl.load(x + i, i < n, other=0.0)
    mean = tl.sum(total, 0) / n
    for c in range(0, n, B):
        i = c + tl.arange(0, B)
        tl.store(o + i, (tl.load(x + i, i < n) - mean) * tl.load(y + i, i < n), i < n)
    while tl.atomic_cas(o, 0, 1) == 1:
        pass
    tl.debug_barrier()
    tl.atomic_xchg(o, 0)


@triton.jit
def attention(x, y, o, n, B: tl.constexpr):
    i, d = tl.arange(0, B), tl.arange(0, B)
    q = tl.load(x + i[:, None] * B + d[None, :]).to(tl.float16)
    top, total, acc = tl.full((B,), -float("inf"), tl.float32), tl.zeros((B,), tl.float32), tl.zeros((B, B), tl.float32)
    for s in tl.range(0, n, B):
        k = tl.load(y + (s + i)[None, :] * B + d[:, None]).to(tl.float16)
        scores = tl.dot(q, k)
        new = tl.maximum(top, tl.max(scores, 1))
        p = tl.math.exp2(scores - new[:, None])
        scale = tl.math.exp2(top - new)
        total = total * scale + tl.sum(p, 1)
        v = tl.load(y + (s + i)[:, None] * B + d[None, :]).to(tl.float16)
        acc = tl.dot(p.to(tl.float16), v, acc * scale[:, None])
        top = new
    tl.store(o + i[:, None] * B + d[None, :], acc / total[:, None])


@triton.jit
def library_function(x, y, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, libdevice.asin(tl.load(x + i)))


@triton.jit
def descriptors(x, y, o, n, B: tl.constexpr):
    a = tl.make_tensor_descriptor(x, [n, n], [n, 1], [B, B])
    b = tl.make_tensor_descriptor(y, [n, n], [n, 1], [B, B])
    c = tl.make_tensor_descriptor(o, [n, n], [n, 1], [B, B])
    acc = tl.zeros((B, B), tl.float32)
    for k in tl.range(0, n, B):
        acc = tl.dot(a.load([0, k]), b.load([k, 0]), acc)
    c.store([0, 0], acc)


KERNELS = (vector_add, softmax, matmul, dropout, layer_norm, attention, library_function, descriptors)
# Those whose code depends on the architecture by more than its name; the others are compiled for one.
FOR_EACH = (matmul, attention, descriptors)


def digests():
    signature = {"x": "*fp32", "y": "*fp32", "o": "*fp32", "n": "i32", "B": "constexpr"}
    found = {}
    for kernel in KERNELS:
        kernel_signature = signature | ({"o": "*i32"} if kernel is layer_norm else {})
        aligned = {(i,): [["tt.divisibility", 16]] for i in range(4)}
        for capability in (80, 90, 100) if kernel in FOR_EACH else (90,):
            source = ASTSource(kernel, kernel_signature, {"B": 64}, aligned)
            compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32))
            found[f"{kernel.__name__} sm_{capability}"] = (
                compiled.hash,
                hashlib.sha256(compiled.asm["ptx"].encode()).hexdigest(),
            )
    return found


if __name__ == "__main__":
    if sys.argv[1:] == ["tle_raw"]:
        import tle_raw
        import tle_raw.language

        @tle_raw.dialect("cuda", source="__device__ float same(float x) { return x; }")
        def same(x: tle_raw.Element["f32"]) -> tle_raw.Element["f32"]: ...

    json.dump(digests(), sys.stdout)
