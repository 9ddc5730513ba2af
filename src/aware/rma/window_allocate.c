#include "aware/rma/window_allocate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aware/base/info.h"
#include "aware/base/next.h"
#include "aware/coll/coll_comm.h"
#include "aware/memory/gpu_memory.h"
#include "aware/message/outgoing.h"

/* ---- what is asked for */

/* Of the GPU, which is ORDERED by the program; else PREFERRED by the environment. */
enum memory { MEMORY_HOST, MEMORY_PREFERRED, MEMORY_ORDERED, MEMORY_REFUSED };

static enum memory preferred_by_environment(void)
{
    const char *asked = getenv("GPUBIND_WIN_MEMORY");
    static atomic_flag said = ATOMIC_FLAG_INIT;

    if (asked && strcmp(asked, "cuda") == 0)
        return MEMORY_PREFERRED;
    if (asked && *asked && strcmp(asked, "host") != 0 && !atomic_flag_test_and_set(&said))
        fprintf(stderr, "gpubind: GPUBIND_WIN_MEMORY is host or cuda, not \"%s\"; taken as host\n",
                asked);
    return MEMORY_HOST;
}

static bool is_kind(const char *kind, size_t length, const char *wanted)
{
    return strlen(wanted) == length && strncasecmp(kind, wanted, length) == 0;
}

/* Of a list of kinds, separated by commas. */
static enum memory listed(const char *kinds)
{
    bool device = false, managed = false;

    while (*kinds) {
        size_t length;

        kinds += strspn(kinds, " ,");
        length = strcspn(kinds, " ,");
        if (is_kind(kinds, length, "cuda") || is_kind(kinds, length, WINDOW_KINDS_GPU))
            device = true;
        else if (is_kind(kinds, length, "cuda:managed"))
            managed = true;
        else if (length > 0)
            return MEMORY_HOST;
        kinds += length;
    }
    return device ? MEMORY_ORDERED : managed ? MEMORY_REFUSED : MEMORY_HOST;
}

static enum memory asked_for(MPI_Info info)
{
    char kinds[MPI_MAX_INFO_VAL + 1] = "";
    enum memory memory;

    if (!info_get(info, WINDOW_KINDS_KEY, kinds))
        return preferred_by_environment();
    memory = listed(kinds);
    if (memory == MEMORY_REFUSED)
        fprintf(stderr,
                "gpubind: MPI_Win_allocate: the memory of a window may be %s, not cuda:managed\n",
                WINDOW_KINDS_GPU);
    return memory;
}

/* ---- this rank's memory */

static void say_why(MPI_Aint nbytes, const struct gpubind_error *err)
{
    fprintf(stderr, "gpubind: MPI_Win_allocate: %lld bytes of GPU memory: %s\n", (long long)nbytes,
            err->text);
}

static void say_once(const struct gpubind_error *err)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set(&said))
        fprintf(stderr,
                "gpubind: MPI_Win_allocate gives host memory, in spite of GPUBIND_WIN_MEMORY=cuda: "
                "%s\n",
                err->text);
}

/* *memory may become MEMORY_HOST. An MPI error class. */
static int take(void **taken, enum memory *memory, MPI_Aint nbytes)
{
    struct gpubind_error err;

    *taken = NULL;
    if (*memory == MEMORY_REFUSED)
        return MPI_ERR_INFO_VALUE;
    if (nbytes == 0 && *memory == MEMORY_PREFERRED)
        *memory = MEMORY_HOST;
    if (nbytes == 0 || *memory == MEMORY_HOST)
        return MPI_SUCCESS;
    *taken = gpu_memory_make((size_t)nbytes, &err);
    if (*taken)
        return MPI_SUCCESS;
    if (*memory == MEMORY_PREFERRED) {
        say_once(&err);
        *memory = MEMORY_HOST;
        return MPI_SUCCESS;
    }
    say_why(nbytes, &err);
    return MPI_ERR_NO_MEM;
}

/* ---- where all ranks are within each other's reach */

/* The same on all ranks. */
static bool some_rank_asks(MPI_Comm comm, enum memory memory)
{
    int mine = memory != MEMORY_HOST, any = 0;

    return CALL_MPI(PMPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, comm)) == MPI_SUCCESS && any;
}

