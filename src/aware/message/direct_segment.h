/* What a process shows the others of its node, so that they copy from its GPU memory: messages that
 * it sends directly, each in a slot.
 *
 * A direct message is a descriptor, which MPI carries and matches in place of the data. It names the
 * sender's slot, which has the rest; the receiver copies from the sender's GPU memory. Each slot has
 * descriptors of a length of its own, so that a probe knows whose message it has seen. The descriptor of a
 * small message is as long as the message, and begins with the slot's token.
 *
 * The segment is a memfd. Others find its process by a socket's name, made of the job and the rank,
 * and the memfd among that process's files: no two ranks have to call anything together, and nothing
 * is left behind by a job that was killed. */
#ifndef GPUBIND_AWARE_DIRECT_SEGMENT_H
#define GPUBIND_AWARE_DIRECT_SEGMENT_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gpu/core/gpu_types.h"

#define DIRECT_SLOTS 64
#define DIRECT_SMALL_SLOTS 60  /* the first ones, which small messages may have: at most 64 */
#define DIRECT_SMALL_ROOM 3584 /* a small message is shorter */
#define DIRECT_STALE 64
#define DIRECT_POSTS 64
#define DIRECT_ASK_ROOM ((size_t)1 << 20)
#define DIRECT_RANKS 65536 /* of MPI_COMM_WORLD: those behind take part in no direct collective */

enum direct_state {
    DIRECT_FREE,
    DIRECT_READY,     /* sent: the data is in the sender's GPU memory */
    DIRECT_BUFFERING, /* the sender copies it to host memory, which the receiver maps */
    DIRECT_BUFFERED,  /* it is there; the application's send is complete */
    DIRECT_TAKEN,     /* the receiver copies it */
    DIRECT_WANTED,    /* the receiver cannot map the GPU memory: the sender is to buffer it */
    DIRECT_LOST,      /* the sender could not */
    DIRECT_DONE       /* the receiver has it; the sender may use the slot again */
};

/* GPU memory that other processes map. */
struct direct_export {
    uint64_t id; /* of the allocation, unique in its process */
    uint64_t start, nbytes;
    gpu_ipc_handle handle;
};

/* Written by the sender as long as it is free, ready or buffering, then by the receiver. */
struct direct_slot {
    _Atomic uint32_t state;
    uint32_t sequence; /* of the message; a descriptor has the same */
    int32_t dest, tag; /* dest: a rank of MPI_COMM_WORLD */
    uint64_t nbytes;
    uint64_t address; /* in the sender's process */
    uint64_t token;   /* of a small message (direct_token.h); 0: it is none */
    struct direct_export memory;
    int32_t fd; /* of the sender's process: the data, when it is buffered and not small */
    _Atomic uint32_t slow; /* the receiver could not map the GPU memory */
};

/* What the process says in the collective calls of one communicator (coll_comm.h), which are numbered. */
struct direct_post {
    _Atomic uint64_t said; /* the last call in which it has said yes or no */
    _Atomic uint64_t yes;  /* the last call in which it has said yes */
    _Atomic uint64_t read; /* the last call in which it needs no answer of another rank any more */
    _Atomic uint64_t gave_up; /* the call since which it says nothing */
};

/* A copy between GPU memory of this process and data, which another process asks for (direct_ask.h). */
struct direct_ask {
    _Atomic int32_t holder; /* the process that asks; 0: none */
    _Atomic uint32_t state;
    uint64_t address, nbytes; /* at most DIRECT_ASK_ROOM */
    uint32_t writes;          /* to the GPU memory */
    char data[DIRECT_ASK_ROOM];
};

/* Whether a process has found another one: it decides once. */
enum direct_sight { DIRECT_UNDECIDED, DIRECT_SEEN, DIRECT_UNSEEN };

