/* Ranks that can talk to each other: a communicator of the library's own, so that its
 * traffic never meets the application's, and the shared memory of this node. Every
 * communicator that is attached uses one; most use that of MPI_COMM_WORLD. */
#ifndef GPUBIND_MPI_CORE_DOMAIN_H
#define GPUBIND_MPI_CORE_DOMAIN_H

#include "mpi/core/config.h"
#include "mpi/shm/segment.h"

struct gpu;
struct incoming_msg;
struct gpubind_operation;

struct peer {
    int local;         /* its rank in the segment; -1: reached by MPI */
    int domain_rank;
    int pid;           /* of its process, where that can be seen; else 0 */
    bool gone;         /* its process was seen to have ended */
    uint64_t sent;     /* messages to it so far */
    int net_msgs;      /* control messages to it, since the last synchronous one; */
    int awaited;       /* synchronous ones under way: see net_msg.h */
    bool stopped, stopping; /* by MPI: it asked for no small messages, or was asked so */
    uint64_t received; /* messages of it, in order, that are matched or kept */
    bool no_reads;     /* the kernel does not let this process read its memory */
    bool no_ipc;       /* its GPU memory could not be mapped, */
    bool ipc_works;    /* or it was */
    bool unacked;      /* in the domain's list */
    struct peer *next_unacked;
    struct gpubind_operation *rtr_receive; /* the receive behind my open offer to it */
    uint64_t put, got; /* entries of the rings between us: see shm_inbox.h */
    bool sends;        /* it is in the domain's list of those who have sent here */
    struct peer *next_sender;
    struct incoming_msg **unexpected; /* its messages that wait for a receive, by descriptor; */
    int in_eager_buffers;                /* so many of them have their data in its eager buffers */
    int used;          /* my descriptors with messages to it */
    struct gpubind_operation *queued, **queued_end; /* to it, until there is a descriptor */
    struct peer *next_queued;
};

struct domain {
    struct domain *next;
    uint64_t name; /* the same on all its ranks, and theirs alone */
    int users;     /* attached communicators, */
    bool abandoned; /* of which there were some, and are none */
    MPI_Comm shadow;
    int rank, size;
    struct peer *peers;
    int nremote, nstopping;
    struct segment segment; /* base NULL: none */
    bool single;            /* a rank has MPI below MPI_THREAD_MULTIPLE */
    int *of_local;          /* local rank -> domain rank */
    struct peer *senders; /* ranks that have ever sent here, */
    uint32_t nsenders;    /* so many */
    uint64_t acks_seen;
    bool look_again; /* at the descriptors, although acks says nothing new */
    struct peer *unacked; /* peers whose descriptors changed, to be told */
    int *free_eager, nfree_eager; /* descriptors that are free: those with an eager buffer, */
    int *free_plain, nplain;     /* and those without, */
    int nreserved;               /* descriptors below this have memory */
    struct gpubind_operation *sends; /* to ranks of the node, under way */
    bool unordered;                 /* some of them come after work of the GPU */
    int used;                       /* my descriptors that have messages */
    int owed;                       /* of the others, so many are kept for certain ranks */
    struct peer *queued;            /* ranks to which messages wait for a descriptor */
    const struct gpubind_operation *iov_advert_user; /* the receive whose pieces senders may read */
    const struct gpu *(*pinned)[SEGMENT_DATA]; /* by local rank: what is page-locked here, and
                                                  in whose context */
    int eager_buffers;     /* 0: not asked for yet, 1: there, -1: no memory */
};

/* Collective over comm. NULL with a sentence; a node whose ranks cannot share memory
 * is no error: they then use MPI, with a notice. */
struct domain *domain_make(MPI_Comm comm, const struct settings *settings,
                           struct gpubind_error *err);
/* Collective over the domain: frees the communicator when mpi is true. */
void domain_free(struct domain *domain, bool mpi);

/* The newest first. */
struct domain *domain_first(void);
/* Collective over comm: a domain that all of its ranks have, and where they are in it: ranks[i]
 * is rank i of comm. NULL on all when there is none. It counts as used by comm from now on,
 * until domain_leave. The caller frees *ranks. */
struct domain *domain_around(MPI_Comm comm, int **ranks);
/* Its context is no more, and what was page-locked in it is not. */
void domains_unpinned(const struct gpu *gpu);
/* One communicator less is attached to it. */
void domain_leave(struct domain *domain);
/* Frees those without communicators, once nothing of theirs is under way. Calls MPI. */
void domains_sweep(void);

/* Descriptors that are kept for messages to each rank of the node: what is under way to one
 * that does not receive must not stop messages to the others. */
int domain_share(const struct domain *domain);
/* A free descriptor of this rank, with an eager buffer if that is wanted and there is one; -1:
 * all are in use. */
int domain_take_descriptor(struct domain *domain, bool with_eager);
void domain_give_descriptor(struct domain *domain, int descriptor);
/* Page-locks a local rank's eager buffers or bounce buffers for the GPUs of this process, once. */
void domain_pin(struct domain *domain, int local, enum segment_data data);

#endif
