#!/usr/bin/env python3
"""CuPy arrays in mpi4py's calls, on an MPI that knows nothing of CUDA:

    mpirun -np 4 gpubind --gpu-aware python3 gpu_aware.py

Each rank passes an array round the ring, and all add theirs up."""
import sys

import cupy
from mpi4py import MPI

N = 100000

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
right, left = (rank + 1) % size, (rank - 1) % size

mine = cupy.ones(N, dtype="d") * (rank + 1)
theirs = cupy.zeros(N, dtype="d")
total = cupy.zeros(N, dtype="d")

# MPI reads the arrays at once: what computes them must be done.
cupy.cuda.get_current_stream().synchronize()

world.Sendrecv(mine, dest=right, recvbuf=theirs, source=left)
requests = [world.Iallreduce(mine, total, op=MPI.SUM)]
MPI.Request.Waitall(requests)

wrong = int((theirs != left + 1).sum()) + int((total != size * (size + 1) / 2).sum())
wrong = world.allreduce(wrong)
if rank == 0:
    print(f"{size} ranks: {wrong} numbers are wrong")
sys.exit(wrong > 0)
