"""What calls cost while the program's kernels fill the GPU: more blocks than fit wait in a stream of normal priority.
By hand, with mpi4py and CuPy:

    mpirun -np 2 gpubind --gpu-aware python3 tests/bench/beside.py

A line for each call: microseconds (medians) on idle GPUs, and beside such kernels.
"""
import time

import cupy
import numpy
from mpi4py import MPI

TURNS = 60
SPIN = cupy.RawKernel(r'''
extern "C" __global__ void spin(long long clocks)
{
    const long long begin = clock64();
    while (clock64() - begin < clocks)
        ;
}''', 'spin')
CLOCKS = 40000  # 20 us or so, of each block
WAVES = 400  # 8 ms or so

comm = MPI.COMM_WORLD
rank, other = comm.rank, comm.rank ^ 1
gpu = cupy.cuda.Device()
stream = cupy.cuda.Stream(non_blocking=True)


def ping_pong(buffer):
    if rank == 0:
        comm.Send(buffer, other)
        comm.Recv(buffer, other)
    elif rank == 1:
        comm.Recv(buffer, other)
        comm.Send(buffer, other)


def fill_gpu():
    blocks = gpu.attributes['MultiProcessorCount'] * 2  # of 1024 threads, at once
    with stream:
        SPIN((blocks * WAVES,), (1024,), (numpy.int64(CLOCKS),))


def measure(call, busy):
    """Only calls whose end the kernel has not reached count."""
    times = []
    for _ in range(TURNS):
        gpu.synchronize()
        comm.Barrier()
        if busy:
            fill_gpu()
            time.sleep(0.001)
        begin = time.perf_counter()
        call()
        took = time.perf_counter() - begin
        if busy and stream.done:
            took = float('inf')
        times.append(took * 1e6)
    return float(numpy.median(times))


def main():
    contiguous = cupy.zeros(65536, dtype=cupy.uint8)
    strided = cupy.zeros(1 << 20, dtype=cupy.uint8)
    vector = MPI.BYTE.Create_vector(4096, 16, 64).Commit()
    sums = cupy.ones(1 << 18, dtype=cupy.float32)
    result = cupy.zeros_like(sums)
    calls = [
        ('64 KiB there and back', lambda: ping_pong(contiguous)),
        ('64 KiB in blocks of 16 B, there and back', lambda: ping_pong([strided, 1, vector])),
        ('allreduce of 1 MiB', lambda: comm.Allreduce(sums, result)),
    ]
    for name, call in calls:
        call()
        idle, busy = measure(call, False), measure(call, True)
        if rank == 0:
            print(f'{name:42} {idle:10.1f} idle {busy:10.1f} beside kernels', flush=True)


main()
