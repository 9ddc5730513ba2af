#include "aware/request/application.h"

#include "aware/base/next.h"
#include "aware/message/direct_memory.h"

__thread bool is_in_operation;

struct application application_enter(void)
{
    const struct application left = {handlers_suspend(), undo_hide(), direct_look_hide(),
                                     is_behind};

    is_behind = false;
    return left;
}

void application_leave(const struct application *left)
{
    is_behind = left->was_behind;
    direct_look_show(left->looks);
    undo_show(left->begun);
    handlers_resume(left->handlers);
}
