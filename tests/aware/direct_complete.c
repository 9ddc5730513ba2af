/* The calls that complete requests, each of which may end the same list. */
#include <stdlib.h>

#include "tests/aware/direct.h"

static const char *const completions[COMPLETIONS] = {
    "MPI_Wait",    "MPI_Waitall", "MPI_Waitany",  "MPI_Waitsome",           "MPI_Test",
    "MPI_Testall", "MPI_Testany", "MPI_Testsome", "MPI_Request_get_status", "MPI_Wait, last first",
};

const char *completion_name(int how)
{
    return completions[how];
}

static void wait_any(bool tests, int n, MPI_Request requests[], MPI_Status statuses[])
{
    for (int flag = 1, which = 0; which != MPI_UNDEFINED;) {
        MPI_Status status;

        if (tests)
            MPI_Testany(n, requests, &which, &flag, &status);
        else
            MPI_Waitany(n, requests, &which, &status);
        if (flag && which != MPI_UNDEFINED)
            statuses[which] = status;
        if (!flag) /* it is then undefined */
            which = 0;
    }
}

static void wait_some(bool tests, int n, MPI_Request requests[], MPI_Status statuses[])
{
    int *indices = calloc((size_t)n, sizeof *indices), done = 0;
    MPI_Status *some = calloc((size_t)n, sizeof *some);

    if (!indices || !some)
        abort();
    while (done != MPI_UNDEFINED) {
        if (tests)
            MPI_Testsome(n, requests, &done, indices, some);
        else
            MPI_Waitsome(n, requests, &done, indices, some);
        expect(tests || done != 0, "MPI_Waitsome completed none");
        for (int i = 0; i < done && done != MPI_UNDEFINED; i++)
            statuses[indices[i]] = some[i];
    }
    free(indices);
    free(some);
}

static void test_each(bool only_asked, int n, MPI_Request requests[], MPI_Status statuses[])
{
    for (int i = 0; i < n; i++) {
        int done = 0;

        while (!done)
            if (only_asked)
                MPI_Request_get_status(requests[i], &done, &statuses[i]);
            else
                MPI_Test(&requests[i], &done, &statuses[i]);
        if (only_asked)
            MPI_Wait(&requests[i], &statuses[i]);
    }
}

void complete(int how, int n, MPI_Request requests[], MPI_Status statuses[])
{
    int done = 0;

    switch (how) {
    case 1:
        MPI_Waitall(n, requests, statuses);
        break;
    case 2:
    case 6:
        wait_any(how == 6, n, requests, statuses);
        break;
    case 3:
    case 7:
        wait_some(how == 7, n, requests, statuses);
        break;
    case 4:
    case 8:
        test_each(how == 8, n, requests, statuses);
        break;
    case 5:
        while (!done)
            MPI_Testall(n, requests, &done, statuses);
        break;
    case 9:
        for (int i = n - 1; i >= 0; i--)
            MPI_Wait(&requests[i], &statuses[i]);
        break;
    default:
        for (int i = 0; i < n; i++)
            MPI_Wait(&requests[i], &statuses[i]);
    }
}
