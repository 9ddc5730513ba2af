/* TEMPORARY: until the persistent calls are there. */
#ifndef GPUBIND_MPI_HALO_MESSAGES_H
#define GPUBIND_MPI_HALO_MESSAGES_H
#include <stdbool.h>
#include "mpi/gpubind.h"
#include "mpi/operation.h"
int halo_message_make(enum operation_kind kind, void *buf, int count, MPI_Datatype type, int rank,
                      int tag, MPI_Comm comm, bool sure, gpubind_request *request,
                      struct gpubind_error *err);
int halo_messages_start(int n, gpubind_request *requests, struct gpubind_error *err);
int halo_messages_wait(int n, gpubind_request *requests, int *which, struct gpubind_error *err);
int halo_messages_start_on_stream(int n, gpubind_request *requests, gpubind_stream stream,
                                  struct gpubind_error *err);
void halo_message_free(gpubind_request *request);
#endif
