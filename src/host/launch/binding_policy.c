/* Finds out whether the user asked the launcher for a binding. */
#include "host/launch/binding_policy.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* MCA parameters of Open MPI 4 that restrict what a rank may run on.
 * mpirun passes its options on as these, in the environment of every rank. */
/* clang-format off */
static const char *const mca_binding_params[] = {
    "hwloc_base_binding_policy", "hwloc_base_bind_to_core", "hwloc_base_bind_to_socket",
    "hwloc_base_cpu_set",        "hwloc_base_cpu_list",     "hwloc_base_slot_list",
    "orte_rankfile",             "rmaps_rank_file_path",    "rmaps_base_cpus_per_rank",
    "rmaps_base_cpus_per_proc",  "rmaps_ppr_n_persocket",   "mpi_paffinity_alone",
    "opal_paffinity_alone",
    /* files whose contents are not passed on */
    "mca_base_param_file_prefix", "mca_base_envar_file_prefix", NULL};
/* clang-format on */

/* Where ranks go is not what they are bound to, unless it names a part of a node
 * or a number of CPUs. */
static bool mapping_binds(const char *mapping)
{
    return strchr(mapping, ':') ||
           (strcasecmp(mapping, "slot") != 0 && strcasecmp(mapping, "node") != 0);
}

static bool sets_binding(const char *name, const char *value)
{
    for (int i = 0; mca_binding_params[i]; i++)
        if (strcmp(mca_binding_params[i], name) == 0)
            return true;
    return strcmp(name, "rmaps_base_mapping_policy") == 0 && mapping_binds(value);
}

static bool environment_sets_binding(void)
{
    const char *mapping = getenv("OMPI_MCA_rmaps_base_mapping_policy");
    char name[128];

    for (int i = 0; mca_binding_params[i]; i++) {
        snprintf(name, sizeof name, "OMPI_MCA_%s", mca_binding_params[i]);
        if (getenv(name))
            return true;
    }
    return mapping && mapping_binds(mapping);
}

/* Lines "name = value". */
static bool file_sets_binding(const char *path)
{
    char line[1024];
    bool requested = false;
    FILE *file = fopen(path, "re");

    while (file && !requested && fgets(line, sizeof line, file)) {
        char *name = line + strspn(line, " \t"), *equals = strchr(name, '='), *value;

        if (!equals || *name == '#')
            continue;
        value = equals + 1 + strspn(equals + 1, " \t");
        value[strcspn(value, " \t\r\n")] = '\0';
        *equals = '\0';
        name[strcspn(name, " \t")] = '\0';
        requested = sets_binding(name, value);
    }
    if (file)
        fclose(file);
    return requested;
}

/* Where Open MPI is installed, as its library finds it out. */
static void find_prefix(const struct world *world, char prefix[PATH_MAX])
{
    const char *moved = getenv("OPAL_PREFIX");
    struct process daemon;

    if (moved)
        snprintf(prefix, PATH_MAX, "%s", moved);
    else if (!process_ancestor(world->daemons, &daemon) || !process_prefix(daemon.pid, prefix))
        snprintf(prefix, PATH_MAX, "/usr");
}

static enum binding_origin binding_of_openmpi4(const struct world *world)
{
    char prefix[PATH_MAX], own[PATH_MAX] = "", site[PATH_MAX + 32];
    const char *home = getenv("HOME");

    if (!getenv("OMPI_MCA_orte_bound_at_launch") || environment_sets_binding())
        return BINDING_ASKED;
    if (home)
        snprintf(own, sizeof own, "%s/.openmpi/mca-params.conf", home);
    find_prefix(world, prefix);
    snprintf(site, sizeof site, "%s/etc/openmpi-mca-params.conf", prefix);
    return file_sets_binding(own) || file_sets_binding(site) ||
                   file_sets_binding("/etc/openmpi/openmpi-mca-params.conf")
               ? BINDING_ASKED
               : BINDING_DEFAULT;
}

/* "--bind-to", "--bind-to=core" or, as getopt_long takes it, "--bind"; "-bind-to" is whole. Shorter
 * beginnings are other options, or none. */
static bool is_binding_option(const char *word)
{
    static const char *const names[] = {
        "bind-to", "bind-to-core", "bind-to-socket", "rankfile",      "rf",
        "cpu-set", "cpu-list",     "cpus-per-rank",  "cpus-per-proc", NULL};
    size_t dashes = strspn(word, "-");
    const char *name = word + dashes;
    size_t length = strcspn(name, "=");

    if (dashes < 1 || dashes > 2 || length < 2)
        return false;
    for (int i = 0; names[i]; i++)
        if (strncmp(name, names[i], length) == 0 && (dashes == 2 || !names[i][length]))
            return true;
    return false;
}

