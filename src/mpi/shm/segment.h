/* Memory that the ranks of a node share. Each rank has a part of its own:
 *
 *   rank control block  its state, and counters by which other ranks notify it
 *   rings               one for each sender: the descriptors that it has sent here, in order
 *   descriptors         one for each message that this rank has under way to a rank of the node
 *   advertisements      one for each sender: the buffer that a waiting receive advertises to it
 *   eager buffers       data of small messages, which do not wait for the receiver; each belongs
 *                       to one of the first neager descriptors, which may lend it to another
 *   bounce buffers      chunks of messages that are staged over shared memory
 *   reserve             a small bounce buffer for each receiver, for when all others are in use
 *   iov                 of an irregular datatype that a waiting receive advertises
 *   stream flags        that streams write, and wait for
 *   stream receives     one list for each sender: receives in streams, advertised to it
 *
 * Pages that are not touched take no memory. Each area is allocated before its first use: see
 * shm_file.h. */
#ifndef GPUBIND_MPI_SHM_SEGMENT_H
#define GPUBIND_MPI_SHM_SEGMENT_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/msg/msg_header.h"
#include "gpu/copy/iov_copy.h"
#include "gpu/exchange/exchange.h"

#define EAGER_BYTES 16384
#define BOUNCE_BUFFERS 2
#define BOUNCE_BYTES (6u << 20)
#define RESERVE_BOUNCE_BYTES (2u << 20) /* the largest chunk */
#define IOV_ADVERT_MAX 65536
#define STREAM_FLAGS 4096
#define STREAM_FLAG_BYTES 64 /* a cache line each: the CPU writes some while GPUs read others */
#define STREAM_SLOTS 42      /* 32 small ones, 8 of 64 KiB, 2 of 1 MiB */
#define STREAM_RECEIVES 128  /* a power of 2 */

enum descriptor_state {
    DESCRIPTOR_FREE,
    DESCRIPTOR_RTS,         /* sender: in the ring */
    DESCRIPTOR_MATCHED,     /* receiver: it copies */
    DESCRIPTOR_CTS,         /* receiver: the sender shall move the data through a bounce buffer */
    DESCRIPTOR_EAGER_COPY,  /* sender: it copies the data to the eager buffer */
    DESCRIPTOR_EAGER_READY, /* sender: the data are in the eager buffer */
    DESCRIPTOR_FIN          /* receiver: the sender may forget it */
};

/* Where a stream of one rank tells others that it has got to a call, and where it waits for that call's end. Flags
 * have names, which are numbers (stream_flag.h); 0: there is none. */
struct stream_gate {
    uint32_t came, came_value; /* it writes this one */
    uint32_t go, go_value;     /* it waits for this one */
};

struct descriptor {
    _Atomic uint32_t state;
    _Atomic uint32_t ready; /* sender: earlier GPU work on the data is done */
    struct msg_header header;
    struct stream_gate gate; /* came 0: none */
    /* The stream puts the data into eager_buffer, before it writes came; and before that into this slot of the
     * receiver's (from 1; 0: none), whose flag is slot_value then; in_slot: not into eager_buffer. */
    uint32_t eager_by_stream, slot, slot_value, in_slot;
    uint32_t bounce_on_gpu; /* CTS: set, with what follows, before the first chunk */
    /* receiver: it cannot map that GPU memory, the data shall come again by host memory; the sender clears it when
     * bounce_on_gpu and filled are 0 */
    _Atomic uint32_t bounce_refused;
    uint64_t bounce_offset; /* in the sender's bounce buffers, or in its GPU's */
    uint64_t chunk_bytes, chunks_ahead;
    uint64_t bounce_id, bounce_start, bounce_size;
    char bounce_handle[64];
    _Atomic uint64_t filled;  /* sender: chunks in the bounce buffer so far */
    _Atomic uint64_t drained; /* receiver: chunks taken out so far */
    _Atomic uint32_t failed;  /* the sender's copies failed */
    uint32_t mapped;          /* receiver, before FIN: it maps the allocation now */
    int32_t eager_buffer;     /* EAGER_READY: where the data are */
};

enum rtr_state { RTR_NONE, RTR_OPEN, RTR_MATCHED, RTR_DONE, RTR_FAILED };

/* A receive that waits for one sender tells it where the data may go. */
struct rtr {
    _Atomic uint32_t state;               /* enum rtr_state and a number: rndv_put.c */
    _Atomic uint32_t has_stream_receives; /* for this sender: their memory is there */
    _Atomic uint32_t ready;               /* earlier GPU work on the buffer is done */
    uint64_t context;
    int32_t tag;       /* or MPI_ANY_TAG */
    uint32_t strided;  /* the data go to layout, not to capacity bytes at address */
    uint64_t sequence; /* of the message that it fits */
    uint64_t capacity; /* bytes */
    uint64_t address, id, start, size;
    char handle[64];
    struct strided_buffer layout;
    uint64_t iov_name; /* or to the advertised iov of that name; 0: to layout */
    uint64_t niov;
    int64_t extent;
    uint64_t nbytes; /* written by the sender, with */
    int32_t got_tag;
    uint32_t got_type;
    uint32_t mapped; /* and: it maps the allocation now */
};

