/* A domain: a group of ranks that exchange messages, with an MPI communicator of the library's own,
 * so that its traffic is apart from the application's, and the shared memory of this node. Every
 * attached communicator uses one; most use the domain of MPI_COMM_WORLD. */
#ifndef GPUBIND_MPI_CORE_DOMAIN_H
#define GPUBIND_MPI_CORE_DOMAIN_H

#include "core/base/list.h"
#include "mpi/base/config.h"
#include "mpi/shm/segment.h"

struct gpu;
struct incoming_msg;
struct gpubind_operation;
struct net_arrival;

struct peer {
    int local; /* its rank in the segment; -1: reached by MPI */
    int domain_rank;
    int pid;                /* of its process, where that can be seen; else 0 */
    bool gone;              /* its process was seen to have ended */
    uint64_t sent;          /* messages to it so far */
    int net_msgs;           /* network messages to it, since the last synchronous one; */
    int awaited;            /* synchronous ones under way: see net_msg.h */
    bool stopped, stopping; /* by MPI: eager messages to it, or from it, are not allowed now */
    uint64_t late_pass;     /* the last look at network messages that found one of it under way */
    bool net_lost;          /* one of its network messages has not come: none after it counts */
    uint64_t received;      /* messages from it so far, matched or unexpected */
    int ctrl_msgs;          /* control messages of channels from it that are not handled yet */
    bool no_reads;          /* the kernel refuses process_vm_readv of its memory */
    bool no_ipc;            /* its GPU memory could not be mapped */
    bool ipc_works;         /* its GPU memory has been mapped */
    bool unacked;           /* in the domain's list of peers to be notified */
    struct peer *next_unacked;
    struct gpubind_operation *rtr_receive;   /* the receive of my open RTR to it */
    struct stream_receives *stream_receives; /* mine, advertised to it; NULL: none yet */
    struct gpu *slots_gpu;                   /* of the slots there; NULL: none */
    bool slots_over;                         /* there were some, of a context that is gone */
    int no_slots;                            /* I could not map them: sends until I try again */
    bool slots_seen;                         /* it lets me use some: */
    uint64_t slots_free;                     /* bits of the unused ones */
    uint32_t slots_used;                     /* how often I took one */
    uint64_t put, got;                       /* entries of the rings between us: see shm_inbox.h */
    bool sends;                              /* in the domain's list of senders */
    struct peer *next_sender;
    struct incoming_msg **unexpected; /* its unexpected messages, by descriptor; */
    int in_eager_buffers;             /* how many of them have their data in its eager buffers */
    int used;                         /* my descriptors with messages to it */
    QUEUE_OF(struct gpubind_operation) queued; /* sends to it that wait for a descriptor */
    struct peer *next_queued;
};

struct domain {
    struct domain *next;
    uint64_t name;   /* the same on all its ranks, and theirs alone */
    int users;       /* attached communicators */
    bool abandoned;  /* it has had users, and has none now */
    MPI_Comm shadow; /* the library's own communicator */
    int rank, size;
    struct peer *peers;
    int *world; /* the ranks in MPI_COMM_WORLD, for a trace; NULL: none is recorded */
    int nremote, nstopping;
    QUEUE_OF(struct net_arrival) arrivals; /* network messages on their way to this rank */
    struct segment segment;                /* base NULL: none */
    bool single;                           /* a rank has MPI below MPI_THREAD_MULTIPLE */
    int *of_local;                         /* local rank -> domain rank */
    struct peer *senders;                  /* peers on the node that have sent to this rank, */
    uint32_t nsenders;                     /* and their number */
    uint64_t acks_seen;
    bool look_again;      /* check the descriptors although the acks counter has not changed */
    struct peer *unacked; /* peers whose descriptors this rank has changed, to be notified */
    int *free_eager, nfree_eager;    /* free descriptors: those with an eager buffer, */
    int *free_plain, nplain;         /* and those without */
    int nreserved;                   /* descriptors below this have memory */
    struct gpubind_operation *sends; /* to ranks of the node, under way */
    bool unordered;                  /* some of them wait for work of the GPU */
    int used;                        /* my descriptors that are in use */
    int owed;                        /* free ones that are reserved for certain ranks */
    struct peer *queued;             /* ranks to which messages wait for a descriptor */
    const struct gpubind_operation *iov_advert_user; /* the receive whose iov senders may read */
    const struct gpu *(*pinned)[SEGMENT_DATA]; /* by local rank: whose context has page-locked it */
    bool (*unlocked)[SEGMENT_DATA];            /* the driver has refused it */
    bool (*pin_wanted)[SEGMENT_DATA];          /* domain_pin would have had to wait */
    int eager_buffers; /* 0: not allocated yet, 1: allocated, -1: no memory */
};

/* Collective over comm: a domain of its ranks, which comm uses, as after domain_around. NULL with a sentence; a node whose
 * ranks cannot share memory is no error: they then use MPI, with a notice. */
struct domain *domain_make(MPI_Comm comm, int **ranks, const struct settings *settings,
                           struct gpubind_error *err);
/* Collective over the domain: frees the communicator when mpi is true. */
void domain_free(struct domain *domain, bool mpi);

/* It is the newest. */
void domain_add(struct domain *domain);
/* The newest first. */
struct domain *domain_first(void);
/* MPI_COMM_WORLD's, while there is one. */
struct domain *domain_oldest(void);
/* Sets the bit in the newest domain's shared memory; true: it was set there before. */
bool domain_test_and_set_warned(uint32_t bit);
/* Collective over comm: a domain that all of its ranks have, and where they are in it: ranks[i]
 * is rank i of comm. NULL on all when there is none. It counts as used by comm from now on,
 * until domain_leave. The caller frees *ranks. */
struct domain *domain_around(MPI_Comm comm, int **ranks);
/* The GPU's context was destroyed, and with it what was page-locked there. */
void domains_unpinned(const struct gpu *gpu);
/* A communicator that used it is gone. */
void domain_leave(struct domain *domain);
/* Frees domains without users once nothing of theirs is under way. Calls MPI. */
void domains_sweep(void);

/* A rank of the domain as the peer of an event of a trace. */
int domain_world_rank(const struct domain *domain, int rank);

/* Number of descriptors reserved for messages to each rank of the node, so that messages to a rank
 * that does not receive cannot block those to others. */
int domain_share(const struct domain *domain);
/* A free descriptor of this rank, with an eager buffer if that is wanted and there is one; -1:
 * all are in use. */
int domain_take_descriptor(struct domain *domain, bool with_eager);
void domain_give_descriptor(struct domain *domain, int descriptor);
/* Page-locks a local rank's eager buffers or bounce buffers for the GPUs of this process, once; copies work without,
 * only slower. While a stream waits for the library, a thread of the application's may wait for that stream in a call
 * in which the driver keeps page-locking out: then it is left to domain_pin_wanted. */
void domain_pin(struct domain *domain, int local, enum segment_data data);
/* For calls of the application, before a stream waits: at once, */
void domain_pin_now(struct domain *domain, int local, enum segment_data data);
/* and what domain_pin has left. */
void domain_pin_wanted(struct domain *domain, int local);
/* They are page-locked. */
bool domain_is_pinned(const struct domain *domain, int local, enum segment_data data);

#endif
