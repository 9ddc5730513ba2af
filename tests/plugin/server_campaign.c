/* The script again and again: in the N-th run the N-th allocation of the watched object
 * fails. A run may end well, leave ranks alone, or refuse to start the job; it may not
 * crash nor hang. Its output is compared with that of a run in which nothing fails: a
 * variable that got lost among others is the worst that can happen. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/plugin/server.h"

enum outcome {
    OUTCOME_OK,
    OUTCOME_DECLINED,
    OUTCOME_REFUSED,
    OUTCOME_OTHER,
    OUTCOME_CRASHED,
    OUTCOME_HUNG,
    OUTCOMES
};

static const char *const words[OUTCOMES] = {
    [OUTCOME_OK] = "ok",
    [OUTCOME_DECLINED] = "declined",
    [OUTCOME_REFUSED] = "failed-to-start",
    [OUTCOME_OTHER] = "other output",
    [OUTCOME_CRASHED] = "crashed",
    [OUTCOME_HUNG] = "hung",
};

static void close_run(struct run *run)
{
    if (run->out)
        fclose(run->out);
    if (run->err)
        fclose(run->err);
}

static enum outcome judge(const struct run *run, const struct run *reference)
{
    static const enum outcome alike[] = {
        [LIKE_SAME] = OUTCOME_OK, [LIKE_DECLINED] = OUTCOME_DECLINED, [LIKE_OTHER] = OUTCOME_OTHER};
    char wanted[COMPARE_LINE], got[COMPARE_LINE];

    if (run->hung)
        return OUTCOME_HUNG;
    if (!WIFEXITED(run->status))
        return OUTCOME_CRASHED;
    if (WEXITSTATUS(run->status) == EXIT_STEP_FAILED)
        return OUTCOME_REFUSED;
    /* valgrind, a sanitizer or the plugin ended the process with a status of its own. */
    if (WEXITSTATUS(run->status) != EXIT_OK)
        return OUTCOME_CRASHED;
    return alike[compare_output(reference->out, run->out, wanted, got)];
}

static void print_stderr(FILE *err)
{
    char line[256];

    rewind(err);
    while (fgets(line, sizeof line, err))
        printf("#   %s%s", line, strchr(line, '\n') ? "" : "\n");
}

static void report(const struct failure *failure, enum outcome outcome, const struct run *run,
                   const struct run *reference)
{
    char wanted[COMPARE_LINE], got[COMPARE_LINE];

    printf("%lu: %s", failure->fail, words[outcome]);
    if (outcome == OUTCOME_CRASHED && WIFSIGNALED(run->status))
        printf(" with signal %d", WTERMSIG(run->status));
    else if (outcome == OUTCOME_CRASHED)
        printf(" with status %d", WEXITSTATUS(run->status));
    printf(" (%s of %zu bytes at %s)\n", failure->function, failure->nbytes, failure->place);
    if (outcome == OUTCOME_OTHER &&
        compare_output(reference->out, run->out, wanted, got) == LIKE_OTHER)
        printf("#   wanted %s#   got    %s", wanted, got);
    if (options.verbose || outcome == OUTCOME_CRASHED || outcome == OUTCOME_HUNG)
        print_stderr(run->err);
    fflush(stdout);
}

/* The run that all others are compared with. */
static int run_reference(const struct script *script, struct failure *failure, struct run *run)
{
    int status;

    if (supervise(script, failure, true, run) < 0)
        return EXIT_USAGE;
    status = run->hung ? EXIT_HUNG : WIFEXITED(run->status) ? WEXITSTATUS(run->status) : 128;
    if (status == EXIT_OK && failure->seen > 0)
        return EXIT_OK;
    if (status == EXIT_OK)
        fprintf(stderr, "no object named *%s* allocated anything\n", options.watched);
    else
        fprintf(stderr, "without any failure, the script ends with status %d\n", status);
    print_stderr(run->err);
    return EXIT_USAGE;
}

static int run_failing(const struct script *script, struct failure *failure,
                       const struct run *reference)
{
    unsigned long counts[OUTCOMES] = {0}, all = 0;

    for (unsigned long n = options.first_fail; !options.last_fail || n <= options.last_fail; n++) {
        enum outcome outcome;
        struct run run;

        memset(failure, 0, sizeof *failure);
        failure->fail = n;
        failure->keep_failing = options.keep_failing;
        if (supervise(script, failure, true, &run) < 0)
            return EXIT_USAGE;
        if (failure->happened) {
            outcome = judge(&run, reference);
            report(failure, outcome, &run, reference);
            counts[outcome]++;
            all++;
        }
        close_run(&run);
        if (!failure->happened)
            break;
    }
    printf("%lu failures:", all);
    for (int i = 0; i < OUTCOMES; i++)
        printf("%s %lu %s", i ? "," : "", counts[i], words[i]);
    printf("\n");
    return counts[OUTCOME_CRASHED] || counts[OUTCOME_HUNG] ? EXIT_STEP_FAILED : EXIT_OK;
}

int campaign_run(const struct script *script)
{
    struct failure *failure = mmap(NULL, sizeof *failure, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct run reference;
    int status;

    if (failure == MAP_FAILED) {
        perror("mmap");
        return EXIT_USAGE;
    }
    status = run_reference(script, failure, &reference);
    if (status == EXIT_OK)
        status = run_failing(script, failure, &reference);
    close_run(&reference);
    munmap(failure, sizeof *failure);
    return status;
}
