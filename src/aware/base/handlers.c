#include "aware/base/handlers.h"

#include <stdarg.h>
#include <stddef.h>

#include "aware/base/next.h"
#include "aware/base/stand_ins.h"
#include "aware/base/undo.h"

static struct stand_ins given_functions = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread bool is_quiet;

int handler_status_quietly(MPI_Request request, int *flag, MPI_Status *status)
{
    const bool was_quiet = is_quiet;
    int result;

    is_quiet = true;
    result = CALL_MPI(PMPI_Request_get_status(request, flag, status));
    is_quiet = was_quiet;
    return result;
}

bool handlers_suspend(void)
{
    const bool was_quiet = is_quiet;

    is_quiet = false;
    return was_quiet;
}

void handlers_resume(bool was_quiet)
{
    is_quiet = was_quiet;
}

static void call(int slot, void *handle, int *code, va_list more)
{
    const bool was_behind = is_behind;
    struct undo *begun;
    void *first = va_arg(more, void *), *second = va_arg(more, void *);

    if (is_quiet)
        return;
    begun = undo_hide();
    is_behind = false;
    undo_run(begun, *code);
    ((handler *)given_functions.given[slot])(handle, code, first, second);
    undo_show(begun);
    is_behind = was_behind;
}

#define STAND_IN(i)                                        \
    static void stand_in_##i(void *handle, int *code, ...) \
    {                                                      \
        va_list more;                                      \
                                                           \
        va_start(more, code);                              \
        call(i, handle, code, more);                       \
        va_end(more);                                      \
    }
#define NAME(i) stand_in_##i,
STAND_INS_ALL(STAND_IN)
static handler *const stand_ins[STAND_INS] = {STAND_INS_ALL(NAME)};

handler *handler_stand_in(handler *given)
{
    int slot;

    if (is_behind || !given)
        return given;
    slot = stand_in_slot(&given_functions, (stand_in_given *)given);
    return slot < 0 ? given : stand_ins[slot];
}
