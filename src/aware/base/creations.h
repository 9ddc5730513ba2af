/* Who makes communicators: the application, or this library for its own messages in a collective call.
 *
 * Open MPI gives ids to new communicators in the order of their parents' ids. One that this library made while the
 * process makes another would wait for it, and so for other ranks, which may come to theirs only behind the
 * collective call. So at any time one of the two makes them. Windows and files have communicators, too. Any thread
 * may call these. */
#ifndef GPUBIND_AWARE_CREATIONS_H
#define GPUBIND_AWARE_CREATIONS_H

#include <stdbool.h>

/* The application's, until creation_end (*counts: what begin has said). Waits while this library makes one, in which
 * all its ranks are. */
bool creation_begin(void);
void creation_end(const bool *counts);

/* To stand before the first call of a function in which MPI makes one, until its end. The application's callbacks may
 * be called there. */
#define MAKES_COMMUNICATOR \
    const bool makes __attribute__((cleanup(creation_end), unused)) = creation_begin()

/* This library's, if the application makes none here; true: until creation_own_end. */
bool creation_own_begin(void);
void creation_own_end(void);

#endif
