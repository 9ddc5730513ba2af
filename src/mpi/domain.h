/* Ranks that can talk to each other: a communicator of the library's own, so that its
 * traffic never meets the application's, and the shared memory of this node. Every
 * communicator that is attached uses one; most use that of MPI_COMM_WORLD. */
#ifndef GPUBIND_MPI_DOMAIN_H
#define GPUBIND_MPI_DOMAIN_H

#include "mpi/segment.h"
#include "mpi/settings.h"

struct gpubind_operation;

struct peer {
    int local;         /* its rank in the segment; -1: reached by MPI */
    int domain_rank;
    uint64_t sent;     /* messages to it so far */
    int letters;       /* to it, since the last that MPI said was received; */
    int awaited;       /* those of which MPI will say so */
    uint64_t received; /* messages of it, in order, that are matched or kept */
    bool no_reads;     /* the kernel does not let this process read its memory */
    bool no_ipc;       /* its GPU memory could not be mapped, */
    bool ipc_works;    /* or it was */
    bool unacked;      /* in the domain's list */
    struct peer *next_unacked;
    struct gpubind_operation *offering; /* the receive behind my open offer to it */
};

struct domain {
    struct domain *next;
    MPI_Comm shadow;
    int rank, size;
    struct peer *peers;
    int nremote;
    struct segment segment; /* base NULL: none */
    bool single;            /* a rank has MPI below MPI_THREAD_MULTIPLE */
    int *of_local;          /* local rank -> domain rank */
    uint64_t inbox_read, acks_seen;
    bool look_again; /* at the descriptors, although acks says nothing new */
    struct peer *unacked; /* peers whose descriptors changed, to be told */
    int *free_slotted, nslotted; /* descriptors that are free: those with a slot, */
    int *free_plain, nplain;     /* and those without */
    struct gpubind_operation *sends; /* to ranks of the node, under way */
    struct gpubind_operation *queued, **queued_end; /* until a descriptor is free */
    const struct gpubind_operation *pieces_user; /* the receive whose pieces senders may read */
    bool *pinned;  /* by local rank: its slots and lanes are page-locked here */
    int slots;     /* 0: not asked for yet, 1: there, -1: no memory */
};

/* Collective over comm. NULL with a sentence; a node whose ranks cannot share memory
 * is no error: they then use MPI, with a notice. */
struct domain *domain_make(MPI_Comm comm, const struct settings *settings,
                           struct gpubind_error *err);
/* Collective over the domain: frees the communicator when mpi is true. */
void domain_free(struct domain *domain, bool mpi);

/* The newest first. */
struct domain *domain_first(void);
/* The domain all of whose ranks comm lies in, and where: ranks[i] is rank i of comm.
 * NULL when there is none. The caller frees *ranks. */
struct domain *domain_around(MPI_Comm comm, int **ranks);

/* A free descriptor of this rank, with a slot if that is wanted and there is one; -1:
 * all are in use. */
int domain_take_descriptor(struct domain *domain, bool slotted);
void domain_give_descriptor(struct domain *domain, int descriptor);
/* Page-locks a local rank's slots and lanes for the GPUs of this process, once. */
void domain_pin(struct domain *domain, int local);

#endif
