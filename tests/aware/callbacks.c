/* Delete callbacks of attributes communicate, with GPU memory: in MPI_Comm_free, MPI_Win_free, and in MPI_Finalize. Those of
 * types are called where the application copies and frees types, and nowhere else. The functions of generalized
 * requests complete others, with GPU memory. */
#include <mpi.h>
#include <stdlib.h>

#include "examples/device.h"
#include "tests/tap.h"

enum { MOST = 70000, TAG = 4 };

static int rank, size, nbytes, called, all_wrong;
static char *out, *in; /* of the GPU */
static char bytes[MOST];
static MPI_Request requests[2];

static void fill(int n)
{
    nbytes = n;
    memset(bytes, 1 + rank, (size_t)n);
    device_write(out, bytes, (size_t)n);
    memset(bytes, 0x70, (size_t)n);
    device_write(in, bytes, (size_t)n);
}

static void start(int n)
{
    fill(n);
    MPI_Irecv(in, n, MPI_CHAR, (rank + size - 1) % size, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, n, MPI_CHAR, (rank + 1) % size, TAG, MPI_COMM_WORLD, &requests[1]);
}

static int check(int first, int n)
{
    int wrong = 0;

    device_read(bytes, in, (size_t)n);
    for (int i = 0; i < n; i++)
        wrong += bytes[i] != first;
    return wrong;
}

/* Completes what is under way, and calls collective functions, also of the communicator that is being freed. */
static int deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    int wrong;

    (void)key, (void)value, (void)extra;
    called++;
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    wrong = check(1 + (rank + size - 1) % size, nbytes);
    MPI_Allreduce(out, in, nbytes, MPI_CHAR, MPI_BOR, MPI_COMM_WORLD);
    wrong += check(size > 2 ? 3 : size == 2 ? 1 | 2 : 1, nbytes);
    MPI_Allreduce(out, in, nbytes, MPI_CHAR, MPI_MAX, comm);
    wrong += check(comm == MPI_COMM_SELF ? 1 + rank : size, nbytes);
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return MPI_SUCCESS;
}

static void result(int ncalls, const char *what, int n)
{
    if (rank == 0)
        tap_ok(called == ncalls && all_wrong == 0, "%s, %d bytes", what, n);
}

/* ---- types */

static int ncopies, ndeletions;

static int copy_of_type(MPI_Datatype type, int key, void *extra, void *value, void *copy, int *flag)
{
    (void)type, (void)key, (void)extra, (void)value, (void)copy;
    ncopies++;
    *flag = 0;
    return MPI_ERR_OTHER; /* this type is not to be copied */
}

static int deleted_of_type(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)key, (void)value, (void)extra;
    ndeletions++;
    return MPI_SUCCESS;
}

