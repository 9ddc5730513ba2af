/* The GPUs that ranks see already, by variables and device permissions. */
#include "host/launch/visible_gpus.h"

#include <stdlib.h>
#include <string.h>

/* The GPUs that a rank can open, as the driver counts them for it. */
struct view {
    struct node node;
    int from[NODE_MAX_GPUS]; /* positions in the real node */
};

static int make_view(const struct node *node, const struct facts *facts, struct view *view,
                     struct gpubind_error *err)
{
    memset(view, 0, sizeof *view);
    view->node.gpus = malloc((size_t)node->ngpus * sizeof *view->node.gpus);
    if (!view->node.gpus)
        return error_set(err, "out of memory");
    for (int g = 0; g < node->ngpus; g++) {
        int minor = node->gpus[g].minor;

        if (minor >= 0 && !idset_has(&facts->minors, minor))
            continue;
        view->from[view->node.ngpus] = g;
        view->node.gpus[view->node.ngpus++] = node->gpus[g];
    }
    node_number(&view->node);
    memcpy(view->node.nvml_failure, node->nvml_failure, sizeof node->nvml_failure);
    return 0;
}

/* What a rank sees, and the variables that restrict it. */
struct look {
    struct visible_list list; /* positions in the real node */
    int first, share;         /* the rank gets so many of it from there on; share 0: all of it */
    int nvariables;
    struct visible_variable {
        const char *name, *value;
        const char *bad; /* the first entry that names no GPU, or NULL */
        int nleft;
    } variable[2];
};

/* HIP's variable, or CUDA's in its place, counts what ROCm's left. One that a launcher
 * wrote like ROCm's counts once. */
static int hip_variable(const struct facts *facts)
{
    const char *cuda = facts->visible[GPU_NVIDIA];

    if (facts->has_visible[VISIBLE_HIP] && facts->visible[VISIBLE_HIP][0])
        return VISIBLE_HIP;
    if (!facts->has_visible[GPU_NVIDIA] || !*cuda ||
        (facts->has_visible[GPU_AMD] && strcmp(cuda, facts->visible[GPU_AMD]) == 0))
        return -1;
    return GPU_NVIDIA;
}

static void read_variable(const struct view *view, const struct facts *facts, int which,
                          struct look *look)
{
    const char *value = facts->visible[which];
    struct visible_variable *variable = &look->variable[look->nvariables++];

    variable->name = visible_variable(which);
    variable->value = value;
    variable->bad = which == (int)view->node.gpus[0].vendor
                        ? visible_parse(&view->node, value, &facts->prefs.ze, &look->list)
                        : visible_parse_hip(&view->node, value, &look->list);
    variable->nleft = look->list.n;
}

/* All GPUs, in their vendor's order. */
static void see_all(const struct node *node, struct visible_list *list)
{
    for (int g = 0; g < node->ngpus; g++) {
        int at = list->n++;

        for (; at > 0 && node->gpus[0].vendor == GPU_AMD &&
               visible_number(&node->gpus[list->gpu[at - 1]]) > visible_number(&node->gpus[g]);
             at--)
            list->gpu[at] = list->gpu[at - 1];
        list->gpu[at] = (short)g;
    }
}

int visible_gpus_check(const struct node *node, const char *value, struct gpubind_error *err)
{
    const char *entry = visible_unreadable(node, value);
    const char *why = node->nvml_failure;

    if (!entry)
        return 0;
    return error_set(err, "%s: '%.*s' may be a GPU whose UUID cannot be read%s%s",
                     visible_variable(GPU_NVIDIA), (int)strcspn(entry, ", \t"), entry,
                     *why ? ": " : "", why);
}

static int look_around(const struct node *node, const struct facts *facts, struct look *look,
                       struct gpubind_error *err)
{
    enum gpu_vendor vendor = node->gpus[0].vendor;
    int hip = vendor == GPU_AMD ? hip_variable(facts) : -1;
    struct view view;
    int status = 0;

    memset(look, 0, sizeof *look);
    if (make_view(node, facts, &view, err) < 0)
        return -1;
    if (vendor == GPU_NVIDIA && facts->has_visible[vendor])
        status = visible_gpus_check(&view.node, facts->visible[vendor], err);
    see_all(&view.node, &look->list);
    if (view.node.ngpus && facts->has_visible[vendor])
        read_variable(&view, facts, vendor, look);
    if (view.node.ngpus && hip >= 0)
        read_variable(&view, facts, hip, look);
    for (int i = 0; i < look->list.n; i++)
        look->list.gpu[i] = (short)view.from[look->list.gpu[i]];
    free(view.node.gpus);
    return status;
}

#define SHOWN 400 /* characters of a list, or of an entry */

static int shown(size_t length)
{
    return length > SHOWN ? SHOWN : (int)length;
}

/* "NAME=LIST", which may be long. */
static void add_variable(const struct visible_variable *variable, struct text *notes)
{
    const size_t length = strlen(variable->value);

    text_add(notes, "%s=%.*s%s", variable->name, shown(length), variable->value,
             length > SHOWN ? "..." : "");
}

