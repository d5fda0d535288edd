"""FLIR for CPUs: Triton IR -> Linalg form -> vectors -> LLVM IR, with upstream MLIR (the torch-mlir wheel).

Stages of a kernel, each a text in ``kernel.asm``: ``ttir``, ``linalg``, ``llvmir``, ``asm``, then the object file.

The Linalg form
===============
What ``convert`` makes of Triton IR, and what every later pass reads. One ``func.func`` holds the kernel, already
inlined::

    func.func @kernel(<arguments>, %pid_x: i32, %pid_y: i32, %pid_z: i32,
                      %grid_x: i32, %grid_y: i32, %grid_z: i32,
                      %small: !llvm.ptr {llvm.noalias}, %scratch: !llvm.ptr {llvm.noalias},
                      %context: !llvm.ptr)

* Pointers are ``!llvm.ptr`` (or ``i64`` addresses where a buffer holds them). Memory of the user is reached by
  ``llvm.load`` and ``llvm.store`` through ``llvm.getelementptr``.
* A tile that needs memory is a ``memref.alloca`` of static shape, row-major, at the top of the function; scratch is
  reached by ``memref.load`` and ``memref.store``. Element types: i8 (also i1 and fp8), i16, i32, i64, f16, bf16, f32,
  f64.
* A shared buffer is such memory too, of one dimension, reached by its address: ``llvm.load`` and ``llvm.store``.
* Work on all elements of a tile is a ``linalg.generic`` whose iterators are all ``parallel``, whose iterations are
  independent, and whose body is scalar code over ``linalg.index``: arith, math, ``memref.load``, ``llvm.load``,
  ``llvm.store``. ``outs`` are the buffers it fills (identity maps, one ``linalg.yield`` operand each); a generic that
  only stores to memory has no ``outs`` and takes its shape from one unread ``ins`` buffer of i1.
* A masked access is an ``scf.if`` on the mask that holds the address arithmetic and the one access:
  ``%v = scf.if %m -> f32 { gep; load; yield } else { yield %other }``, ``scf.if %m { gep; store }``.
* Products of tiles are ``linalg.matmul``, ``linalg.batch_matmul`` on buffers (accumulating into ``outs``); other
  dense work is ``linalg.fill`` and ``linalg.copy``.
* A worker of specialised warps is a function like the kernel, ``@kernel.worker.N``, with one pointer more in front of
  ``%small``: the record of the partitions' turns (``convert/turns``). Where its scratch memory begins says a call of
  ``@tle.area.kernel.worker.N() -> i64``, which ``place_buffers`` takes away.
* Everything else is ``scf`` (``for``, ``while``, ``if``), ``func.call`` and scalar arith and math.

So ``convert-linalg-to-loops`` and the upstream conversions alone make a correct program of it; the passes here make it
a fast one.

The launcher's side
===================
::

    func.func @tle_launch(%arguments: !llvm.ptr, %grid: !llvm.ptr, %first: i64, %last: i64, %context: !llvm.ptr)

runs the programs ``first <= i < last`` of the grid, counted with x fastest. ``arguments`` holds one 8-byte slot per
kernel argument (little endian, the value in the slot's low bytes), ``grid`` three i32. It returns early when the status
record shows a failure. ``context`` belongs to one worker thread, 8 bytes per field:

====== =======================================================================================================
field  meaning
====== =======================================================================================================
0      pointer to scratch memory, 64-byte aligned, ``metadata["scratch_bytes"]`` long
1      pointer to the status record: i64 code, i64 pid x, y, z, then five i64 of detail, then those of partitions that
       wait for each other (``partition_waits``). Code 0: no failure;
       code n: check n-1 of ``metadata["checks"]`` failed (a list of dicts: kind, message, file, line, column)
       code -2: a region of a CUDA fragment failed; detail holds the kind, the address of a message, the address of a
       file name, the line (``tle_raw/emulation/__init__.py``), and for kind ``memory`` an address.
       ``region_failure.region_failure(status)`` makes the error; call it before the workspace or the kernel's code is
       released
2      the worker's workspace: a word that regions of CUDA fragments own (0 at first). Whoever ends the worker
       calls ``run_fragment.release_workspace(word)``
3      i64 flags, bit 0: ``knobs.debug``, bit 1: store past the caches (``stream_stores``)
4      pointer to the memory of the arguments, for kernels compiled with ``options.debug_checks``: i64 count, then for
       each pointer argument the i64 addresses where its array starts and ends, compared as unsigned; 0 otherwise
5      address of ``i32 ask(ptr context, i32 news)``, or 0: what a program calls now and then that waits for another
       one; ``news`` says whether memory has changed since the last time. 0: go on; 1: the launch is over; 2: nobody
       can go on. Other questions are those of programs of a group (``context_fields``). Fields 5 to 7 are for kernels
       with ``metadata["may_wait"]``, and for regions
6      i64 number of the program that runs
7      i64 end of the range; ``ask`` lowers it when it gives programs that have not begun to another thread
8..10  of a program that asks: the number of the check of its wait or 0, the address that it looks at, what it saw
11     address of 8 bytes that the launch's programs share, 0 at first: the barrier of the grid of CUDA's cooperative
       groups; or 0, for programs that run one after the other
12     address of the group's record (``convert/groups``), of programs that run together
13     i64 number of the program in its group
14     address of the program's log (``convert/access_log``), or 0
15     i64 bytes of the scratch memory of a program that is in no group: those of a group stand in its record
16..43 words like field 2, one for each worker of specialised warps, whose regions run between others' steps
====== =======================================================================================================
"""
