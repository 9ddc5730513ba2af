/* RMA on streams with targets whose part of the window the origin has not mapped: active
 * messages ("commands") to the target's progress thread.
 *
 *     origin, when the stream gets to the call      target
 *         command                     ->            reads it
 *         the data of a put           ->            receives them into its window,
 *                                                   sets the signal
 *         reply, or the data of a get <-            sends it when all of that is complete
 *
 * The origin's stream waits for the reply: what it has passed is complete at the target, as
 * with direct stores, and the commands of a stream are executed one after the other. */
#ifndef GPUBIND_MPI_RMA_WINDOW_AM_H
#define GPUBIND_MPI_RMA_WINDOW_AM_H

#include "gpu/core/mem_query.h"
#include "mpi/base/modules.h"
#include "mpi/p2p/tag_match.h"
#include "mpi/rma/window.h"

#define WINDOW_TAG (INT32_MIN + 1) /* of commands; data and replies have tags by number */

enum window_op_flags { WINDOW_OP_PUT = 1, WINDOW_OP_GET = 2, WINDOW_OP_SIGNAL = 4 };

struct window_command {
    uint32_t number; /* of the origin's commands in this window */
    uint32_t op_flags;
    uint64_t offset, nbytes; /* of data */
    uint64_t signal, value;
};

struct window_reply {
    int32_t result; /* an MPI error class, */
    char why[200];  /* and its sentence */
};

/* State of a window some of whose ranks have not mapped each other's part. */
struct window_remote {
    struct comm *comm; /* attached to the window's own communicator */
    uint32_t next_number;
    int origin_pending; /* commands of this rank that are not complete */
    int target_pending; /* commands of others that are not complete here */
    int origins;        /* ranks that may send commands */
    bool accepts[];     /* by rank: it executes this rank's commands */
};

/* Collective: finds out which ranks need commands, and prepares for them. An MPI error
 * class. */
int window_remote_begin(struct gpubind_window *win, struct gpubind_error *err);
/* A rank is gone: this rank accepts no more commands. */
void window_remote_give_up(struct gpubind_window *win);
/* All ranks have reached the window's end, and it is idle. */
void window_remote_end(struct gpubind_window *win);
/* No command of this rank or for it is under way. */
bool window_is_idle(const struct gpubind_window *win);
bool window_is_out_of_reach(const struct gpubind_window *win, int rank);

/* ---- window_origin.c */

/* Puts a command into the stream; fills its number. buffer: of the data. An MPI error
 * class. */
int window_queue_command(struct gpubind_window *win, int target,
                         const struct window_command *command, const void *buffer,
                         gpu_stream stream, struct gpubind_error *err);
/* Puts a wait for a signal into the stream, which a command of another rank may set. */
int window_queue_wait(const struct gpubind_window *win, gpu_address signal, uint64_t value,
                      gpu_stream stream, struct gpubind_error *err);

/* ---- window_target.c */

/* This rank executes commands from now on: 0, or -1 with a sentence. */
int window_target_start(struct gpubind_error *err);
void window_target_stop(void);

extern const struct module window_module;

/* ---- messages of the window, for both */

struct gpubind_operation *window_message(const struct gpubind_window *win, enum request_kind kind,
                                         int rank, int tag, const struct memory *memory,
                                         uint64_t nbytes);
/* The same with host memory of the library. */
struct gpubind_operation *window_host_message(const struct gpubind_window *win,
                                              enum request_kind kind, int rank, int tag, void *at,
                                              uint64_t nbytes);
void window_send(struct gpubind_operation *send);
/* Ends the message if its rank is gone. operation may be NULL. */
void window_look_after(struct gpubind_operation *operation);
int window_data_tag(const struct window_command *command);
int window_reply_tag(const struct window_command *command);

#endif
