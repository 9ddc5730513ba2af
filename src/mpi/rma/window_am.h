/* Parts of a window that streams of this rank do not reach: commands to their ranks, which
 * the library there carries out.
 *
 *     the stream gets to a call                 the target
 *         command                     ->        reads it
 *         a put's data                ->        receives them into its window,
 *                                               sets the signal
 *         answer, or a get's data     <-        when all of that is done
 *
 * The stream goes on with the answer: what it has passed is done, at the target too, as if
 * it had written there itself, and the commands of a stream come one after the other. */
#ifndef GPUBIND_MPI_RMA_WINDOW_AM_H
#define GPUBIND_MPI_RMA_WINDOW_AM_H

#include "gpu/core/mem_query.h"
#include "mpi/core/modules.h"
#include "mpi/p2p/tag_match.h"
#include "mpi/rma/window.h"

#define WINDOW_TAG (INT32_MIN + 1) /* of commands; data and answers have their numbers */

enum window_deed { WINDOW_PUT = 1, WINDOW_GET = 2, WINDOW_SIGNAL = 4 };

struct window_command {
    uint32_t number; /* of the origin's commands in this window */
    uint32_t deeds;
    uint64_t offset, nbytes; /* of data */
    uint64_t signal, value;
};

struct window_answer {
    int32_t result; /* an MPI error class; */
    char why[200];  /* and a sentence */
};

/* Of a window some of whose ranks do not reach each other. */
struct window_remote {
    struct comm *channel; /* attached to the window's own communicator */
    uint32_t numbers;
    int asking;  /* calls in streams of this rank that have not ended */
    int serving; /* commands of others that have not ended here */
    int origins; /* ranks that may send commands */
    bool served[]; /* by rank: it carries out mine */
};

/* Collective: which ranks need each other for this; nothing when none does. An MPI error
 * class. */
int window_remote_begin(struct gpubind_window *win, struct gpubind_error *err);
/* Nobody is served any more: a rank is gone. */
void window_remote_give_up(struct gpubind_window *win);
/* All ranks have come to the window's end, and it is idle. */
void window_remote_end(struct gpubind_window *win);
/* Nothing of either side is under way. */
bool window_is_idle(const struct gpubind_window *win);
bool window_is_out_of_reach(const struct gpubind_window *win, int rank);

/* ---- window_ask.c */

/* Puts the command into the stream, its number aside; buffer: of the data. An MPI error
 * class. */
int window_ask(struct gpubind_window *win, int target, const struct window_command *command,
               const void *buffer, struct CUstream_st *stream, struct gpubind_error *err);
/* Puts a wait for a signal, which the library may have to set, into the stream. */
int window_wait(const struct gpubind_window *win, cuda_address word, uint64_t value,
                struct CUstream_st *stream, struct gpubind_error *err);

/* ---- window_serve.c */

/* This rank carries out commands from now on: 0, or -1 with a sentence. */
int window_serve_start(struct gpubind_error *err);
void window_serve_stop(void);

extern const struct module window_module;

/* ---- both: messages of the window */

struct gpubind_operation *window_operation(const struct gpubind_window *win,
                                           enum operation_kind kind, int rank, int tag,
                                           const struct memory *memory, uint64_t nbytes);
/* The same with memory of the library's own. */
struct gpubind_operation *window_letter(const struct gpubind_window *win,
                                        enum operation_kind kind, int rank, int tag, void *at,
                                        uint64_t nbytes);
void window_send(struct gpubind_operation *send);
/* Ends it when its rank is gone. */
void window_look_after(struct gpubind_operation *operation);
int window_data_tag(const struct window_command *command);
int window_answer_tag(const struct window_command *command);

#endif