/* One word of prterun's command line. */
static bool option_sets_binding(const char *word)
{
    const char *equals = *word == '-' ? strchr(word, '=') : NULL;
    const char *mapping = equals ? equals + 1 : word;

    return is_binding_option(word) || strcmp(word, "hwloc_default_binding_policy") == 0 ||
           strcmp(word, "hwloc_default_cpu_list") == 0 || strcasestr(word, ":pe=") ||
           strncasecmp(mapping, "pe-list", 7) == 0 || strncasecmp(mapping, "rankfile:", 9) == 0;
}

/* gpubind, or what starts it, whose arguments are not mpirun's. */
static bool is_command(const char *word)
{
    const char *base = strrchr(word, '/');

    base = base ? base + 1 : word;
    if (strcmp(base, "gpubind") == 0 || strcmp(base, "ch-run") == 0)
        return true;
    for (int i = 0; process_wrappers[i]; i++)
        if (strcmp(base, process_wrappers[i]) == 0)
            return true;
    return false;
}

static bool command_line_sets_binding(const char *line, size_t size)
{
    for (size_t at = 0; at < size; at += strlen(line + at) + 1) {
        if (is_command(line + at))
            return false;
        if (at && option_sets_binding(line + at))
            return true;
    }
    return false;
}

/* PRRTE's parameters, which are not passed on to ranks. */
static bool environment_of_prrte_sets_binding(const char *words, size_t size)
{
    static const char prefix[] = "PRTE_MCA_";

    for (size_t at = 0; at < size; at += strlen(words + at) + 1) {
        const char *name = words + at + sizeof prefix - 1, *equals;

        if (strncmp(words + at, prefix, sizeof prefix - 1) != 0 || !(equals = strchr(name, '=')))
            continue;
        if (strncmp(name, "hwloc_default_binding_policy=", 29) == 0 ||
            strncmp(name, "hwloc_default_cpu_list=", 23) == 0 ||
            (strncmp(name, "rmaps_default_mapping_policy=", 29) == 0 &&
             option_sets_binding(equals + 1)))
            return true;
    }
    return false;
}

static bool prrte_sets_binding(char *(*read)(pid_t, size_t *), bool (*sets)(const char *, size_t),
                               pid_t pid, bool *known)
{
    size_t size = 0;
    char *words = read(pid, &size);
    bool requested = words && sets(words, size);

    *known &= words != NULL;
    free(words);
    return requested;
}

/* Of Open MPI 5's parameters ranks see Open MPI's own, and that a parameter file of PRRTE's has some. On the node
 * of mpirun its command line and its environment tell; that is all there is for a job on one node, and half of the
 * truth for others. */
static enum binding_origin binding_of_openmpi5(const struct world *world,
                                               const struct binding_policy *policy)
{
    bool known = true;

    if (getenv("PMIX_MCA_hwloc_default_binding_policy") || environment_sets_binding())
        return BINDING_ASKED;
    if (!policy->has_daemon || strcmp(policy->daemon.command, "prterun") != 0 ||
        world->size != world->local_size)
        return BINDING_UNKNOWN;
    if (prrte_sets_binding(process_command_line, command_line_sets_binding, policy->daemon.pid,
                           &known) ||
        prrte_sets_binding(process_environment, environment_of_prrte_sets_binding,
                           policy->daemon.pid, &known))
        return BINDING_ASKED;
    return known ? BINDING_DEFAULT : BINDING_UNKNOWN;
}

/* Intel MPI pins before exec; other Hydras bind nothing unasked. */
static enum binding_origin binding_of_hydra(void)
{
    static const char *const variables[] = {
        "I_MPI_PIN",      "I_MPI_PIN_DOMAIN", "I_MPI_PIN_PROCESSOR_LIST",
        "I_MPI_PIN_CELL", "I_MPI_PIN_ORDER",  NULL};

    if (!getenv("I_MPI_HYDRA_UUID"))
        return BINDING_ASKED;
    for (int i = 0; variables[i]; i++)
        if (getenv(variables[i]))
            return BINDING_ASKED;
    return BINDING_FREE;
}

void binding_policy_read(const struct world *world, struct binding_policy *policy)
{
    memset(policy, 0, sizeof *policy);
    if (strcmp(world->launcher, "hydra") == 0)
        policy->binding = binding_of_hydra();
    else if (strcmp(world->launcher, "openmpi") != 0)
        return;
    else if (getenv("OMPI_MCA_orte_launch"))
        policy->binding = binding_of_openmpi4(world);
    else if (getenv("PRTE_LAUNCHED"))
        policy->binding = BINDING_UNKNOWN;
    if (policy->binding != BINDING_ASKED)
        policy->has_daemon = process_ancestor(world->daemons, &policy->daemon);
    if (policy->binding == BINDING_UNKNOWN)
        policy->binding = binding_of_openmpi5(world, policy);
}
