/* Rankfiles and lists of nodes. */
#include <stdlib.h>
#include <string.h>

#include "core/plan/process_map.h"
#include "tests/fuzz/fuzz.h"

static void check(const struct layout *layout)
{
    int total = 0;

    for (int n = 0; n < layout->nnodes; n++)
        total += layout->nodes[n].nranks;
    FUZZ_CHECK(layout->nranks > 0 && total == layout->nranks);
    for (int r = 0; r < layout->nranks; r++) {
        const struct layout_rank *rank = &layout->ranks[r];

        FUZZ_CHECK(rank->node >= 0 && rank->node < layout->nnodes);
        FUZZ_CHECK(rank->local >= 0 && rank->local < layout->nodes[rank->node].nranks);
        FUZZ_CHECK(rank->bound == !!rank->cpus);
    }
}

void fuzz_rankfile(const char *bytes, size_t size)
{
    struct fuzz_input input = {bytes, bytes + size};
    char *text = fuzz_rest(&input);
    struct layout layout = {0};
    struct gpubind_error err;

    fuzz_expect(&err);
    if (layout_rankfile(&layout, text, "ranks", &err) < 0)
        fuzz_refused(&err);
    else
        check(&layout);
    layout_clear(&layout);
    free(text);
}

/* The nodes, then ranks dealt out over them, then a rankfile for them. */
static void spread(const struct fuzz_input *rest, const char *nodes, int how)
{
    struct fuzz_input input = *rest;
    struct layout layout = {0};
    struct gpubind_error err;
    char *text = NULL;
    int status;

    fuzz_expect(&err);
    status = layout_nodes(&layout, nodes, &err);
    if (status == 0 && how < 2)
        status = layout_spread(&layout, 7, how, &err);
    else if (status == 0)
        status = layout_rankfile(&layout, text = fuzz_rest(&input), "ranks", &err);
    if (status < 0)
        fuzz_refused(&err);
    else
        check(&layout);
    layout_clear(&layout);
    free(text);
}

void fuzz_nodes(const char *bytes, size_t size)
{
    struct fuzz_input input = {bytes, bytes + size};
    char *nodes = fuzz_line(&input);

    for (int how = 0; nodes && how < 3; how++)
        spread(&input, nodes, how);
    free(nodes);
}
