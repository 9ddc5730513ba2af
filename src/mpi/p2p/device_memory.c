/* GPU memory that the library allocates and frees. */
#include "mpi/p2p/device_memory.h"

#include "gpu/core/gpu_calls.h"
#include "mpi/base/modules.h"
#include "mpi/core/ipc_refs.h"
#include "mpi/core/progress.h"
#include "mpi/datatype/pack_pool.h"

static bool nothing_waits(const void *unused)
{
    (void)unused;
    return releases_pending() == 0 && gpu_frees_are_done();
}

int memory_allocate(void **buf, size_t nbytes, struct gpubind_error *err)
{
    struct gpu *gpu = gpu_current(err);

    return gpu ? memory_allocate_on(gpu, buf, nbytes, err) : MPI_ERR_OTHER;
}

int memory_allocate_on(struct gpu *gpu, void **buf, size_t nbytes, struct gpubind_error *err)
{
    gpu_address address = 0;
    bool entered;
    int status;

    entered = gpu_enter(gpu);
    gpu_agents_leave();
    status = gpu_mem_alloc(&address, nbytes);
    if (status == GPU_OUT_OF_MEMORY) { /* memory whose peers have not let go yet? */
        pack_pool_free();
        ipc_refs_sweep();
        progress_wait_for(nothing_waits, NULL, MEMORY_PATIENCE);
        status = gpu_mem_alloc(&address, nbytes);
    }
    gpu_leave(entered);
    if (status != GPU_OK) {
        struct gpubind_error why;

        gpu_error(status, "cuMemAlloc", &why);
        error_set(err, "%zu bytes of GPU memory cannot be allocated (%.200s)", nbytes, why.text);
        return MPI_ERR_NO_MEM;
    }
    *buf = (void *)(uintptr_t)address;
    return MPI_SUCCESS;
}

int memory_check_unpaired(const void *buf, const struct memory *memory, struct gpubind_error *err)
{
    bool held = false;

    for_each_module (at)
        held |= memory->gpu && (*at)->holds_memory && (*at)->holds_memory(memory->id);
    if (!held)
        return MPI_SUCCESS;
    error_set(err, "the memory at %p is set up for persistent messages: free their requests first",
              buf);
    return MPI_ERR_BUFFER;
}

int memory_free_later(void *buf, struct gpubind_error *err)
{
    struct memory memory;
    struct release *release;

    if (memory_of(buf, &memory, err) < 0)
        return MPI_ERR_OTHER;
    if (!memory.gpu || memory.start != memory.address) {
        error_set(err, "the pointer %p is not what gpubind_alloc or gpubind_recv_alloc gave", buf);
        return MPI_ERR_BUFFER;
    }
    if (memory_check_unpaired(buf, &memory, err) != MPI_SUCCESS)
        return MPI_ERR_BUFFER;
    release = ipc_refs_release(memory.id, memory.start, memory.gpu);
    if (release)
        release_forget(release);
    return MPI_SUCCESS;
}
