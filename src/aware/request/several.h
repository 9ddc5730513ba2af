/* Lists of requests, in the calls that complete them: those that are in the table are taken out of it before MPI is
 * called, and put back where they are not complete: before an error handler of the application runs, too. */
#ifndef GPUBIND_AWARE_SEVERAL_H
#define GPUBIND_AWARE_SEVERAL_H

#include "aware/base/undo.h"
#include "aware/request/requests.h"

#define SEVERAL_FEW 64

/* The staged ones of n requests, and statuses where the application wants none. */
struct several {
    int n;
    struct staged_request *few[SEVERAL_FEW], **staged;
    MPI_Status few_statuses[SEVERAL_FEW], *own, *statuses;
    MPI_Request *requests;
    bool looks;    /* they are claimed, and stay in the table */
    bool failed;   /* a request has, by an error of this library */
    MPI_Comm comm; /* of the first one */
    /* What MPI says before it calls an error handler. */
    enum { SEVERAL_NONE_END, SEVERAL_ALL_END, SEVERAL_SOME_END, SEVERAL_ONE_ENDS } ends;
    const int *nended, *which; /* of SOME: *nended; of ONE: *which; MPI_UNDEFINED: none */
    struct undo undo;
};

/* One of them is in the table. */
bool requests_have_any(int n, const MPI_Request *requests);
/* Takes them; handles of those that others stand in for are replaced (persistent.h). false: out of memory. In any
 * case several_end is to be called. */
bool several_begin(struct several *several, int n, MPI_Request *requests, MPI_Status *statuses);
/* The same for calls that complete none, so that several threads may make them for one request: each has it in turn. */
bool several_look(struct several *several, int n, MPI_Request *requests, MPI_Status *statuses);
/* MPI is to be called, which completes all of them; or *nended ones, the first being which[0]; or *which. */
void several_ends_all(struct several *several);
void several_ends_some(struct several *several, const int *nended, const int *which);
void several_ends_one(struct several *several, const int *which);
/* Puts those back that are not complete. */
void several_end(struct several *several);

/* Request i of those that ended, of which the first n statuses tell, is complete. */
void several_end_one(struct several *several, int i, MPI_Status *status, int n);
/* What a call returns that has completed some. */
int several_result(const struct several *several, int result);
/* All n have ended, or those whose status says so. What the call returns. */
int several_complete_all(struct several *several, int result);
/* As MPI's call with that result says: the first nended of which have. */
void several_complete_some(struct several *several, int nended, const int *which, int result);
/* That one has ended, unless the result is that it has not. */
int several_complete_any(struct several *several, int i, MPI_Status *status, int result);

/* The same three where MPI frees no request: they are put back. */
void several_see_one(struct several *several, int i, MPI_Status *status, int n);
int several_see_all(struct several *several, int result);
int several_see_any(struct several *several, int i, MPI_Status *status, int result);

#endif
