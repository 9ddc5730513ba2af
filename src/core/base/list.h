/* Intrusive lists: macros that link structures through members of their own, without
 * allocation. The caller names the member, so one structure can be on several lists. A list
 * that is all zero is empty; none needs an initializer. LIST stands for a pointer to the
 * list, LINK for the name of the member; LIST and ITEM may be evaluated more than once.
 *
 * QUEUE: singly linked, first in first out.
 *
 *     struct job { struct job *next; int id; };
 *     static QUEUE_OF(struct job) jobs;
 *
 *     QUEUE_PUSH(&jobs, job, next);
 *     while ((job = QUEUE_POP(&jobs, next)))
 *         free(job);
 *
 *     struct job **at = &jobs.first;  // drops some: at is where the next job is linked
 *     while ((job = *at))
 *         if (job->id == done)
 *             QUEUE_UNLINK(&jobs, at, next), free(job);
 *         else
 *             at = &job->next;
 */
#ifndef GPUBIND_CORE_BASE_LIST_H
#define GPUBIND_CORE_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* The list itself. `end` is where the next item is linked, and undefined while the queue is
 * empty. A function that takes lists needs a structure with a name and these members. */
#define QUEUE_OF(TYPE)      \
    struct {                \
        TYPE *first, **end; \
    }

#define QUEUE_EMPTY(LIST) (!(LIST)->first)

/* Puts ITEM behind all others. */
#define QUEUE_PUSH(LIST, ITEM, LINK)                              \
    do {                                                          \
        (ITEM)->LINK = NULL;                                      \
        *((LIST)->first ? (LIST)->end : &(LIST)->first) = (ITEM); \
        (LIST)->end = &(ITEM)->LINK;                              \
    } while (0)

/* Puts ITEM before all others. */
#define QUEUE_PUSH_FRONT(LIST, ITEM, LINK)   \
    do {                                     \
        if (!((ITEM)->LINK = (LIST)->first)) \
            (LIST)->end = &(ITEM)->LINK;     \
        (LIST)->first = (ITEM);              \
    } while (0)

/* Takes the first item off and returns it; NULL if the queue is empty. */
#define QUEUE_POP(LIST, LINK)                                  \
    __extension__({                                            \
        __typeof__((LIST)->first) queue_item_ = (LIST)->first; \
        if (queue_item_)                                       \
            (LIST)->first = queue_item_->LINK;                 \
        queue_item_;                                           \
    })

/* Takes *AT off. AT points to what points to the item: &LIST->first or another item's LINK.
 * Afterwards *AT is the item that followed. */
#define QUEUE_UNLINK(LIST, AT, LINK)              \
    do {                                          \
        __typeof__((LIST)->end) queue_at_ = (AT); \
        if (!(*queue_at_ = (*queue_at_)->LINK))   \
            (LIST)->end = queue_at_;              \
    } while (0)

/* Searches for ITEM and takes it off. false: it was not on the queue. */
#define QUEUE_REMOVE(LIST, ITEM, LINK)                        \
    __extension__({                                           \
        __typeof__((LIST)->end) queue_link_ = &(LIST)->first; \
        bool queue_found_;                                    \
        while (*queue_link_ && *queue_link_ != (ITEM))        \
            queue_link_ = &(*queue_link_)->LINK;              \
        queue_found_ = *queue_link_;                          \
        if (queue_found_)                                     \
            QUEUE_UNLINK(LIST, queue_link_, LINK);            \
        queue_found_;                                         \
    })

/* A loop over all items; its body must not take ITEM off or free it. */
#define QUEUE_FOREACH(ITEM, LIST, LINK) for ((ITEM) = (LIST)->first; (ITEM); (ITEM) = (ITEM)->LINK)

#endif
