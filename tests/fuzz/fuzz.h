/* Parsers under bytes of any kind: they take them or refuse them with a sentence, and
 * what they took is consistent. One file a target, one table of targets. */
#ifndef GPUBIND_TESTS_FUZZ_FUZZ_H
#define GPUBIND_TESTS_FUZZ_FUZZ_H

#include <stddef.h>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/plan/job.h"
#include "core/plan/plan.h"
#include "core/topo/node.h"

/* bytes is not NUL-terminated. Whatever a target does must not outlast the call. */
struct fuzz_target {
    const char *name; /* of its folder in corpus/, too */
    void (*run)(const char *bytes, size_t size);
};
extern const struct fuzz_target fuzz_targets[];
extern const int fuzz_ntargets;

/* NULL when there is none of that name. */
const struct fuzz_target *fuzz_find(const char *name);

/* Ends the process unless condition holds. */
#define FUZZ_CHECK(condition)                          \
    do {                                               \
        if (!(condition))                              \
            fuzz_fail(__FILE__, __LINE__, #condition); \
    } while (0)
_Noreturn void fuzz_fail(const char *file, int line, const char *condition);

/* Reads the input piece by piece. */
struct fuzz_input {
    const char *at, *end;
};
/* 0 at the end. */
unsigned fuzz_byte(struct fuzz_input *input);
unsigned fuzz_short(struct fuzz_input *input);
/* Up to the next line end or NUL, which is passed over; the caller frees. NULL at the
 * end. */
char *fuzz_line(struct fuzz_input *input);
/* All that is left, up to a NUL; the caller frees. */
char *fuzz_rest(struct fuzz_input *input);
/* The rest as changes to size bytes: place (2 bytes), length (1), and that many. */
void fuzz_patch(struct fuzz_input *input, void *bytes, size_t size);

/* err is set before the call ... */
void fuzz_expect(struct gpubind_error *err);
/* ... and is one sentence after a refusal. */
void fuzz_refused(const struct gpubind_error *err);

/* For the time of a call the environment holds these, "NAME=VALUE", and nothing else. */
void fuzz_environment(char **variables);
void fuzz_environment_restore(void);

/* A file in memory whose name, good for this process, is put into path. */
int fuzz_file(const void *bytes, size_t size, char *path, size_t room);

/* Two packages with four GPUs, of which two have a link; lasts. */
const struct node *fuzz_node(void);

/* Whatever follows from a node that was accepted: a plan, what it shows and sets. */
void fuzz_plan(struct node *node, const struct job *job, const struct policy *policy);
void fuzz_check_plan(const struct node *node, const struct plan *plan);

/* Changes XML of size bytes into other XML of at most room bytes; its size. */
size_t fuzz_mutate_xml(char *bytes, size_t size, size_t room, unsigned seed);

void fuzz_bench_options(const char *bytes, size_t size);
void fuzz_facts(const char *bytes, size_t size);
void fuzz_idlist(const char *bytes, size_t size);
void fuzz_json(const char *bytes, size_t size);
void fuzz_launcher(const char *bytes, size_t size);
void fuzz_map(const char *bytes, size_t size);
void fuzz_nodes(const char *bytes, size_t size);
void fuzz_options(const char *bytes, size_t size);
void fuzz_directives(const char *bytes, size_t size);
void fuzz_packed(const char *bytes, size_t size);
void fuzz_plugin_file(const char *bytes, size_t size);
void fuzz_plugin_plan(const char *bytes, size_t size);
void fuzz_plugin_settings(const char *bytes, size_t size);
void fuzz_pmix_answers(const char *bytes, size_t size);
void fuzz_mca_param(const char *bytes, size_t size);
void fuzz_policy(const char *bytes, size_t size);
void fuzz_rankfile(const char *bytes, size_t size);
void fuzz_slurm(const char *bytes, size_t size);
void fuzz_visible(const char *bytes, size_t size);
void fuzz_wire(const char *bytes, size_t size);
void fuzz_xml(const char *bytes, size_t size);

#endif
