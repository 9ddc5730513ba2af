#include "mpi/base/modules.h"

#include <stddef.h>

static const struct module *const none[] = {NULL}, *const *table = none;

void modules_are(const struct module *const *modules)
{
    table = modules;
    for_each_module (at)
        if ((*at)->start)
            (*at)->start();
}

const struct module *const *modules_first(void)
{
    return table;
}
