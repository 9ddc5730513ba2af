/* Where no command is given, by hand: what a job would get on this machine, and what to type next.
 * It stays an error, as scripts and launchers expect. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/cmds.h"
#include "core/report/render.h"
#include "host/launch/launcher.h"

#define MISSING "no command is given"
/* A job to propose where there is no GPU to count. */
#define SOME_RANKS 4

/* What a job with a rank for each GPU, or set of GPUs, would get. */
struct sample {
    struct facts here;
    struct placement seen; /* without the GPUs that are hidden from this process */
    struct placement placement;
    int nranks; /* 0: there is no GPU */
    struct text notes;
};

/* One a GPU, or set of GPUs, and the masters. Where there are too few for a set, the plan of one
 * rank says so. */
static int count_ranks(const struct rules *rules, const struct node *node,
                       struct gpubind_error *err)
{
    struct policy policy = {.nmap = node->ngpus};
    int sets;

    if (rules->map && map_read(node, rules->map, &policy, err) < 0)
        return -1;
    sets = policy.nmap / rules->policy.gpus_per_rank;
    if (policy.nmap && !sets)
        sets = 1;
    return sets ? sets + rules->nmasters : 0;
}

static int place(struct sample *sample, const struct options *options, struct gpubind_error *err)
{
    const int n = sample->nranks;
    struct facts *facts = malloc((size_t)n * sizeof *facts);
    int status;

    if (!facts)
        return error_set(err, "out of memory");
    for (int r = 0; r < n; r++) {
        facts[r] = sample->here;
        facts[r].prefs = options->prefs;
        if (sample->placement.node.recorded)
            idset_clear(&facts[r].cpus);
        facts[r].rank = facts[r].local = r;
    }
    status = rules_check_masters(&options->rules, n, err);
    if (status == 0)
        status = placement_make(&sample->placement, &options->rules, facts, n, &sample->notes, err);
    free(facts);
    return status;
}

static int make(struct sample *sample, const struct options *options, struct gpubind_error *err)
{
    const struct world alone = {.launcher = "none", .size = 1, .local_size = 1};
    const struct rules *rules = &options->rules;
    struct text again = {0};
    int status;

    if (facts_read(&alone, &sample->here, err) < 0 ||
        placement_load(&sample->placement, rules, rules->topology, err) < 0 ||
        placement_copy(&sample->seen, &sample->placement.node, err) < 0)
        return -1;
    status = placement_see(&sample->seen, &sample->here, &again, err);
    if (status == 0)
        sample->nranks = count_ranks(rules, &sample->seen.node, err);
    if (status == 0 && sample->nranks == 0)
        text_add(&sample->notes, "%s", again.bytes ? again.bytes : "");
    text_clear(&again);
    if (status < 0 || sample->nranks < 0)
        return -1;
    return sample->nranks ? place(sample, options, err) : 0;
}

/* A word as a shell reads it. */
static void add_word(const char *word, struct text *text)
{
    const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./,:@%";

    if (*word && !word[strspn(word, plain)]) {
        text_add(text, " %s", word);
        return;
    }
    text_add(text, " '");
    for (; *word; word++)
        if (*word == '\'')
            text_add(text, "'\\''");
        else
            text_add(text, "%c", *word);
    text_add(text, "'");
}

static void add_line(const char *command, const char *what, struct text *text)
{
    text_add(text, "  %-30s  %s\n", command, what);
}

/* A job with the options that were given. */
static void add_job(char *const *words, const struct options *options, int nranks, const char *what,
                    struct text *text)
{
    struct text command = {0};

    text_add(&command, "mpirun -np %d gpubind", nranks);
    for (; words != options->command && strcmp(*words, "--") != 0; words++)
        add_word(*words, &command);
    text_add(&command, " ./app");
    if (!command.failed) {
        text_clean(command.bytes);
        add_line(command.bytes, what, text);
    }
    text_clear(&command);
}

static void add_table(const struct sample *sample, struct text *text)
{
    int *ranks = malloc(((size_t)sample->nranks) * sizeof *ranks);
    struct gpu_ranks peers = {0, ranks};

    for (int r = 0; ranks && r < sample->placement.plan.nranks; r++)
        if (sample->placement.plan.ranks[r].role == ROLE_GPU)
            ranks[peers.n++] = sample->placement.plan.ranks[r].rank;
    render_table(&sample->placement.node, &sample->placement.plan, &peers, text);
    free(ranks);
}

static void describe(const struct sample *sample, char *const *words, const struct options *options,
                     struct text *text)
{
    const bool recorded = sample->placement.node.recorded;

    if (sample->nranks) {
        text_add(text,
                 "gpubind: " MISSING "; on %s machine a job with a rank for each %s would get:\n\n",
                 recorded ? "the recorded" : "this",
                 options->rules.policy.gpus_per_rank > 1 ? "set of GPUs" : "GPU");
        add_table(sample, text);
        text_add(text, "\n");
        add_job(words, options, sample->nranks,
                recorded ? "starts it here, with the environment that it would have there"
                         : "starts it",
                text);
        add_line("gpubind --doctor", "what slows or breaks GPU jobs on this machine", text);
    } else {
        text_add(text, "gpubind: " MISSING ", and there is no GPU for ranks on %s machine\n\n",
                 recorded ? "the recorded" : "this");
        add_line("gpubind --doctor", "looks for what is wrong, where there should be some", text);
        add_line("gpubind --topology FILE.xml",
                 "shows the plan of a machine recorded by 'lstopo --of xml FILE.xml'", text);
        add_job(words, options, SOME_RANKS, "runs a program, with cores and no GPUs", text);
    }
    add_line("gpubind --help", "all options", text);
}

static int show(const struct options *options, char *const *words)
{
    struct sample sample = {.nranks = 0};
    struct gpubind_error err, whole;
    struct text text = {0};
    int status = make(&sample, options, &err);

    if (status == 0) {
        describe(&sample, words, options, &text);
        say_lines(sample.notes.bytes);
        /* A failure to write to stderr cannot be reported. */
        (void)write_all(STDERR_FILENO, &text);
    } else {
        error_set(&whole, MISSING ", and no plan can be made: %s", err.text);
        fail(&whole);
    }
    text_clear(&text);
    text_clear(&sample.notes);
    placement_clear(&sample.seen);
    placement_clear(&sample.placement);
    return EXIT_OWN;
}

int cmd_overview(const struct options *options, char *const *words)
{
    struct text remarks = {0}, notes = {0};
    struct gpubind_error err;
    struct world world;
    const bool by_hand = launcher_read(options->launcher, &world, &remarks, &notes, &err) == 0 &&
                         strcmp(world.launcher, "none") == 0;

    text_clear(&remarks);
    text_clear(&notes);
    if (by_hand && !options->quiet)
        return show(options, words);
    error_set(&err, MISSING " (gpubind --help shows how)");
    return cmd_fail(options, &err, EXIT_OWN);
}
