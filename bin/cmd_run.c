/* Runs a command: joins the rendezvous of the node's ranks, applies this rank's directives, execs.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/program.h"
#include "bin/run.h"
#include "host/launch/rank_directives.h"
#include "host/sys/env_array.h"

/* When this rank has failed, it waits less: the job ends anyway. */
#define SHORT_PATIENCE_S 1.0
/* Where the number of ranks is not known: all jobs wait so long, unless the user wants more. */
#define UNKNOWN_PATIENCE_S 2.0
#define UNKNOWN_SIZE 1000000

static int read_self(struct run *run, struct gpubind_error *err)
{
    const struct options *options = run->options;
    struct facts *facts = &run->facts;

    if (launcher_read(options->launcher, &run->world, &run->remarks, &run->notes, err) < 0 ||
        facts_read(&run->world, facts, err) < 0)
        return -1;
    if (run->plugin == PLUGIN_KEPT && plugin_plan_read(facts, err) < 0)
        return -1;
    if (run->plugin == PLUGIN_REPLACED)
        text_add(&run->remarks, "the plugin planned by other settings; planned anew\n");
    /* A recorded machine's CPUs are not those that this process runs on. */
    if (options->rules.topology) {
        facts->binding = BINDING_ASKED;
        idset_clear(&facts->cpus);
    }
    if (facts->binding == BINDING_DEFAULT || facts->binding == BINDING_FREE)
        text_add(&run->remarks, "nobody told the launcher how to bind its ranks; a binding that "
                                "looks like its default is replaced\n");
    snprintf(facts->version, sizeof facts->version, "%s", PACKAGE_VERSION);
    facts->rules_digest = options->rules_digest;
    snprintf(facts->given, sizeof facts->given, "%s", options->rules_given);
    facts->prefs = options->prefs;
    facts->report = options->report;
    facts->verbose = options->verbose;
    facts->mps = options->mps;
    if (run->failure)
        snprintf(facts->failure, sizeof facts->failure, "%s", run->failure->text);
    return 0;
}

/* A job of one rank needs no rendezvous. */
static enum rendezvous_outcome decide_alone(struct run *run, struct rendezvous_message *mine,
                                            struct rendezvous_message *directives,
                                            struct gpubind_error *err)
{
    mine->pid = getpid();
    if (run_prepare(run, err) == 0 && run_decide(run, mine, 1, directives, err) == 0)
        return RENDEZVOUS_DONE;
    return RENDEZVOUS_FAILED;
}

static enum rendezvous_outcome get_directives(struct run *run, struct rendezvous_message *mine,
                                              struct rendezvous_message *directives,
                                              struct gpubind_error *err)
{
    char key[1024], host[256] = "";
    struct rendezvous_call call = {.key = key,
                                   .prepare = run_prepare,
                                   .decide = run_decide,
                                   .complete = run_complete,
                                   .fail = run_say_failure,
                                   .context = run,
                                   .mine = *mine,
                                   .expected = run->world.local_size,
                                   .patience_s = run->options->timeout_s};

    if (run->world.local_size == 1)
        return decide_alone(run, mine, directives, err);
    gethostname(host, sizeof host - 1);
    snprintf(key, sizeof key, "%s/%s", run->world.job, host);
    if (!run->world.local_size) {
        call.expected = UNKNOWN_SIZE;
        if (!run->options->timeout_given)
            call.patience_s = UNKNOWN_PATIENCE_S;
    }
    if (run->failure)
        call.patience_s = SHORT_PATIENCE_S;
    return node_rendezvous(&call, directives, err);
}

/* Takes part in the rendezvous and returns this rank's directives, which the caller frees; NULL
 * when the job cannot go on, which has been reported. */
static char *agree(struct run *run, size_t *size)
{
    struct rendezvous_message mine = {0}, directives = {0};
    struct gpubind_error err;
    enum rendezvous_outcome outcome = RENDEZVOUS_FAILED;

    if (read_self(run, &err) == 0 && facts_pack(&run->facts, &mine, &err) == 0)
        outcome = get_directives(run, &mine, &directives, &err);
    free(mine.bytes);
    if (outcome == RENDEZVOUS_FAILED)
        fail(&err);
    placement_clear(&run->placement);
    text_clear(&run->remarks);
    text_clear(&run->notes);
    *size = directives.size;
    return directives.bytes;
}

int cmd_fail(const struct options *options, const struct gpubind_error *err, int status)
{
    struct run run = {.options = options, .failure = err};
    size_t size;

    free(agree(&run, &size));
    return status;
}

/* What is done goes to notes of the rank that speaks for its node, and where it is asked why, of all. */
static int apply_gpu_aware(const struct options *options, const char *program, bool speaks,
                           struct text *notes, struct gpubind_error *err)
{
    const char *role = getenv("GPUBIND_ROLE");
    struct env_list list = {0};
    struct text outcome = {0};
    bool aside = false;
    int status = 0;

