/* Rank directives: written by the leader, applied by the rank. */
#include "host/launch/rank_directives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/sys/bind.h"

static void add_set(struct text *text, const char *name, const struct idset *set)
{
    char *ids = idlist_text(set);

    text_add(text, "%s=%s%c", name, ids ? ids : "", '\0');
    text->failed |= !ids;
    free(ids);
}

static bool speaks(const struct plan *plan, const struct plan_rank *rank)
{
    for (int r = 0; r < plan->nranks; r++)
        if (plan->ranks[r].role == ROLE_GPU)
            return &plan->ranks[r] == rank;
    return rank == plan->ranks;
}

void directives_render(const struct plan *plan, const struct plan_rank *rank, bool bind,
                       const struct env_list *env, struct text *text)
{
    static const char marks[] = {[ENV_SET] = '=', [ENV_DEFAULT] = '?', [ENV_UNSET] = '-'};

    if (speaks(plan, rank))
        text_add(text, "speaks%c", '\0');
    if (bind && plan->bind_cpus)
        add_set(text, "cpus", &rank->cpus);
    if (bind && plan->bind_memory)
        add_set(text, "memory", &rank->numas);
    for (int i = 0; i < env->n; i++) {
        const struct env_item *item = &env->item[i];

        if (item->how == ENV_UNSET)
            text_add(text, "-%s%c", item->name, '\0');
        else
            text_add(text, "%c%s=%s%c", marks[item->how], item->name, item->value, '\0');
    }
}

static void bind_to(const char *what, const char *list, int (*bind)(const struct idset *),
                    struct text *notes)
{
    struct idset set;

    if (idlist_parse(list, what, &set, NULL) < 0 || idset_empty(&set))
        return;
    if (bind(&set) < 0)
        text_add(notes, "cannot bind to %s %s: %s\n", what, list, strerror(errno));
}

/* Containers refuse memory policies, to all ranks of the node alike: one of them says so. */
static void tell_unbound(struct text *unbound, struct text *notes)
{
    const char *local = getenv("GPUBIND_LOCAL_RANK");

    if (!unbound->bytes)
        return;
    unsetenv("GPUBIND_NUMA");
    if (!local || strcmp(local, "0") == 0)
        text_add(notes, "%s", unbound->bytes);
    text_clear(unbound);
}

static int set_variable(const char *assignment, bool overwrite, struct gpubind_error *err)
{
    const char *equals = strchr(assignment, '=');
    char *name = equals ? strndup(assignment, (size_t)(equals - assignment)) : NULL;
    int status = name ? setenv(name, equals + 1, overwrite) : -1;

    if (status < 0)
        error_set(err, "cannot set %s", name ? name : assignment);
    free(name);
    return status;
}

int directives_apply(const char *directives, size_t size, struct text *notes,
                     struct gpubind_error *err)
{
    struct text unbound = {0};
    int status = 0;

    if (size && directives[size - 1])
        return error_set(err, "the orders for this rank are cut off");
    for (size_t at = 0; status == 0 && at < size; at += strlen(directives + at) + 1) {
        const char *directive = directives + at;

        if (strncmp(directive, "cpus=", 5) == 0)
            bind_to("CPUs", directive + 5, bind_cpus, notes);
        else if (strncmp(directive, "memory=", 7) == 0)
            bind_to("memory of NUMA nodes", directive + 7, bind_memory, &unbound);
        else if (*directive == '-')
            status = unsetenv(directive + 1) < 0
                         ? error_set(err, "cannot unset '%s'", directive + 1)
                         : 0;
        else if (*directive == '=' || *directive == '?')
            status = set_variable(directive + 1, *directive == '=', err);
    }
    tell_unbound(&unbound, notes);
    return status;
}

bool directives_speak(const char *directives, size_t size)
{
    for (size_t at = 0; at < size; at += strlen(directives + at) + 1)
        if (strcmp(directives + at, "speaks") == 0)
            return true;
    return false;
}
