/* The options of gpubind, which are also variables and settings of the plugin. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/plan/process_map.h"
#include "host/launch/launcher.h"
#include "host/launch/options.h"

#define AT(member) .offset = offsetof(struct options, member)

/* What an option goes with: actions, and the PMIx plugin. The plugin leaves CPUs to the
 * daemon, knows the job and its machine, does not wait, and starts nothing. */
enum {
    PLAN = 1 << ACTION_PLAN,
    LIST = 1 << ACTION_LIST,
    CHECK = 1 << ACTION_CHECK,
    DOCTOR = 1 << ACTION_DOCTOR,
    ALL = (1 << ACTIONS) - 1,
    JOB = ALL & ~LIST & ~CHECK & ~DOCTOR,
    PLUGIN = OPTION_OF_PLUGIN,
};

static int read_masters(const struct option_row *row, const char *value, const char *from,
                        void *options, struct gpubind_error *err)
{
    struct rules *rules = &((struct options *)options)->rules;
    char *copy = strdup(value), *rest = copy, *entry;
    int status = copy ? 0 : error_set(err, "out of memory");
    int masters[RULES_MAX_MASTERS], n = 0;

    while (status == 0 && strcmp(value, "none") != 0 && (entry = strsep(&rest, ","))) {
        if (n == RULES_MAX_MASTERS)
            status = error_set(err, "%s: more than %d masters", from, RULES_MAX_MASTERS);
        else
            status = number_read(entry, 0, INT_MAX, &masters[n++])
                         ? 0
                         : error_set(err, "%s: '%s' is no rank: it takes %s", from, entry,
                                     row->argument);
    }
    free(copy);
    if (status == 0) {
        memcpy(rules->masters, masters, (size_t)n * sizeof *masters);
        rules->nmasters = n;
    }
    return status;
}

static int read_launcher(const struct option_row *row, const char *value, const char *from,
                         void *options, struct gpubind_error *err)
{
    struct text names = {0};

    if (launcher_known(value)) {
        ((struct options *)options)->launcher = value;
        return 0;
    }
    row->add_names(&names);
    error_set(err, "%s: '%s' is none of %s|auto|none", from, value, names.bytes ? names.bytes : "");
    text_clear(&names);
    return -1;
}

/* A variable may have what one of a flag has, too. */
static int read_report(const struct option_row *row, const char *value, const char *from,
                       void *options, struct gpubind_error *err)
{
    const int form = option_find_word(row->argument, value, strlen(value));
    int *report = &((struct options *)options)->report, table;

    if (form >= 0) {
        *report = form == 0 ? REPORT_TABLE : REPORT_JSON;
        return 0;
    }
    if (switch_parse(value, from, &table, err) < 0)
        return error_set(err, "%s: '%s' is none of %s", from, value, row->argument);
    *report = table ? REPORT_TABLE : 0;
    return 0;
}

