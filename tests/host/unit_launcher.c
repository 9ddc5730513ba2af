/* The table of launchers: the commands of each that start ranks. */
#include <ctype.h>
#include <stdlib.h>

#include "host/launch/launcher.h"
#include "tests/tap.h"

/* The kernel cuts a command's name to so many bytes. */
#define COMMAND_MAX 15
/* More than any launcher has. */
#define MANY 64

/* A rank's variables under each launcher. */
static const struct {
    const char *launcher;
    const char *set[8]; /* names and values in turn */
} cases[] = {
    {"openmpi", {"OMPI_COMM_WORLD_RANK", "0", "OMPI_COMM_WORLD_LOCAL_RANK", "0"}},
    {"torchrun", {"TORCHELASTIC_RUN_ID", "a", "RANK", "0", "LOCAL_RANK", "0"}},
    {"jsrun", {"JSM_NAMESPACE_RANK", "0", "JSM_NAMESPACE_LOCAL_RANK", "0"}},
    {"flux", {"FLUX_TASK_RANK", "0", "FLUX_TASK_LOCAL_ID", "0"}},
    {"hydra", {"PMI_RANK", "0", "MPI_LOCALRANKID", "0"}},
    {"mvapich", {"MV2_COMM_WORLD_RANK", "0", "MV2_COMM_WORLD_LOCAL_RANK", "0"}},
    {"mvapich", {"MVP_COMM_WORLD_RANK", "0", "MVP_COMM_WORLD_LOCAL_RANK", "0"}},
    {"slurm", {"SLURM_STEP_ID", "0", "SLURM_PROCID", "0", "SLURM_LOCALID", "0"}},
    {"pals", {"PALS_RANKID", "0", "PALS_LOCAL_RANKID", "0"}},
    {"pmix", {"PMIX_NAMESPACE", "a", "PMIX_RANK", "0"}},
};
#define NCASES (int)(sizeof cases / sizeof cases[0])

/* The launcher of case c alone is in the environment. */
static int read_case(int c, struct world *world)
{
    struct text remarks = {0}, notes = {0};
    struct gpubind_error err;
    int status;

    clearenv();
    for (int i = 0; cases[c].set[i]; i += 2)
        setenv(cases[c].set[i], cases[c].set[i + 1], 1);
    status = launcher_read("auto", world, &remarks, &notes, &err);
    if (status < 0)
        tap_diag("%s", err.text);
    text_clear(&remarks);
    text_clear(&notes);
    return status;
}

static bool is_command(const char *name)
{
    for (const char *at = name; *at; at++)
        if (!islower((unsigned char)*at) && !strchr("_-.", *at))
            return false;
    return *name && strlen(name) <= COMMAND_MAX;
}

static bool has(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static void test_case(int c)
{
    struct world world;
    bool good = true;
    int n = 0;

    if (!tap_ok(read_case(c, &world) == 0 && strcmp(world.launcher, cases[c].launcher) == 0,
                "%s is recognised", cases[c].launcher))
        return;
    for (; good && n < MANY && world.daemons[n]; n++)
        good = is_command(world.daemons[n]);
    tap_ok(good && n < MANY, "the list of %s's %d commands ends", cases[c].launcher, n);
}

static void test_openmpi(void)
{
    static const char *const names[] = {"mpirun",  "mpirun.openmpi",  "orterun", "prterun",
                                        "mpiexec", "mpiexec.openmpi", "orted",   "prte"};
    struct world world;

    if (read_case(0, &world) == 0)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            tap_ok(has(world.daemons, names[i]), "%s starts ranks of Open MPI", names[i]);
}

/* A launcher that is not among the cases is not tested. */
static void test_all_are_there(void)
{
    struct text names = {0};
    char *rest, *name;

    launcher_names(&names);
    for (rest = names.bytes; (name = strsep(&rest, "|"));) {
        bool found = false;

        for (int c = 0; c < NCASES; c++)
            found |= strcmp(cases[c].launcher, name) == 0;
        tap_ok(found, "%s is tested", name);
    }
    text_clear(&names);
}

int main(void)
{
    for (int c = 0; c < NCASES; c++)
        test_case(c);
    test_openmpi();
    test_all_are_there();
    return tap_done();
}
