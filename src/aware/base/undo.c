#include "aware/base/undo.h"

#include <stddef.h>

static __thread struct undo *last __attribute__((tls_model("initial-exec")));

void undo_begin(struct undo *undo, void (*run)(void *what, int code), void *what)
{
    *undo = (struct undo){run, what, last, false};
    last = undo;
}

bool undo_end(struct undo *undo)
{
    last = undo->before;
    return undo->done;
}

struct undo *undo_hide(void)
{
    struct undo *const hidden = last;

    last = NULL;
    return hidden;
}

void undo_show(struct undo *hidden)
{
    last = hidden;
}

void undo_run(struct undo *hidden, int code)
{
    for (struct undo *undo = hidden; undo; undo = undo->before) {
        if (undo->done)
            continue;
        undo->done = true;
        undo->run(undo->what, code);
    }
}
