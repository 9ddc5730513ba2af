/* The calls that are measured: the same operations by gpubind and by plain MPI. They abort the job
 * when a call fails. */
#ifndef GPUBIND_BENCH_PT2PT_API_H
#define GPUBIND_BENCH_PT2PT_API_H

#include <mpi.h>

#include "bench/lib/options.h"
#include "mpi/gpubind.h"

#define BENCH_TAG 7

/* Of one API only. */
struct requests {
    int n;
    gpubind_request gpubind[2 * BENCH_MAX_WINDOW];
    MPI_Request mpi[2 * BENCH_MAX_WINDOW];
};

struct api {
    void (*send)(const void *buf, size_t nbytes, int peer);
    void (*recv)(void *buf, size_t nbytes, int peer);
    void (*isend)(const void *buf, size_t nbytes, int peer, struct requests *requests);
    void (*irecv)(void *buf, size_t nbytes, int peer, struct requests *requests);
    void (*waitall)(struct requests *requests);
};

extern const struct api api_gpubind, api_mpi;

#endif
