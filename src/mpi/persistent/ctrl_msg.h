/* What the two sides of persistent requests tell each other: messages of the progress engine on the
 * communicator's companion, which match nothing of the application's. */
#ifndef GPUBIND_MPI_PERSISTENT_CTRL_MSG_H
#define GPUBIND_MPI_PERSISTENT_CTRL_MSG_H

#include "gpu/exchange/exchange.h"
#include "mpi/p2p/tag_match.h"

#define LETTER_TAG INT32_MIN

/* One side of a channel, as the other has to know it. */
struct offered {
    uint64_t nbytes;       /* to send; room to receive */
    uint32_t linkable;     /* what follows is there: GPU memory that lies regularly */
    uint32_t kernel;       /* there is the kernel of exchanges */
    uint32_t sure, nwords;
    uint64_t gpu;          /* as its process names it */
    struct layout layout;  /* at the owner's address */
    cuda_address words;    /* the owner's */
    struct memory_export memory, words_memory;
};

enum letter_kind {
    LETTER_CONNECT,   /* this request is started on a stream: its counterpart may connect */
    LETTER_LATER,     /* the answer to that, where the counterpart is not ready for it yet */
    LETTER_READY,     /* the other's memory is mapped, or (bad) cannot be */
    LETTER_DISCONNECT /* the request was freed or forms no channel, or (bad) has failed */
};

struct pair_letter {
    enum letter_kind kind;
    uint32_t from, to; /* numbers of pairs; 0: not known */
    int32_t bad;
    int32_t send, tag;        /* CONNECT: */
    uint32_t index;           /* the how-manieth with that peer and tag, from 1 */
    int32_t counted;          /* DISCONNECT, not bad: all starts were counted, */
    uint64_t starts;          /* so many */
    uint64_t sequence;        /* of the letter among the sender's messages; set on arrival */
    struct offered offered;
};

void letter_send(struct comm *comm, int rank, const struct pair_letter *letter);
/* match.c found one for the companion. */
void letter_arrived(struct comm *companion, const struct arrival *arrival);
/* Gives away what has come, in the order of each sender. */
void letters_read(void (*take)(struct comm *, int rank, const struct pair_letter *));
bool letters_busy(void);
/* One was announced a moment ago, and is not here yet. */
bool letters_coming(void);

#endif
