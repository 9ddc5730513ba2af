/* TEMPORARY */
#include "mpi/halo_messages.h"
#include <stdlib.h>
#include "cuda/gpu.h"
#include "mpi/gpubind.h"
struct tmp { enum operation_kind kind; void *buf; int count; MPI_Datatype type; int rank, tag; MPI_Comm comm; gpubind_request r; };
int halo_message_make(enum operation_kind kind, void *buf, int count, MPI_Datatype type, int rank,
                      int tag, MPI_Comm comm, bool sure, gpubind_request *request,
                      struct gpubind_error *err)
{
    struct tmp *t = calloc(1, sizeof *t);
    MPI_Datatype dup;
    (void)sure; (void)err;
    PMPI_Type_contiguous(1, type, &dup); PMPI_Type_commit(&dup);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    *t = (struct tmp){kind, buf, count, dup, rank, tag, comm, NULL};
    *request = (void *)t;
    return MPI_SUCCESS;
}
int halo_messages_start(int n, gpubind_request *requests, struct gpubind_error *err)
{
    int result = MPI_SUCCESS;
    (void)err;
    for (int i = 0; i < n && !result; i++) { struct tmp *t = (void *)requests[i];
        result = t->kind == OPERATION_SEND ? gpubind_isend(t->buf, t->count, t->type, t->rank, t->tag, t->comm, &t->r)
               : gpubind_irecv(t->buf, t->count, t->type, t->rank, t->tag, t->comm, &t->r); }
    if (result) error_set(err, "%s", gpubind_error_text());
    return result;
}
int halo_messages_wait(int n, gpubind_request *requests, int *which, struct gpubind_error *err)
{
    gpubind_request all[1000]; MPI_Status st[1000];
    int result;
    for (int i = 0; i < n; i++) all[i] = ((struct tmp *)(void *)requests[i])->r;
    *which = 0;
    result = gpubind_waitall(n, all, st);
    if (result) error_set(err, "%s", gpubind_error_text());
    return result;
}
int halo_messages_start_on_stream(int n, gpubind_request *requests, gpubind_stream stream,
                                  struct gpubind_error *err)
{
    int which;
    if (gpu_driver()) gpu_driver()->cuStreamSynchronize(stream);
    halo_messages_start(n, requests, err);
    return halo_messages_wait(n, requests, &which, err);
}
void halo_message_free(gpubind_request *request)
{
    struct tmp *t = (void *)*request;
    PMPI_Type_free(&t->type);
    free(t);
    *request = NULL;
}
