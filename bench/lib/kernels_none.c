#include <stddef.h>

#include "bench/lib/kernel_launch.h"

const void *const bench_kernel_image = NULL;