static void note_visible(const struct node *node, const struct look *look, struct text *notes)
{
    bool stops = node->gpus[0].vendor != GPU_INTEL;

    for (int i = 0; i < look->nvariables; i++) {
        const struct visible_variable *variable = &look->variable[i];

        if (variable->bad) {
            bool again = node->gpus[0].vendor == GPU_NVIDIA && variable->nleft == 0 &&
                         variable->bad != variable->value;

            add_variable(variable, notes);
            if (again)
                text_add(
                    notes,
                    ": '%.*s' names a GPU for the second time, and CUDA refuses all of such a list\n",
                    shown(strcspn(variable->bad, ",")), variable->bad);
            else
                text_add(notes, ": '%.*s' names no %sGPU%s\n", shown(strcspn(variable->bad, ",")),
                         variable->bad, stops ? "further " : "",
                         stops && variable->nleft ? ", so the list ends before it" : "");
        }
        if (variable->nleft < node->ngpus) {
            add_variable(variable, notes);
            text_add(notes, " leaves %d of %d GPUs\n", variable->nleft, node->ngpus);
        }
    }
}

static void to_set(const struct visible_list *list, struct idset *set)
{
    idset_clear(set);
    for (int i = 0; i < list->n; i++)
        idset_add(set, list->gpu[i]);
}

/* The rank has what its process would open, in the order in which it sees them. */
static int keep_rank(const struct node *node, struct visible_list *list, struct job_rank *rank,
                     struct gpubind_error *err)
{
    visible_opened(node, list);
    to_set(list, &rank->gpus);
    rank->kept = true;
    free(rank->order);
    rank->order = malloc((size_t)list->n * sizeof *rank->order + 1);
    if (!rank->order)
        return error_set(err, "out of memory");
    memcpy(rank->order, list->gpu, (size_t)list->n * sizeof *rank->order);
    return 0;
}

static void keep_common(struct node *node, const struct idset *seen)
{
    bool keep[NODE_MAX_GPUS];

    for (int g = 0; g < node->ngpus; g++)
        keep[g] = idset_has(seen, g);
    node_withhold(node, keep);
    node_keep_gpus(node, keep);
}

/* GPUs that no rank can open are removed from the node. */
static void drop_hidden(struct node *node, const struct facts *facts, int n, struct text *notes)
{
    bool keep[NODE_MAX_GPUS] = {false};
    int hidden = node->nhidden;

    for (int g = 0; g < node->ngpus; g++) {
        int minor = node->gpus[g].minor;

        keep[g] = minor < 0;
        for (int r = 0; r < n; r++)
            keep[g] |= idset_has(&facts[r].minors, minor);
        hidden += !keep[g];
    }
    node_withhold(node, keep);
    node_keep_gpus(node, keep);
    node_number(node);
    if (hidden)
        text_add(notes, "%s: %d GPU%s may not be opened by this job\n", node->name, hidden,
                 hidden == 1 ? "" : "s");
}

/* Where each rank was given GPUs of its own, the remaining GPUs belong to other jobs. */
static void withhold_rest(struct node *node, const struct look *looks, int n)
{
    bool seen[NODE_MAX_GPUS] = {false};

    for (int r = 0; r < n; r++)
        for (int i = 0; i < looks[r].list.n; i++)
            seen[looks[r].list.gpu[i]] = true;
    node_withhold(node, seen);
}

/* Lists of the same GPUs whose first ones differ were given to the ranks one by one, as by a
 * wrapper that rotates the list; the plugin's own lists may be such. */
static bool begins_otherwise(const struct visible_list *list, const struct visible_list *first,
                             const struct facts *facts)
{
    return !facts->planned && list->n && first->n && list->gpu[0] != first->gpu[0];
}

static bool is_same(const struct visible_list *a, const struct visible_list *b)
{
    return a->n == b->n && memcmp(a->gpu, b->gpu, (size_t)a->n * sizeof *a->gpu) == 0;
}

/* How many of the ranks that have nsets sets in common get one, by --overflow and --ranks-per-gpu. */
static int count_served(const struct policy *policy, int nsets, int nranks)
{
    const int each = policy->ranks_per_gpu ? policy->ranks_per_gpu : 1;
    const bool share = !policy->ranks_per_gpu && policy->overflow == OVERFLOW_SHARE;

    return share || nranks <= nsets * each ? nranks : nsets * each;
}

/* Several ranks were given the same list, as tasks bound to the GPUs of a socket are: each gets a set of it, in turn.
 * 0: it has the list to itself, or one GPU. -1: there are more ranks than --overflow error has them. */
static int deal(const struct job *job, const struct facts *facts, struct look *looks, int r,
                const struct policy *policy, struct gpubind_error *err)
{
    struct look *look = &looks[r];
    int before = 0, all = 0, nsets, served;

    if (job->ranks[r].master || facts[r].planned || look->list.n < 2)
        return 0;
    for (int i = 0; i < job->nranks; i++) {
        bool shares = !job->ranks[i].master && is_same(&looks[i].list, &look->list);

        before += shares && i < r;
        all += shares;
    }
    if (all < 2)
        return 0;
    look->share = policy->gpus_per_rank < look->list.n ? policy->gpus_per_rank : look->list.n;
    nsets = look->list.n / look->share;
    served = count_served(policy, nsets, all);
    if (served < all && policy->overflow == OVERFLOW_ERROR)
        return error_set(
            err, "%d ranks want a GPU of the list that they were given, which has room for %d", all,
            served);
    look->first = (served > nsets ? before * nsets / served : before) * look->share;
    if (before >= served)
        look->first = look->list.n;
    return 1;
}