    if (options->gpu_aware == GPU_AWARE_AUTO && role && strcmp(role, role_name(ROLE_GPU)) != 0)
        text_add(&outcome, "GPU-aware: %s, and nothing is preloaded\n",
                 options->verbose ? "this rank has no GPU" : "no rank of this node has a GPU");
    else
        status = gpu_aware_environment(options->gpu_aware, program, environ, &list, &outcome,
                                       &aside, err);
    if (status == 0 && env_array_apply(&environ, &list) < 0)
        status = error_set(err, "out of memory");
    env_list_clear(&list);
    if (outcome.bytes && (speaks || options->verbose) &&
        (aside || options->report || options->verbose))
        text_add(notes, "%s", outcome.bytes);
    text_clear(&outcome);
    return status;
}

/* The libraries look at the variable alone. */
static int pass_verbose(const struct options *options, struct gpubind_error *err)
{
    if (options->verbose && setenv("GPUBIND_VERBOSE", "1", 1) < 0)
        return error_set(err, "out of memory");
    return 0;
}

/* Without directives, which are the plugin's then, the first rank speaks. */
static bool is_speaker(const char *directives, size_t size)
{
    const char *local = getenv("GPUBIND_LOCAL_RANK");

    return size ? directives_speak(directives, size) : !local || strcmp(local, "0") == 0;
}

static int become(const struct options *options, const char *program, const char *directives,
                  size_t size)
{
    struct gpubind_error err;
    struct text notes = {0};
    int status;

    if (directives_apply(directives, size, &notes, &err) < 0 ||
        apply_gpu_aware(options, program, is_speaker(directives, size), &notes, &err) < 0 ||
        pass_verbose(options, &err) < 0)
        return fail(&err);
    if (!options->quiet)
        say_lines(notes.bytes);
    text_clear(&notes);
    execvp(options->command[0], options->command);
    status = program_refusal(options->command[0], errno, &err);
    fail(&err);
    return status;
}

/* Shows the plugin's plan: the launcher itself assigns and binds nothing. */
static void look_only(struct options *options)
{
    options->rules.policy.bind = BIND_NONE;
    options->rules.policy.membind = false;
    options->rules.map = NULL;
    options->rules.nmasters = 0;
}

/* "--report json" gives the option no value, and json is the command. The word before COMMAND is
 * in argv, too. */
static void add_equals_sign(char *const *command, struct gpubind_error *err)
{
    const char *before = command[-1];
    const struct gpubind_error refusal = *err;

    for (int r = 0; r < option_table.nrows; r++) {
        const struct option_row *row = &option_table.rows[r];

        if (row->bare && strncmp(before, "--", 2) == 0 && strcmp(before + 2, row->name) == 0 &&
            option_find_word(row->argument, *command, strlen(*command)) >= 0)
            error_set(err, "%s; a value of %s stands behind an equals sign: %s=%s", refusal.text,
                      before, before, *command);
    }
}

/* Of jobs of one rank each, where one of several was meant: "gpubind mpirun ./app", the wrong order, and a program of
 * another MPI than the launcher's. Once a node. */
static void note_job(const struct run *run, const char *program)
{
    const char *command = run->options->command[0];
    struct text note = {0};

    if (run->options->quiet || run->world.local != 0)
        return;
    if (run->world.size != 1)
        gpu_aware_note_launcher(run->world.launcher, program, &note);
    else if (program_is_launcher(command))
        text_add(&note,
                 "%s is started as one rank, and all ranks that it starts share the GPU and cores "
                 "of that one; write %s ... gpubind [OPTION...] ./app\n",
                 command, command);
    say_lines(note.bytes);
    text_clear(&note);
}

int cmd_run(const struct options *given)
{
    struct options options = *given;
    struct run run = {.options = &options, .plugin = plugin_plan_state(given)};
    struct gpubind_error err;
    char program[PATH_MAX];
    int status = program_find(options.command[0], program, &err);
    char *directives;
    size_t size;

    if (status)
        add_equals_sign(options.command, &err);
    if (!status && gpu_aware_check(options.gpu_aware, program, environ, &err) < 0)
        status = EXIT_OWN;
    if (status)
        return cmd_fail(&options, &err, status);
    if (run.plugin == PLUGIN_KEPT && !options.report && !options.verbose && !options.mps)
        return become(&options, program, "", 0);
    if (run.plugin == PLUGIN_KEPT)
        look_only(&options);
    else
        plugin_plan_forget(run.plugin);
    directives = agree(&run, &size);
    if (directives)
        note_job(&run, program);
    status = directives ? become(&options, program, directives, size) : EXIT_OWN;
    free(directives);
    return status;
}
