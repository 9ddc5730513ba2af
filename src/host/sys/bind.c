/* Binds this process to CPUs and memory. */
#include "host/sys/bind.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Since Linux 5.15; missing from older headers. */
#define PREFERRED_MANY 5
#define MAX_NODES 1024
#define WORD_BITS (8 * sizeof(unsigned long))

int bind_cpus(const struct idset *cpus)
{
    size_t size = CPU_ALLOC_SIZE(IDSET_MAX);
    cpu_set_t *set = CPU_ALLOC(IDSET_MAX);
    int status;

    if (!set)
        return -1;
    CPU_ZERO_S(size, set);
    for (int cpu = idset_next(cpus, -1); cpu >= 0; cpu = idset_next(cpus, cpu))
        CPU_SET_S((size_t)cpu, size, set);
    status = sched_setaffinity(0, size, set);
    CPU_FREE(set);
    return status;
}

int bind_memory(const struct idset *nodes)
{
    unsigned long mask[MAX_NODES / WORD_BITS] = {0};
    int mode = idset_count(nodes) > 1 ? PREFERRED_MANY : MPOL_PREFERRED;

    for (int n = idset_next(nodes, -1); n >= 0 && n < MAX_NODES; n = idset_next(nodes, n))
        mask[(size_t)n / WORD_BITS] |= 1UL << ((size_t)n % WORD_BITS);
    if (syscall(SYS_set_mempolicy, mode, mask, (unsigned long)MAX_NODES) == 0)
        return 0;
    /* Older kernels prefer one node only. Their default is memory next to the core that
     * asks for it, and these are cores next to the nodes. */
    return mode == PREFERRED_MANY && errno == EINVAL
               ? (int)syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0UL)
               : -1;
}

bool bind_has_memory_policy(void)
{
    int mode = MPOL_DEFAULT;

    return syscall(SYS_get_mempolicy, &mode, NULL, 0UL, NULL, 0UL) == 0 && mode != MPOL_DEFAULT;
}

int bind_read_memory(struct idset *nodes)
{
    unsigned long mask[MAX_NODES / WORD_BITS] = {0};
    int mode = MPOL_DEFAULT;

    idset_clear(nodes);
    if (syscall(SYS_get_mempolicy, &mode, mask, (unsigned long)MAX_NODES, NULL, 0UL) < 0)
        return -1;
    if (mode == MPOL_DEFAULT)
        return 0;
    for (int n = 0; n < MAX_NODES; n++)
        if (mask[(size_t)n / WORD_BITS] >> ((size_t)n % WORD_BITS) & 1)
            idset_add(nodes, n);
    return 0;
}