/* Each rank has what it was given, or its share of that, which may be nothing. */
static int keep_all(struct node *node, struct job *job, struct look *looks,
                    struct gpubind_error *err)
{
    int status = 0;

    withhold_rest(node, looks, job->nranks);
    for (int r = 0; r < job->nranks && status == 0; r++) {
        struct look *look = &looks[r];
        const int left = look->list.n - look->first;

        if (look->share > 0) {
            look->list.n = look->share < left ? look->share : left;
            memmove(look->list.gpu, look->list.gpu + look->first,
                    (size_t)look->list.n * sizeof *look->list.gpu);
        }
        status = keep_rank(node, &look->list, &job->ranks[r], err);
        job->ranks[r].dealt = look->share > 0;
    }
    return status;
}

static int deal_and_keep(struct node *node, const struct facts *facts, struct job *job,
                         struct look *looks, const struct policy *policy, struct text *notes,
                         struct gpubind_error *err)
{
    int ndealt = 0, nidle = 0;

    for (int r = 0; r < job->nranks; r++) {
        const int dealt = deal(job, facts, looks, r, policy, err);

        if (dealt < 0)
            return -1;
        ndealt += dealt;
        nidle += dealt && looks[r].first == looks[r].list.n;
    }
    if (ndealt > 0)
        text_add(
            notes,
            "%s: %d ranks were given lists of several GPUs in common: each has %d of its list\n",
            node->name, ndealt, policy->gpus_per_rank);
    if (nidle > 0)
        text_add(notes, "%s: %d of these are idle: their lists have too few GPUs\n", node->name,
                 nidle);
    return keep_all(node, job, looks, err);
}

/* Of a rotated list the rank uses the first GPU. */
static int keep_firsts(struct node *node, struct job *job, struct look *looks,
                       struct gpubind_error *err)
{
    for (int r = 0; r < job->nranks; r++)
        if (looks[r].list.n > 1)
            looks[r].list.n = 1;
    return keep_all(node, job, looks, err);
}

static int compare(struct node *node, const struct facts *facts, struct job *job,
                   struct look *looks, const struct policy *policy, struct text *notes,
                   struct gpubind_error *err)
{
    struct idset first, seen;
    bool differ = false, rotated = false;

    for (int r = 0; r < job->nranks; r++) {
        if (look_around(node, &facts[r], &looks[r], err) < 0)
            return -1;
        to_set(&looks[r].list, r ? &seen : &first);
        differ |= r && !idset_equal(&seen, &first);
        rotated |= r && begins_otherwise(&looks[r].list, &looks[0].list, &facts[r]);
    }
    if (differ)
        return deal_and_keep(node, facts, job, looks, policy, notes, err);
    if (rotated)
        return keep_firsts(node, job, looks, err);
    note_visible(node, &looks[0], notes);
    keep_common(node, &first);
    return 0;
}

int visible_gpus_apply(struct node *node, const struct facts *facts, struct job *job,
                       const struct policy *policy, struct text *notes, struct gpubind_error *err)
{
    struct look *looks;
    int status;

    drop_hidden(node, facts, job->nranks, notes);
    if (!node->ngpus)
        return 0;
    looks = malloc((size_t)job->nranks * sizeof *looks);
    status = looks ? compare(node, facts, job, looks, policy, notes, err)
                   : error_set(err, "out of memory");
    free(looks);
    return status;
}

int visible_gpus_of_rank(const struct node *node, const struct facts *facts, struct idset *seen,
                         struct gpubind_error *err)
{
    struct look look;

    if (look_around(node, facts, &look, err) < 0)
        return -1;
    to_set(&look.list, seen);
    return 0;
}

static bool wants(const struct facts *facts, int n, enum visible_mode mode)
{
    for (int i = 0; i < n; i++)
        if (facts[i].prefs.visible == mode)
            return true;
    return false;
}

void visible_gpus_note_modes(const struct node *node, const struct facts *facts, int n,
                             struct text *notes)
{
    bool ordered = wants(facts, n, VISIBLE_FIRST) || wants(facts, n, VISIBLE_ORDERED);
    bool all = wants(facts, n, VISIBLE_ALL), mig = false;

    for (int g = 0; g < node->ngpus; g++)
        mig |= node->gpus[g].mig;
    if (mig && all && node->ngpus > 1)
        text_add(notes,
                 "%s: CUDA opens the first MIG instance that it sees; with --visible all "
                 "that is the same for all ranks\n",
                 node->name);
    if (node->ngpus && node->gpus[0].vendor == GPU_INTEL && ordered)
        text_add(notes, "%s: Level Zero keeps an order of its own; ranks see their own GPUs only\n",
                 node->name);
}
