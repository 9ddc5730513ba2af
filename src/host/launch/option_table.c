#include "host/launch/option_table.h"

#include <stddef.h>
#include <string.h>

#include "core/plan/process_map.h"

#define AT(member) offsetof(struct options, member)

const struct row option_rows[] = {
    {PLACEMENT, KIND_MASTERS, 0, "master", "RANK[,RANK...]|none",
     "ranks that take no GPU; it goes to the next rank of their node (none)", NULL, 0, 0, 0},
    {PLACEMENT, KIND_WORD, 0, "overflow", "share|idle|error",
     "more ranks than GPUs: share them, leave the last ranks idle, or refuse (share)",
     "share|idle|error", AT(rules.policy.overflow), 0, 0},
    {PLACEMENT, KIND_NUMBER, 0, "gpus-per-rank", "N",
     "give every rank a set of N GPUs that are close to each other (1)", NULL,
     AT(rules.policy.gpus_per_rank), 1, NODE_MAX_GPUS},
    {PLACEMENT, KIND_NUMBER, 0, "ranks-per-gpu", "N",
     "let at most N ranks share a GPU (no limit with --overflow share, else 1)", NULL,
     AT(rules.policy.ranks_per_gpu), 1, JOB_MAX_LOCAL},
    {PLACEMENT, KIND_TEXT, 0, "map", "LIST|@FILE",
     "use these GPUs in this order: indices, PCI addresses or UUIDs", NULL, AT(rules.map), 0, 0},
    {PLACEMENT, KIND_WORD, 0, "policy", "closest|spread|pack",
     "prefer near GPUs, many packages, or few packages (closest)", "closest|spread|pack",
     AT(rules.policy.gpus), 0, 0},
    {PLACEMENT, KIND_WORD, 0, "bind", "gpu|core|l3|numa|package|none",
     "bind ranks to a fair share of the cores, near their GPU first, or to one core, or to the "
     "object that holds it, or not at all (gpu)",
     "gpu|core|l3|numa|package|none", AT(rules.policy.bind), 0, 0},
    {PLACEMENT, KIND_NUMBER, 0, "smt", "N", "hardware threads to use of each core (all)", NULL,
     AT(rules.policy.smt), 1, NODE_MAX_SMT},
    {PLACEMENT, KIND_SWITCH, 0, "membind", "none|local",
     "prefer the memory next to the rank's cores (local)", "none|local",
     AT(rules.policy.membind), 0, 0},
    {PLACEMENT, KIND_FLAG, 0, "require-gpu", NULL, "a node without a usable GPU is an error",
     NULL, AT(rules.policy.require_gpu), 0, 0},
    {PLACEMENT, KIND_TEXT, 0, "topology", "FILE",
     "use a recorded machine (hwloc XML); a command then runs unbound", NULL,
     AT(rules.topology), 0, 0},
    {PROGRAM, KIND_WORD, 0, "visible", "own|first|ordered|all",
     "GPUs that a rank sees: its own; all, its own first; all, its own at (local rank mod "
     "their number); untouched (own)",
     "own|first|ordered|all", AT(prefs.visible), 0, 0},
    {PROGRAM, KIND_WORD, 0, "ids", "uuid|index", "how visible GPUs are written (uuid)",
     "uuid|index", AT(prefs.ids), 0, 0},
    {PROGRAM, KIND_SWITCH, 0, "omp", "none|auto",
     "set OMP_NUM_THREADS and OMP_PLACES from the rank's cores (auto)", "none|auto",
     AT(prefs.omp), 0, 0},
    {PROGRAM, KIND_WORD, 0, "nic", "auto|ucx|ofi|none",
     "export the nearest NIC, also as UCX_NET_DEVICES or libfabric's variable (auto)",
     "auto|ucx|ofi|none", AT(prefs.nic), 0, 0},
    {RUNNING, KIND_LAUNCHER, 0, "launcher", "NAME",
     "read this launcher's environment: NAMES, auto or none (auto)", NULL, AT(launcher), 0, 0},
    {RUNNING, KIND_NUMBER, 0, "timeout", "SECONDS",
     "wait so long for the next rank of the node (10)", NULL, AT(timeout_s), 1, 86400},
    {RUNNING, KIND_FLAG, 0, "mps", NULL,
     "where ranks share GPUs: one MPS server a node, for this job, ended with it", NULL, AT(mps),
     0, 0},
    {RUNNING, KIND_FLAG, 0, "report", NULL, "say who got what: one table a node, on stderr", NULL,
     AT(report), 0, 0},
    {RUNNING, KIND_FLAG, 'v', "verbose", NULL, "say why, too", NULL, AT(verbose), 0, 0},
    {RUNNING, KIND_FLAG, 'q', "quiet", NULL, "no notices, errors only", NULL, AT(quiet), 0, 0},
    {PLANNING, KIND_FLAG, 0, "json", NULL, "one JSON object a node, one node a line", NULL,
     AT(json), 0, 0},
    {PLANNING, KIND_NUMBER, 0, "ranks", "N", "ranks of the job (one a GPU or set of GPUs)", NULL, AT(ranks), 1,
     LAYOUT_MAX_RANKS},
    {PLANNING, KIND_TEXT, 0, "ranks-file", "FILE",
     "ranks from an Open MPI rankfile (lines 'rank N=HOST [slot=CPUS]'), or a host a line", NULL, AT(ranks_file), 0,
     0},
    {PLANNING, KIND_TEXT, 0, "nodes", "N|NAME[:SLOTS][=FILE],...|@FILE",
     "nodes of the job, each like this one or as in its own hwloc XML; FILE.xml alone will do (1)", NULL, AT(nodes), 0,
     0},
    {PLANNING, KIND_SWITCH, 0, "distribution", "block|cyclic", "how ranks go to nodes (block)",
     "block|cyclic", AT(cyclic), 0, 0},
    {PLANNING, KIND_TEXT, 0, "cpuset", "CPUS", "CPUs that the job may use (all)", NULL,
     AT(cpuset), 0, 0},
    {PLANNING, KIND_TEXT, 0, "xml", "FILE",
     "also write the topology with ranks and colours, for lstopo to draw; of several nodes "
     "each its own: FILE.xml becomes FILE.NODE.xml",
     NULL, AT(xml), 0, 0},
    {ACTIONS, KIND_ACTION, 0, "plan", NULL, "print who would get what", NULL, AT(action),
     ACTION_PLAN, 0},
    {ACTIONS, KIND_ACTION, 0, "list", NULL,
     "print the GPUs, what is near each, and how they are linked (--json: as JSON)", NULL,
     AT(action), ACTION_LIST, 0},
    {ACTIONS, KIND_ACTION, 0, "check", NULL,
     "as the program of an outer gpubind: compare what this rank got with its plan", NULL,
     AT(action), ACTION_CHECK, 0},
    {ACTIONS, KIND_ACTION, 0, "plugin-info", NULL,
     "as a rank: say whether the PMIx plugin works, and why not; else whether it would be "
     "found from here",
     NULL, AT(action), ACTION_PLUGIN, 0},
    {ACTIONS, KIND_ACTION, 0, "doctor", NULL,
     "say what slows or breaks GPU jobs on this machine, and what to set", NULL, AT(action),
     ACTION_DOCTOR, 0},
    {ACTIONS, KIND_ACTION, 'h', "help", NULL, "print this", NULL, AT(action), ACTION_HELP, 0},
    {ACTIONS, KIND_ACTION, 'V', "version", NULL, "print the version", NULL, AT(action),
     ACTION_VERSION, 0},
};
_Static_assert(sizeof option_rows / sizeof option_rows[0] <= OPTION_MAX, "too many options");
const int option_nrows = sizeof option_rows / sizeof option_rows[0];

bool option_is_for(const struct row *row, enum action action)
{
    bool is_json = strcmp(row->name, "json") == 0;

    if (action == ACTION_DOCTOR)
        return is_json || strcmp(row->name, "verbose") == 0;
    return row->group != PLANNING || action == ACTION_PLAN || (action == ACTION_LIST && is_json);
}

bool option_is_plugins(const struct row *row)
{
    /* The plugin leaves CPUs to the daemon, knows the job and its machine, does not
     * wait, and starts nothing. */
    static const char *const others[] = {"bind",     "smt",     "membind", "omp",
                                         "topology", "launcher", "timeout", "mps"};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(row->name, others[i]) == 0)
            return false;
    return row->group <= RUNNING;
}
