/* Failures on demand. GPUBIND_SIM_FAIL is a list, with commas, of
 *   FUNCTION:N=RESULT      the Nth call of this process returns RESULT and does nothing
 *   FUNCTION:N+=RESULT     from the Nth call on
 *   FUNCTION:N=RESULTlate  the call succeeds, its work is not done, and the next query
 *                          or wait that finds it ended returns RESULT, once; for calls
 *                          that queue work
 * An entry that cannot be read, or whose function there is not, ends the process. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

#define MAX_FAULTS 64

static struct fault {
    int call;
    unsigned long nth;
    bool onwards, late;
    int result;
} faults[MAX_FAULTS];
static int nfaults;

const char *sim_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]))
            return getenv(names[i]);
    return "";
}

/* Without GPUBIND_SIM_RANK every process is meant. */
static bool is_meant(void)
{
    const char *wanted = getenv("GPUBIND_SIM_RANK");

    return !wanted || !*wanted || strcmp(wanted, sim_rank()) == 0;
}

/* Returns what stands behind the entry, NULL when it cannot be read. */
static const char *read_fault(const char *entry, struct fault *fault)
{
    size_t length = strcspn(entry, ":,");
    char *end;

    fault->call = sim_find(entry, length);
    if (fault->call < 0 || entry[length] != ':')
        return NULL;
    fault->nth = strtoul(entry + length + 1, &end, 10);
    fault->onwards = *end == '+';
    end += fault->onwards;
    if (!fault->nth || *end != '=')
        return NULL;
    fault->result = (int)strtol(end + 1, &end, 10);
    fault->late = strncmp(end, "late", 4) == 0;
    end += fault->late ? 4 : 0;
    return fault->result > 0 && (*end == ',' || !*end) ? end : NULL;
}

void faults_load(void)
{
    const char *list = getenv("GPUBIND_SIM_FAIL");

    for (const char *entry = list; entry && *entry;) {
        const char *end = NULL;

        if (nfaults < MAX_FAULTS)
            end = read_fault(entry, &faults[nfaults++]);
        if (!end)
            sim_die("GPUBIND_SIM_FAIL: '%s' is not FUNCTION:N=RESULT", entry);
        entry = *end ? end + 1 : end;
    }
    if (!is_meant())
        nfaults = 0;
}

int fault_of(enum sim_call call, unsigned long nth, int *late)
{
    for (int i = 0; i < nfaults; i++) {
        const struct fault *fault = &faults[i];

        if (fault->call != (int)call || (fault->onwards ? nth < fault->nth : nth != fault->nth))
            continue;
        if (!fault->late)
            return fault->result;
        *late = fault->result;
    }
    return CUDA_OK;
}
