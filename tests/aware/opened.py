"""opened.py LIBRARY: two ranks pass GPU memory by functions that are asked of the handle of a library, as Julia's MPI.jl
has them, and not found by the loader. Rank 1 prints whether they are right."""
import ctypes
import sys

COUNT = 50000
library = ctypes.CDLL(sys.argv[1])
cuda = ctypes.CDLL("libcuda.so.1")


def handles():
    """MPI_COMM_WORLD, MPI_INT and MPI_STATUS_IGNORE of the MPI's ABI: Open MPI's, else MPICH's."""
    try:
        world, number = (ctypes.c_char.in_dll(library, name) for name in ("ompi_mpi_comm_world", "ompi_mpi_int"))
    except ValueError:
        return ctypes.c_int(0x44000000), ctypes.c_int(0x4C000405), ctypes.c_void_p(1)
    return ctypes.byref(world), ctypes.byref(number), None


def succeed(status, what):
    if status:
        sys.exit(f"{what} returns {status}")


def gpu_memory(nbytes):
    device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    succeed(cuda.cuInit(0), "cuInit")
    succeed(cuda.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
    succeed(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
    succeed(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    succeed(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(nbytes)), "cuMemAlloc")
    return memory


world, number, no_status = handles()
numbers = (ctypes.c_int * COUNT)()
size = ctypes.c_size_t(ctypes.sizeof(numbers))
rank = ctypes.c_int()
succeed(library.MPI_Init(None, None), "MPI_Init")
succeed(library.MPI_Comm_rank(world, ctypes.byref(rank)), "MPI_Comm_rank")
memory = gpu_memory(size.value)
if rank.value == 0:
    numbers[:] = range(COUNT)
    succeed(cuda.cuMemcpyHtoD_v2(memory, numbers, size), "cuMemcpyHtoD")
    succeed(library.MPI_Send(memory, COUNT, number, 1, 7, world), "MPI_Send")
elif rank.value == 1:
    succeed(library.MPI_Recv(memory, COUNT, number, 0, 7, world, no_status), "MPI_Recv")
    succeed(cuda.cuMemcpyDtoH_v2(numbers, memory, size), "cuMemcpyDtoH")
    print("right" if list(numbers) == list(range(COUNT)) else "wrong", flush=True)
succeed(library.MPI_Finalize(), "MPI_Finalize")
