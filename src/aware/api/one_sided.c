/* One-sided communication: the calls that move data. */
#include "aware/memory/gpu_buffer.h"
#include "aware/message/progress.h"
#include "aware/request/calls.h"
#include "aware/rma/window_far.h"
#include "aware/rma/window_later.h"
#include "aware/rma/window_move.h"
#include "aware/rma/window_op.h"
#include "mpi/datatype/type_contents.h"

#define NOBODY (rank == MPI_PROC_NULL ? STAGED_NOBODY : 0)
/* MPI_NO_OP: what the origin would give has no meaning. */
#define UNGIVEN (op == MPI_NO_OP ? STAGED_NOBODY : 0)

/* The call may be more than MPI's. */
static bool is_ours(void)
{
    return !is_behind && (windows_are_there() || gpu_is_in_use());
}

/* NULL: the target's memory is MPI's, and what stands for it is at this displacement. An MPI error class. */
static int find(struct window **window, MPI_Win win, const struct window_there *there, MPI_Aint *at)
{
    struct window *found = window_find(win);

    *window = window_has_gpu(found, there) ? found : NULL;
    return found && found->far ? window_far_find(found, there, at) : MPI_SUCCESS;
}

static void trace_target(struct traced *call, enum trace_kind kind, MPI_Win win,
                         const struct window_there *there)
{
    traced_message(call, kind, TRACE_PLAIN, there->count, there->type,
                   there->rank == MPI_PROC_NULL || win == MPI_WIN_NULL ? MPI_PROC_NULL : 0, 0,
                   MPI_COMM_WORLD);
    if (!traced_is_event(call))
        return;
    call->event.peer = trace_part_peer(window_world_rank(win, there->rank));
    if (window_is_mirrored(win))
        call->event.path = TRACE_STAGED;
}

static int traced_returned(struct traced *call, int result)
{
    if (result == MPI_SUCCESS)
        traced_end(call);
    return result;
}

/* A call to GPU memory is complete. */
static int ended(struct traced *call, MPI_Win win, int result)
{
    return result == MPI_SUCCESS ? traced_returned(call, result) : window_refused(win, result);
}

/* And so is its request, for which MPI makes no progress: a program may repeat the call until it finds what another
 * rank writes, which may wait for progress here first. */
static int completed(struct traced *call, MPI_Win win, int result, MPI_Request *request)
{
    static __thread unsigned calls __attribute__((tls_model("initial-exec")));

    progress_idle(++calls);
    if (result == MPI_SUCCESS)
        result = CALL_MPI(PMPI_Isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, request));
    return ended(call, win, result);
}

/* MPI has begun a call to its memory. */
static int later(struct traced *call, MPI_Win win, int rank, struct staged *buffers, int n,
                 int result)
{
    return traced_returned(call, window_later(win, rank, buffers, n, result));
}

/* Its request may complete it before any call for the window. */
static void forget(MPI_Win win)
{
    const struct window *window = window_find(win);

    if (window && window->far)
        window_far_forget(window->far);
}

/* MPICH 4.0 completes the request of MPI_Rget before the data has come, where either type has gaps: nobody would
 * copy what comes later. A program that synchronises before it looks never sees that in host memory. */
static int got(int result, MPI_Win win, int rank, const struct staged *staged, MPI_Datatype theirs)
{
#ifndef OPEN_MPI
    if (result == MPI_SUCCESS && staged->staged &&
        !(type_is_basic(staged->type) && type_is_basic(theirs)))
        result = CALL_MPI(PMPI_Win_flush_local(rank, win));
#else
    (void)win, (void)rank, (void)staged, (void)theirs;
#endif
    return result;
}

static void trace_path(struct traced *call, const struct staged *buffers, int n)
{
    for (int i = 0; i < n; i++)
        if (buffers[i].staged)
            call->event.path = TRACE_STAGED;
}

/* The buffers of a call to MPI's memory. */
static int stage(struct staged *staged, MPI_Win win, struct window_buffer buffer, unsigned use)
{
    const int result = staged_begin(staged, buffer.at, buffer.count, buffer.type,
                                    use | STAGED_LATER | STAGED_WINDOW);

    return result == MPI_SUCCESS ? result : window_refused(win, result);
}

/* ungiven: of from alone. */
static int stage_both(struct staged staged[2], MPI_Win win, struct window_buffer from,
                      struct window_buffer result, unsigned use, unsigned ungiven)
{
    int status = stage(&staged[0], win, from, STAGED_READ | use | ungiven);

    if (status != MPI_SUCCESS)
        return status;
    status = stage(&staged[1], win, result, STAGED_READ | STAGED_WRITTEN | use);
    if (status != MPI_SUCCESS)
        staged_end(&staged[0]);
    return status;
}

static int accumulate(struct window *window, const struct window_there *there,
                      struct window_buffer from, struct window_buffer result, MPI_Op op)
{
    const int status = window_check_op(op, there->count, there->type);

    return status == MPI_SUCCESS ? window_accumulate(window, there, from, result, op) : status;
}

