"""Device code on the CPU: the threads of a block run as fibers on one thread of the host.

How it is compiled
==================
Adapters compile the source as for a GPU of sm_80, which ``targets/cpu/target`` asks for: CUDA by the same clang, with
the same headers. ``make_thread_block`` makes the host's code of it. Of the LLVM IR that comes out, ``host_text``
replaces what only a GPU has: NVVM intrinsics (``nvvm``), inline PTX (``ptx``), address spaces, static shared variables.
So CUB, cooperative groups, ``cuda_fp16.h`` and libdevice are NVIDIA's own, unchanged, and a macro sees
``__CUDA_ARCH__ == 800``. The source can ask for ``TLE_RAW_TEAM``, which the CPU alone defines. ``runtime`` links the
result with the thread block's runtime, ``tle_raw/include/tle_raw/team/*.h``, which clang compiles for the host once.
The module is whole but for functions of the C library; it holds no target, no thread-local variables, no constructors,
and shows its entry only. What has no meaning on the host (``wgmma``, sparse ``mma``, textures) is an
``UnsupportedFeatureError`` that names the instruction and the user's line.

``mma.sync`` and ``ldmatrix`` are operations of a whole warp (``ptx/matrices``, ``team/matrix.h``). Products of floats
are added up as f32, those of f64 as f64, and rounded once to the sum's type; of tf32 the lowest 13 bits are not read.
Those of ``mma.h`` are, too (``nvvm/matrices``, ``team/warp_matrix.h``).

What a kernel calls: block-level regions
========================================
::

    i32 @tle_team_<fragment>_<digest>(ptr %call, ptr %args)        CompiledFragment.entry

``%call`` points to a ``tle_region_call`` (team/abi.h), 40 bytes, 8-byte aligned; it may be on the stack, may be used
again for the next call, and is only read::

    { i32 threads, i32 pid_x, i32 pid_y, i32 pid_z, i32 grid_x, i32 grid_y, i32 grid_z, i32 0, ptr context }

====== ======= ==================================================================================================
offset field   meaning
====== ======= ==================================================================================================
0      threads num_warps * 32, from 32 to 1024
4      pid     the program: blockIdx
16     grid    gridDim
28     -       0
32     context the worker's context (``tle_raw/flir/cpu/__init__.py``). Used are field 1, the status record (null: what
               fails is told by the result only), and field 2, the word that the thread block owns
====== ======= ==================================================================================================

``%args`` points to one pointer for each parameter that crosses (``bound.crossing``: all but the constants, in the
signature's order), and one more, the last, when ``bound.result`` is set:

* Tile: the address of its first element. Row-major, contiguous, 16-byte aligned, elements of ``dtype.itemsize`` bytes
  (a bool is a byte, 0 or 1). In, InOut and Out tiles alike: the thread block reads and writes in place. An ``In`` tile
  must be a copy when the kernel needs the old value, for code may write to it. Tiles must not overlap.
* Scalar: the address of the value. Pointer: the address of the pointer. i1 is a byte, 0 or 1; f16 and bf16 are 2 bytes.
* Result: the address for ``bound.result.itemsize`` bytes; thread 0 writes it.

The result of the call is 0, or 1 when the region failed: then the status record says why, tiles hold anything, and the
kernel should return at once.

Nothing else is needed: no barrier around it, no shared memory, no initialisation. The first call in a worker maps the
worker's workspace (about 256 MiB of addresses; pages are used as they are touched) and stores its address in context
field 2. When the worker ends, whoever made the context gives the workspace back: the word is the address of a mapping
whose first 8 bytes hold its length, for ``munmap``; ``tle_raw.flir.cpu.run_fragment.release_workspace`` does that.

What a kernel calls: elementwise fragments
==========================================
``CompiledFragment.entry`` is the function itself, of type ``bound.host_result (bound.host_parameters)``: half, bfloat,
float, double, i1 to i64, ptr. fp8 is i8. It may be inlined. It cannot ask for its thread. Where it needs one all the
same, for it waits, fails or prints, or for ``knobs.debug`` checks what it accesses, its name begins with
``tle_element_``: it has four parameters more, the worker's context and the program, and runs as a block of one thread
(``element_entry``). Beside it stands ``void @<entry>.map(...)``, which applies it to arrays.

How a region fails
==================
The status record's code becomes -2, with the program's pids, and the four words of detail are: the kind (``Failure``
in team/abi.h), the address of a text, the address of a file name, and the line in that file. Texts are UTF-8 and end
with a zero; the message lies in the worker's workspace or in the kernel's code, the file name in the kernel's code:
read both before either goes. ``tle_raw.flir.cpu.run_fragment.region_failure`` makes the error of a record.

How threads run
===============
Threads run in order, each until it must wait; one that never waits leaves its stack to the next, so a fragment without
barriers is a loop. A barrier is a switch of stacks. Threads that wait for memory in a loop (volatile loads, atomics,
``mbarrier.try_wait``) let others run now and then; when memory has no news for any of them, the launch lets other
programs begin (``team/waiting.h``, ``targets/cpu/waiting.py``). When no thread can run and some have not returned, or
when all programs wait for memory that does not change, the region fails and says who waits where: it never hangs there.
A thread has 256 KiB of stack.

At volatile accesses, and there only, the lanes of a warp go on in step, as older CUDA expects that knows no
``__syncwarp`` (``lockstep``): all lanes that stand before the access that is first in the program do it, then go on to
their next one, and lanes that part at a branch come together behind it. The order is that of the code which clang
optimised. A loop that waits for a lane behind it lets that lane go on. Through memory that is not volatile, lanes of a
warp exchange nothing without ``__syncwarp``, a shuffle or a barrier: that is a race, here as on a GPU.

Integer divisions by zero, and of the lowest number by -1, give what NVIDIA's code gives (``linker/total_divisions``).

``knobs.debug`` compiles checks into the code: threads that meet at different barriers or return while others wait,
accesses outside of the launch's arrays, of tiles and of own variables (``team/bounds.h``), tile indices out of range,
reads of Out tiles and of shared memory that nothing has written, by inline PTX too; shuffles and votes whose mask does
not name the caller, shuffles from lanes that the mask does not name or that have returned; integer divisions that have
no result. ``flags=("-O0",)`` of a fragment keeps every line and variable for a debugger.
"""
