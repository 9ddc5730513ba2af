/* Communicators whose collectives may go directly between GPUs, and how their ranks agree on it.
 *
 * A rank knows its own buffer alone, and others may pass host memory. So where a call is large, which all
 * know alike, each rank says in its segment whether its buffer is GPU memory, and who says yes waits for
 * what the others say. Who says no does not wait: it goes the way through host memory at once.
 *
 * Some ranks may have been started without this library, or in another container. The ranks of a
 * communicator therefore agree only if each has found the segments of all others. Each decides that
 * once for each other one, and tells in its segment, so that all come to the same answer. */
#ifndef GPUBIND_AWARE_COLL_COMM_H
#define GPUBIND_AWARE_COLL_COMM_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aware/base/undo.h"

/* A message of a collective. */
struct coll_move {
    void *at;
    MPI_Count count;
    MPI_Datatype type;
    int peer, tag;
};

struct coll_nccl;

struct coll_comm {
    bool near;   /* each rank has found the segments of all others */
    bool agrees; /* else its collectives are staged, and nothing below is used */
    MPI_Comm comm;
    MPI_Comm own; /* of the same ranks, for this library's messages; MPI_COMM_NULL: not made yet */
    int rank, size;
    uint64_t calls;  /* in which the ranks have said yes or no */
    uint64_t agreed; /* the last of them in which all have said yes; 0: all have read that since */
    int post;        /* of this process's posts; DIRECT_POSTS: none was left */
    struct coll_member *members;
    /* Room for the messages of a call. */
    struct coll_move *sends, *receives; /* room of each */
    MPI_Request *requests;              /* twice as many */
    MPI_Status *statuses;
    size_t room;            /* at least size */
    struct coll_nccl *nccl; /* NULL: not started */
    bool nccl_failed;
    uint64_t reduced; /* bytes of calls that NCCL could have done */
};

/* After MPI_Init, so that others find this process. */
void coll_start(void);
/* Of an intracommunicator, in a call that all its ranks are in; NULL: its collectives are staged. */
struct coll_comm *coll_comm(MPI_Comm comm);
/* Each rank of the communicator has found the segments of all others, or it is the only one: in a call that
 * all of them are in, where all get the same answer. */
bool coll_comm_is_near(MPI_Comm comm);
/* The next call that all ranks agree upon: true: all have said yes. */
bool coll_agree(struct coll_comm *comm, bool yes);
/* Room for n sends and n receives. false: out of memory, and what was there still is. */
bool coll_make_room(struct coll_comm *comm, size_t n);
/* All ranks have said yes: comm->own, whose errors return. false: MPI has made none. */
bool coll_own_comm(struct coll_comm *comm);
/* All ranks have said yes, and now make comm->own, unless some rank is making another communicator (creations.h).
 * false: the call is not to go directly, on all ranks alike. */
bool coll_prepare_own(struct coll_comm *comm);
/* All ranks are alive, and none has given up. Asks the kernel. */
bool coll_all_live(const struct coll_comm *comm);
/* From now on its collectives are staged; the other ranks find out. */
void coll_give_up(struct coll_comm *comm);
/* Around MPI's function that frees it: there its collectives are staged. */
struct coll_freeing {
    MPI_Comm comm;
    struct coll_freeing *before; /* in whose callback this one is freed */
    struct undo undo;
};
void coll_comm_free_begin(struct coll_freeing *one, MPI_Comm comm);
void coll_comm_free_end(struct coll_freeing *one);

#endif