static int plan_near(struct window_plan *plan, MPI_Comm comm, MPI_Aint unit, enum memory memory)
{
    struct window *window = window_new(comm, MPI_WIN_FLAVOR_ALLOCATE);
    const int failed = take(&window->allocated, &memory, plan->nbytes);
    const bool gpu = memory == MEMORY_PREFERRED || memory == MEMORY_ORDERED;
    int result;

    window->base = window->allocated;
    window->nbytes = plan->nbytes;
    result = window_exchange(window, comm, unit, gpu, failed);
    if (result != MPI_SUCCESS || !window->gpu) {
        window_free(window);
        return result;
    }
    plan->window = window;
    plan->given_gpu = gpu;
    if (gpu)
        plan->nbytes = 0;
    outgoing_serve();
    return MPI_SUCCESS;
}

/* ---- elsewhere: no rank learns of another's */

static void plan_far(struct window_plan *plan, MPI_Comm comm, enum memory memory)
{
    struct window *window = NULL;
    void *taken;

    plan->failed = take(&taken, &memory, plan->nbytes);
    plan->given_gpu = plan->failed == MPI_SUCCESS && memory != MEMORY_HOST;
    if (taken) {
        window = window_new_mirrored(comm, taken, plan->nbytes);
        plan->failed = window ? window_mirror_prepare(&window->mirror, taken, (size_t)plan->nbytes)
                              : MPI_ERR_NO_MEM;
    }
    if (window)
        window->allocated = taken;
    else
        gpu_memory_free(taken);
    if (plan->failed == MPI_SUCCESS) {
        plan->mirrored = window;
        if (window)
            plan->nbytes = (MPI_Aint)window_mirror_room((size_t)plan->nbytes);
        return;
    }
    window_free(window);
    plan->given_gpu = false;
    plan->nbytes = 0;
}

int window_plan_allocate(struct window_plan *plan, MPI_Comm comm, MPI_Aint nbytes, MPI_Aint unit,
                         MPI_Info info)
{
    enum memory memory;

    *plan = (struct window_plan){.nbytes = nbytes};
    if (is_behind || comm == MPI_COMM_NULL || nbytes < 0 || unit <= 0)
        return MPI_SUCCESS;
    memory = asked_for(info);
    if (!coll_comm_is_near(comm)) {
        if (memory != MEMORY_HOST)
            plan_far(plan, comm, memory);
        return MPI_SUCCESS;
    }
    return some_rank_asks(comm, memory) ? plan_near(plan, comm, unit, memory) : MPI_SUCCESS;
}

/* ---- made */

static int begin_mirror(struct window *window, void *memory)
{
    const int result = window_mirror_begin(window->mirror, memory);

    if (result != MPI_SUCCESS) { /* its memory may not be there */
        window_mirror_free(window->mirror);
        window->mirror = NULL;
    }
    return result;
}

/* Where something has failed the window is there nevertheless, for the application to free, without this rank's
 * memory. */
static int failed(MPI_Comm comm, void **base, int result)
{
    *base = NULL;
    PMPI_Comm_call_errhandler(comm, result);
    return result;
}

static int use_memory(struct window_plan *plan, MPI_Comm comm, void **base, MPI_Win win)
{
    struct window *window = plan->window ? plan->window : plan->mirrored;
    int result = window ? window_remember(window, win) : MPI_SUCCESS;

    if (plan->given_gpu && !window)
        window = window_of(win); /* no bytes, far from the others */
    if (result == MPI_SUCCESS && plan->mirrored)
        result = begin_mirror(window, *base);
    if (result != MPI_SUCCESS)
        return failed(comm, base, result);
    if (plan->given_gpu)
        *base = window ? window->allocated : NULL;
    else if (window)
        window->base = *base;
    if (window)
        window->asked_for_gpu = plan->given_gpu;
    return MPI_SUCCESS;
}

int window_allocated(struct window_plan *plan, int result, MPI_Comm comm, void **base, MPI_Win win)
{
    if (result != MPI_SUCCESS) {
        window_free(plan->window);
        window_free(plan->mirrored);
        return result;
    }
    return plan->failed == MPI_SUCCESS ? use_memory(plan, comm, base, win)
                                       : failed(comm, base, plan->failed);
}