static const struct window_buffer nothing = {NULL, 0, MPI_DATATYPE_NULL};

#define THERE                                \
    {                                        \
        rank, at, there, their_type, &traced \
    }
#define BUFFER ((struct window_buffer){origin, n, type})
#define STAGED(i, COUNT) staged[i].host, (COUNT)staged[i].count, staged[i].type
#define TARGET rank, at, there, their_type

/* How a call to GPU memory ends, and one to MPI's with n staged buffers; the same with a request. */
#define ENDED(call) ended(&traced, win, call)
#define COMPLETED(call) completed(&traced, win, call, request)
#define LATER(n) later(&traced, win, rank, staged, n, result)
#define STARTED(n) \
    (forget(win), call_started(&traced, staged, n, result, *request, false, MPI_COMM_SELF))

#define UNWRAP(...) __VA_ARGS__
#define PLACE(COUNT) int rank, MPI_Aint at, COUNT there, MPI_Datatype their_type

/* kind: for a trace; CONST: of the origin's buffer; in parentheses the parameters behind it, and their arguments; how the call
 * ends. */
#define MOVES(name, kind, COUNT, CONST, use, parameters, arguments, ours, theirs)             \
    NEXT(name)                                                                                \
    AWARE_PUBLIC int name(CONST void *origin, COUNT n, MPI_Datatype type, UNWRAP parameters)  \
    {                                                                                         \
        TRACED(traced, #name, rank);                                                          \
        const struct window_there target = THERE;                                             \
        struct window *window;                                                                \
        struct staged staged[1];                                                              \
        int result;                                                                           \
                                                                                              \
        if (traced_has_begun(&traced))                                                        \
            trace_target(&traced, kind, win, &target);                                        \
        if (!is_ours())                                                                       \
            return traced_returned(&traced, BEHIND(name, origin, n, type, UNWRAP arguments)); \
        result = find(&window, win, &target, &at);                                            \
        if (result != MPI_SUCCESS)                                                            \
            return window_refused(win, result);                                               \
        if (window)                                                                           \
            return ours;                                                                      \
        result = stage(&staged[0], win, BUFFER, (use) | NOBODY);                              \
        if (result != MPI_SUCCESS)                                                            \
            return result;                                                                    \
        trace_path(&traced, staged, 1);                                                       \
        result = BEHIND(name, STAGED(0, COUNT), UNWRAP arguments);                            \
        return theirs;                                                                        \
    }

#define FETCHES(name, COUNT, parameters, arguments, ours, theirs)                            \
    NEXT(name)                                                                               \
    AWARE_PUBLIC int name(const void *origin, COUNT n, MPI_Datatype type, void *fetched,     \
                          COUNT nfetched, MPI_Datatype fetched_type, UNWRAP parameters)      \
    {                                                                                        \
        TRACED(traced, #name, rank);                                                         \
        const struct window_there target = THERE;                                            \
        const struct window_buffer given = op == MPI_NO_OP ? nothing : BUFFER;               \
        const struct window_buffer wanted = {fetched, nfetched, fetched_type};               \
        struct window *window;                                                               \
        struct staged staged[2];                                                             \
        int result;                                                                          \
                                                                                             \
        if (traced_has_begun(&traced))                                                       \
            trace_target(&traced, TRACE_UPDATE, win, &target);                               \
        if (!is_ours())                                                                      \
            return traced_returned(&traced, BEHIND(name, origin, n, type, fetched, nfetched, \
                                                   fetched_type, UNWRAP arguments));         \
        result = find(&window, win, &target, &at);                                           \
        if (result != MPI_SUCCESS)                                                           \
            return window_refused(win, result);                                              \
        if (window)                                                                          \
            return ours;                                                                     \
        result = stage_both(staged, win, BUFFER, wanted, NOBODY, UNGIVEN);                   \
        if (result != MPI_SUCCESS)                                                           \
            return result;                                                                   \
        trace_path(&traced, staged, 2);                                                      \
        result = BEHIND(name, STAGED(0, COUNT), STAGED(1, COUNT), UNWRAP arguments);         \
        return theirs;                                                                       \
    }

#define PUT window_put(window, &target, BUFFER)
#define GET window_get(window, &target, BUFFER)
#define ADD accumulate(window, &target, BUFFER, nothing, op)
#define FETCH accumulate(window, &target, given, wanted, op)
#define WRITTEN (STAGED_READ | STAGED_WRITTEN) /* by what the target has, as far as it goes */
#define ONE_SIDED(suffix, COUNT)                                                              \
    MOVES(MPI_Put##suffix, TRACE_PUT, COUNT, const, STAGED_READ, (PLACE(COUNT), MPI_Win win), \
          (TARGET, win), ENDED(PUT), LATER(1))                                                \
    MOVES(MPI_Get##suffix, TRACE_GET, COUNT, , WRITTEN, (PLACE(COUNT), MPI_Win win),          \
          (TARGET, win), ENDED(GET), LATER(1))                                                \
    MOVES(MPI_Accumulate##suffix, TRACE_UPDATE, COUNT, const, STAGED_READ,                    \
          (PLACE(COUNT), MPI_Op op, MPI_Win win), (TARGET, op, win), ENDED(ADD), LATER(1))    \
    MOVES(MPI_Rput##suffix, TRACE_PUT, COUNT, const, STAGED_READ,                             \
          (PLACE(COUNT), MPI_Win win, MPI_Request * request), (TARGET, win, request),         \
          COMPLETED(PUT), STARTED(1))                                                         \
    MOVES(MPI_Rget##suffix, TRACE_GET, COUNT, , WRITTEN,                                      \
          (PLACE(COUNT), MPI_Win win, MPI_Request * request), (TARGET, win, request),         \
          COMPLETED(GET), (result = got(result, win, rank, staged, their_type), STARTED(1)))  \
    MOVES(MPI_Raccumulate##suffix, TRACE_UPDATE, COUNT, const, STAGED_READ,                   \
          (PLACE(COUNT), MPI_Op op, MPI_Win win, MPI_Request * request),                      \
          (TARGET, op, win, request), COMPLETED(ADD), STARTED(1))                             \
    FETCHES(MPI_Get_accumulate##suffix, COUNT, (PLACE(COUNT), MPI_Op op, MPI_Win win),        \
            (TARGET, op, win), ENDED(FETCH), LATER(2))                                        \
    FETCHES(MPI_Rget_accumulate##suffix, COUNT,                                               \
            (PLACE(COUNT), MPI_Op op, MPI_Win win, MPI_Request * request),                    \
            (TARGET, op, win, request), COMPLETED(FETCH), STARTED(2))

ONE_SIDED(, int)
#if MPI_VERSION >= 4
ONE_SIDED(_c, MPI_Count)
#endif

NEXT(MPI_Fetch_and_op)
AWARE_PUBLIC int MPI_Fetch_and_op(const void *origin, void *fetched, MPI_Datatype type, int rank,
                                  MPI_Aint at, MPI_Op op, MPI_Win win)
{
    TRACED(traced, "MPI_Fetch_and_op", rank);
    const struct window_there target = {rank, at, 1, type, &traced};
    const struct window_buffer given = {origin, 1, type}, wanted = {fetched, 1, type};
    struct window *window;
    struct staged staged[2];
    int result;

    if (traced_has_begun(&traced))
        trace_target(&traced, TRACE_UPDATE, win, &target);
    if (!is_ours())
        return traced_returned(&traced,
                               BEHIND(MPI_Fetch_and_op, origin, fetched, type, rank, at, op, win));
    result = find(&window, win, &target, &at);
    if (result != MPI_SUCCESS)
        return window_refused(win, result);
    if (window)
        return ended(&traced, win, accumulate(window, &target, given, wanted, op));
    result = stage_both(staged, win, given, wanted, NOBODY, UNGIVEN);
    if (result != MPI_SUCCESS)
        return result;
    trace_path(&traced, staged, 2);
    result = BEHIND(MPI_Fetch_and_op, staged[0].host, staged[1].host, type, rank, at, op, win);
    return later(&traced, win, rank, staged, 2, result);
}

/* Both buffers that MPI reads are staged. */
static int stage_comparison(struct staged staged[3], MPI_Win win, const void *compare,
                            const void *origin, void *fetched, MPI_Datatype type, unsigned use)
{
    const struct window_buffer given = {origin, 1, type}, wanted = {fetched, 1, type};
    int result = stage(&staged[0], win, (struct window_buffer){compare, 1, type},
                       STAGED_READ | use);

    if (result != MPI_SUCCESS)
        return result;
    result = stage_both(&staged[1], win, given, wanted, use, 0);
    if (result != MPI_SUCCESS)
        staged_end(&staged[0]);
    return result;
}

NEXT(MPI_Compare_and_swap)
AWARE_PUBLIC int MPI_Compare_and_swap(const void *origin, const void *compare, void *fetched,
                                      MPI_Datatype type, int rank, MPI_Aint at, MPI_Win win)
{
    TRACED(traced, "MPI_Compare_and_swap", rank);
    const struct window_there target = {rank, at, 1, type, &traced};
    struct window *window;
    struct staged staged[3];
    int result;

    if (traced_has_begun(&traced))
        trace_target(&traced, TRACE_UPDATE, win, &target);
    if (!is_ours())
        return traced_returned(
            &traced, BEHIND(MPI_Compare_and_swap, origin, compare, fetched, type, rank, at, win));
    result = find(&window, win, &target, &at);
    if (result != MPI_SUCCESS)
        return window_refused(win, result);
    if (window)
        return ended(&traced, win,
                     window_compare_and_swap(window, &target, origin, compare, fetched));
    result = stage_comparison(staged, win, compare, origin, fetched, type, NOBODY);
    if (result != MPI_SUCCESS)
        return result;
    trace_path(&traced, staged, 3);
    result = BEHIND(MPI_Compare_and_swap, staged[1].host, staged[0].host, staged[2].host, type,
                    rank, at, win);
    return later(&traced, win, rank, staged, 3, result);
}
