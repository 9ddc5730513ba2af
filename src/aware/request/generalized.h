/* Generalized requests. MPI calls their functions in functions that this library has called, and they may complete
 * requests with GPU memory in turn. So MPI is given functions of this library in their place, with a state of
 * this library's. */
#ifndef GPUBIND_AWARE_GENERALIZED_H
#define GPUBIND_AWARE_GENERALIZED_H

#include <stdbool.h>

/* As functions of C have them, or of Fortran: these return nothing, have a code's address behind the others, and
 * MPI calls them with all that; functions of C do not look at it. MPICH alone has the last two, which may be NULL. */
struct generalized {
    int (*query)(void *extra, void *status, void *code);
    int (*free)(void *extra, void *code);
    int (*cancel)(void *extra, void *complete, void *code);
    int (*poll)(void *extra, void *status);
    int (*wait)(int n, void **extras, double timeout, void *status);
};

/* What MPI is given in the application's place. */
struct generalized generalized_stand_ins(const struct generalized *given);
/* And as their state, until free is called. NULL: out of memory. */
void *generalized_state(const struct generalized *given, void *extra);
void generalized_drop(void *state);

/* Of the application's classes, which are never freed. false: out of memory. */
bool generalized_add_class(int number, const struct generalized *given);
/* false: it is none of them. */
bool generalized_of_class(int number, struct generalized *given);

#endif
