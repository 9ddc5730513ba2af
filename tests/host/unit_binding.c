/* What on prterun's command line, and in its environment, asks for a binding. */
#include "host/launch/binding_policy.c"

#include "tests/tap.h"

/* Words with blanks between, as the kernel has them with NULs. */
static bool asks(bool (*reads)(const char *, size_t), const char *words)
{
    char line[256];
    size_t size = strlen(words) + 1;

    memcpy(line, words, size);
    for (char *at = line; *at; at++)
        if (*at == ' ')
            *at = '\0';
    return reads(line, size);
}

int main(void)
{
    static const char *const yes[] = {
        "prterun --bind-to core -np 2 gpubind ./app",
        "prterun --bind-to=core -np 2 gpubind ./app",
        "prterun -np 2 -bind-to core gpubind ./app",
        "prterun --bind core gpubind ./app",
        "prterun --bind=core gpubind ./app",
        "prterun --bi core gpubind ./app",
        "prterun --bind-to-core gpubind ./app",
        "prterun --rankfile ranks gpubind ./app",
        "prterun --rankfile=ranks gpubind ./app",
        "prterun --rankf=ranks gpubind ./app",
        "prterun -rf ranks gpubind ./app",
        "prterun --cpu-set 0,1 gpubind ./app",
        "prterun --cpu-set=0,1 gpubind ./app",
        "prterun --cpu-s=0,1 gpubind ./app",
        "prterun --cpu-list=0,1 gpubind ./app",
        "prterun --cpus-per-rank=2 gpubind ./app",
        "prterun --map-by slot:pe=2 gpubind ./app",
        "prterun --map-by=slot:PE=2 gpubind ./app",
        "prterun --map-by pe-list=0,1 gpubind ./app",
        "prterun --map-by=pe-list=0,1 gpubind ./app",
        "prterun --map-by=rankfile:file=ranks gpubind ./app",
        "prterun --prtemca hwloc_default_binding_policy core gpubind ./app",
    };
    static const char *const no[] = {
        "prterun -np 2 gpubind ./app",
        "prterun -np 2 gpubind --bind=core ./app",
        "prterun -np 2 /opt/bin/gpubind ./app --bind-to=core",
        "prterun --map-by=node --rank-by=slot gpubind ./app",
        "prterun --map-by node --rank-by slot gpubind ./app",
        "prterun --report-bindings -c 2 --np=2 gpubind ./app",
        "prterun -x RANKS=rankfile:x gpubind ./app",
        "prterun --bind-to-what core gpubind ./app",
        "prterun --host a,b --hostfile=bind-to gpubind ./app",
        "prterun -np 4 apptainer exec --nv --bind /scratch app.sif gpubind ./app",
        "prterun -np 4 /usr/bin/ch-run --bind=/scratch app gpubind ./app",
    };
    static const char *const set[] = {
        "A=b PRTE_MCA_hwloc_default_binding_policy=core",
        "PRTE_MCA_hwloc_default_cpu_list=0,1 A=b",
        "A= PRTE_MCA_rmaps_default_mapping_policy=slot:PE=2",
    };
    static const char *const unset[] = {
        "A=b PRTE_MCA_rmaps_default_mapping_policy=node",
        "XPRTE_MCA_hwloc_default_binding_policy=core",
        "PRTE_MCA_hwloc_default_binding_policy",
    };

    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        tap_ok(asks(command_line_sets_binding, yes[i]), "asks: %s", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        tap_ok(!asks(command_line_sets_binding, no[i]), "does not: %s", no[i]);
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++)
        tap_ok(asks(environment_of_prrte_sets_binding, set[i]), "asks: %s", set[i]);
    for (size_t i = 0; i < sizeof unset / sizeof unset[0]; i++)
        tap_ok(!asks(environment_of_prrte_sets_binding, unset[i]), "does not: %s", unset[i]);
    return tap_done();
}
