/* For the simulated driver, which has the kernels whatever the image is. */
#include "gpu/kernel_image.h"

const void *const kernel_image = "an image";
