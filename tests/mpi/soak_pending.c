/* Requests of the soak, and all ways to end them. */
#include <sched.h>

#include "tests/mpi/soak.h"

gpubind_request *pending_add(struct pending *pending)
{
    const int i = pending->n++;

    if (pending->n > SOAK_PENDING)
        MPI_Abort(MPI_COMM_WORLD, 3);
    pending->requests[i] = GPUBIND_REQUEST_NULL;
    pending->done[i] = false;
    return &pending->requests[i];
}

/* What became of number i. */
static void ended(struct pending *pending, int i, const MPI_Status *status)
{
    if (!expect(i >= 0 && i < pending->n && !pending->done[i], "request %d of %d has ended", i,
                pending->n))
        return;
    pending->done[i] = true;
    pending->statuses[i] = *status;
}

static void one(struct pending *pending, uint64_t *own, bool waits)
{
    const int i = below(own, pending->n);
    int flag = 1;
    MPI_Status status;

    if (pending->done[i])
        return;
    if (below(own, 4) == 0)
        succeeds(gpubind_request_get_status(pending->requests[i], &flag, &status), "get_status");
    if (waits)
        succeeds(gpubind_wait(&pending->requests[i], &status), "wait");
    else
        succeeds(gpubind_test(&pending->requests[i], &flag, &status), "test");
    if (waits || flag)
        ended(pending, i, &status);
}

static void any(struct pending *pending, bool waits)
{
    int i = MPI_UNDEFINED, flag = 1;
    MPI_Status status;

    if (waits)
        succeeds(gpubind_waitany(pending->n, pending->requests, &i, &status), "waitany");
    else
        succeeds(gpubind_testany(pending->n, pending->requests, &i, &flag, &status), "testany");
    if (flag)
        ended(pending, i, &status);
}

static void some(struct pending *pending, bool waits)
{
    int n = 0, indices[SOAK_PENDING];
    MPI_Status statuses[SOAK_PENDING];

    if (waits)
        succeeds(gpubind_waitsome(pending->n, pending->requests, &n, indices, statuses),
                 "waitsome");
    else
        succeeds(gpubind_testsome(pending->n, pending->requests, &n, indices, statuses),
                 "testsome");
    expect(n != MPI_UNDEFINED && n >= waits, "%d of some have ended", n);
    for (int i = 0; n != MPI_UNDEFINED && i < n; i++)
        ended(pending, indices[i], &statuses[i]);
}

static void all(struct pending *pending, bool waits)
{
    int flag = 1;
    MPI_Status statuses[SOAK_PENDING];

    if (waits)
        succeeds(gpubind_waitall(pending->n, pending->requests, statuses), "waitall");
    else
        succeeds(gpubind_testall(pending->n, pending->requests, &flag, statuses), "testall");
    for (int i = 0; flag && i < pending->n; i++)
        if (!pending->done[i])
            ended(pending, i, &statuses[i]);
}

static bool is_over(const struct pending *pending)
{
    for (int i = 0; i < pending->n; i++)
        if (!pending->done[i])
            return false;
    return true;
}

/* After a fault there may be no end; what ends it then is the job's alarm. */
void pending_end(struct pending *pending, uint64_t *own)
{
    int way = below(own, 8);

    while (!is_over(pending)) {
        const bool waits = way % 2;

        if (way / 2 == 0)
            one(pending, own, waits);
        else if (way / 2 == 1)
            any(pending, waits);
        else if (way / 2 == 2)
            some(pending, waits);
        else
            all(pending, waits);
        if (!waits)
            sched_yield();
        if (below(own, 8) == 0)
            way = below(own, 8);
    }
    pending->n = 0;
}
