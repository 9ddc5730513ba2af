/* In the place of src/host/sys/bind.c: directives are read, and nothing is bound. */
#include "host/sys/bind.h"

int bind_cpus(const struct idset *cpus)
{
    (void)cpus;
    return 0;
}

int bind_memory(const struct idset *nodes)
{
    (void)nodes;
    return 0;
}

bool bind_has_memory_policy(void)
{
    return false;
}

int bind_read_memory(struct idset *nodes)
{
    idset_clear(nodes);
    return 0;
}
