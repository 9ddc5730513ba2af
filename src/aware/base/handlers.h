/* Error handlers of the application. MPI calls them in functions that this library has called, and they may call
 * MPI in turn, with GPU memory, or leave by longjmp or an exception of C++: then what the thread does next is the
 * application's again, and nothing tells this library. So MPI is given functions of this library in their place,
 * each of which calls one of the application's. */
#ifndef GPUBIND_AWARE_HANDLERS_H
#define GPUBIND_AWARE_HANDLERS_H

#include <mpi.h>
#include <stdbool.h>

/* A handle's address, an error code, and what the MPI adds: Open MPI a text and NULL, MPICH a number. */
typedef void handler(void *handle, int *code, ...);

/* For MPI, always the same one; the given one itself where the application has very many. */
handler *handler_stand_in(handler *given);

/* PMPI_Request_get_status for this library's own sake: no handler is called for an error, as the
 * application's own calls find it again. */
int handler_status_quietly(MPI_Request request, int *flag, MPI_Status *status);

/* Around a function of the application that MPI calls: its handlers are called there. What handlers_resume gets. */
bool handlers_suspend(void);
void handlers_resume(bool was_quiet);

#endif
