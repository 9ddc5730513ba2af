/* The nodes of a job meet, and one rank reports for all. */
#include "bin/doctor_job.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/cmds.h"
#include "core/doctor/doctor_nodes.h"
#include "host/doctor/collect.h"
#include "host/launch/launcher.h"
#include "host/pmix/job_meeting.h"
#include "host/sys/process.h"
#include "host/sys/subprocess.h"

/* The longest that a node may take for its own questions: two MPIs. */
#define QUESTIONS_SECONDS (DOCTOR_FILES_SECONDS + DOCTOR_NVML_SECONDS + 2 * DOCTOR_MPI_SECONDS)
/* For the library itself, and to go. */
#define PMIX_SECONDS 30
/* For the first rank to get what all have sent. */
#define PART_SECONDS 10
#define ANSWER_MAX ((size_t)64 << 20)

/* Whether this process is all that the rank does: its daemon has started it, or with something
 * around it that ends with it. What a script starts may be followed by an MPI program, and
 * Open MPI admits a rank to its PMIx once. */
static bool is_whole_rank(const struct world *world)
{
    struct process above;

    return world->daemons && process_ancestor_but(process_wrappers, &above) &&
           process_is(&above, world->daemons);
}

/* A rank of a job that has several nodes as far as its environment tells, and whose daemon says
 * that it has PMIx. What an outer job left behind does not do: its rank is another one. Where
 * other commands belong to the job, some rank may not come. */
static bool can_meet(const struct world *world)
{
    static const char *const launchers[] = {"openmpi", "slurm", "flux", "jsrun", "pals", "pmix"};
    const char *rank = getenv("PMIX_RANK");
    bool known = false;

    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
        known |= strcmp(world->launcher, launchers[i]) == 0;
    return known && !world->mixed && world->size > 1 && world->size != world->local_size &&
           getenv("PMIX_NAMESPACE") && rank && atoi(rank) == world->rank && is_whole_rank(world);
}

/* ---- in a process of its own */

enum kind { SILENT = 's', REPORT = 'r', ALONE = 'a' };

/* In place of an exit status: there is nothing to meet by, which is no fault. */
#define NO_PMIX 1

struct doctor_call {
    const struct options *options;
    struct world world;
};

static bool write_all_of(int out, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t wrote = write(out, (const char *)bytes + done, size - done);

        if (wrote < 1)
            return false;
        done += (size_t)wrote;
    }
    return true;
}

/* Kind, exit status, sentence with its NUL, text with its NUL; then nothing more. */
static void answer(int out, enum kind kind, int status, const char *why, const struct text *text)
{
    char head[2] = {(char)kind, (char)status};

    if (!write_all_of(out, head, sizeof head) || !write_all_of(out, why, strlen(why) + 1) ||
        (text && text->length && !write_all_of(out, text->bytes, text->length)) ||
        !write_all_of(out, "", 1))
        _exit(1);
    close(out);
}

static int longest_wait(const struct doctor_call *job)
{
    return QUESTIONS_SECONDS + job->options->timeout_s;
}

/* What this node has to say, packed. */
static void look(struct text *packed)
{
    struct doctor_facts *facts = malloc(sizeof *facts);
    struct doctor_report *report = calloc(1, sizeof *report);
    struct gpubind_error err = {"out of memory"};
    int local;

    if (!facts || !report)
        _exit(1);
    if (doctor_read(DOCTOR_FILES_SECONDS, facts, &local, &err) < 0) {
        doctor_facts_init(facts);
        doctor_read_environment(facts);
        doctor_pack(facts, NULL, err.text, packed);
    } else {
        if (facts->driver_loaded)
            doctor_ask_nvml(DOCTOR_NVML_SECONDS, facts);
        doctor_ask_mpi(DOCTOR_MPI_SECONDS, facts);
        doctor_judge(facts, report);
        doctor_pack(facts, report, NULL, packed);
        doctor_clear(report);
    }
    free(facts);
    free(report);
}

static int render(const struct options *options, const struct doctor_message *messages, int n,
                  struct text *text, int *status, struct gpubind_error *err)
{
    int worst = 0;

    if (doctor_render_nodes(messages, n, options->verbose, options->json, text, &worst, err) < 0)
        return -1;
    *status = worst == 2 ? EXIT_OWN : worst ? DOCTOR_EXIT_FOUND : 0;
    return 0;
}

