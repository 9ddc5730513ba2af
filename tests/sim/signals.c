/* The kernel that copies and then writes flags. */
#include <string.h>

#include "gpu/exchange/signal_kernel.h"
#include "tests/sim/kernels.h"

enum { TO, FROM, FLAGS, PLACES = FLAGS + SIGNAL_KERNEL_FLAGS };

static enum step do_signal(struct operation *op)
{
    const struct signal_kernel_job *job = op->state;

    if (job->nbytes)
        memmove(operation_touch(op, &op->places[TO], "writes"),
                operation_touch(op, &op->places[FROM], "reads"), job->nbytes);
    for (int i = 0; i < SIGNAL_KERNEL_FLAGS; i++)
        if (job->flags[i])
            __atomic_store_n(
                (uint32_t *)(void *)operation_touch(op, &op->places[FLAGS + i], "writes"),
                job->values[i], __ATOMIC_RELEASE);
    return STEP_FINISHED;
}

static bool find(const struct CUctx_st *context, cuda_address start, uint64_t nbytes,
                 struct place *place)
{
    return place_find(CALL_cuLaunchKernel, start, nbytes, place) == CUDA_OK &&
           place_reached(context, place);
}

struct operation *make_signal(const void *parameter, unsigned blocks, struct CUstream_st *stream)
{
    const struct signal_kernel_job *job = parameter;
    struct operation *op = operation_with_step(CALL_cuLaunchKernel, do_signal, PLACES, sizeof *job);
    bool good = true;

    if (blocks != 1)
        sim_die("a kernel of one block in %u", blocks);
    memcpy(op->state, job, sizeof *job);
    if (job->nbytes)
        good = find(stream->context, job->to, job->nbytes, &op->places[TO]) &&
               find(stream->context, job->from, job->nbytes, &op->places[FROM]);
    for (int i = 0; i < SIGNAL_KERNEL_FLAGS; i++)
        if (good && job->flags[i])
            good = job->flags[i] % sizeof(uint32_t) == 0 &&
                   find(stream->context, job->flags[i], sizeof(uint32_t), &op->places[FLAGS + i]);
    if (!good)
        op->error = SIM_ILLEGAL_ADDRESS;
    return op;
}
