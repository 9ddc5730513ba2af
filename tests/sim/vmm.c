/* Memory of cuMemCreate: handles of it, and file descriptors that stand for it. It lies in
 * the job's file like other memory, and is counted until the last process has neither a
 * handle nor a mapping. A descriptor is a small file that says which memory is meant;
 * unlike the real one it does not keep the memory by itself. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/sim/sim.h"

#define FILE_MAGIC 0x677075626966640au
#define GRANULARITY ((size_t)2 << 20)

/* What the file of a descriptor holds. */
struct content {
    uint64_t magic, job;
    int32_t entry;
    uint32_t generation;
};

static struct vmm *all;
static unsigned long long last_handle;

bool vmm_is_there(void)
{
    const char *value = getenv("GPUBIND_SIM_CUMEM");

    if (value && *value && strcasecmp(value, "no") != 0)
        sim_die("GPUBIND_SIM_CUMEM=%s is not no", value);
    return !value || !*value;
}

static struct vmm *add(int entry, bool exportable, bool imported)
{
    const struct job_allocation a = job_look(entry);
    struct vmm *vmm = calloc(1, sizeof *vmm);

    if (!vmm)
        sim_die("no memory");
    *vmm = (struct vmm){
        all, ++last_handle, entry, a.generation, a.device, a.nbytes, exportable, imported, 1, 0};
    all = vmm;
    return vmm;
}

struct vmm *vmm_of(unsigned long long handle)
{
    struct vmm *vmm = all;

    while (vmm && (vmm->handle != handle || vmm->handles == 0))
        vmm = vmm->next;
    return vmm;
}

void vmm_let_go(struct vmm *vmm)
{
    struct vmm **link = &all;

    if (vmm->handles > 0 || vmm->mappings > 0)
        return;
    while (*link != vmm)
        link = &(*link)->next;
    *link = vmm->next;
    job_let_go(vmm->entry);
    free(vmm);
}

/* CUDA_OK, and the device that is meant. */
static int check(const struct cuda_memory_properties *wanted, int *physical)
{
    const int known = CUDA_FILE_DESCRIPTOR;

    if (!vmm_is_there())
        return SIM_NOT_SUPPORTED;
    if (wanted->type != CUDA_PINNED || wanted->location.type != CUDA_LOCATION_DEVICE ||
        wanted->handle_types & ~known || wanted->metadata || wanted->compression || wanted->usage)
        return CUDA_INVALID_VALUE;
    if (wanted->location.id < 0 || wanted->location.id >= device_count())
        return SIM_INVALID_DEVICE;
    *physical = device_physical(wanted->location.id);
    return CUDA_OK;
}

int cuMemGetAllocationGranularity(size_t *nbytes, const struct cuda_memory_properties *wanted,
                                  int which)
{
    int physical, result = sim_enter(CALL_cuMemGetAllocationGranularity);

    if (result)
        return result;
    result = check(wanted, &physical);
    if (!result && which != CUDA_GRANULARITY_MINIMUM && which != 1)
        result = CUDA_INVALID_VALUE;
    if (!result)
        *nbytes = GRANULARITY;
    return sim_leave(result);
}

int cuMemCreate(unsigned long long *handle, size_t nbytes,
                const struct cuda_memory_properties *wanted, unsigned long long flags)
{
    int physical = 0, entry = -1, result = sim_enter(CALL_cuMemCreate);

    if (result)
        return result;
    result = check(wanted, &physical);
    if (!result && (flags || !nbytes || nbytes % GRANULARITY))
        result = CUDA_INVALID_VALUE;
    if (!result)
        result = job_allocate(physical, nbytes, &entry);
    if (result)
        return sim_leave(result);
    job_share(entry);
    *handle = add(entry, wanted->handle_types == CUDA_FILE_DESCRIPTOR, false)->handle;
    return sim_leave(CUDA_OK);
}

int cuMemRelease(unsigned long long handle)
{
    int result = sim_enter(CALL_cuMemRelease);
    struct vmm *vmm;

    if (result)
        return result;
    vmm = vmm_of(handle);
    if (!vmm)
        return sim_leave(CUDA_INVALID_VALUE);
    vmm->handles--;
    vmm_let_go(vmm);
    return sim_leave(CUDA_OK);
}

/* ---- descriptors */

static int make_file(const struct vmm *vmm)
{
    const struct content content = {FILE_MAGIC, job_identity(), vmm->entry, vmm->generation};
    int fd = memfd_create("gpubind-sim-memory", SIM_MEMFD);

    if (fd < 0 || pwrite(fd, &content, sizeof content, 0) != sizeof content)
        sim_die("no file for a descriptor: %s", strerror(errno));
    return fd;
}

int cuMemExportToShareableHandle(void *to, unsigned long long handle, int type,
                                 unsigned long long flags)
{
    int fd, result = sim_enter(CALL_cuMemExportToShareableHandle);
    const struct vmm *vmm;

    if (result)
        return result;
    vmm = vmm_of(handle);
    if (!vmm || !vmm->exportable || type != CUDA_FILE_DESCRIPTOR || flags)
        return sim_leave(CUDA_INVALID_VALUE);
    fd = make_file(vmm);
    memcpy(to, &fd, sizeof fd);
    return sim_leave(CUDA_OK);
}

static struct vmm *find(const struct content *content)
{
    struct vmm *vmm = all;

    while (vmm && (vmm->entry != content->entry || vmm->generation != content->generation))
        vmm = vmm->next;
    return vmm;
}

/* The same memory has one number in a process, however often it is imported. */
static int import(int fd, struct vmm **vmm)
{
    struct content content;

    if (pread(fd, &content, sizeof content, 0) != sizeof content || content.magic != FILE_MAGIC ||
        content.job != job_identity())
        return CUDA_INVALID_VALUE;
    *vmm = find(&content);
    if (*vmm) {
        (*vmm)->handles++;
        return CUDA_OK;
    }
    if (!job_hold_shared(content.entry, content.generation))
        return CUDA_INVALID_VALUE;
    *vmm = add(content.entry, true, true);
    return CUDA_OK;
}

int cuMemImportFromShareableHandle(unsigned long long *handle, void *from, int type)
{
    int result = sim_enter(CALL_cuMemImportFromShareableHandle);
    struct vmm *vmm = NULL;

    if (result)
        return result;
    if (!vmm_is_there())
        result = SIM_NOT_SUPPORTED;
    else if (type != CUDA_FILE_DESCRIPTOR)
        result = CUDA_INVALID_VALUE;
    else
        result = import((int)(intptr_t)from, &vmm);
    if (!result)
        *handle = vmm->handle;
    return sim_leave(result);
}
