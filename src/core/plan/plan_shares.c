/* From the number of cores that each rank has of each group to cores: side by side where
 * that brings no rank farther from its GPU. */
#include <stdlib.h>

#include "core/plan/core_groups.h"

struct shares {
    const struct core_groups *groups;
    int nranks, ncores;
    int *order;   /* ranks, as their shares follow each other */
    int *anchor;  /* of each rank: the first core of the nearest group that it has */
    int *members; /* scratch: cores */
    int *owner;   /* of each core, before they are taken side by side */
    bool *owns;   /* nranks * ncores */
    bool *before; /* scratch: as owns, of the cores of one NUMA node */
};

static int look_at(const struct shares *s, int r, int core)
{
    return core_groups_distance(s->groups, s->groups->group_of[core], s->groups->kind_of[r]);
}

static int find_anchor(const struct shares *s, int r)
{
    const int *count = &s->groups->count[r * s->groups->ngroups];
    int nearest = GROUP_FORBIDDEN, anchor = s->ncores;

    for (int c = 0; c < s->ncores; c++)
        if (count[s->groups->group_of[c]] && look_at(s, r, c) < nearest) {
            nearest = look_at(s, r, c);
            anchor = c;
        }
    return anchor;
}

/* Ranks with GPUs stand before the others, so that a master's core does not shift
 * everybody's; then they follow the cores. An insertion keeps equals in order of rank. */
static void find_order(struct shares *s)
{
    const struct core_groups *groups = s->groups;

    for (int r = 0; r < s->nranks; r++) {
        bool with_gpu = groups->has_gpu[groups->kind_of[r]];
        int at = r;

        s->anchor[r] = find_anchor(s, r);
        for (; at > 0; at--) {
            int before = s->order[at - 1];
            bool before_with_gpu = groups->has_gpu[groups->kind_of[before]];

            if (before_with_gpu != with_gpu ? before_with_gpu : s->anchor[before] <= s->anchor[r])
                break;
            s->order[at] = before;
        }
        s->order[at] = r;
    }
}

/* The ranks with GPUs, or those without, take their cores from the members of the
 * group that begin at first; returns where the next may begin. Where there are fewer than
 * wanted, the ranks share them evenly. */
static int carve(const struct shares *s, int group, bool with_gpu, int first)
{
    const struct core_groups *groups = s->groups;
    int left = groups->size[group] - first, wanted = 0, done = 0;

    for (int r = 0; r < s->nranks; r++)
        if (groups->has_gpu[groups->kind_of[r]] == with_gpu)
            wanted += groups->count[r * groups->ngroups + group];
    for (int i = 0; i < s->nranks && left > 0; i++) {
        int r = s->order[i], count = groups->count[r * groups->ngroups + group];

        if (groups->has_gpu[groups->kind_of[r]] != with_gpu)
            continue;
        for (; count > 0; count--, done++) {
            int at = wanted > left ? (int)((long)done * left / wanted) : done;

            s->owns[r * s->ncores + s->members[first + at]] = true;
        }
    }
    return first + (wanted < left ? wanted : left);
}

static void carve_group(const struct shares *s, int group)
{
    int first;

    for (int c = 0, n = 0; c < s->ncores; c++)
        if (s->groups->group_of[c] == group)
            s->members[n++] = c;
    first = carve(s, group, true, 0);
    carve(s, group, false, first);
}

/* Distances of the rank to the members that it owns. */
struct nearness {
    long sum;
    int best, worst;
};

static struct nearness nearness_of(const struct shares *s, int r, const bool *owns, int nmembers)
{
    struct nearness nearness = {0, GROUP_FORBIDDEN, 0};

    for (int m = 0; m < nmembers; m++) {
        int distance = look_at(s, r, s->members[m]);

        if (!owns[r * s->ncores + s->members[m]])
            continue;
        nearness.sum += distance;
        nearness.best = distance < nearness.best ? distance : nearness.best;
        nearness.worst = distance > nearness.worst ? distance : nearness.worst;
    }
    return nearness;
}

/* Whether the new shares are as near as those before: in the sum, and for each rank in
 * its nearest core; and no rank has a core that it may not use. */
