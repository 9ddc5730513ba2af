#include "mpi/memory_calls.h"

#include "cuda/memory.h"
#include "mpi/buffers.h"
#include "mpi/engine.h"
#include "mpi/gpubind.h"
#include "mpi/library.h"
#include "mpi/pairs.h"
#include "mpi/shares.h"

#define PATIENCE 10.0 /* seconds for peers that make no call of the library */

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
    cuda_address address = 0;
    bool entered;
    int status;

    entered = gpu_enter(gpu);
    status = gpu_driver()->cuMemAlloc_v2(&address, nbytes);
    if (status == CUDA_OUT_OF_MEMORY) { /* memory whose peers have not let go yet? */
        buffers_free();
        shares_sweep();
        engine_wait_for(nothing_waits, NULL, PATIENCE);
        status = gpu_driver()->cuMemAlloc_v2(&address, nbytes);
    }
    gpu_leave(entered);
    if (status != CUDA_OK) {
        struct gpubind_error why;

        gpu_error(status, "cuMemAlloc", &why);
        error_set(err, "%zu bytes of GPU memory cannot be allocated (%.200s)", nbytes, why.text);
        return MPI_ERR_NO_MEM;
    }
    *buf = (void *)(uintptr_t)address;
    return MPI_SUCCESS;
}

/* The GPUs of others may write to it without being asked. */
static int check_unpaired(const void *buf, const struct memory *memory, struct gpubind_error *err)
{
    if (!memory->gpu || !pairs_hold(memory->id))
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
    if (check_unpaired(buf, &memory, err) != MPI_SUCCESS)
        return MPI_ERR_BUFFER;
    release = shares_release(memory.id, memory.start, memory.gpu);
    if (release)
        release_forget(release);
    return MPI_SUCCESS;
}

int gpubind_alloc(void **buf, size_t nbytes)
{
    struct gpubind_error err;
    int result = MPI_SUCCESS;

    library_enter();
    *buf = NULL;
    if (nbytes > 0)
        result = memory_allocate(buf, nbytes, &err);
    return library_leave(MPI_COMM_WORLD, result, "gpubind_alloc", &err);
}

int gpubind_free(void *buf)
{
    struct gpubind_error err;
    int result = MPI_SUCCESS;

    library_enter();
    if (buf)
        result = memory_free_later(buf, &err);
    if (library_started())
        engine_progress();
    return library_leave(MPI_COMM_WORLD, result, "gpubind_free", &err);
}

static bool is_released(const void *release)
{
    return release_pending(release) == 0;
}

static int release_now(const void *ptr, struct gpubind_error *err)
{
    struct memory memory;
    struct release *release;
    bool released = true;

    if (memory_of(ptr, &memory, err) < 0)
        return MPI_ERR_OTHER;
    if (!memory.gpu)
        return MPI_SUCCESS; /* nobody can have mapped it */
    if (check_unpaired(ptr, &memory, err) != MPI_SUCCESS)
        return MPI_ERR_BUFFER;
    release = shares_release(memory.id, 0, NULL);
    if (!release)
        return MPI_SUCCESS;
    released = engine_wait_for(is_released, release, PATIENCE);
    if (!released)
        error_set(err, "%d ranks have mapped the memory at %p and made no call of gpubind for "
                  "%.0f s", release_pending(release), ptr, PATIENCE);
    release_forget(release);
    return released ? MPI_SUCCESS : MPI_ERR_OTHER;
}

int gpubind_release(const void *ptr)
{
    struct gpubind_error err;
    int result;

    library_enter();
    result = library_started() ? release_now(ptr, &err) : MPI_SUCCESS;
    return library_leave(MPI_COMM_WORLD, result, "gpubind_release", &err);
}
