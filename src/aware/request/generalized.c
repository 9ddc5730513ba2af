#include "aware/request/generalized.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "aware/request/application.h"

struct state {
    struct generalized of;
    void *extra;
};

#define APPLICATION(call)                                    \
    __extension__({                                          \
        const struct application left = application_enter(); \
        const int result_of_it = (call);                     \
                                                             \
        application_leave(&left);                            \
        result_of_it;                                        \
    })

static int query(void *extra, void *status, void *code)
{
    const struct state *state = extra;

    return APPLICATION(state->of.query(state->extra, status, code));
}

/* The last call of all. */
static int free_it(void *extra, void *code)
{
    struct state *state = extra;
    const int result = APPLICATION(state->of.free(state->extra, code));

    free(state);
    return result;
}

static int cancel(void *extra, void *complete, void *code)
{
    const struct state *state = extra;

    return APPLICATION(state->of.cancel(state->extra, complete, code));
}

static int poll(void *extra, void *status)
{
    const struct state *state = extra;

    return APPLICATION(state->of.poll(state->extra, status));
}

/* Of several requests, whose functions may be different ones: one after the other. */
static int wait_for(int n, void **extras, double timeout, void *status)
{
    int result = 0;

    for (int i = 0; i < n && result == 0; i++) {
        struct state *state = extras[i];

        result = APPLICATION(state->of.wait(1, &state->extra, timeout, status));
    }
    return result;
}

struct generalized generalized_stand_ins(const struct generalized *given)
{
    return (struct generalized){query, free_it, cancel, given->poll ? poll : NULL,
                                given->wait ? wait_for : NULL};
}

void *generalized_state(const struct generalized *given, void *extra)
{
    struct state *state = malloc(sizeof *state);

    if (state)
        *state = (struct state){*given, extra};
    return state;
}

void generalized_drop(void *state)
{
    free(state);
}

/* ---- classes */

struct class
{
    struct class *next;
    int number;
    struct generalized of;
};

static struct class *classes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool generalized_add_class(int number, const struct generalized *given)
{
    struct class *class = malloc(sizeof *class);

    if (!class)
        return false;
    pthread_mutex_lock(&lock);
    *class = (struct class){classes, number, *given};
    classes = class;
    pthread_mutex_unlock(&lock);
    return true;
}

bool generalized_of_class(int number, struct generalized *given)
{
    const struct class *class;

    pthread_mutex_lock(&lock);
    for (class = classes; class && class->number != number; class = class->next)
        ;
    if (class)
        *given = class->of;
    pthread_mutex_unlock(&lock);
    return class;
}