static bool is_as_near(const struct shares *s, int nmembers)
{
    long before = 0, now = 0;

    for (int r = 0; r < s->nranks; r++) {
        struct nearness old = nearness_of(s, r, s->before, nmembers);
        struct nearness new = nearness_of(s, r, s->owns, nmembers);

        if (new.best > old.best || new.worst == GROUP_FORBIDDEN)
            return false;
        before += old.sum;
        now += new.sum;
    }
    return now <= before;
}

/* Copies what owns says of the members. */
static void copy_members(const struct shares *s, int nmembers, bool *to, const bool *from)
{
    for (int r = 0; r < s->nranks; r++)
        for (int m = 0; m < nmembers; m++)
            to[r * s->ncores + s->members[m]] = from[r * s->ncores + s->members[m]];
}

/* Assigns the members side by side, to each rank as many as it has of them. */
static void lay_out(const struct shares *s, int nmembers)
{
    int next = 0;

    for (int i = 0; i < s->nranks; i++) {
        bool *owns = &s->owns[s->order[i] * s->ncores];
        const bool *before = &s->before[s->order[i] * s->ncores];
        int count = 0;

        for (int m = 0; m < nmembers; m++) {
            count += before[s->members[m]];
            owns[s->members[m]] = false;
        }
        for (; count > 0; count--, next++)
            owns[s->members[next]] = true;
    }
}

/* The rank that has each core; -1 none, -2 several. */
static void find_owners(const struct shares *s)
{
    for (int c = 0; c < s->ncores; c++) {
        s->owner[c] = -1;
        for (int r = 0; r < s->nranks; r++)
            if (s->owns[r * s->ncores + c])
                s->owner[c] = s->owner[c] == -1 ? r : -2;
    }
}

/* The cores of a NUMA node that ranks have, or with kind >= 0, those anywhere that ranks of
 * the kind have: into members. Returns their number, 0 where two ranks share one. Moving
 * cores within members changes who owns them, but neither whether nor the kind. */
static int find_members(const struct shares *s, int domain, int kind)
{
    int n = 0;

    for (int c = 0; c < s->ncores; c++) {
        if (kind < 0 && s->groups->work->node->cores[c].numa_domain != domain)
            continue;
        if (s->owner[c] == -2)
            return 0;
        if (s->owner[c] >= 0 && (kind < 0 || s->groups->kind_of[s->owner[c]] == kind))
            s->members[n++] = c;
    }
    return n;
}

static void straighten(const struct shares *s, int nmembers)
{
    copy_members(s, nmembers, s->before, s->owns);
    lay_out(s, nmembers);
    if (!is_as_near(s, nmembers))
        copy_members(s, nmembers, s->owns, s->before);
}

/* What ranks without a GPU have may lie in several groups, and so may a NUMA node: cores
 * are taken side by side across groups. */
static void straighten_all(const struct shares *s)
{
    const struct core *cores = s->groups->work->node->cores;

    for (int kind = 0; kind < s->groups->nkinds; kind++)
        if (!s->groups->has_gpu[kind])
            straighten(s, find_members(s, 0, kind));
    for (int c = 0; c < s->ncores; c++) {
        bool first = true;

        for (int d = 0; d < c; d++)
            first &= cores[d].numa_domain != cores[c].numa_domain;
        if (first)
            straighten(s, find_members(s, cores[c].numa_domain, -1));
    }
}

static void share_all(struct shares *s)
{
    find_order(s);
    for (int group = 0; group < s->groups->ngroups; group++)
        carve_group(s, group);
    find_owners(s);
    straighten_all(s);
}

int core_groups_share(const struct core_groups *groups, bool *owns, struct gpubind_error *err)
{
    struct shares s = {.groups = groups,
                       .nranks = groups->work->plan->nranks,
                       .ncores = groups->work->node->ncores,
                       .owns = owns};
    int status;

    s.order = calloc((size_t)s.nranks, sizeof *s.order);
    s.anchor = calloc((size_t)s.nranks, sizeof *s.anchor);
    s.members = calloc((size_t)s.ncores, sizeof *s.members);
    s.owner = calloc((size_t)s.ncores, sizeof *s.owner);
    s.before = calloc((size_t)s.nranks * (size_t)s.ncores, sizeof *s.before);
    status = s.order && s.anchor && s.members && s.owner && s.before
                 ? 0
                 : error_set(err, "out of memory");
    if (status == 0)
        share_all(&s);
    free(s.order);
    free(s.anchor);
    free(s.members);
    free(s.owner);
    free(s.before);
    return status;
}
