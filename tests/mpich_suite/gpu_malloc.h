/* Included before each file of MPICH's test suite: its allocations are GPU memory. */
#ifndef GPUBIND_TESTS_MPICH_SUITE_GPU_MALLOC_H
#define GPUBIND_TESTS_MPICH_SUITE_GPU_MALLOC_H

#include <stdlib.h>
#include <string.h>

/* As those of libc where TEST_GPU_MALLOC is not set. Any thread may call them. */
void *gpu_malloc(size_t nbytes);
void *gpu_calloc(size_t n, size_t nbytes);
void *gpu_realloc(void *old, size_t nbytes);
void gpu_free(void *memory);

#ifndef GPU_MALLOC
#define malloc gpu_malloc
#define calloc gpu_calloc
#define realloc gpu_realloc
#define free gpu_free
#endif

#endif
