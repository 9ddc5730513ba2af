/* Handles of device memory, and mappings of other processes' memory. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tests/sim/sim.h"

#define HANDLE_MAGIC 0x6770756269706331u

/* What the 64 bytes of a handle hold here. */
struct handle {
    uint64_t magic, job;
    uint64_t nbytes;
    int32_t entry;
    uint32_t generation;
};
_Static_assert(sizeof(struct handle) <= sizeof(struct cuda_ipc_handle), "a handle has room");

int cuIpcGetMemHandle(struct cuda_ipc_handle *handle, cuda_address address)
{
    int result = sim_enter(CALL_cuIpcGetMemHandle);
    struct CUctx_st *context;
    struct range *range;
    struct handle content = {.magic = HANDLE_MAGIC};

    if (result)
        return result;
    result = context_current(&context);
    if (result)
        return sim_leave(result);
    range = range_find(address);
    if (!range || range->kind != RANGE_DEVICE)
        return sim_leave(CUDA_INVALID_VALUE);
    content.job = job_identity();
    content.nbytes = range->nbytes;
    content.entry = range->entry;
    content.generation = job_look(range->entry).generation;
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &content, sizeof content);
    return sim_leave(CUDA_OK);
}

/* What GPUBIND_SIM_IPC makes of opening. */
static int refusal(void)
{
    const char *value = getenv("GPUBIND_SIM_IPC");

    if (!value || !*value)
        return CUDA_OK;
    if (strcasecmp(value, "refuse") == 0)
        return SIM_NOT_SUPPORTED;
    return (int)sim_number("GPUBIND_SIM_IPC", 0, SIM_UNKNOWN);
}

static struct range *find_opened(const struct handle *content, const struct CUctx_st *context)
{
    struct range *range;

    for (int i = 0; (range = range_at(i)); i++)
        if (range->kind == RANGE_IMPORTED && range->context == context &&
            range->entry == content->entry &&
            job_look(range->entry).generation == content->generation)
            return range;
    return NULL;
}

/* What its owner has freed, and this process still has open, at addresses that are those of the new one now: as the
 * driver has it. */
static bool is_in_the_way(const struct handle *content, const struct CUctx_st *context)
{
    const struct job_allocation a = job_look(content->entry);
    struct range *range;

    for (int i = 0; (range = range_at(i)); i++) {
        struct job_allocation old;

        if (range->kind != RANGE_IMPORTED || range->context != context)
            continue;
        old = job_look(range->entry);
        if (range->entry != content->entry && old.owner == a.owner && old.address && a.address &&
            old.address < a.address + a.nbytes && a.address < old.address + old.nbytes)
            return true;
    }
    return false;
}

static int open_new(const struct handle *content, struct CUctx_st *context, struct range **range)
{
    struct job_allocation a;
    uintptr_t page;
    size_t lead = range_lead(content->nbytes);

    if (is_in_the_way(content, context))
        return CUDA_ALREADY_MAPPED;
    if (!job_hold(content->entry, content->generation))
        return CUDA_INVALID_VALUE;
    a = job_look(content->entry);
    page = range_address(a.nbytes, false);
    *range = range_add(RANGE_IMPORTED, page + lead, content->nbytes, context);
    (*range)->mapped = a.nbytes;
    (*range)->entry = content->entry;
    (*range)->alias = job_map(content->entry) + lead;
    return CUDA_OK;
}

static int open_handle(const struct cuda_ipc_handle *handle, unsigned flags, cuda_address *address)
{
    struct CUctx_st *context;
    struct handle content;
    struct range *range;
    int result = context_current(&context);

    if (!result)
        result = refusal();
    if (!result && flags != CUDA_IPC_LAZY_PEER)
        result = CUDA_INVALID_VALUE;
    if (result)
        return result;
    memcpy(&content, handle, sizeof content);
    if (content.magic != HANDLE_MAGIC || content.job != job_identity())
        return CUDA_INVALID_VALUE;
    if (job_owns(content.entry, content.generation))
        return SIM_INVALID_CONTEXT;
    if (!device_reaches(context->physical, job_look(content.entry).device))
        return SIM_PEER_UNSUPPORTED;
    range = find_opened(&content, context);
    if (!range)
        result = open_new(&content, context, &range);
    if (result)
        return result;
    range->opened++;
    *address = range->start;
    return CUDA_OK;
}

int cuIpcOpenMemHandle_v2(cuda_address *address, struct cuda_ipc_handle handle, unsigned flags)
{
    int result = sim_enter(CALL_cuIpcOpenMemHandle_v2);

    if (result)
        return result;
    return sim_leave(open_handle(&handle, flags, address));
}

/* Waits for all streams of the context. Work that still uses the mapping is the caller's
 * mistake all the same. */
int cuIpcCloseMemHandle(cuda_address address)
{
    int result = sim_enter(CALL_cuIpcCloseMemHandle);
    struct CUctx_st *context;
    struct range *range;

    if (result)
        return result;
    result = context_current(&context);
    if (result)
        return sim_leave(result);
    range = range_find(address);
    if (!range || range->kind != RANGE_IMPORTED || range->start != address)
        return sim_leave(CUDA_INVALID_VALUE);
    range->opened--;
    if (!range->opened) {
        range_release(range);
        context_wait(context);
    }
    return sim_leave(CUDA_OK);
}

__attribute__((visibility("default"))) int gpubind_sim_open_mappings(void)
{
    const struct range *range;
    int n = 0;

    sim_lock();
    for (int i = 0; (range = range_at(i)); i++)
        n += range->kind == RANGE_IMPORTED || (range->vmm && range->vmm->imported);
    sim_unlock();
    return n;
}
