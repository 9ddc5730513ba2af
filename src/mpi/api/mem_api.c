/* The calls that allocate, free and release GPU memory. */
#include "mpi/core/context.h"
#include "mpi/core/ipc_refs.h"
#include "mpi/core/progress.h"
#include "mpi/gpubind.h"
#include "mpi/p2p/device_memory.h"

int gpubind_alloc(void **buf, size_t nbytes)
{
    struct gpubind_error err;
    int result = MPI_SUCCESS;

    library_enter("gpubind_alloc");
    *buf = NULL;
    if (nbytes > 0)
        result = memory_allocate(buf, nbytes, &err);
    return library_leave(MPI_COMM_WORLD, result, "gpubind_alloc", &err);
}

int gpubind_free(void *buf)
{
    struct gpubind_error err;
    int result = MPI_SUCCESS;

    library_enter("gpubind_free");
    if (buf)
        result = memory_free_later(buf, &err);
    if (library_started())
        progress_step();
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
        return MPI_SUCCESS; /* host memory: no rank has mapped it */
    if (memory_check_unpaired(ptr, &memory, err) != MPI_SUCCESS)
        return MPI_ERR_BUFFER;
    release = ipc_refs_release(memory.id, 0, NULL);
    if (!release)
        return MPI_SUCCESS;
    released = progress_wait_for(is_released, release, MEMORY_PATIENCE);
    if (!released)
        error_set(err,
                  "%d ranks have mapped the memory at %p and made no call of gpubind for "
                  "%.0f s",
                  release_pending(release), ptr, MEMORY_PATIENCE);
    release_forget(release);
    return released ? MPI_SUCCESS : MPI_ERR_OTHER;
}

int gpubind_release(const void *ptr)
{
    struct gpubind_error err;
    int result;

    library_enter("gpubind_release");
    result = library_started() ? release_now(ptr, &err) : MPI_SUCCESS;
    return library_leave(MPI_COMM_WORLD, result, "gpubind_release", &err);
}
