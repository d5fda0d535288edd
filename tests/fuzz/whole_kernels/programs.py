"""A whole random kernel: its text, and the numbers that it is launched with."""

from __future__ import annotations

from dataclasses import dataclass

from tests.fuzz.whole_kernels.expressions import PARAMETERS
from tests.fuzz.whole_kernels.shapes import Shapes

HEAD = """struct W {{ int a; int b[3]; long long c; float f; }};
struct St {{ int a; short b[2]; unsigned char d; int e; }};
struct Hf {{ unsigned short x; }};
__global__ void k(const int*{r} a, const short*{r} b, const unsigned char*{r} c, const long long*{r} d,
    const float*{r} x, const int2*{r} v2, const int4* v4, const St* st, const Hf* h, unsigned* o, float* y,
    int n, int m, int s, int q, unsigned u0, unsigned u1, W w) {{
  __shared__ unsigned sh[128];
  int tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
{begin}  unsigned acc = u0 ^ i;
  float f0 = w.f, f1 = 1.5f;
  for (int z = 0; z < 4; z++) sh[tid * 4 + z] = z;
{body}
  o[i] ^= acc;
  y[i] = f0;
}}
"""


@dataclass(frozen=True)
class Program:
    """A kernel ``k``, and the arguments behind its arrays."""

    text: str
    scalars: tuple[int, ...]  # n, m, s, q, u0, u1
    at_once: bool  # the threads of a block meet, and must run at once


def program(seed: int) -> Program:
    shapes = Shapes(seed)
    random = shapes.random
    for _ in range(random.randint(4, 12)):
        shapes.statement()
    ends = "" if shapes.at_once else random.choice(["", "  if (i >= 50) return;\n", "  if (i >= q) return;\n"])
    own = "  o += i * 1024;\n" if shapes.at_once else ""
    text = HEAD.format(
        r=" __restrict__" if random.random() < 0.6 else "", begin=own + ends, body="\n".join(shapes.lines)
    )
    if shapes.at_once:
        text = text.replace("  o[i] ^= acc;", "  o[0] ^= acc;")
    scalars = [random.randint(*bounds) for bounds in PARAMETERS.values()]
    return Program(text, (*scalars, random.getrandbits(32), random.getrandbits(32)), shapes.at_once)
