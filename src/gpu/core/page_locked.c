#include "gpu/core/page_locked.h"

#include <sys/mman.h>

#include "gpu/core/gpu_context.h"

void *page_locked(size_t nbytes, struct gpubind_error *err)
{
    void *at = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int status;

    if (at == MAP_FAILED) {
        error_set(err, "out of memory");
        return NULL;
    }
    gpu_agents_leave();
    status = gpu_driver()->cuMemHostRegister_v2(at, nbytes, GPU_REGISTER_PORTABLE);
    if (status == GPU_OK)
        return at;
    munmap(at, nbytes);
    gpu_error(status, "memory that streams wait for cannot be page-locked (ulimit -l?)", err);
    return NULL;
}
