/* GPU memory that a rank shows the others of a window (window.h). */
#include <stdio.h>

#include "aware/memory/gpu_buffer.h"
#include "aware/message/direct_export.h"
#include "aware/rma/window.h"

int window_is_far(const void *base)
{
    fprintf(stderr,
            "gpubind: MPI_Win_attach: the memory at %p is on a GPU, which a dynamic window over "
            "several nodes can have if one of its ranks used CUDA before it was made, with "
            "GPUBIND_WIN_DYNAMIC=cuda or one program under Open MPI's mpirun\n",
            base);
    return MPI_ERR_BUFFER;
}

void window_say_full(void)
{
    fprintf(stderr,
            "gpubind: MPI_Win_attach: a window has at most %d pieces of GPU memory a rank\n",
            WINDOW_REGIONS);
}

bool window_is_gpu_memory(const void *base)
{
    return gpu_is_in_use() && buffer_is_on_gpu(base);
}

bool window_add_region(struct window *window, void *base, MPI_Aint nbytes)
{
    struct window_region *region = window->share->regions, *end = region + WINDOW_REGIONS;
    struct allocation allocation;

    while (region < end && window_region_is_used(region))
        region++;
    if (region == end)
        return false;
    region->start = (uintptr_t)base;
    region->nbytes = (uint64_t)nbytes;
    if (!gpu_is_in_use() || !buffer_allocation(base, &allocation) ||
        !direct_export(base, (size_t)nbytes, &allocation, &region->memory))
        region->memory.id = 0;
    atomic_fetch_add(&region->used, 1);
    return true;
}

int window_attach(struct window *window, void *base, MPI_Aint nbytes)
{
    bool added;

    pthread_mutex_lock(&window->lock);
    added = window_add_region(window, base, nbytes);
    pthread_mutex_unlock(&window->lock);
    if (added)
        return MPI_SUCCESS;
    window_say_full();
    return MPI_ERR_RMA_ATTACH;
}

bool window_detach(struct window *window, const void *base)
{
    struct window_region *found = NULL;

    if (!window->dynamic)
        return false;
    pthread_mutex_lock(&window->lock);
    for (int i = 0; i < WINDOW_REGIONS && !found; i++)
        if (window_region_is_used(&window->share->regions[i]) &&
            window->share->regions[i].start == (uintptr_t)base)
            found = &window->share->regions[i];
    if (found)
        atomic_fetch_add(&found->used, 1);
    pthread_mutex_unlock(&window->lock);
    return found != NULL;
}
