#include "aware/memory/kernel_start.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/core/kernels.h"
#include "gpu/kernel_table.h"

static void start(void)
{
    const char *blocks = getenv("GPUBIND_COPY_BLOCKS");

    kernel_table_register();
    kernels_allow(!blocks || strcmp(blocks, "0") != 0);
}

void kernel_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, start);
}
