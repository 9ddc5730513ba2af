/* Error handlers of the application need not return (handlers.h). What a call of this library's has begun is given up
 * before one of them runs. */
#ifndef GPUBIND_AWARE_UNDO_H
#define GPUBIND_AWARE_UNDO_H

#include <stdbool.h>

/* run: gives it up; code is the error's. The handler finds the rest as if the call had returned. */
struct undo {
    void (*run)(void *what, int code);
    void *what;
    struct undo *before; /* of the same call, begun before it */
    bool done;
};

/* From here to undo_end, in this thread. */
void undo_begin(struct undo *undo, void (*run)(void *what, int code), void *what);
/* true: it was run, and what the call had begun is not the call's any more. */
bool undo_end(struct undo *undo);

/* Around a function of the application that MPI calls: what it calls has its own. */
struct undo *undo_hide(void);
void undo_show(struct undo *hidden);
/* Runs those that were hidden, the last one first. */
void undo_run(struct undo *hidden, int code);

#endif
