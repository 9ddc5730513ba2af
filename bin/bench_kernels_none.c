#include <stddef.h>

#include "bin/bench_launch.h"

const void *const bench_kernel_image = NULL;
