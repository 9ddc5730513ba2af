/* Colours and labels of a node's cores and GPUs for lstopo. */
#include "core/report/lstopo_style.h"

#include <stdlib.h>
#include <string.h>

/* White on dark, then black on light: neighbours in the list are told apart, and no
 * text is hard to read. */
static const char *const styles[] = {
    "Background=#33689e;Text=#ffffff", "Background=#a9501c;Text=#ffffff",
    "Background=#39774a;Text=#ffffff", "Background=#75499b;Text=#ffffff",
    "Background=#1d7f86;Text=#ffffff", "Background=#a03262;Text=#ffffff",
    "Background=#6b6420;Text=#ffffff", "Background=#4343c8;Text=#ffffff",
    "Background=#a9d0f5;Text=#000000", "Background=#ffb870;Text=#000000",
    "Background=#a6e3a1;Text=#000000", "Background=#d9b8f0;Text=#000000",
    "Background=#92e5e5;Text=#000000", "Background=#f7afc8;Text=#000000",
    "Background=#e6db74;Text=#000000", "Background=#b9bff2;Text=#000000",
};
#define NSTYLES ((int)(sizeof styles / sizeof styles[0]))

static const char no_gpu_style[] = "Background=#5c5c5c;Text=#ffffff";
static const char mixed_style[] = "Background=#ffffff;Text=#000000";

static bool have_same_gpus(const struct plan_rank *a, const struct plan_rank *b)
{
    return a->ngpus == b->ngpus &&
           memcmp(a->gpus, b->gpus, (size_t)a->ngpus * sizeof a->gpus[0]) == 0;
}

/* A colour for each set of GPUs, in order of local rank; styles has nranks entries. */
static void choose_styles(const struct plan *plan, const char **style)
{
    int next = 0;

    for (int r = 0; r < plan->nranks; r++) {
        int like = 0;

        while (like < r && !have_same_gpus(&plan->ranks[like], &plan->ranks[r]))
            like++;
        if (!plan->ranks[r].ngpus)
            style[r] = no_gpu_style;
        else
            style[r] = like < r ? style[like] : styles[next++ % NSTYLES];
    }
}

/* " (idle)" when that is what they all are. */
static void add_role(const struct plan *plan, const struct idset *ranks, struct text *text)
{
    int first = idset_next(ranks, -1);
    enum role role = plan->ranks[first].role;

    for (int r = first; r >= 0; r = idset_next(ranks, r))
        if (plan->ranks[r].role != role)
            return;
    if (role != ROLE_GPU)
        text_add(text, " (%s)", role_name(role));
}

/* "ranks 0-3,8" for positions in the plan. */
static void add_ranks(const struct plan *plan, const struct idset *ranks, struct text *text)
{
    const char *comma = "";

    text_add(text, "rank%s ", idset_count(ranks) == 1 ? "" : "s");
    for (int r = idset_next(ranks, -1); r >= 0; r = idset_next(ranks, r)) {
        int from = plan->ranks[r].rank, to = from;
        int next = idset_next(ranks, r);

        for (; next >= 0 && plan->ranks[next].rank == to + 1; next = idset_next(ranks, r)) {
            r = next;
            to++;
        }
        text_add(text, "%s%d", comma, from);
        if (to > from)
            text_add(text, "-%d", to);
        comma = ",";
    }
    add_role(plan, ranks, text);
}

static const char *common_style(const char *const *style, const struct idset *ranks)
{
    int first = idset_next(ranks, -1);

    for (int r = first; r >= 0; r = idset_next(ranks, r))
        if (style[r] != style[first])
            return mixed_style;
    return style[first];
}

static void find_ranks(const struct plan *plan, const struct core *core, struct idset *ranks)
{
    idset_clear(ranks);
    for (int r = 0; r < plan->nranks; r++)
        for (int p = 0; p < core->npus; p++)
            if (idset_has(&plan->ranks[r].cpus, core->pu[p]))
                idset_add(ranks, r);
}

static void add_to_seat(const struct plan *plan, const struct core *core, int c, int rank,
                        struct seat *seat)
{
    idset_add(&seat->cores, c);
    for (int p = 0; p < core->npus; p++)
        if (idset_has(&plan->ranks[rank].cpus, core->pu[p]))
            idset_add(&seat->pus, core->pu[p]);
}

/* ranks has room for those of each seat. */
static void make_seats(struct picture *picture, const struct node *node, const struct plan *plan,
                       const char *const *style, struct idset *ranks)
{
    for (int c = 0; c < node->ncores; c++) {
        struct idset here;
        int s = 0;

        find_ranks(plan, &node->cores[c], &here);
        if (idset_empty(&here))
            continue;
        while (s < picture->nseats && !idset_equal(&ranks[s], &here))
            s++;
        if (s == picture->nseats) {
            ranks[s] = here;
            picture->nseats++;
            picture->seats[s].style = common_style(style, &here);
            add_ranks(plan, &here, &picture->seats[s].label);
        }
        for (int r = idset_next(&here, -1); r >= 0; r = idset_next(&here, r))
            add_to_seat(plan, &node->cores[c], c, r, &picture->seats[s]);
    }
}

static void make_tag(const struct node *node, const struct plan *plan, const char *const *style,
                     int g, struct tag *tag)
{
    struct idset ranks;

    idset_clear(&ranks);
    for (int r = 0; r < plan->nranks; r++)
        for (int i = 0; i < plan->ranks[r].ngpus; i++)
            if (plan->ranks[r].gpus[i] == g)
                idset_add(&ranks, r);
    text_add(&tag->label, "GPU %d: ", node->gpus[g].index);
    if (idset_empty(&ranks)) {
        text_add(&tag->label, "no rank");
        return;
    }
    add_ranks(plan, &ranks, &tag->label);
    tag->style = common_style(style, &ranks);
}

static void make_legend(const struct node *node, const struct plan *plan, struct text *legend)
{
    text_add(legend, "gpubind: %d rank%s, %d GPU%s, plan %016llx", plan->nranks,
             plan->nranks == 1 ? "" : "s", node->ngpus, node->ngpus == 1 ? "" : "s",
             (unsigned long long)plan->hash);
}

int lstopo_style_make(struct picture *picture, const struct node *node, const struct plan *plan,
                      struct gpubind_error *err)
{
    const char **style = malloc(((size_t)plan->nranks + 1) * sizeof *style);
    struct idset *ranks = malloc((size_t)node->ncores * sizeof *ranks);
    bool made = style && ranks;

    memset(picture, 0, sizeof *picture);
    picture->seats = calloc((size_t)node->ncores, sizeof *picture->seats);
    picture->tags = calloc((size_t)node->ngpus + 1, sizeof *picture->tags);
    made = made && picture->seats && picture->tags;
    if (made) {
        choose_styles(plan, style);
        make_seats(picture, node, plan, style, ranks);
        for (int g = 0; g < node->ngpus; g++)
            make_tag(node, plan, style, g, &picture->tags[g]);
        make_legend(node, plan, &picture->legend);
    }
    free(style);
    free(ranks);
    return made ? 0 : error_set(err, "out of memory");
}

void lstopo_style_clear(struct picture *picture)
{
    for (int s = 0; s < picture->nseats; s++)
        text_clear(&picture->seats[s].label);
    for (int g = 0; picture->tags && picture->tags[g].label.bytes; g++)
        text_clear(&picture->tags[g].label);
    text_clear(&picture->legend);
    free(picture->seats);
    free(picture->tags);
    memset(picture, 0, sizeof *picture);
}
