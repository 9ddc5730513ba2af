/* Functions of the application for which MPI is given functions of this library, where no argument of a call tells
 * which one is meant: each has a slot, and a function of its own. */
#ifndef GPUBIND_AWARE_STAND_INS_H
#define GPUBIND_AWARE_STAND_INS_H

#include <pthread.h>
#include <stddef.h>

#define STAND_INS 32 /* different functions; those beyond are passed on */
/* clang-format off */
#define STAND_INS_ALL(EACH)                                                         \
    EACH(0) EACH(1) EACH(2) EACH(3) EACH(4) EACH(5) EACH(6) EACH(7)                 \
    EACH(8) EACH(9) EACH(10) EACH(11) EACH(12) EACH(13) EACH(14) EACH(15)           \
    EACH(16) EACH(17) EACH(18) EACH(19) EACH(20) EACH(21) EACH(22) EACH(23)         \
    EACH(24) EACH(25) EACH(26) EACH(27) EACH(28) EACH(29) EACH(30) EACH(31)
/* clang-format on */

typedef void stand_in_given(void);
struct stand_ins {
    pthread_mutex_t lock;
    stand_in_given *given[STAND_INS];
};

/* The slot of a function, which it keeps; -1: all are taken. */
static inline int stand_in_slot(struct stand_ins *all, stand_in_given *given)
{
    int i = 0;

    pthread_mutex_lock(&all->lock);
    while (i < STAND_INS && all->given[i] && all->given[i] != given)
        i++;
    if (i < STAND_INS)
        all->given[i] = given;
    pthread_mutex_unlock(&all->lock);
    return i < STAND_INS ? i : -1;
}

#endif
