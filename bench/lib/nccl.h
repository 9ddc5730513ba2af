/* NCCL, opened at run time: the few functions that are compared with others'. Its header is not
 * needed; these declarations hold since NCCL 2.7. */
#ifndef GPUBIND_BENCH_LIB_NCCL_H
#define GPUBIND_BENCH_LIB_NCCL_H

#include <stddef.h>

#include "bench/lib/gpu.h"
#include "core/base/text.h"

enum { NCCL_OK = 0, NCCL_BYTE = 0, NCCL_DOUBLE = 8, NCCL_SUM = 0 };

struct nccl_id {
    char bytes[128];
};

/* Zero-initialised: closed. All functions but error_string return NCCL_OK or an error. */
struct nccl {
    void *library;
    struct ncclComm *comm; /* over MPI_COMM_WORLD, with its ranks */
    gpu_stream stream;     /* of the GPU; the caller waits for it */
    int (*get_version)(int *version);
    int (*get_unique_id)(struct nccl_id *id);
    int (*comm_init_rank)(struct ncclComm **comm, int n, struct nccl_id id, int rank);
    int (*comm_destroy)(struct ncclComm *comm);
    const char *(*error_string)(int status);
    int (*group_start)(void);
    int (*group_end)(void);
    int (*send)(const void *send, size_t count, int type, int peer, struct ncclComm *comm,
                gpu_stream stream);
    int (*recv)(void *recv, size_t count, int type, int peer, struct ncclComm *comm,
                gpu_stream stream);
    int (*broadcast)(const void *send, void *recv, size_t count, int type, int root,
                     struct ncclComm *comm, gpu_stream stream);
    int (*reduce)(const void *send, void *recv, size_t count, int type, int op, int root,
                  struct ncclComm *comm, gpu_stream stream);
    int (*all_reduce)(const void *send, void *recv, size_t count, int type, int op,
                      struct ncclComm *comm, gpu_stream stream);
    int (*all_gather)(const void *send, void *recv, size_t count, int type, struct ncclComm *comm,
                      gpu_stream stream);
    int (*reduce_scatter)(const void *send, void *recv, size_t count, int type, int op,
                          struct ncclComm *comm, gpu_stream stream);
};

/* Opens libnccl.so.2 and makes its communicator over MPI_COMM_WORLD for gpu, whose context is
 * current. Collective; returns the same on all ranks: 0, or -1 with the reason in why and nccl
 * closed. ncclCommInitRank is called only where all ranks have NCCL, each with a GPU of its own:
 * else it would not return. */
int nccl_open(struct nccl *nccl, const struct bench_gpu *gpu, struct gpubind_error *why);
void nccl_close(struct nccl *nccl);
/* Its calls can be in a stream that is captured. */
bool nccl_can_be_captured(const struct nccl *nccl);
/* Adds "2.19.3". */
void nccl_add_version(const struct nccl *nccl, struct text *text);

#endif
