#include "aware/request/operations.h"

#include "aware/base/next.h"
#include "aware/base/stand_ins.h"
#include "aware/request/application.h"

static struct stand_ins given_functions = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void call(int slot, void *in, void *inout, void *count, void *type, void *more)
{
    const struct application left = application_enter();
    const bool was_in_operation = is_in_operation;

    is_in_operation = true;
    ((operation *)given_functions.given[slot])(in, inout, count, type, more);
    is_in_operation = was_in_operation;
    application_leave(&left);
}

#define STAND_IN(i)                                                                      \
    static void stand_in_##i(void *in, void *inout, void *count, void *type, void *more) \
    {                                                                                    \
        call(i, in, inout, count, type, more);                                           \
    }
#define NAME(i) stand_in_##i,
STAND_INS_ALL(STAND_IN)
static operation *const stand_ins[STAND_INS] = {STAND_INS_ALL(NAME)};

operation *operation_stand_in(operation *given)
{
    int slot;

    if (is_behind || !given)
        return given;
    slot = stand_in_slot(&given_functions, (stand_in_given *)given);
    return slot < 0 ? given : stand_ins[slot];
}
