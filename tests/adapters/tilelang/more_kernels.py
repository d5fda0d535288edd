"""TileLang kernels that are written for threads or hold a scan: the rest of the kinds that one meets."""

import tilelang.language as T


def top_k_selector(rows=3, n=5000, k=64, threads=256):
    """Where the k largest of each row stand, in no order: a digit of 8 bits at a time, counted in shared memory."""

    @T.macro
    def key_of(x):
        """Numbers of 32 bits in the order of the floats."""
        bits = T.reinterpret(x, "uint32")
        return T.if_then_else(bits >> T.uint32(31) != T.uint32(0), ~bits, bits | T.uint32(0x80000000))

    @T.prim_func
    def top_k_selector(X: T.Tensor((rows, n), "float32"), Places: T.Tensor((rows, k), "int32")):
        with T.Kernel(rows, threads=threads) as row:
            tx = T.get_thread_binding()
            counts = T.alloc_shared((256,), "int32")
            digit = T.alloc_shared((2,), "int32")
            taken = T.alloc_shared((1,), "int32")
            prefix = T.alloc_var("uint32", init=0)
            wanted = T.alloc_var("int32", init=k)
            above = T.alloc_var("int32", init=0)
            place = T.alloc_var("int32", init=0)
            if tx == 0:
                taken[0] = 0
            for turn in T.unroll(4):
                counts[tx] = 0
                T.sync_threads()
                for i in T.serial(T.ceildiv(n, threads)):
                    if i * threads + tx < n:
                        key = key_of(X[row, i * threads + tx])
                        if turn == 0 or (key >> T.uint32(32 - 8 * turn)) == prefix:
                            T.atomic_add(counts[T.cast((key >> T.uint32(24 - 8 * turn)) & T.uint32(255), "int32")], 1)
                T.sync_threads()
                above = 0
                for i in T.serial(256):
                    if i > tx:
                        above = above + counts[i]
                if above < wanted and above + counts[tx] >= wanted:
                    digit[0] = tx
                    digit[1] = wanted - above
                T.sync_threads()
                prefix = (prefix << T.uint32(8)) | T.cast(digit[0], "uint32")
                wanted = digit[1]
                T.sync_threads()
            for i in T.serial(T.ceildiv(n, threads)):
                if i * threads + tx < n:
                    key = key_of(X[row, i * threads + tx])
                    if key > prefix:
                        place = T.atomic_add(taken[0], 1, return_prev=True)
                        Places[row, place] = i * threads + tx
            T.sync_threads()
            for i in T.serial(T.ceildiv(n, threads)):
                if i * threads + tx < n:
                    key = key_of(X[row, i * threads + tx])
                    if key == prefix:
                        place = T.atomic_add(taken[0], 1, return_prev=True)
                        if place < k:
                            Places[row, place] = i * threads + tx

    return top_k_selector


def mamba_chunk_scan(rows=128, heads=2, width=32, states=32, chunk=32):
    """h = exp(a) h + dt B x, y = C h, by chunks: ``A`` holds the running sums of a inside each chunk."""

    @T.prim_func
    def mamba_chunk_scan(
        X: T.Tensor((rows, heads, width), "float16"),
        dt: T.Tensor((heads, rows), "float32"),
        A: T.Tensor((heads, rows), "float32"),
        B: T.Tensor((rows, states), "float16"),
        C: T.Tensor((rows, states), "float16"),
        Y: T.Tensor((rows, heads, width), "float32"),
    ):
        with T.Kernel(heads, threads=128) as head:
            x = T.alloc_shared((chunk, width), "float16")
            b = T.alloc_shared((chunk, states), "float16")
            b_aged = T.alloc_shared((chunk, states), "float16")
            c = T.alloc_shared((chunk, states), "float16")
            age = T.alloc_shared((chunk,), "float32")
            scores = T.alloc_fragment((chunk, chunk), "float32")
            weights = T.alloc_shared((chunk, chunk), "float16")
            state = T.alloc_fragment((states, width), "float32")
            state_shared = T.alloc_shared((states, width), "float16")
            y = T.alloc_fragment((chunk, width), "float32")
            T.clear(state)
            for step in T.serial(rows // chunk):
                T.copy(B[step * chunk, 0], b)
                T.copy(C[step * chunk, 0], c)
                T.copy(A[head, step * chunk], age)
                for i, j in T.Parallel(chunk, width):
                    x[i, j] = T.cast(X[step * chunk + i, head, j], "float32") * dt[head, step * chunk + i]
                for i, j in T.Parallel(chunk, states):
                    b_aged[i, j] = T.cast(b[i, j], "float32") * T.exp(age[chunk - 1] - age[i])
                T.gemm(c, b, scores, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(chunk, chunk):
                    weights[i, j] = T.if_then_else(i >= j, scores[i, j] * T.exp(age[i] - age[j]), 0)
                T.copy(state, state_shared)
                T.gemm(c, state_shared, y, clear_accum=True)
                for i, j in T.Parallel(chunk, width):
                    y[i, j] *= T.exp(age[i])
                T.gemm(weights, x, y)
                for i, j in T.Parallel(states, width):
                    state[i, j] *= T.exp(age[chunk - 1])
                T.gemm(b_aged, x, state, transpose_A=True)
                T.copy(y, Y[step * chunk : (step + 1) * chunk, head, :])

    return mamba_chunk_scan