/* The messages and the broadcast need the type after their functions have returned. */
static void use_type(void)
{
    MPI_Datatype type;
    int key;

    MPI_Type_create_keyval(copy_of_type, deleted_of_type, &key, NULL);
    MPI_Type_vector(50, 10, 20, MPI_CHAR, &type);
    MPI_Type_commit(&type);
    MPI_Type_set_attr(type, key, NULL);
    MPI_Irecv(in, 1, type, (rank + size - 1) % size, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 1, type, (rank + 1) % size, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Ibcast(in, 1, type, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    all_wrong = ncopies + ndeletions;
    MPI_Type_free(&type);
    all_wrong += ndeletions != 1;
    MPI_Type_free_keyval(&key);
    if (rank == 0)
        tap_ok(all_wrong == 0, "a type with attributes");
}

/* ---- generalized requests */

enum { BY_QUERY, BY_FREE, CALLBACKS };
enum { BY_WAIT, BY_TEST, BY_WAITALL, BY_WAITANY, WAYS };

static void complete_in(int callback, const void *extra)
{
    if (callback == *(const int *)extra)
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static int query(void *extra, MPI_Status *status)
{
    MPI_Status_set_elements(status, MPI_CHAR, nbytes);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = TAG;
    complete_in(BY_QUERY, extra);
    return MPI_SUCCESS;
}

static int free_request(void *extra)
{
    called++;
    complete_in(BY_FREE, extra);
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static int generalized(int n, int callback, int way)
{
    MPI_Request request;
    MPI_Status status;
    int flag = 0, which, count = 0;

    start(n);
    called = 0;
    MPI_Grequest_start(query, free_request, cancel, &callback, &request);
    MPI_Grequest_complete(request);
    switch (way) {
    case BY_WAIT:
        MPI_Wait(&request, &status);
        break;
    case BY_TEST:
        while (!flag)
            MPI_Test(&request, &flag, &status);
        break;
    case BY_WAITALL:
        MPI_Waitall(1, &request, &status);
        break;
    default:
        MPI_Waitany(1, &request, &which, &status);
    }
    MPI_Get_count(&status, MPI_CHAR, &count);
    return check(1 + (rank + size - 1) % size, n) + (count != n) + (called != 1) +
           (request != MPI_REQUEST_NULL);
}

static void use_generalized(int n)
{
    int wrong = 0;

    for (int callback = 0; callback < CALLBACKS; callback++)
        for (int way = 0; way < WAYS; way++)
            wrong += generalized(n, callback, way);
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    called = 0;
    result(0, "generalized requests", n);
}

/* ---- windows; Open MPI 4.1 has freed them when it calls their callbacks, and crashes, with host memory, too */

#ifdef MPICH_NUMVERSION
static int deleted_of_window(MPI_Win win, int key, void *value, void *extra)
{
    (void)key, (void)value, (void)extra;
    called++;
    MPI_Win_fence(0, win);
    MPI_Put(out, nbytes, MPI_CHAR, (rank + 1) % size, 0, nbytes, MPI_CHAR, win);
    MPI_Win_fence(0, win);
    return MPI_SUCCESS;
}

/* Of GPU memory, or of the host's. */
static void use_window(bool gpu, int n)
{
    static char host[MOST];
    int key, other, wrong;
    MPI_Win win;

    fill(n);
    called = 0;
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, deleted_of_window, &key, NULL);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &other, NULL);
    MPI_Win_create(gpu ? in : host, n, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_attr(win, key, NULL);
    MPI_Win_set_attr(win, other, NULL); /* MPI deletes it first */
    MPI_Win_free(&win);
    MPI_Win_free_keyval(&key);
    MPI_Win_free_keyval(&other);
    if (!gpu)
        device_write(in, host, (size_t)n);
    wrong = check(1 + (rank + size - 1) % size, n);
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    result(1, gpu ? "MPI_Win_free, GPU memory" : "MPI_Win_free, host memory", n);
    called = 0;
}
#else
static void use_window(bool gpu, int n)
{
    (void)gpu, (void)n;
}
#endif

/* ---- those of MPICH that are polled, or waited for, by functions of their own */

#ifdef MPICH_NUMVERSION
static MPI_Request outer, kept;

static int no_query(void *extra, MPI_Status *status)
{
    (void)extra;
    MPI_Status_set_elements(status, MPI_CHAR, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int no_free(void *extra)
{
    called += extra == &kept;
    return MPI_SUCCESS;
}

static int test_inner(void *extra, MPI_Status *status)
{
    int flag = 0;

    (void)status;
    MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    if (flag)
        MPI_Grequest_complete(*(MPI_Request *)extra);
    return MPI_SUCCESS;
}

static int wait_for_inner(int n, void **extras, double timeout, MPI_Status *status)
{
    (void)timeout, (void)status;
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++)
        MPI_Grequest_complete(*(MPI_Request *)extras[i]);
    return MPI_SUCCESS;
}

static int extended(int n, MPIX_Grequest_class class, int way)
{
    int flag = 0;

    called = 0;
    start(n);
    if (way % 2)
        MPIX_Grequest_class_allocate(class, &kept, &kept);
    else
        MPIX_Grequest_start(no_query, no_free, cancel, test_inner, wait_for_inner, &kept, &kept);
    outer = kept;
    if (way < 2)
        MPI_Wait(&outer, MPI_STATUS_IGNORE);
    else if (way < 4)
        MPI_Waitall(1, &outer, MPI_STATUSES_IGNORE);
    else
        while (!flag)
            MPI_Test(&outer, &flag, MPI_STATUS_IGNORE);
    return check(1 + (rank + size - 1) % size, n) + (called != 1) + (outer != MPI_REQUEST_NULL);
}

static void use_extended(int n)
{
    int wrong = 0;
    MPIX_Grequest_class class;

    MPIX_Grequest_class_create(no_query, no_free, cancel, test_inner, wait_for_inner, &class);
    for (int way = 0; way < 6; way++)
        wrong += extended(n, class, way);
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    called = 0;
    result(0, "generalized requests that are polled", n);
}
#else
static void use_extended(int n)
{
    (void)n;
}
#endif

int main(int argc, char **argv)
{
    static const int sizes[] = {100, 5000, MOST};
    int key, other, ncalls = 0;
    MPI_Comm comm;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device_start();
    out = device_alloc(MOST);
    in = device_alloc(MOST);
    use_type();
    for (int i = 0; i < 3; i++)
        use_generalized(sizes[i]);
    for (int i = 0; i < 3; i++)
        use_extended(sizes[i]);
    for (int i = 0; i < 6; i++)
        use_window(i % 2, sizes[i / 2]);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &key, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &other, NULL);
    for (int i = 0; i < 6; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_attr(comm, key, NULL);
        if (i > 0)
            MPI_Bcast(in, MOST, MPI_CHAR, 0, comm); /* which goes directly */
        start(sizes[i % 3]);
        i < 3 ? MPI_Comm_free(&comm) : MPI_Comm_disconnect(&comm);
        result(++ncalls, i < 3 ? "MPI_Comm_free" : "MPI_Comm_disconnect", sizes[i % 3]);
    }
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, other, NULL); /* MPI deletes it first */
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free_keyval(&other);
    start(argc > 1 ? atoi(argv[1]) : MOST);
    MPI_Finalize();
    result(ncalls + 1, "MPI_Finalize", nbytes);
    return rank ? 0 : tap_done();
}
