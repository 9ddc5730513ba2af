/* What several targets need. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/env/render_env.h"
#include "core/report/render.h"
#include "tests/cases.h"
#include "tests/fuzz/fuzz.h"

void fuzz_fail(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
    abort();
}

unsigned fuzz_byte(struct fuzz_input *input)
{
    return input->at < input->end ? (unsigned char)*input->at++ : 0;
}

unsigned fuzz_short(struct fuzz_input *input)
{
    unsigned high = fuzz_byte(input);

    return high << 8 | fuzz_byte(input);
}

char *fuzz_line(struct fuzz_input *input)
{
    const char *from = input->at;
    char *line;

    if (from == input->end)
        return NULL;
    while (input->at < input->end && *input->at && *input->at != '\n')
        input->at++;
    line = strndup(from, (size_t)(input->at - from));
    input->at += input->at < input->end;
    return line;
}

char *fuzz_rest(struct fuzz_input *input)
{
    size_t size = (size_t)(input->end - input->at);
    char *text = malloc(size + 1);

    memcpy(text, input->at, size);
    text[size] = '\0';
    input->at = input->end;
    /* In no more memory than the text needs, so that a step too far is seen. */
    return realloc(text, strlen(text) + 1);
}

void fuzz_patch(struct fuzz_input *input, void *bytes, size_t size)
{
    while (input->at < input->end) {
        size_t at = fuzz_short(input) % size, n = fuzz_byte(input);

        for (; n > 0 && at < size && input->at < input->end; n--)
            ((char *)bytes)[at++] = (char)fuzz_byte(input);
    }
}

void fuzz_expect(struct gpubind_error *err)
{
    memset(err, 0x5a, sizeof *err);
}

void fuzz_refused(const struct gpubind_error *err)
{
    FUZZ_CHECK(memchr(err->text, '\0', sizeof err->text));
    FUZZ_CHECK(err->text[0]);
    for (const char *at = err->text; *at; at++)
        FUZZ_CHECK((unsigned char)*at >= 0x20 && *at != 0x7f);
}

static char **real_environment;

void fuzz_environment(char **variables)
{
    real_environment = environ;
    environ = variables;
}

void fuzz_environment_restore(void)
{
    environ = real_environment;
}

int fuzz_file(const void *bytes, size_t size, char *path, size_t room)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    FUZZ_CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    snprintf(path, room, "/proc/self/fd/%d", fd);
    return fd;
}

const struct node *fuzz_node(void)
{
    static const int numa[] = {0, 0, 1, 1};
    static const struct drawing drawing = {2, 1, 4, 1, 4, numa};
    static struct node node;

    if (!node.ncores) {
        node_draw(&drawing, &node);
        node.link[0 * 4 + 1] = node.link[1 * 4 + 0] = 100;
    }
    return &node;
}

void fuzz_check_plan(const struct node *node, const struct plan *plan)
{
    for (int r = 0; r < plan->nranks; r++) {
        const struct plan_rank *rank = &plan->ranks[r];

        FUZZ_CHECK(rank->ngpus >= 0 && rank->ngpus <= node->ngpus);
        FUZZ_CHECK((rank->role == ROLE_GPU) == (rank->ngpus > 0));
        for (int i = 0; i < rank->ngpus; i++)
            FUZZ_CHECK(rank->gpus[i] >= 0 && rank->gpus[i] < node->ngpus &&
                       idset_has(&plan->used_gpus, rank->gpus[i]));
        FUZZ_CHECK(!idset_empty(&rank->cpus));
        FUZZ_CHECK(rank->nic >= -1 && rank->nic < node->nnics);
        FUZZ_CHECK(plan_find(plan, rank->local) != NULL);
    }
}

static void show(const struct node *node, const struct plan *plan, const struct policy *policy)
{
    const struct gpu_ranks nobody = {0};
    struct text text = {0};

    render_table(node, plan, &nobody, &text);
    render_json(node, plan, &nobody, &text);
    render_why(node, plan, policy, &text);
    render_notes(node, plan, &text);
    FUZZ_CHECK(!text.failed && text.length);
    text_clear(&text);
    for (int r = 0; r < plan->nranks; r++)
        for (int mode = 0; mode <= VISIBLE_ALL; mode++) {
            const struct prefs prefs = {.visible = (enum visible_mode)mode,
                                        .ids = (enum visible_ids)(mode % 2),
                                        .ze = {.composite = mode % 2},
                                        .nic = (enum nic_mode)mode,
                                        .omp = true};
            struct env_list list;

            FUZZ_CHECK(render_env(node, plan, &plan->ranks[r], &prefs, "0", &list) == 0);
            env_list_clear(&list);
        }
}

void fuzz_plan(struct node *node, const struct job *job, const struct policy *policy)
{
    struct gpubind_error err;
    struct plan plan, again;

    fuzz_expect(&err);
    if (plan_make(node, job, policy, &plan, &err) < 0) {
        fuzz_refused(&err);
        return;
    }
    fuzz_check_plan(node, &plan);
    show(node, &plan, policy);
    FUZZ_CHECK(plan_make(node, job, policy, &again, &err) == 0 && again.hash == plan.hash);
    plan_clear(&again);
    plan_clear(&plan);
}
