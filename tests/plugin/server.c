/* A PMIx server without a launcher: the real libpmix loads the plugin into this process
 * as it would into orted or slurmstepd, a script says which jobs there are, and what
 * becomes of each rank's environment is printed.
 *
 *     PMIX_MCA_mca_base_component_path=DIR server [OPTION...] SCRIPT|-
 *
 * A script has one step a line. Words are separated by blanks, "..." keeps blanks within
 * a word, a word that begins with # begins a comment.
 *
 *   application NAME [VAR=VALUE...]
 *       PMIx_server_setup_application() with these variables in the server's environment,
 *       as mpirun does before it starts daemons. Prints "NAME: VAR=VALUE" for what the
 *       daemons are to be told, or "NAME: -".
 *   nspace NAME size=N [local=N] [first=RANK] [step=N] [WORD...]
 *       A job of `size` ranks, `local` of them on this node (all): first (0),
 *       first + step, first + 2 step ... (step 1). The others fill further nodes, named
 *       elsewhere-a and so on, as many on each as here. Prints nothing, or "nspace NAME:
 *       error WHICH" when PMIx refuses.
 *         cpusets=0-1;2-3;-   the PMIX_CPUSET of each local rank; - or none: unbound
 *         apps=0,0,1          each rank's PMIX_APPNUM; the last one goes on
 *         noderank=N          PMIX_NODE_RANK of the first local rank (0); spawned jobs go on
 *         parent=NAME:RANK    who spawned it: PMIX_SPAWNED, PMIX_PARENT_ID
 *         hostname=NAME       this node's name in the job (the server's)
 *         like=orted|prrte|slurm   whose way of telling PMIx is taken (orted)
 *         omit=KEY,KEY        what is left out, such as PMIX_LOCAL_PEERS
 *         give=KEY:TEXT;...   strings added to the job's keys. PMIx takes PMIX_LOCAL_PEERS
 *                             and PMIX_LOCAL_SIZE from PMIX_PROC_MAP when it is there
 *   fork NAME RANK|all [VAR=VALUE...] [null] [child]
 *       PMIx_server_setup_fork() on an environment of these variables; `null`: on none,
 *       `child`: in a forked process (Slurm does both). Prints "NAME RANK: VAR=VALUE",
 *       sorted; "NAME RANK: -" when none of the variables that a test looks at is
 *       there; "NAME RANK: error WHICH" when PMIx refuses. `all`: each local rank.
 *   key NAME RANK|job KEY [by=RANK|by=server]
 *       A key of a rank, or of the job, as a real client sees it that runs as that rank,
 *       or as rank `by`; or as the server itself. Prints "NAME RANK KEY: VALUE", or
 *       "NAME RANK KEY: error WHICH". Clients stay until the job is forgotten.
 *   crash NAME
 *       Kills the job's clients (see `key`), which cannot say good-bye.
 *   forget NAME
 *       PMIx_server_deregister_nspace().
 *   memory
 *       Prints how much is allocated, and the change since the last `memory`: in the
 *       process, and by the watched object.
 *   cpu
 *       Prints how much CPU time the process has taken since the last `cpu`.
 *   echo [WORD...]
 *       Prints the words.
 *   repeat N ... end
 *       Goes over the lines between N times; %i in them is the round, from 0.
 *
 * Options:
 *   --all               print all variables, also PMIx's own
 *   --hostname=NAME     this node's name
 *   --watch=TEXT        count what objects whose path holds TEXT allocate; at the end,
 *                       print what nobody has freed
 *   --fail-allocations=TEXT   run the script once for each allocation of those objects,
 *                       and let that one fail; one line for each, and a sum. A run is
 *                       ok (as if nothing had failed), declined (ranks got nothing at
 *                       all), failed-to-start, other output (a part is missing), crashed
 *                       or hung
 *   --keep-failing      all allocations after the failing one fail as well
 *   --from=N, --to=N    the first and the last allocation that fail (1, all)
 *   --timeout=SECONDS   how long one run may take (60)
 *   --answer=SECONDS    how long PMIx or a client may take for one request (20)
 *   --verbose           show what failing runs said; list blocks at each `memory`
 *
 * Exit status: 0; 1 when PMIx refused a step (with --fail-allocations: when a run crashed
 * or hung); 2 for a mistake in the options or the script; 124 when the run hung; 128 and
 * the signal when it crashed.
 *
 * With valgrind, --watch and --fail-allocations want --soname-synonyms=somalloc=nouserintercepts.
 * In a debugger: set follow-fork-mode child. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/plugin/server.h"

struct options options = {.first_fail = 1, .timeout = 60, .answer_timeout = 20};

enum {
    OPT_ALL = 1,
    OPT_HOSTNAME,
    OPT_WATCH,
    OPT_FAIL,
    OPT_KEEP,
    OPT_FROM,
    OPT_TO,
    OPT_TIMEOUT,
    OPT_ANSWER,
    OPT_VERBOSE
};

static const struct option table[] = {
    {"all", no_argument, NULL, OPT_ALL},
    {"hostname", required_argument, NULL, OPT_HOSTNAME},
    {"watch", required_argument, NULL, OPT_WATCH},
    {"fail-allocations", required_argument, NULL, OPT_FAIL},
    {"keep-failing", no_argument, NULL, OPT_KEEP},
    {"from", required_argument, NULL, OPT_FROM},
    {"to", required_argument, NULL, OPT_TO},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"answer", required_argument, NULL, OPT_ANSWER},
    {"verbose", no_argument, NULL, OPT_VERBOSE},
    {NULL, 0, NULL, 0},
};

static int set_number(const char *text, unsigned long *number)
{
    return word_number(text, 1000000, number) < 0 || *number == 0 ? -1 : 0;
}

static int set_seconds(const char *text, unsigned *seconds)
{
    unsigned long number;

    if (set_number(text, &number) < 0)
        return -1;
    *seconds = (unsigned)number;
    return 0;
}

static int set_option(int option)
{
    switch (option) {
    case OPT_ALL:
        options.all_variables = true;
        return 0;
    case OPT_HOSTNAME:
        options.hostname = optarg;
        return 0;
    case OPT_FAIL:
        options.campaign = true;
        options.watched = optarg;
        return 0;
    case OPT_WATCH:
        options.watched = optarg;
        return 0;
    case OPT_KEEP:
        options.keep_failing = true;
        return 0;
    case OPT_FROM:
        return set_number(optarg, &options.first_fail);
    case OPT_TO:
        return set_number(optarg, &options.last_fail);
    case OPT_TIMEOUT:
        return set_seconds(optarg, &options.timeout);
    case OPT_ANSWER:
        return set_seconds(optarg, &options.answer_timeout);
    case OPT_VERBOSE:
        options.verbose = true;
        return 0;
    default:
        return -1;
    }
}

static int run_once(const struct script *script)
{
    struct run run;

    if (supervise(script, NULL, false, &run) < 0)
        return EXIT_USAGE;
    if (run.hung) {
        fprintf(stderr, "hung\n");
        return EXIT_HUNG;
    }
    if (WIFSIGNALED(run.status)) {
        fprintf(stderr, "crashed with signal %d\n", WTERMSIG(run.status));
        return 128 + WTERMSIG(run.status);
    }
    return WEXITSTATUS(run.status);
}

int main(int argc, char **argv)
{
    struct script script;
    int option, status;

    if (argc == 4 && strcmp(argv[1], "--client") == 0)
        return key_client(argv + 2);
    while ((option = getopt_long(argc, argv, "", table, NULL)) != -1)
        if (set_option(option) < 0)
            return EXIT_USAGE;
    if (optind != argc - 1) {
        fprintf(stderr, "usage: %s [OPTION...] SCRIPT|-\n", argv[0]);
        return EXIT_USAGE;
    }
    if (options.watched && !memory_interposed()) {
        fprintf(stderr,
                "%s: malloc() is not ours: built with a sanitizer, or in valgrind without "
                "--soname-synonyms=somalloc=nouserintercepts\n",
                argv[0]);
        return EXIT_USAGE;
    }
    if (script_read(argv[optind], &script) < 0)
        return EXIT_USAGE;
    status = options.campaign ? campaign_run(&script) : run_once(&script);
    script_clear(&script);
    return status;
}
