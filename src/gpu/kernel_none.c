#include "gpu/kernel_image.h"

#include <stddef.h>

const void *const kernel_image = NULL;