struct direct_segment {
    uint64_t magic;
    uint64_t job, nonce; /* nonce: no other process has it */
    int32_t pid, rank;   /* of MPI_COMM_WORLD */
    /* This process completes receives of descriptors, and has GPU memory. */
    _Atomic uint32_t receives;
    _Atomic uint32_t receives_small; /* the same of small messages */
    _Atomic uint32_t visited;        /* somebody may send directly to it */
    _Atomic uint32_t ended;          /* it is in MPI_Finalize: it receives nothing any more */
    _Atomic uint32_t serves;         /* its thread runs, which does what others want */
    _Atomic uint32_t wanted;         /* a futex: counts what the thread is to do (outgoing.h) */
    /* Allocations that are no more: a ring, and how many there were. */
    _Atomic uint64_t nstale;
    _Atomic uint64_t stale[DIRECT_STALE];
    struct direct_slot slots[DIRECT_SLOTS];
    char small[DIRECT_SMALL_SLOTS][DIRECT_SMALL_ROOM]; /* small messages that are buffered */
    struct direct_post posts[DIRECT_POSTS];
    _Atomic uint8_t sights[DIRECT_RANKS]; /* of each rank of MPI_COMM_WORLD: enum direct_sight */
    _Atomic uint8_t lost
        [DIRECT_RANKS]; /* likewise: a message of its was lost, and it is to send none directly */
    struct direct_ask ask;
};

/* A process of the node. */
struct direct_peer {
    struct direct_segment *segment; /* NULL: not found yet */
    unsigned asked, retry;          /* calls, and the next one that looks for it */
    uint64_t nstale;                /* of its allocations, that were looked at */
    bool slow;                      /* could not map GPU memory of this process */
    int error;                      /* errno of the last look for it; 0: none was in vain */
    double active;                  /* seconds: when it was last seen to take a message */
    _Atomic unsigned late;          /* so many small messages to it are not sent directly */
};

/* This process's segment, made at the first call; NULL: it neither sends nor receives directly. */
struct direct_segment *direct_own(void);
/* The peer that a rank of the communicator (of the remote group of an intercommunicator) is; NULL: it is
 * not on this node, or does not receive directly, or has not called MPI yet. */
struct direct_peer *direct_peer(MPI_Comm comm, int rank);
/* The rank of MPI_COMM_WORLD that a rank of a communicator is; MPI_UNDEFINED: it is none, or this process
 * has no segment. */
int direct_world_rank(MPI_Comm comm, int rank);
/* The peer of that rank of MPI_COMM_WORLD, which is looked for now. */
struct direct_peer *direct_peer_now(int rank);
/* The same of a rank that has sent a message directly: waits for what may be over soon, as a full backlog. */
struct direct_peer *direct_peer_of_sender(int rank);
/* The last look for that rank has found its process, but not its segment, or could not tell. */
bool direct_peer_is_hidden(int rank);
/* A message of that rank is lost, as it cannot be found: it is to send none directly to this process any more. */
void direct_peer_lost(int rank);
/* It completes receives of descriptors; of small messages, too. */
bool direct_peer_receives(const struct direct_peer *peer);
bool direct_peer_receives_small(const struct direct_peer *peer);
/* Its process is alive. Asks the kernel. */
bool direct_peer_lives(const struct direct_peer *peer);
bool direct_process_lives(pid_t pid);
/* Its thread is to look for what it has to do. */
void direct_wake(struct direct_segment *segment);
/* Gives back what the kernel keeps of processes that have found this one. */
void direct_forget_visitors(void);
/* It may keep fewer than MPI_COMM_WORLD has ranks: others cannot find this one then until that is called. */
bool direct_is_crowded(void);
/* What a file of the peer's process has; NULL: it is not there. The caller unmaps it. */
void *direct_peer_map(const struct direct_peer *peer, int fd, size_t nbytes, bool write);
/* A memfd, which others map by direct_peer_map, and where it is mapped here. NULL: none is to be had, and fd
 * is -1; else the caller unmaps and closes it. */
void *direct_make_file(const char *name, size_t nbytes, int *fd);
/* This process receives nothing any more. false: it has no segment. */
bool direct_segment_end(void);
/* Nobody looks for it any more: all have what it has sent. */
void direct_segment_hide(void);

#endif
