/* Functions of the application that MPI calls, in functions that this library has called. They may call MPI in turn, with
 * GPU memory. */
#ifndef GPUBIND_AWARE_APPLICATION_H
#define GPUBIND_AWARE_APPLICATION_H

#include "aware/base/handlers.h"
#include "aware/base/undo.h"

/* Around such a function: what it calls is handled as if it was not MPI that calls it. */
struct application {
    struct handlers_state handlers;
    struct undo *begun;
    int looks;
    bool was_behind;
};
struct application application_enter(void);
void application_leave(const struct application *left);

#endif
