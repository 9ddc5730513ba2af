/* The token of a small direct message: the first bytes of its descriptor, by which the receiver finds the
 * sender's slot. No other message of the job has it, and no data is likely to: all but the rank and the slot is
 * random. */
#ifndef GPUBIND_AWARE_DIRECT_TOKEN_H
#define GPUBIND_AWARE_DIRECT_TOKEN_H

#include "aware/message/direct_segment.h"
#include "core/base/hash.h"

/* Bits: 16 of the job, 16 of the rank, 6 of the slot, 26 of the message. */
#define TOKEN_RANKS 65536
#define TOKEN_SLOTS 64

static inline uint64_t token_job(uint64_t job)
{
    return hash_bytes(HASH_START, &job, sizeof job) >> 48;
}

static inline uint64_t token_make(const struct direct_segment *own, uint32_t slot,
                                  uint32_t sequence)
{
    const uint64_t message = own->nonce ^ ((uint64_t)sequence << 32 | slot);

    return token_job(own->job) << 48 | (uint64_t)own->rank << 32 | (uint64_t)slot << 26 |
           hash_bytes(HASH_START, &message, sizeof message) >> 38;
}

/* It may be one of that job. */
static inline bool token_is_of(uint64_t token, uint64_t job)
{
    return token >> 48 == token_job(job);
}

static inline int token_rank(uint64_t token)
{
    return (int)(token >> 32 & (TOKEN_RANKS - 1));
}

static inline unsigned token_slot(uint64_t token)
{
    return token >> 26 & (TOKEN_SLOTS - 1);
}

#endif
