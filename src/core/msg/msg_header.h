/* Headers of messages between ranks: in a shared-memory descriptor on a node, else at the front of
 * an MPI message. All ranks of a job run the same build on the same kind of machine, so fields
 * travel in memory order; msg_check refuses any other. */
#ifndef GPUBIND_CORE_MSG_MSG_HEADER_H
#define GPUBIND_CORE_MSG_MSG_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

#define MSG_MAGIC 0x42555047u /* "GPUB" */
#define MSG_VERSION 1u

enum msg_kind {
    MSG_RTS = 1, /* msg_header, followed by the data when MSG_EAGER is set */
    MSG_CTS,     /* msg_cts: how the sender shall send the data */
    MSG_RELEASE, /* msg_header: the receiver closes its mapping of allocation id */
    MSG_DATA,    /* msg_header and the data of a MSG_PAYLOAD_DEFERRED message */
    MSG_CREDIT,  /* msg_cts: eager messages are allowed (chunk 1) or not (0) */
};

enum msg_flag {
    MSG_ON_GPU = 1,     /* the sender's buffer is GPU memory */
    MSG_SHAREABLE = 2,  /* the fields about the allocation are filled */
    MSG_EAGER = 4,      /* the data are with the header */
    MSG_SELF = 8,       /* sender and receiver are one process */
    MSG_FAILED = 16,    /* the sender's copy failed: no data follow; it is matched in its order */
    MSG_ON_STREAM = 32, /* sent by a call that a thread without MPI may have to serve */
    MSG_PAYLOAD_DEFERRED = 64, /* a MSG_DATA follows when the sender's stream gets there */
};

struct msg_header {
    uint32_t magic;
    uint8_t version, kind, flags, spare;
    uint64_t context; /* which communicator */
    int32_t source;   /* the sender's rank in it */
    int32_t tag;
    uint32_t type; /* number of the predefined type, see type_cache.h */
    uint32_t spare2;
    uint64_t nbytes;
    uint64_t sequence;        /* of the sender's messages to this process, from 0 */
    uint64_t operation;       /* the sender's, for the reply */
    uint64_t address;         /* of the data, in the sender */
    uint64_t id, start, size; /* the allocation they lie in */
    char handle[64];
};

struct msg_cts {
    uint32_t magic;
    uint8_t version, kind, spare[2];
    uint64_t operation; /* the sender's */
    uint64_t chunk;     /* bytes of each MPI message with data; 0: send none */
    int32_t tag;        /* of those messages */
    uint32_t direct;    /* GPU pointers are handed to MPI */
};

void msg_sign(void *message, enum msg_kind kind);
/* 0 when nbytes at message are a whole message of ours; else -1 with a sentence. */
int msg_check(const void *message, size_t nbytes, struct gpubind_error *err);
enum msg_kind msg_kind(const void *message);

#endif