/* Of what all nodes have sent. */
static int render_all(const struct options *options, struct job_meeting *meeting, struct text *text,
                      int *status, struct gpubind_error *err)
{
    struct doctor_message *messages = calloc((size_t)meeting->n, sizeof *messages);
    int result = 0;

    if (!messages)
        return error_set(err, "out of memory");
    for (int i = 0; i < meeting->n && result == 0; i++)
        result = job_meeting_get(meeting, i, &messages[i].bytes, &messages[i].size, err);
    if (result == 0)
        result = render(options, messages, meeting->n, text, status, err);
    free(messages);
    return result;
}

/* The rank that the others have sent to. Those that are not the first are silent, and end with 0:
 * a launcher ends the job when one ends with another status, and the report may not be out. */
static void report(struct doctor_call *job, struct job_meeting *meeting, int out)
{
    struct text packed = {0}, text = {0};
    struct doctor_message own;
    struct gpubind_error err;
    int status = 0, met;

    look(&packed);
    if (packed.failed)
        _exit(1);
    own = (struct doctor_message){packed.bytes, packed.length};
    met = job_meeting_send(meeting, packed.bytes, packed.length, longest_wait(job), &err);
    if (met == 0 && meeting->mine != 0) {
        (void)job_meeting_part(meeting, PART_SECONDS, &err);
        answer(out, SILENT, 0, "", NULL);
    } else if (met == 0 && render_all(job->options, meeting, &text, &status, &err) == 0) {
        (void)job_meeting_part(meeting, PART_SECONDS, &err);
        answer(out, REPORT, status, "", &text);
    } else {
        text_clear(&text);
        if (render(job->options, &own, 1, &text, &status, &(struct gpubind_error){""}) < 0)
            _exit(1);
        answer(out, REPORT, status, err.text, &text);
    }
    text_clear(&packed);
    text_clear(&text);
}

/* A rank that is not the first of its node. What becomes of the meeting is the others' to say. */
static void be_silent(const struct doctor_call *job, struct job_meeting *meeting, int out)
{
    struct gpubind_error err;

    if (job_meeting_send(meeting, "", 1, longest_wait(job), &err) == 0)
        (void)job_meeting_part(meeting, PART_SECONDS, &err);
    answer(out, SILENT, 0, "", NULL);
}

static void work(int out, void *context)
{
    struct doctor_call *job = context;
    const struct world *world = &job->world;
    struct job_meeting meeting;
    struct gpubind_error err;

    if (job_meeting_join(&meeting, world->daemons, world->rank, world->size, &err) < 0) {
        answer(out, ALONE, NO_PMIX, err.text, NULL);
        return;
    }
    if (meeting.n == 1)
        answer(out, ALONE, 0, "", NULL);
    else if (job_meeting_arrive(&meeting, job->options->timeout_s, &err) < 0)
        answer(out, ALONE, 0, err.text, NULL);
    else if (meeting.mine < 0)
        be_silent(job, &meeting, out);
    else
        report(job, &meeting, out);
    job_meeting_leave(&meeting);
}

/* ---- in the rank's own */

/* False: no whole answer, or each node is to speak for itself. */
static bool take(const char *bytes, size_t size, struct text *text, int *status, struct text *why)
{
    const char *end = size > 3 ? memchr(bytes + 2, '\0', size - 3) : NULL;

    if (!end || bytes[size - 1])
        return false;
    text_add(why, "%s", bytes + 2);
    *status = (unsigned char)bytes[1];
    end++;
    text_add(text, "%s", end);
    return bytes[0] != ALONE;
}

bool doctor_job(const struct options *options, struct text *text, int *status, struct text *why)
{
    struct doctor_call job = {.options = options};
    struct gpubind_error err = {"out of memory"};
    struct text remarks = {0}, notes = {0};
    bool done = false;
    size_t got = 0;
    char *bytes;

    if (launcher_read("auto", &job.world, &remarks, &notes, &err) == 0 && can_meet(&job.world) &&
        (bytes = malloc(ANSWER_MAX))) {
        int seconds = PMIX_SECONDS + 2 * QUESTIONS_SECONDS + 2 * options->timeout_s;

        /* A whole answer counts even where libpmix crashes or hangs afterwards. */
        subprocess_run(work, &job, seconds, bytes, ANSWER_MAX, &got, &err);
        done = take(bytes, got, text, status, why);
        if (!done && !why->length && (!got || bytes[0] != ALONE))
            text_add(why, "%s", err.text);
        free(bytes);
        if (!done && *status == NO_PMIX && !options->verbose)
            text_clear(why);
        /* Its neighbour says so. */
        if (!done && (job.world.unnumbered ? job.world.rank : job.world.local) != 0)
            text_clear(why);
    }
    text_clear(&remarks);
    text_clear(&notes);
    return done;
}
