#include "gpu/copy/strided_launch.h"

#include <string.h>

/* A column of 1 Mi x 8 bytes, two H200: from 32 blocks on more of them gain little (to
 * packed memory 32 us, by 8 blocks 90; to a peer's column 104 and 223). */
#define STRIDED_BLOCKS 32u

bool kernel_can_copy(const struct strided *to, const struct strided *from, uint64_t nbytes)
{
    return (to->levels == 1 && from->levels == 1) ||
           nbytes / strided_unit(to, from, nbytes) <= KERNEL_UNITS_MOST;
}

/* i / n is i * magic / 2^(32 + shift) for every i below 2^31; n is 2 or more. */
static void divide_by(struct kernel_levels *levels, unsigned level, unsigned n)
{
    unsigned bits = 1;

    while ((uint64_t)1 << bits < n)
        bits++;
    levels->n[level] = n;
    levels->shift[level] = bits - 1;
    levels->magic[level] = (unsigned)((((uint64_t)1 << (31 + bits)) + n - 1) / n);
}

void kernel_levels_of(const struct strided *strided, unsigned unit, struct kernel_levels *levels)
{
    const bool single = strided->levels > 1 && strided->n[0] == unit; /* a run is a unit */

    memset(levels, 0, sizeof *levels);
    for (unsigned i = single; i < strided->levels; i++) {
        const unsigned level = levels->levels++;

        levels->stride[level] = i == 0 ? (long long)unit : (long long)strided->stride[i];
        if (i + 1 < strided->levels)
            divide_by(levels, level, (unsigned)(i == 0 ? strided->n[0] / unit : strided->n[i]));
    }
}

struct kernel_copy kernel_copy_of(const struct strided *to, const struct strided *from,
                                  uint64_t nbytes, unsigned parts)
{
    return (struct kernel_copy){.to = to->address,
                                .from = from->address,
                                .nbytes = nbytes,
                                .parts = (unsigned short)parts,
                                .to_levels = KERNEL_CONTIGUOUS,
                                .from_levels = KERNEL_CONTIGUOUS,
                                .unit = 1};
}

void strided_job(struct strided_kernel_job *job, const struct strided *to,
                 const struct strided *from, uint64_t nbytes)
{
    const unsigned unit = strided_unit(to, from, nbytes);
    const uint64_t blocks = (nbytes / unit + STRIDED_KERNEL_THREADS - 1) / STRIDED_KERNEL_THREADS;

    job->copy = kernel_copy_of(to, from, nbytes,
                               blocks < STRIDED_BLOCKS ? (unsigned)blocks : STRIDED_BLOCKS);
    job->copy.unit = (unsigned short)unit;
    job->copy.to_levels = 0;
    job->copy.from_levels = 1;
    kernel_levels_of(to, unit, &job->strided[0]);
    kernel_levels_of(from, unit, &job->strided[1]);
}

int strided_launch(gpu_function kernel, gpu_stream stream, const struct strided *to,
                   const struct strided *from, uint64_t nbytes)
{
    struct strided_kernel_job job;
    void *parameters[] = {&job};

    strided_job(&job, to, from, nbytes);
    return gpu_driver()->cuLaunchKernel(kernel, job.copy.parts, 1, 1, STRIDED_KERNEL_THREADS, 1, 1,
                                        0, stream, parameters, NULL);
}
