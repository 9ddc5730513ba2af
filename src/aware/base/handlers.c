#include "aware/base/handlers.h"

#include <stdarg.h>
#include <stddef.h>

#include "aware/base/next.h"
#include "aware/base/undo.h"

#define SLOTS 32 /* different functions of the application; those beyond are passed on */
static handler *handlers[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__thread pthread_mutex_t *handler_unlocks;
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

struct handlers_state handlers_suspend(void)
{
    const struct handlers_state state = {is_quiet, handler_unlocks};

    is_quiet = false;
    handler_unlocks = NULL;
    return state;
}

void handlers_resume(struct handlers_state state)
{
    is_quiet = state.was_quiet;
    handler_unlocks = state.held;
}

static void call(int slot, void *handle, int *code, va_list more)
{
    const bool was_behind = is_behind;
    pthread_mutex_t *const held = handler_unlocks;
    struct undo *begun;
    void *first = va_arg(more, void *), *second = va_arg(more, void *);

    if (is_quiet)
        return;
    begun = undo_hide();
    is_behind = false;
    handler_unlocks = NULL;
    if (held)
        pthread_mutex_unlock(held);
    undo_run(begun, *code);
    handlers[slot](handle, code, first, second);
    if (held)
        pthread_mutex_lock(held);
    handler_unlocks = held;
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
/* clang-format off */
#define ALL(EACH)                                                                   \
    EACH(0) EACH(1) EACH(2) EACH(3) EACH(4) EACH(5) EACH(6) EACH(7)                 \
    EACH(8) EACH(9) EACH(10) EACH(11) EACH(12) EACH(13) EACH(14) EACH(15)           \
    EACH(16) EACH(17) EACH(18) EACH(19) EACH(20) EACH(21) EACH(22) EACH(23)         \
    EACH(24) EACH(25) EACH(26) EACH(27) EACH(28) EACH(29) EACH(30) EACH(31)
/* clang-format on */

ALL(STAND_IN)
static handler *const stand_ins[SLOTS] = {ALL(NAME)};

handler *handler_stand_in(handler *given)
{
    int i = 0;

    if (is_behind || !given)
        return given;
    pthread_mutex_lock(&lock);
    while (i < SLOTS && handlers[i] && handlers[i] != given)
        i++;
    if (i < SLOTS)
        handlers[i] = given;
    pthread_mutex_unlock(&lock);
    return i < SLOTS ? stand_ins[i] : given;
}
