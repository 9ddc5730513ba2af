/* What the kernels of the simulated driver do. */
#ifndef GPUBIND_TESTS_SIM_KERNELS_H
#define GPUBIND_TESTS_SIM_KERNELS_H

#include "gpu/exchange/exchange_kernel.h"
#include "tests/sim/sim.h"

#pragma GCC visibility push(hidden)

/* make_: the work of a launch, which stream_submit takes over; they copy the job. */

/* ---- kernels.c */

/* For the operation's error: the kernel would access an illegal address. */
int kernel_fault(void);

struct operation *make_copies(const void *job, unsigned blocks, struct CUstream_st *stream);

/* ---- exchanges.c */

/* The arguments of an exchange, wherever they lie. */
struct exchange {
    unsigned nsends, nreceives, nstrided, posts, waits;
    const struct kernel_send *sends;
    const struct kernel_receive *receives;
    const struct kernel_levels *strided;
    const struct kernel_copy *takes; /* of a deferred exchange, or NULL */
    bool traps;                      /* where flags are broken */
};

/* Not kept yet. */
struct operation *exchange_new(const struct exchange *exchange, struct CUstream_st *stream);

struct operation *make_exchange(const void *job, unsigned blocks, struct CUstream_st *stream);
struct operation *make_layout(const void *job, unsigned blocks, struct CUstream_st *stream);

/* ---- deferred.c */

struct operation *make_deferred(const void *job, unsigned blocks, struct CUstream_st *stream);

/* ---- gathers.c */

struct operation *make_gather(const void *job, unsigned blocks, struct CUstream_st *stream);

/* ---- agents.c */

struct operation *make_agent(const void *job, unsigned blocks, struct CUstream_st *stream);

/* ---- reductions.c */

struct operation *make_reduction(const void *job, unsigned blocks, struct CUstream_st *stream);

/* ---- signals.c */

struct operation *make_signal(const void *job, unsigned blocks, struct CUstream_st *stream);

#pragma GCC visibility pop

#endif
