#include "aware/request/operations.h"

#include <pthread.h>
#include <stddef.h>

#include "aware/base/next.h"
#include "aware/request/application.h"

#define SLOTS 32 /* different functions of the application; those beyond are passed on */
static operation *operations[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void call(int slot, void *in, void *inout, void *count, void *type, void *more)
{
    const struct application left = application_enter();
    const bool was_in_operation = is_in_operation;

    is_in_operation = true;
    operations[slot](in, inout, count, type, more);
    is_in_operation = was_in_operation;
    application_leave(&left);
}

#define STAND_IN(i)                                                                      \
    static void stand_in_##i(void *in, void *inout, void *count, void *type, void *more) \
    {                                                                                    \
        call(i, in, inout, count, type, more);                                           \
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
static operation *const stand_ins[SLOTS] = {ALL(NAME)};

operation *operation_stand_in(operation *given)
{
    int i = 0;

    if (is_behind || !given)
        return given;
    pthread_mutex_lock(&lock);
    while (i < SLOTS && operations[i] && operations[i] != given)
        i++;
    if (i < SLOTS)
        operations[i] = given;
    pthread_mutex_unlock(&lock);
    return i < SLOTS ? stand_ins[i] : given;
}
