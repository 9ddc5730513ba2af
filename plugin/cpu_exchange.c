/* The CPU exchange: the ranks of a node send their CPU sets to each other. */
#include "plugin/cpu_exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/text.h"
#include "host/launch/node_rendezvous.h"
#include "host/sys/process.h"

/* The daemon forks its ranks one right after the other. */
#define PATIENCE_S 3.0
#define LIMIT_S 5.0

/* Each rank sends "RANK CPUS" and receives the lines of all, so that all make the same plan. */
static int answer_all(void *context, const struct rendezvous_message *messages, int n,
                      struct rendezvous_message *answers, struct gpubind_error *err)
{
    bool *leads = context;
    struct text all = {0};

    *leads = true;
    for (int i = 0; i < n; i++)
        text_add(&all, "%.*s\n", (int)messages[i].size, (const char *)messages[i].bytes);
    if (all.failed) {
        text_clear(&all);
        return error_set(err, "out of memory");
    }
    /* The others without bytes: they get the same. */
    answers[0] = (struct rendezvous_message){.bytes = all.bytes, .size = all.length};
    return 0;
}

static int prepare_nothing(void *context, struct gpubind_error *err)
{
    (void)context;
    (void)err;
    return 0;
}

static void fail_quietly(void *context, const struct gpubind_error *err)
{
    (void)context;
    (void)err;
}

/* Reads one line into the rank that it is about. */
static int take_line(struct job_info *info, const char *line, bool *seen)
{
    char *list;
    long rank = strtol(line, &list, 10);

    for (int r = 0; r < info->nranks; r++)
        if (info->ranks[r].rank == rank && !seen[r]) {
            seen[r] = true;
            return idlist_parse(list, "CPUs", &info->ranks[r].cpus, NULL);
        }
    return -1;
}

/* All of them, each once, or nothing changes. */
static int take(struct job_info *info, char *lines)
{
    struct job_info copy = *info;
    bool *seen = calloc((size_t)info->nranks, sizeof *seen);
    size_t size = (size_t)info->nranks * sizeof *info->ranks;
    int n = 0, status = -1;

    copy.ranks = malloc(size);
    if (seen && copy.ranks) {
        memcpy(copy.ranks, info->ranks, size);
        status = 0;
    }
    for (char *line; status == 0 && (line = strsep(&lines, "\n")) && *line; n++)
        status = take_line(&copy, line, seen);
    if (status == 0 && n == info->nranks)
        memcpy(info->ranks, copy.ranks, size);
    else
        status = -1;
    free(copy.ranks);
    free(seen);
    return status;
}

/* Copies the answer to a string, which take cuts. */
static int take_answer(struct job_info *info, const struct rendezvous_message *answer)
{
    char *lines = strndup(answer->bytes, answer->size);
    int status = lines ? take(info, lines) : -1;

    free(lines);
    return status;
}

int cpu_exchange(struct job_info *info, int rank, bool *leads, struct gpubind_error *err)
{
    char key[JOB_NAME_SIZE + 300], host[256] = "", *list;
    struct text mine = {0};
    struct rendezvous_message answer = {0};
    struct idset cpus;
    struct rendezvous_call call = {.key = key,
                                   .expected = info->nranks,
                                   .patience_s = PATIENCE_S,
                                   .limit_s = LIMIT_S,
                                   .prepare = prepare_nothing,
                                   .decide = answer_all,
                                   .fail = fail_quietly,
                                   .context = leads};
    int status = -1;

    *leads = false;
    if (process_cpus(&cpus, err) < 0)
        return -1;
    list = idlist_text(&cpus);
    text_add(&mine, "%d %s", rank, list ? list : "");
    free(list);
    gethostname(host, sizeof host - 1);
    snprintf(key, sizeof key, "plugin/%s/%s", info->name, host);
    call.mine = (struct rendezvous_message){.bytes = mine.bytes, .size = mine.length};
    if (mine.failed || !list)
        error_set(err, "out of memory");
    else if (node_rendezvous(&call, &answer, err) == RENDEZVOUS_DONE)
        status = take_answer(info, &answer);
    free(answer.bytes);
    text_clear(&mine);
    return status;
}