/* A receive in a stream that is posted, and that a send in a stream may match by itself. */
struct stream_receive {
    _Atomic uint32_t state; /* enum rtr_state */
    int32_t tag;            /* or MPI_ANY_TAG */
    uint64_t context;
    uint64_t capacity; /* bytes */
    struct stream_gate gate;
    /* The data, then exactly capacity bytes, go to this eager buffer of the receiver's (-1: none), or to the slot at
     * address (gpu_slots.h), whose flag is slot_value then; with neither, to address. */
    int32_t landing;
    uint32_t has_slot, slot_value;
    uint64_t address, id, start, size;
    char handle[64];
    uint64_t nbytes; /* written by the sender, with */
    int32_t got_tag;
    uint32_t got_type;
};

/* In the order in which they were posted: entry i is receives[i % STREAM_RECEIVES]. */
struct stream_receives {
    _Atomic uint64_t
        received; /* messages that came otherwise, and have been matched or are unexpected */
    _Atomic uint64_t first, end;
    _Atomic uint32_t have_slots;  /* the sender may write to these of the receiver's GPU, */
    uint64_t slots[STREAM_SLOTS]; /* 0: there is none, */
    uint64_t slots_id, slots_start, slots_size; /* of this allocation */
    char slots_handle[64];
    struct stream_receive receives[STREAM_RECEIVES];
};

struct iov_advert {
    uint64_t name; /* 0: none yet */
    struct iov_block blocks[];
};

/* A thread sleeps here until another thread or another rank of the node wakes it. */
enum wake_use { WAKE_FOR_NOTHING, WAKE_FOR_REQUESTS, WAKE_FOR_ALL };
struct futex_waiter {
    _Atomic uint32_t rung;   /* the futex: it counts the wakes */
    _Atomic uint32_t asleep; /* the thread sleeps, or is about to */
    _Atomic uint32_t use;    /* enum wake_use: what it would serve if it were woken now */
};

/* GPUs in whose streams a rank has had messages; the last is ~0 if there are more than the others. */
#define RANK_GPUS 9

struct rank_ctrl {
    _Atomic uint32_t left;   /* the rank uses the segment no more, and maps no rank's memory */
    _Atomic uint32_t warned; /* of rank 0: warnings that the node has had, by bit */
    _Alignas(128) _Atomic uint32_t senders;   /* ranks that have ever sent to it */
    _Alignas(128) _Atomic uint64_t acks;      /* increased when one of its descriptors changes */
    _Alignas(128) struct futex_waiter waiter; /* its progress thread */
    _Alignas(128) _Atomic uint64_t gpus[RANK_GPUS]; /* struct gpu's device; 0: no more */
};

struct segment {
    char *base;
    int fd;
    size_t nbytes;
    int n, me;                /* ranks; this one */
    int ndescriptors, neager; /* of each rank */
    uint64_t ring_entries;    /* a power of 2 */
    size_t part_bytes, bounce_at, iov_advert_at, flags_at, receives_at;
};

/* Collective over node, whose ranks share the segment. 0, or -1 on all ranks with a sentence when
 * one of them cannot have it. With 0, err is as shm_file_open leaves it. */
int segment_make(MPI_Comm node, struct segment *segment, struct gpubind_error *err);
void segment_clear(struct segment *segment);

/* This rank uses the segment no more, which ends the sends of others to it. */
void segment_leave(const struct segment *segment);
bool segment_has_left(const struct segment *segment, int rank);

struct rank_ctrl *segment_rank_ctrl(const struct segment *segment, int rank);
_Atomic uint64_t *segment_ring(const struct segment *segment, int receiver, int sender);
struct descriptor *segment_descriptor(const struct segment *segment, int rank, int number);
char *segment_eager(const struct segment *segment, int rank, int number);
struct rtr *segment_rtr(const struct segment *segment, int receiver, int sender);
struct iov_advert *segment_iov_advert(const struct segment *segment, int rank);
char *segment_bounce(const struct segment *segment, int rank);
struct stream_receives *segment_stream_receives(const struct segment *segment, int receiver,
                                                int sender);
/* A rank's stream flags, mapped for good: a stream may look at them after the library has ended. NULL: no memory. */
char *segment_map_flags(const struct segment *segment, int rank);
/* The areas of a rank's part that are page-locked, each when it is first used. */
enum segment_data { SEGMENT_EAGER, SEGMENT_BOUNCE, SEGMENT_DATA };
char *segment_data(const struct segment *segment, int rank, enum segment_data data, size_t *nbytes);
/* Allocate the pages of areas of this rank's part, unless they are there. false: no memory. */
bool segment_allocate_bounce(const struct segment *segment);
bool segment_allocate_eager(const struct segment *segment);
/* Of descriptors from to to - 1; the first neager ones are allocated from the start. */
bool segment_allocate_descriptors(const struct segment *segment, int from, int to);
bool segment_allocate_iov_advert(const struct segment *segment, uint64_t n);
bool segment_allocate_flags(const struct segment *segment);
/* Stream flag i, 0 to STREAM_FLAGS - 1, of a rank that has allocated them. */
_Atomic uint32_t *segment_stream_flag(const struct segment *segment, int rank, uint32_t i);
bool segment_allocate_stream_receives(const struct segment *segment, int sender);
/* Of the reserve bounce buffer for local rank to; *offset: from the bounce buffers. */
bool segment_allocate_reserve_bounce(const struct segment *segment, int to, uint64_t *offset);

#endif
