/* The CPU exchange of many ranks with long lists of CPUs: process_cpus of our own stands in for
 * the kernel's. */
#include <stdio.h>
#include <stdlib.h>

#include "host/sys/process.h"
#include "plugin/cpu_exchange.h"
#include "tests/host/ranks.h"
#include "tests/tap.h"

#define NRANKS 256

static char name[JOB_NAME_SIZE];
static int own;

/* Every second CPU from one that is the rank's own, as hardware threads that are numbered in turns
 * have them. */
static void cpus_of(int rank, struct idset *cpus)
{
    idset_clear(cpus);
    for (int i = 0; i < 120; i++)
        idset_add(cpus, 1000 + rank + 2 * i);
}

int process_cpus(struct idset *cpus, struct gpubind_error *err)
{
    (void)err;
    cpus_of(own, cpus);
    return 0;
}

static int exchange(int number)
{
    static struct local_rank ranks[NRANKS];
    struct job_info info = {.size = NRANKS, .nranks = NRANKS, .ranks = ranks};
    struct gpubind_error err;
    bool leads;

    own = number;
    snprintf(info.name, sizeof info.name, "%s", name);
    for (int r = 0; r < NRANKS; r++)
        ranks[r].rank = ranks[r].local = r;
    if (cpu_exchange(&info, number, &leads, &err) < 0)
        return 1;
    for (int r = 0; r < NRANKS; r++) {
        struct idset wanted;

        cpus_of(r, &wanted);
        if (!idset_equal(&ranks[r].cpus, &wanted))
            return 2;
    }
    return 0;
}

int main(void)
{
    snprintf(name, sizeof name, "unit.%ld", (long)getpid());
    tap_is_int(ranks_run(exchange, NRANKS), NRANKS,
               "256 ranks with lists of 600 bytes all know the CPUs of all");
    return tap_done();
}
