/* Functions of the application that MPI calls, in functions that this library has called. They may call MPI in turn, with
 * GPU memory. */
#ifndef GPUBIND_AWARE_APPLICATION_H
#define GPUBIND_AWARE_APPLICATION_H

#include "aware/base/handlers.h"
#include "aware/base/undo.h"

/* Around such a function: what it calls is handled as if it was not MPI that calls it. */
struct application {
    bool handlers; /* they were quiet */
    struct undo *begun;
    int looks;
    bool was_behind;
};
struct application application_enter(void);
void application_leave(const struct application *left);

/* This thread is in an operation of the application's, which calls local functions alone: perhaps while MPI makes
 * progress, and this library has locked the requests. */
extern __thread bool is_in_operation __attribute__((tls_model("initial-exec")));

#endif
