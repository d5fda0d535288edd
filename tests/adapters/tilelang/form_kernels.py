"""TileLang kernels of forms that have no kernel elsewhere: narrow elements, unequal boxes, composed indices."""

import tilelang.language as T


def narrow_copies(rows=6, columns=40):
    """E8M0 to float32 times two, E2M1 to float16, integers of four bits to int32, each as whole arrays."""
    shape = (rows, columns)

    @T.prim_func
    def narrow_copies(
        S: T.Tensor(shape, "float8_e8m0fnu"),
        Q: T.Tensor(shape, "float4_e2m1fn"),
        N: T.Tensor(shape, "int4"),
        X: T.Tensor(shape, "float32"),
        Y: T.Tensor(shape, "float16"),
        Z: T.Tensor(shape, "int32"),
    ):
        with T.Kernel(rows // 2, threads=64) as b:
            q = T.alloc_fragment((2, columns), "float4_e2m1fn")
            T.copy(Q[b * 2, 0], q)
            for i, j in T.Parallel(2, columns):
                X[b * 2 + i, j] = T.Cast("float32", S[b * 2 + i, j]) * 2.0
                Y[b * 2 + i, j] = T.Cast("float16", q[i, j])
                Z[b * 2 + i, j] = T.Cast("int32", N[b * 2 + i, j])

    return narrow_copies


def quantised(rows=6, columns=40):
    """float32 as E8M0, rounded up, and as E2M1."""
    shape = (rows, columns)

    @T.prim_func
    def quantised(
        X: T.Tensor(shape, "float32"), S: T.Tensor(shape, "float8_e8m0fnu"), Q: T.Tensor(shape, "float4_e2m1fn")
    ):
        with T.Kernel(rows // 2, threads=64) as b:
            x = T.alloc_fragment((2, columns), "float32")
            q = T.alloc_fragment((2, columns), "float4_e2m1fn")
            T.copy(X[b * 2, 0], x)
            for i, j in T.Parallel(2, columns):
                S[b * 2 + i, j] = T.Cast("float8_e8m0fnu", x[i, j])
                q[i, j] = T.Cast("float4_e2m1fn", x[i, j])
            T.copy(q, Q[b * 2, 0])

    return quantised


def unequal_boxes():
    """A piece of 12 x 20 in the corner of 16 x 32 shared memory, of 32 x 64 registers, and back to 24 x 40."""

    @T.prim_func
    def unequal_boxes(X: T.Tensor((12, 20), "float32"), Y: T.Tensor((24, 40), "float32")):
        with T.Kernel(1, threads=64):
            s = T.alloc_shared((16, 32), "float32")
            r = T.alloc_fragment((32, 64), "float32")
            T.fill(s, 7.0)
            T.copy(X[0:12, 0:20], s[0:16, 0:32])
            T.fill(r, 5.0)
            T.copy(s[0:16, 0:32], r[0:32, 0:64])
            T.copy(r[0:32, 0:64], Y[0:24, 0:40])

    return unequal_boxes


def accumulated_rows():
    """The first two rows of a block of four are written anew in every turn, the others once before the loop."""

    @T.prim_func
    def accumulated_rows(X: T.Tensor((3, 2, 16), "float32"), Y: T.Tensor((4, 16), "float32")):
        with T.Kernel(1, threads=32):
            two = T.alloc_shared((2, 16), "float32")
            four = T.alloc_shared((4, 16), "float32")
            T.fill(four, 3.0)
            for k in T.serial(3):
                T.copy(X[k, 0, 0], two)
                T.copy(two[0:2, 0:16], four[0:4, 0:16])
            T.copy(four, Y)

    return accumulated_rows


def composed(kind, rows=12, columns=20):
    """``rows * columns`` numbers through a buffer that is written at composed indices."""
    flat, wide = (rows * columns,), (rows, columns)

    @T.prim_func
    def split(X: T.Tensor(flat, "float32"), Y: T.Tensor(wide, "float32")):
        with T.Kernel(1, threads=64):
            s = T.alloc_shared(wide, "float32")
            for i in T.Parallel(rows * columns):
                s[i // columns, i % columns] = X[i]
            T.copy(s, Y)

    @T.prim_func
    def joined(X: T.Tensor(wide, "float32"), Y: T.Tensor(flat, "float32")):
        with T.Kernel(1, threads=64):
            r = T.alloc_fragment(flat, "float32")
            for i, j in T.Parallel(rows, columns):
                r[i * columns + j] = X[i, j]
            T.copy(r, Y)

    @T.prim_func
    def turned(X: T.Tensor(wide, "float32"), Y: T.Tensor((rows // 4, columns, 4), "float32")):
        with T.Kernel(1, threads=64):
            s = T.alloc_shared((rows // 4, columns, 4), "float32")
            for i, j in T.Parallel(rows, columns):
                s[i // 4, columns - 1 - j, i % 4] = X[i, j]
            T.copy(s, Y)

    @T.prim_func
    def guarded(X: T.Tensor(flat, "float32"), Y: T.Tensor(wide, "float32")):
        with T.Kernel(1, threads=64):
            s = T.alloc_shared(wide, "float32")
            T.fill(s, 9.0)
            for i in T.Parallel(rows * columns):
                if X[i] > 0.0:
                    s[i // columns, i % columns] = X[i]
            T.copy(s, Y)

    return {"split": split, "joined": joined, "turned": turned, "guarded": guarded}[kind]


def bits(dtype, n=60):
    """How many ones, and how many zeros before the first."""

    @T.prim_func
    def bits(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), "int32"), Z: T.Tensor((n,), "int32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(n):
                Y[i] = T.Cast("int32", T.popcount(X[i]))
                Z[i] = T.Cast("int32", T.clz(X[i]))

    return bits


def questions(n=24):
    """Whether any and all of a row are not zero; ``Y`` collects bits by atomics."""

    @T.prim_func
    def questions(X: T.Tensor((4, n), "int32"), Y: T.Tensor((1,), "int32")):
        with T.Kernel(4, threads=32) as b:
            s = T.alloc_shared((4, n), "int32")
            T.copy(X, s)
            found = T.alloc_var("int32", init=0)
            if T.any_of(s[b, 0:n]):
                found = found + 1
            if T.all_of(s[b, 0:n]):
                found = found + 2
            if T.get_thread_binding() == 0:
                T.atomic_or(Y[0], found << (4 * b))

    return questions


def across_blocks(blocks=4, n=64):
    """Each block reads what another one wrote before all of them met."""

    @T.prim_func
    def across_blocks(
        X: T.Tensor((blocks, n), "float32"), W: T.Tensor((blocks, n), "float32"), Y: T.Tensor((blocks, n), "float32")
    ):
        with T.Kernel(blocks, threads=n) as b:
            for i in T.Parallel(n):
                W[b, i] = X[b, i] * 2.0
            T.sync_grid()
            for i in T.Parallel(n):
                Y[b, i] = W[blocks - 1 - b, i]

    return across_blocks


def odd_block(threads=48):
    """Turned round through shared memory by a block that is no whole number of warps."""

    @T.prim_func
    def odd_block(X: T.Tensor((threads,), "float32"), Y: T.Tensor((threads,), "float32")):
        with T.Kernel(1, threads=threads):
            t = T.get_thread_binding()
            s = T.alloc_shared((threads,), "float32")
            s[t] = X[t]
            T.sync_threads()
            Y[t] = s[threads - 1 - t]

    return odd_block


def scalars():
    """Scalars of other types than those that Triton takes Python's numbers for."""
    n = T.dynamic("n", "int64")

    @T.prim_func
    def scalars(a: T.float16, b: T.float64, c: T.int16, Y: T.Tensor((n, 3), "float64")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                if i < n:
                    Y[i, 0] = T.Cast("float64", a)
                    Y[i, 1] = b
                    Y[i, 2] = T.Cast("float64", c)

    return scalars


def said_before():
    """An assumption, and a name for a size, before T.Kernel."""
    n = T.dynamic("n")

    @T.prim_func
    def said_before(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        T.assume(n > 0)
        blocks = T.ceildiv(n, 64)
        with T.Kernel(blocks, threads=64) as b:
            for i in T.Parallel(64):
                Y[b * 64 + i] = X[b * 64 + i] * T.Cast("float32", blocks)

    return said_before


def clustered(blocks=4, n=64, cluster=2):
    """Each block adds its number in its cluster."""

    @T.prim_func
    def clustered(X: T.Tensor((blocks, n), "float32"), Y: T.Tensor((blocks, n), "float32")):
        with T.Kernel(blocks, threads=n, cluster_dims=cluster) as b:
            s = T.alloc_shared((n,), "float32")
            for i in T.Parallel(n):
                s[i] = X[b, n - 1 - i]
            T.cluster_sync()
            for i in T.Parallel(n):
                Y[b, i] = s[n - 1 - i] + T.Cast("float32", T.block_rank_in_cluster())

    return clustered


def bound_again():
    """Two scalars that the body binds to one name, which TileLang then gives to both parameters."""

    @T.prim_func
    def bound_again(first: T.float32, second: T.float32, Y: T.Tensor((2, 32), "float32")):
        with T.Kernel(2, threads=32) as b:
            for i in T.Parallel(32):
                if b == 0:
                    factor = first
                    Y[b, i] = factor * 2.0
                else:
                    factor = second
                    Y[b, i] = factor * 3.0

    return bound_again


def open_sizes():
    """Sizes that no array has as one of its own: the arrays tell one more, or three times as many."""
    rows, columns = T.dynamic("rows"), T.dynamic("columns")

    @T.prim_func
    def open_sizes(
        starts: T.Tensor((rows + 1,), "int32"), Y: T.Tensor((2 * rows, columns * 3), "float32"), factor: T.float32
    ):
        with T.Kernel(rows, threads=32) as b:
            for i in T.Parallel(32):
                if i < columns * 3:
                    Y[2 * b, i] = (starts[b + 1] - starts[b]) * factor

    return open_sizes


def booleans():
    """TileLang adds and multiplies booleans as C does."""

    @T.prim_func
    def booleans(A: T.Tensor((2, 64), "bool"), Y: T.Tensor((2, 64), "bool")):
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(64):
                Y[0, i] = A[0, i] + A[1, i]
                Y[1, i] = A[0, i] * A[1, i]

    return booleans
