/* Allocations: device memory, pool memory, managed memory, page-locked host memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/sim/sim.h"

static size_t whole_pages(size_t nbytes)
{
    return (nbytes + SIM_PAGE - 1) / SIM_PAGE * SIM_PAGE;
}

static void *page_of(const struct range *range)
{
    return (void *)(range->start - range->start % SIM_PAGE);
}

/* The memory a second time, at its own addresses. By the system call: UCX intercepts mremap, and drops its last
 * argument. */
static void open_to_host(const struct range *range)
{
    if (sim_number("GPUBIND_SIM_OPEN", 0, 1) &&
        syscall(SYS_mremap, range->alias - range->start % SIM_PAGE, 0, range->mapped,
                MREMAP_MAYMOVE | MREMAP_FIXED, page_of(range)) < 0)
        sim_die("mremap: %s", strerror(errno));
}

static void close_to_host(const struct range *range)
{
    if (sim_number("GPUBIND_SIM_OPEN", 0, 1) &&
        mmap(page_of(range), range->mapped, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        sim_die("mmap: %s", strerror(errno));
}

/* A new range of the context's device. */
static int allocate(enum range_kind kind, size_t nbytes, struct CUctx_st *context,
                    struct range **range)
{
    size_t lead = range_lead(nbytes), mapped = whole_pages(lead + nbytes);
    uintptr_t start;
    int entry, result;

    if (!nbytes)
        return CUDA_INVALID_VALUE;
    if (nbytes > device_memory())
        return CUDA_OUT_OF_MEMORY;
    result = job_allocate(context->physical, mapped, &entry);
    if (result)
        return result;
    start = lead + range_address(mapped, true);
    *range = range_add(kind, start, nbytes, context);
    (*range)->mapped = mapped;
    (*range)->entry = entry;
    (*range)->alias = lead + job_map(entry);
    job_place(entry, start - lead);
    open_to_host(*range);
    return CUDA_OK;
}

/* Another mapping of this process may show the same memory: one per context. */
static bool is_mapped_elsewhere(const struct range *range)
{
    const struct range *other;

    for (int i = 0; (other = range_at(i)); i++)
        if (other != range && other->kind == RANGE_IMPORTED && other->entry == range->entry)
            return true;
    return false;
}

void range_release(struct range *range)
{
    char *page = range->alias - range->start % SIM_PAGE;

    switch (range->kind) {
    case RANGE_DEVICE:
    case RANGE_POOL:
        munmap(page, range->mapped);
        close_to_host(range);
        job_disown(range->entry);
        break;
    case RANGE_IMPORTED:
        munmap(page, range->mapped);
        if (!is_mapped_elsewhere(range))
            job_let_go(range->entry);
        break;
    case RANGE_MAPPED:
        munmap(range->alias, range->mapped);
        range->vmm->mappings--;
        vmm_let_go(range->vmm);
        break;
    case RANGE_MANAGED:
    case RANGE_HOST:
        munmap(range->alias, range->mapped);
        break;
    case RANGE_REGISTERED:
        break;
    }
    range_remove(range);
}

struct freed_memory {
    struct freed_memory *next;
    int entry;
};

void range_release_in(struct CUstream_st *stream, struct range *range)
{
    struct freed_memory *freed;

    if (range->kind != RANGE_DEVICE) {
        range_release(range);
        return;
    }
    freed = malloc(sizeof *freed);
    if (!freed)
        sim_die("no memory");
    *freed = (struct freed_memory){stream->freed, range->entry};
    stream->freed = freed;
    munmap(range->alias - range->start % SIM_PAGE, range->mapped);
    close_to_host(range);
    job_check_unheld(range->entry);
    range_remove(range);
}

void stream_return_memory(struct CUstream_st *stream)
{
    while (stream->freed) {
        struct freed_memory *freed = stream->freed;

        stream->freed = freed->next;
        job_disown(freed->entry);
        free(freed);
    }
}

void range_release_all(const struct CUctx_st *context)
{
    int i = 0;
    struct range *range;

    while ((range = range_at(i)) != NULL) {
        if (range->context == context)
            range_release(range);
        else
            i++;
    }
}

int cuMemAlloc_v2(cuda_address *address, size_t nbytes)
{
    int result = sim_enter(CALL_cuMemAlloc_v2);
    struct CUctx_st *context;
    struct range *range;

    if (result)
        return result;
    result = context_current(&context);
    if (!result)
        result = allocate(RANGE_DEVICE, nbytes, context, &range);
    if (!result)
        *address = range->start;
    return sim_leave(result);
}

/* Waits for all streams of the context, but not with memory of a pool: work that still uses
 * that is the caller's mistake. */
int cuMemFree_v2(cuda_address address)
{
    int result = sim_enter(CALL_cuMemFree_v2);
    struct range *range;

    if (result)
        return result;
    if (!address)
        return sim_leave(CUDA_OK);
    range = range_find(address);
    if (!range || range->start != address || !range_on_device(range) ||
        range->kind == RANGE_IMPORTED || range->kind == RANGE_MAPPED)
        return sim_leave(CUDA_INVALID_VALUE);
    if (range->kind != RANGE_POOL) {
        lock_take(true);
        context_wait(range->context);
        lock_give(true);
    }
    range_release(range);
    return sim_leave(CUDA_OK);
}

int cuMemAllocAsync(cuda_address *address, size_t nbytes, struct CUstream_st *handle)
{
    int result = sim_enter(CALL_cuMemAllocAsync);
    struct CUstream_st *stream;
    struct range *range;

    if (result)
        return result;
    result = stream_use(handle, &stream);
    if (!result)
        result = allocate(RANGE_POOL, nbytes, stream->context, &range);
    if (!result)
        *address = range->start;
    return sim_leave(result);
}

int cuMemFreeAsync(cuda_address address, struct CUstream_st *handle)
{
    int result = sim_enter(CALL_cuMemFreeAsync);
    struct CUstream_st *stream;
    struct operation *op;
    struct range *range;

    if (result)
        return result;
    result = stream_use(handle, &stream);
    if (result || !address)
        return sim_leave(result);
    range = range_find(address);
    if (!range || range->start != address ||
        (range->kind != RANGE_POOL && range->kind != RANGE_DEVICE))
        return sim_leave(CUDA_INVALID_VALUE);
    op = operation_new(CALL_cuMemFreeAsync, 0);
    op->freed.range = range;
    range->leaving = true;
    stream_submit(stream, op);
    return sim_leave(CUDA_OK);
}

/* Memory that host and device can reach at the same address. */
static int allocate_host(enum range_kind kind, size_t nbytes, void **bytes)
{
    struct CUctx_st *context;
    struct range *range;
    int result = context_current(&context);

    if (!result && !nbytes)
        result = CUDA_INVALID_VALUE;
    if (result)
        return result;
    *bytes = mmap(NULL, whole_pages(nbytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                  0);
    if (*bytes == MAP_FAILED)
        return CUDA_OUT_OF_MEMORY;
    range = range_add(kind, (uintptr_t)*bytes, nbytes, context);
    range->mapped = whole_pages(nbytes);
    range->alias = *bytes;
    return CUDA_OK;
}

int cuMemAllocManaged(cuda_address *address, size_t nbytes, unsigned flags)
{
    int result = sim_enter(CALL_cuMemAllocManaged);
    void *bytes = NULL;

    if (result)
        return result;
    result = flags == 1 || flags == 2 ? allocate_host(RANGE_MANAGED, nbytes, &bytes)
                                      : CUDA_INVALID_VALUE;
    if (!result)
        *address = (uintptr_t)bytes;
    return sim_leave(result);
}

int cuMemHostAlloc(void **bytes, size_t nbytes, unsigned flags)
{
    int result = sim_enter(CALL_cuMemHostAlloc);

    if (result)
        return result;
    return sim_leave(flags > 7 ? CUDA_INVALID_VALUE : allocate_host(RANGE_HOST, nbytes, bytes));
}

int cuMemFreeHost(void *bytes)
{
    int result = sim_enter(CALL_cuMemFreeHost);
    struct range *range;

    if (result)
        return result;
    range = range_find((uintptr_t)bytes);
    if (!range || range->alias != bytes || range->kind != RANGE_HOST)
        return sim_leave(CUDA_INVALID_VALUE);
    context_wait(range->context);
    range_release(range);
    return sim_leave(CUDA_OK);
}

static bool is_mapped(uintptr_t start, size_t nbytes)
{
    uintptr_t page = start - start % SIM_PAGE;

    return msync((void *)page, whole_pages(start + nbytes - page), MS_ASYNC) == 0;
}

int cuMemHostRegister_v2(void *bytes, size_t nbytes, unsigned flags)
{
    int result = sim_enter(CALL_cuMemHostRegister_v2);
    uintptr_t start = (uintptr_t)bytes;
    struct CUctx_st *context;

    if (result)
        return result;
    result = context_current(&context);
    if (!result && (!nbytes || flags > 15 || range_is_device_address(start)))
        result = CUDA_INVALID_VALUE;
    if (!result && range_overlaps(start, nbytes))
        result = CUDA_ALREADY_REGISTERED;
    if (!result && !is_mapped(start, nbytes))
        result = CUDA_INVALID_VALUE;
    if (!result)
        range_add(RANGE_REGISTERED, start, nbytes, context)->alias = bytes;
    return sim_leave(result);
}

/* Waits for all streams of the context. Work that still uses the memory is the caller's
 * mistake all the same. */
int cuMemHostUnregister(void *bytes)
{
    int result = sim_enter(CALL_cuMemHostUnregister);
    struct CUctx_st *context;
    struct range *range;

    if (result)
        return result;
    range = range_find((uintptr_t)bytes);
    if (!range || range->kind != RANGE_REGISTERED)
        return sim_leave(SIM_NOT_REGISTERED);
    if (range->alias != bytes)
        return sim_leave(CUDA_INVALID_VALUE);
    context = range->context;
    range_release(range);
    context_wait(context);
    return sim_leave(CUDA_OK);
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    int result = sim_enter(CALL_cuMemGetInfo_v2);
    struct CUctx_st *context;

    if (result)
        return result;
    result = context_current(&context);
    if (result)
        return sim_leave(result);
    *total = device_memory();
    *free_bytes = *total - job_used(context->physical);
    return sim_leave(CUDA_OK);
}
