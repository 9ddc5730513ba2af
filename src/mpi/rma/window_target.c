/* Commands to ranks whose windows streams of the origin do not reach: the target's side. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu/copy/copy_agent.h"
#include "gpu/copy/copy_batch.h"
#include "mpi/core/progress.h"
#include "mpi/core/progress_thread.h"
#include "mpi/core/trace.h"
#include "mpi/p2p/recv.h"
#include "mpi/p2p/send_shm.h"
#include "mpi/rma/window_am.h"

#define LOOK_AFTER 0.1 /* seconds */

/* A command under way, and its message of the moment. */
struct served {
    struct served *next;
    struct gpubind_window *win;
    int origin;
    enum { READING, RECEIVING, SENDING, SIGNALLING, ANSWERING } step;
    struct gpubind_operation *operation; /* NULL while signalling */
    struct window_command command;
    struct window_answer answer;
    struct flight flight;
};

static struct served *all, **all_end = &all;
static _Atomic int windows; /* that may be asked */
static _Atomic unsigned events;

static bool may_be_asked(void)
{
    return windows > 0;
}

static unsigned count_events(void)
{
    return events;
}

int window_serve_start(struct gpubind_error *err)
{
    if (progress_thread_start(err) < 0)
        return -1;
    windows++;
    progress_thread_wake();
    return 0;
}

void window_serve_stop(void)
{
    windows--;
}

static void asked(struct comm *channel, const struct arrival *arrival)
{
    struct served *served = calloc(1, sizeof *served);

    if (!served) /* the origin waits for it */
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    served->win = channel->window;
    served->origin = arrival->header.source;
    served->win->remote->serving++;
    served->operation = window_letter(served->win, OPERATION_RECEIVE, served->origin, WINDOW_TAG,
                                      &served->command, sizeof served->command);
    *all_end = served;
    all_end = &served->next;
    events++;
    trace(TRACE_RMA, "a command of rank %d has come", served->origin);
    receive_start(served->operation, arrival);
}

/* ---- steps: each begins the next */

static void answer(struct served *served, int result, const char *why)
{
    served->answer.result = result;
    snprintf(served->answer.why, sizeof served->answer.why, "%.199s", why);
    served->step = ANSWERING;
    trace(TRACE_RMA, "command %u of rank %d is answered%s%s", served->command.number,
          served->origin, result == MPI_SUCCESS ? "" : ": ", result == MPI_SUCCESS ? "" : why);
    served->operation = window_letter(served->win, OPERATION_SEND, served->origin,
                                      window_answer_tag(&served->command), &served->answer,
                                      sizeof served->answer);
    window_send(served->operation);
}

/* By the GPU, in one piece, and behind the data, which have landed. */
static void write_signal(struct served *served)
{
    struct gpu *gpu = served->win->gpu;
    const struct window_command *command = &served->command;
    const cuda_address word = served->win->parts[served->win->rank].signals + 8 * command->signal;
    struct gpubind_error err;
    bool entered;
    int status;

    if (!gpu_driver()->cuStreamWriteValue64_v2) {
        answer(served, MPI_ERR_OTHER, "the CUDA driver is too old: it cannot write signals");
        return;
    }
    entered = gpu_enter(gpu);
    status = gpu_driver()->cuStreamWriteValue64_v2(gpu->streams[GPU_IN], word, command->value, 0);
    gpu_leave(entered);
    if (status != CUDA_OK)
        gpu_error(status, "the signal cannot be written", &err);
    else if ((agent_serves(gpu, GPU_IN) && copies_wait(gpu, GPU_IN, &err) < 0) ||
             copies_start(gpu, GPU_IN, NULL, 0, &served->flight, &err) < 0)
        status = -1;
    if (status == CUDA_OK)
        served->step = SIGNALLING;
    else
        answer(served, MPI_ERR_OTHER, err.text);
}

/* Data from or into the window. */
static void move(struct served *served)
{
    const struct window_command *command = &served->command;
    const struct gpubind_window *win = served->win;
    const cuda_address at = win->parts[win->rank].data + command->offset;
    const bool put = command->deeds & WINDOW_PUT;
    struct memory memory = {.address = at, .gpu = win->gpu};
    struct gpubind_error err;

    if (memory_of((const void *)(uintptr_t)at, &memory, &err) < 0)
        memory = (struct memory){.address = at, .gpu = win->gpu};
    served->step = put ? RECEIVING : SENDING;
    served->operation = window_operation(win, put ? OPERATION_RECEIVE : OPERATION_SEND,
                                         served->origin,
                                         put ? window_data_tag(command)
                                             : window_answer_tag(command),
                                         &memory, command->nbytes);
    if (put)
        match_receive(served->operation);
    else
        window_send(served->operation);
}

/* The signal, or the answer of a command that has none. */
static void conclude(struct served *served)
{
    if (served->command.deeds & WINDOW_SIGNAL)
        write_signal(served);
    else
        answer(served, MPI_SUCCESS, "");
}

/* ---- */

static void end_signal(struct served *served)
{
    struct gpubind_error err;
    const int landed = flight_landed(&served->flight, &err);

    if (landed == 1)
        answer(served, MPI_SUCCESS, "");
    else if (landed < 0)
        answer(served, MPI_ERR_OTHER, err.text);
}

/* Its message has ended. true: so has the command. */
static bool go_on(struct served *served, int result, const struct gpubind_error *err)
{
    switch (served->step) {
    case READING:
        if (result != MPI_SUCCESS) /* the origin would wait for an answer for ever */
            PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_INTERN);
        if (served->command.nbytes > 0)
            move(served);
        else
            conclude(served);
        return false;
    case RECEIVING:
        if (result == MPI_SUCCESS)
            conclude(served);
        else
            answer(served, result, err->text);
        return false;
    default: /* the origin hears of what failed */
        return true;
    }
}

static bool advance(struct served *served)
{
    struct gpubind_operation *operation = served->operation;
    struct gpubind_error err;
    bool gone;
    int result;

    if (!operation) {
        end_signal(served);
        return false;
    }
    if (!operation->done && operation->kind == OPERATION_SEND)
        local_send_nudge(operation);
    if (!operation->done)
        return false;
    result = operation->result;
    err = operation->error;
    gone = result != MPI_SUCCESS && request_peer_is_gone(operation);
    served->operation = NULL;
    operation_forget(operation);
    return gone || go_on(served, result, &err);
}

static void look_after(void)
{
    static double looked;
    const double now = operation_clock();

    if (now - looked < LOOK_AFTER)
        return;
    looked = now;
    for (struct served *served = all; served; served = served->next)
        window_look_after(served->operation);
}

static void progress(bool mpi)
{
    (void)mpi;
    if (!all)
        return;
    look_after();
    for (struct served **link = &all; *link;) {
        struct served *served = *link;

        if (!advance(served)) {
            link = &served->next;
            continue;
        }
        *link = served->next;
        if (!served->next)
            all_end = link;
        served->win->remote->serving--;
        free(served);
        events++;
    }
}

static void start_module(void)
{
    match_hand_to(WINDOW_TAG, asked);
}

const struct module window_module = {
    .name = "window",
    .start = start_module,
    .progress = progress,
    .has_work = may_be_asked,
    .events = count_events,
};
