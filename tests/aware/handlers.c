/* Error handlers of the application that leave by longjmp, or that communicate. Rank 0 prints the results. */
#include <limits.h>
#include <mpi.h>
#include <setjmp.h>
#include <stdlib.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

enum { N = 5000, TAG = 3 };
static int next, before, called;
static char *out, *in; /* of the GPU */
static char bytes[2 * N];
static jmp_buf away;

static void expect(bool good, const char *what)
{
    if (!good && wrong++ == 0)
        tap_diag("rank %d: %s", rank, what);
}

static bool has(const char *gpu, int n, int byte)
{
    device_read(bytes, gpu, (size_t)n);
    for (int i = 0; i < n; i++)
        if (bytes[i] != byte)
            return false;
    return true;
}

static void fill(char *gpu, int byte)
{
    memset(bytes, byte, 2 * N);
    device_write(gpu, bytes, 2 * N);
}

/* In a ring, small and large, and a collective call. */
static void communicate(void)
{
    static const int sizes[] = {1, 100, N};

    for (int i = 0; i < 3; i++) {
        fill(out, rank + 1);
        fill(in, 0x70);
        MPI_Sendrecv(out, sizes[i], MPI_CHAR, next, TAG, in, sizes[i], MPI_CHAR, before, TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(has(in, sizes[i], before + 1), "a message");
        MPI_Allreduce(out, in, sizes[i], MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
        expect(has(in, sizes[i], size), "a reduction");
    }
}

/* ---- handlers */

static void leave(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    called++;
    longjmp(away, 1);
}

static bool may_leave;

static void leave_where_allowed(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    called++;
    if (may_leave)
        longjmp(away, 1);
}

static void leave_window(MPI_Win *win, int *code, ...)
{
    (void)win, (void)code;
    called++;
    longjmp(away, 1);
}

static void leave_file(MPI_File *file, int *code, ...)
{
    (void)file, (void)code;
    called++;
    longjmp(away, 1);
}

static void send_to_self(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    called++;
    expect(*code != MPI_SUCCESS, "the handler's code");
    fill(out, 9);
    fill(in, 0x70);
    MPI_Sendrecv(out, N, MPI_CHAR, 0, TAG, in, N, MPI_CHAR, 0, TAG, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    expect(has(in, N, 9), "a message of the handler's");
}

/* A message that is longer than its receive. */
static void too_long(void *to, MPI_Comm comm)
{
    MPI_Request request;

    MPI_Isend(bytes + N, 200, MPI_CHAR, next, TAG, comm, &request);
    MPI_Request_free(&request);
    MPI_Recv(to, 100, MPI_CHAR, before, TAG, comm, MPI_STATUS_IGNORE);
}

static MPI_Comm with_handler(MPI_Comm_errhandler_function *function)
{
    MPI_Errhandler handler;
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(function, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    called = 0;
    return comm;
}

/* MPICH calls the handler of MPI_COMM_WORLD for what a request has met. */
static MPI_Comm with_handler_of_requests(MPI_Comm_errhandler_function *function)
{
    MPI_Comm comm = with_handler(function);
    MPI_Errhandler handler;

    MPI_Comm_get_errhandler(comm, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Errhandler_free(&handler);
    return comm;
}

static void free_both(MPI_Comm *comm)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(comm);
}

/* ---- tests */

static void communicators(void)
{
    MPI_Comm comm = with_handler(leave);

    for (int i = 0; i < 2; i++) {
        if (setjmp(away) == 0)
            too_long(i == 0 ? (void *)in : (void *)bytes, comm);
        MPI_Barrier(MPI_COMM_WORLD);
        expect(called == 1, "the handler was called");
        called = 0;
        communicate();
    }
    MPI_Comm_free(&comm);
    result("a handler leaves MPI_Recv");
    comm = with_handler(send_to_self);
    too_long(in, comm);
    expect(called == 1, "the handler was called");
    communicate();
    MPI_Comm_free(&comm);
    result("a handler communicates");
}

/* Nobody waits for the receive: the library finds its end in some later call. No other call than the
 * messages to itself is left, since a rank that left a barrier would not come to the next one with the others. */
static void freed(void)
{
    MPI_Comm comm = with_handler(leave_where_allowed);
    MPI_Request request;

    MPI_Irecv(in, 100, MPI_CHAR, before, TAG, comm, &request);
    MPI_Request_free(&request);
    MPI_Send(bytes + N, 200, MPI_CHAR, next, TAG, comm);
    may_leave = true;
    if (setjmp(away) == 0)
        for (double end = MPI_Wtime() + 30; !called && MPI_Wtime() < end;)
            MPI_Sendrecv(bytes, 1, MPI_CHAR, 0, TAG, bytes + 1, 1, MPI_CHAR, 0, TAG, MPI_COMM_SELF,
                         MPI_STATUS_IGNORE);
    may_leave = false;
    expect(called == 1, "the handler was called");
    MPI_Barrier(MPI_COMM_WORLD);
    communicate();
    MPI_Comm_free(&comm);
    result("a handler leaves the end of a receive that was freed");
}

/* The message that MPI_Sendrecv sends comes, and MPI_Finalize waits for nothing. */
static void both_ways(void)
{
    MPI_Comm comm = with_handler_of_requests(leave);
    MPI_Request request;

    fill(out, rank + 1);
    fill(in, 0x70);
    MPI_Isend(bytes + N, 200, MPI_CHAR, next, TAG, comm, &request);
    if (setjmp(away) == 0)
        MPI_Sendrecv(out, N, MPI_CHAR, next, TAG + 1, in, 100, MPI_CHAR, before, TAG, comm,
                     MPI_STATUS_IGNORE);
    expect(called == 1, "the handler was called");
    MPI_Recv(in, N, MPI_CHAR, before, TAG + 1, comm, MPI_STATUS_IGNORE);
    expect(has(in, N, before + 1), "the message of MPI_Sendrecv");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    communicate();
    free_both(&comm);
    result("a handler leaves MPI_Sendrecv");
}

/* MPI refuses messages that were to go directly, more often than there are slots for them. */
static void refused(void)
{
    MPI_Comm comm = with_handler(leave);
    MPI_Request request;
    int *most, found;

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
    for (volatile int i = 0; i < 80 && *most < INT_MAX; i++) {
        if (setjmp(away) == 0)
            MPI_Send(out, N, MPI_CHAR, next, *most + 1, comm);
        if (setjmp(away) == 0)
            MPI_Isend(out, N, MPI_CHAR, next, *most + 1, comm, &request);
    }
    expect(called == (*most < INT_MAX ? 160 : 0), "the handler was called");
    communicate();
    MPI_Comm_free(&comm);
    result("a handler leaves MPI_Send and MPI_Isend");
}

/* Functions that complete one of the requests, which is an error. The other one is still active. */
static int wait_any(MPI_Request requests[2])
{
    return MPI_Waitany(2, requests, &(int){0}, MPI_STATUS_IGNORE);
}

static int wait_some(MPI_Request requests[2])
{
    return MPI_Waitsome(2, requests, &(int){0}, (int[2]){0}, MPI_STATUSES_IGNORE);
}

static int test_any(MPI_Request requests[2])
{
    int flag = 0;

    while (!flag)
        MPI_Testany(2, requests, &(int){0}, &flag, MPI_STATUS_IGNORE);
    return MPI_SUCCESS;
}

static int test_some(MPI_Request requests[2])
{
    int nended = 0;

    while (nended == 0)
        MPI_Testsome(2, requests, &nended, (int[2]){0}, MPI_STATUSES_IGNORE);
    return MPI_SUCCESS;
}

static int wait_second(MPI_Request requests[2])
{
    return MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
}

static void leave_list(int (*complete)(MPI_Request requests[2]), MPI_Comm comm)
{
    MPI_Request requests[2], request;

    fill(out, rank + 1);
    fill(in, 0x70);
    called = 0;
    MPI_Irecv(in, N, MPI_CHAR, before, TAG + 1, comm, &requests[0]);
    MPI_Irecv(in + N, 100, MPI_CHAR, before, TAG, comm, &requests[1]);
    MPI_Barrier(MPI_COMM_WORLD); /* MPICH has errors of what has come before in MPI_Irecv */
    MPI_Isend(bytes + N, 200, MPI_CHAR, next, TAG, comm, &request);
    if (setjmp(away) == 0)
        complete(requests);
    expect(called == 1, "the handler was called");
    expect(requests[0] != MPI_REQUEST_NULL, "the other request is active");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(out, N, MPI_CHAR, next, TAG + 1, comm);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    expect(has(in, N, before + 1), "its message");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void lists(void)
{
    int (*const functions[])(MPI_Request requests[2]) = {wait_any, wait_some, test_any, test_some,
                                                         wait_second};
    MPI_Comm comm = with_handler_of_requests(leave);

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        leave_list(functions[i], comm);
    communicate();
    free_both(&comm);
    result("a handler leaves functions that complete requests");
}

static void windows(void)
{
    MPI_Errhandler handler;
    void *memory;
    MPI_Win win;

    MPI_Win_allocate(100, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_create_errhandler(leave_window, &handler);
    MPI_Win_set_errhandler(win, handler);
    called = 0;
    if (setjmp(away) == 0)
        MPI_Put(bytes, -1, MPI_CHAR, next, 0, 1, MPI_CHAR, win);
    expect(called == 1, "the handler was called");
    communicate();
    MPI_Errhandler_free(&handler);
    MPI_Win_free(&win);
    result("a handler leaves MPI_Put");
}

static void files(void)
{
    MPI_Errhandler handler;
    MPI_File file;

    MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    MPI_File_create_errhandler(leave_file, &handler);
    MPI_File_set_errhandler(file, handler);
    called = 0;
    if (setjmp(away) == 0)
        MPI_File_write(file, in, -1, MPI_CHAR, MPI_STATUS_IGNORE);
    expect(called == 1, "the handler was called");
    communicate();
    MPI_File_close(&file);
    MPI_Errhandler_free(&handler);
    result("a handler leaves MPI_File_write");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    device_start();
    out = device_alloc(2 * N);
    in = device_alloc(2 * N);
    communicators();
#ifdef OPEN_MPI
    /* MPICH calls the handler of MPI_COMM_WORLD, of host memory, too. Open MPI 4.1 has no error for a message
     * to itself that comes after its receive and is longer. */
    if (size > 1)
        freed();
#endif
    /* Open MPI 4.1 has no error for a longer message to itself. */
    if (size > 1) {
        both_ways();
        lists();
    }
    refused();
    windows();
    files();
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
