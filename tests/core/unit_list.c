/* Intrusive lists: the order of what is put on them, and taking off at either end and between. */
#include "core/base/list.h"

#include <sys/queue.h> /* none of whose names the header takes */

#include "tests/tap.h"

struct item {
    struct item *next;
    char name;
};

static struct item items[5] = {
    {.name = 'a'}, {.name = 'b'}, {.name = 'c'}, {.name = 'd'}, {.name = 'e'}};
static QUEUE_OF(struct item) queue;

static const char *queue_text(void)
{
    static char text[8];
    struct item *item;
    int n = 0;

    QUEUE_FOREACH (item, &queue, next)
        text[n++] = item->name;
    text[n] = 0;
    return text;
}

static void queues(void)
{
    struct item *item, **at;

    tap_ok(QUEUE_EMPTY(&queue) && !QUEUE_POP(&queue, next), "a queue of zeros is empty");
    for (int i = 0; i < 4; i++)
        QUEUE_PUSH(&queue, &items[i], next);
    QUEUE_PUSH_FRONT(&queue, &items[4], next);
    tap_is(queue_text(), "eabcd", "pushed at the end and in front");
    item = QUEUE_POP(&queue, next);
    tap_ok(item == &items[4], "the first is popped");
    for (at = &queue.first; (item = *at);)
        if (item->name == 'b' || item->name == 'd')
            QUEUE_UNLINK(&queue, at, next);
        else
            at = &item->next;
    tap_is(queue_text(), "ac", "one between and the last are unlinked");
    QUEUE_PUSH(&queue, &items[4], next);
    tap_is(queue_text(), "ace", "pushed after the last was unlinked");
    tap_ok(QUEUE_REMOVE(&queue, &items[4], next), "the last is removed");
    tap_ok(!QUEUE_REMOVE(&queue, &items[1], next), "what is not there is not");
    QUEUE_PUSH(&queue, &items[3], next);
    tap_is(queue_text(), "acd", "pushed after the last was removed");
    while (QUEUE_POP(&queue, next))
        continue;
    QUEUE_PUSH(&queue, &items[1], next);
    tap_is(queue_text(), "b", "pushed after all were popped");
    QUEUE_UNLINK(&queue, &queue.first, next);
    QUEUE_PUSH_FRONT(&queue, &items[2], next);
    QUEUE_PUSH(&queue, &items[0], next);
    tap_is(queue_text(), "ca", "pushed in front of nothing, and behind it");
}

int main(void)
{
    queues();
    return tap_done();
}