/* clang-format off */
static const struct option_row rows[] = {
    {JOB | PLUGIN, PLACEMENT, OPTION_READ, 0, "master", "RANK[,RANK...]|none", NULL,
     "ranks that take no GPU; the next rank of their node gets it (none)", .read = read_masters},
    {JOB | PLUGIN, PLACEMENT, OPTION_WORD, 0, "overflow", "share|idle|error", NULL,
     "more ranks than GPUs: share them, leave the last ranks idle, or refuse (share)",
     AT(rules.policy.overflow)},
    {JOB | PLUGIN, PLACEMENT, OPTION_NUMBER, 0, "gpus-per-rank", "N", NULL,
     "give every rank a set of N GPUs that are close to each other (1)",
     AT(rules.policy.gpus_per_rank), 1, NODE_MAX_GPUS},
    {JOB | PLUGIN, PLACEMENT, OPTION_NUMBER, 0, "ranks-per-gpu", "N", NULL,
     "let at most N ranks share a GPU (no limit with --overflow share, else 1)",
     AT(rules.policy.ranks_per_gpu), 1, JOB_MAX_LOCAL},
    {JOB | PLUGIN, PLACEMENT, OPTION_TEXT, 0, "map", "LIST|@FILE", NULL,
     "use these GPUs in this order: indices, PCI addresses or UUIDs", AT(rules.map)},
    {JOB | PLUGIN, PLACEMENT, OPTION_WORD, 0, "policy", "closest|spread|pack", NULL,
     "prefer near GPUs, many packages, or few packages (closest)", AT(rules.policy.gpus)},
    {JOB, PLACEMENT, OPTION_WORD, 0, "bind", "gpu|core|l3|numa|package|none", NULL,
     "bind ranks to a fair share of the cores, near their GPU first, or to one core, or to the "
     "object that holds it, or not at all (gpu)", AT(rules.policy.bind)},
    {JOB, PLACEMENT, OPTION_NUMBER, 0, "smt", "N", NULL,
     "hardware threads to use of each core (all)", AT(rules.policy.smt), 1, NODE_MAX_SMT},
    {JOB, PLACEMENT, OPTION_SWITCH, 0, "membind", "none|local", NULL,
     "prefer the memory next to the rank's cores (local)", AT(rules.policy.membind)},
    {JOB | PLUGIN, PLACEMENT, OPTION_FLAG, 0, "require-gpu", NULL, NULL,
     "a node without a usable GPU is an error", AT(rules.policy.require_gpu)},
    {JOB | LIST, PLACEMENT, OPTION_TEXT, 0, "topology", "FILE", NULL,
     "use a recorded machine (hwloc XML); a command then runs unbound", AT(rules.topology)},
    {JOB | PLUGIN, PROGRAM, OPTION_WORD, 0, "visible", "own|first|ordered|all", NULL,
     "GPUs that a rank sees: its own; all, its own first; all, its own at (local rank mod "
     "their number); untouched (own)", AT(prefs.visible)},
    {JOB | PLUGIN, PROGRAM, OPTION_WORD, 0, "ids", "uuid|index", NULL,
     "how visible GPUs are written (uuid)", AT(prefs.ids)},
    {JOB, PROGRAM, OPTION_SWITCH, 0, "omp", "none|auto", "auto",
     "set OMP_NUM_THREADS and OMP_PLACES from the rank's cores", AT(prefs.omp)},
    {JOB | PLUGIN, PROGRAM, OPTION_WORD, 0, "nic", "auto|ucx|ofi|none", NULL,
     "export the nearest NIC, also as UCX_NET_DEVICES or libfabric's variable (auto)",
     AT(prefs.nic)},
    {JOB | PLUGIN, RUNNING, OPTION_WORD, 0, "gpu-aware", "off|auto|on", NULL,
     "MPI takes GPU memory, in programs for a CUDA-aware MPI; auto: where it does not by itself "
     "(off; alone: auto)", AT(gpu_aware), .bare = "auto"},
    {JOB, RUNNING, OPTION_READ, 0, "launcher", "NAME", "auto",
     "read this launcher's environment: NAMES, auto or none",
     .read = read_launcher, .add_names = launcher_names},
    {ALL, RUNNING, OPTION_NUMBER, 0, "timeout", "SECONDS", "10",
     "wait so long for the next rank of the node, and the doctor for other nodes",
     AT(timeout_s), 1, 86400},
    {JOB, RUNNING, OPTION_FLAG, 0, "mps", NULL, NULL,
     "where ranks share GPUs: one MPS server a node, for this job, ended with it", AT(mps)},
    {JOB | PLUGIN, RUNNING, OPTION_READ, 0, "report", "table|json", NULL,
     "say who got what, on stderr: one table a node, or one JSON object a node, one node a line "
     "(alone: table)", .read = read_report, .bare = "table"},
    {ALL | PLUGIN, RUNNING, OPTION_FLAG, 'v', "verbose", NULL, NULL,
     "say why, too", AT(verbose)},
    {JOB | LIST | CHECK | PLUGIN, RUNNING, OPTION_FLAG, 'q', "quiet", NULL, NULL,
     "no notices, errors only", AT(quiet)},
    {PLAN | LIST | DOCTOR, PLANNING, OPTION_FLAG, 0, "json", NULL, NULL,
     "one JSON object a node, one node a line", AT(json)},
    {PLAN, PLANNING, OPTION_NUMBER, 0, "ranks", "N", NULL,
     "ranks of the job (one a GPU or set of GPUs)", AT(ranks), 1, LAYOUT_MAX_RANKS},
    {PLAN, PLANNING, OPTION_TEXT, 0, "ranks-file", "FILE", NULL,
     "ranks from an Open MPI rankfile (lines 'rank N=HOST [slot=CPUS]'), or a host a line",
     AT(ranks_file)},
    {PLAN, PLANNING, OPTION_TEXT, 0, "nodes", "N|NAME[:SLOTS][=FILE],...|@FILE", NULL,
     "nodes of the job, each like this one or as in its own hwloc XML; FILE.xml alone will do (1)",
     AT(nodes)},
    {PLAN, PLANNING, OPTION_SWITCH, 0, "distribution", "block|cyclic", NULL,
     "how ranks go to nodes (block)", AT(cyclic)},
    {PLAN, PLANNING, OPTION_TEXT, 0, "cpuset", "CPUS", NULL,
     "CPUs that the job may use (all)", AT(cpuset)},
    {PLAN, PLANNING, OPTION_TEXT, 0, "xml", "FILE", NULL,
     "also write the topology with ranks and colours, for lstopo to draw; of several nodes "
     "each its own: FILE.xml becomes FILE.NODE.xml", AT(xml)},
    {ALL, INSTEAD, OPTION_ACTION, 0, "plan", NULL, NULL,
     "print who would get what", AT(action), .low = ACTION_PLAN},
    {ALL, INSTEAD, OPTION_ACTION, 0, "list", NULL, NULL,
     "print the GPUs, what is near each, and how they are linked (--json: as JSON)",
     AT(action), .low = ACTION_LIST},
    {ALL, INSTEAD, OPTION_ACTION, 0, "check", NULL, NULL,
     "as the program of an outer gpubind: compare what this rank got with its plan",
     AT(action), .low = ACTION_CHECK},
    {ALL, INSTEAD, OPTION_ACTION, 0, "plugin-info", NULL, NULL,
     "as a rank: say whether the PMIx plugin works, and why not; else whether it would be "
     "found from here", AT(action), .low = ACTION_PLUGIN},
    {ALL, INSTEAD, OPTION_ACTION, 0, "doctor", NULL, NULL,
     "say what slows or breaks GPU jobs on this machine, and what to set",
     AT(action), .low = ACTION_DOCTOR},
    {ALL, INSTEAD, OPTION_ACTION, 'h', "help", NULL, NULL,
     "print this", AT(action), .low = ACTION_HELP},
    {ALL, INSTEAD, OPTION_ACTION, 'V', "version", NULL, NULL,
     "print the version", AT(action), .low = ACTION_VERSION},
};
/* clang-format on */

static const char *const group_titles[] = {
    "Placement (all ranks of a node must agree on these)", "What the program sees", "Running",
    "Planning (with --plan)", "Instead of running a command"};

#define NROWS (sizeof rows / sizeof *rows)
_Static_assert(NROWS <= OPTIONS_MAX, "too many options");
_Static_assert(sizeof group_titles / sizeof *group_titles == GROUPS, "a title each");

const struct option_table option_table = {rows, NROWS, group_titles, GROUPS};
