/* Which rank runs on which node, from --ranks, --nodes and --distribution. */
#include "core/plan/process_map_internal.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/number.h"
#include "core/base/text.h"

/* The array grows by doubling. */
static struct layout_node *add_node(struct layout *layout)
{
    struct layout_node *nodes = layout->nodes;

    if (layout->nnodes == layout->room) {
        int room = layout->room ? 2 * layout->room : 16;

        nodes = realloc(nodes, (size_t)room * sizeof *nodes);
        if (!nodes)
            return NULL;
        layout->nodes = nodes;
        layout->room = room;
    }
    memset(&nodes[layout->nnodes], 0, sizeof *nodes);
    return &nodes[layout->nnodes++];
}

/* The bucket of a name in the hash table: the one that holds it, else the free one for it. */
static int *find_bucket(const struct layout *layout, const char *name)
{
    int at = (int)(hash_text(HASH_START, name) % (unsigned)layout->nbuckets);

    while (layout->place[at] && strcmp(layout->nodes[layout->place[at] - 1].name, name) != 0)
        at = (at + 1) % layout->nbuckets;
    return &layout->place[at];
}

int layout_find(const struct layout *layout, const char *name)
{
    return layout->nbuckets ? *find_bucket(layout, name) - 1 : -1;
}

/* A table of at least twice as many places as there are nodes, so that one of ten
 * thousand names is found at once. */
static int note_name(struct layout *layout, int node)
{
    if (2 * layout->nnodes > layout->nbuckets) {
        int nbuckets = 4 * layout->nnodes + 16;
        int *place = calloc((size_t)nbuckets, sizeof *place);

        if (!place)
            return -1;
        free(layout->place);
        layout->place = place;
        layout->nbuckets = nbuckets;
        for (int n = 0; n < node; n++)
            *find_bucket(layout, layout->nodes[n].name) = n + 1;
    }
    *find_bucket(layout, layout->nodes[node].name) = node + 1;
    return 0;
}

int layout_named(struct layout *layout, const char *name, struct gpubind_error *err)
{
    struct layout_node *node = layout->nnodes < LAYOUT_MAX_NODES ? add_node(layout) : NULL;
    char clean[sizeof node->name];

    text_copy(clean, sizeof clean, name);
    if (strncmp(clean, name, sizeof clean - 1) != 0)
        return error_set(err, "the node's name '%s' cannot be printed", name);
    if (!node)
        return layout->nnodes < LAYOUT_MAX_NODES
                   ? error_set(err, "out of memory")
                   : error_set(err, "more than %d nodes cannot be planned for", LAYOUT_MAX_NODES);
    snprintf(node->name, sizeof node->name, "%s", name);
    return note_name(layout, layout->nnodes - 1) < 0 ? error_set(err, "out of memory") : 0;
}

static bool is_xml(const char *word)
{
    size_t length = strlen(word);

    return length > 4 && strcmp(word + length - 4, ".xml") == 0;
}

static int add_named(struct layout *layout, char *entry, struct gpubind_error *err)
{
    char *file = strchr(entry, '='), *slots;
    size_t longest = sizeof layout->nodes->name;
    int nslots = 0;

    if (file)
        *file++ = '\0';
    slots = strchr(entry, ':');
    if (slots)
        *slots++ = '\0';
    if (!file && is_xml(entry)) {
        file = entry;
        entry = entry + strlen(entry); /* the file says what it is called */
    }
    if (strlen(entry) >= longest || (file && strlen(file) >= sizeof layout->nodes->file))
        return error_set(err, "the name of a node or file that begins with '%.40s' is too long",
                         strlen(entry) >= longest ? entry : file);
    if ((!*entry && !is_xml(file ? file : "")) || *entry == '-' || (file && !*file))
        return error_set(err, "'%s%s' is no node: write NAME[:SLOTS][=FILE] or FILE.xml[:SLOTS]",
                         entry, file ? "=" : "");
    if (slots && !number_read(slots, 1, LAYOUT_MAX_RANKS, &nslots))
        return error_set(err, "node %s: '%s' is no number of slots", entry, slots);
    if (*entry && layout_find(layout, entry) >= 0)
        return error_set(err, "node %s is named twice", entry);
    if (layout_named(layout, entry, err) < 0)
        return -1;
    snprintf(layout->nodes[layout->nnodes - 1].file, sizeof layout->nodes->file, "%s",
             file ? file : "");
    layout->nodes[layout->nnodes - 1].slots = nslots;
    return 0;
}

int layout_nodes(struct layout *layout, const char *text, struct gpubind_error *err)
{
    char *copy, *rest, *entry;
    int count = 0, status = 0;

    if (isdigit((unsigned char)*text) && !text[strspn(text, "0123456789")] &&
        !number_read(text, 1, LAYOUT_MAX_NODES, &count))
        return error_set(err, "%s nodes are out of range (1 to %d)", text, LAYOUT_MAX_NODES);
    for (int n = 0; n < count; n++) {
        char name[16];

        snprintf(name, sizeof name, "n%d", n);
        if (add_named(layout, name, err) < 0)
            return -1;
    }
    if (count)
        return 0;
    rest = copy = strdup(text);
    if (!copy)
        return error_set(err, "out of memory");
    while (status == 0 && (entry = strsep(&rest, ",")))
        status = add_named(layout, entry, err);
    free(copy);
    return status;
}

int layout_make_ranks(struct layout *layout, int nranks, struct gpubind_error *err)
{
    if (nranks < 1 || nranks > LAYOUT_MAX_RANKS)
        return error_set(err, "%d ranks are out of range (1 to %d)", nranks, LAYOUT_MAX_RANKS);
    layout->ranks = calloc((size_t)nranks, sizeof *layout->ranks);
    if (!layout->ranks)
        return error_set(err, "out of memory");
    layout->nranks = nranks;
    return 0;
}

void layout_place(struct layout *layout, int rank, int node)
{
    layout->ranks[rank].node = node;
    layout->ranks[rank].local = layout->nodes[node].nranks++;
}

int layout_list(struct layout *layout, struct gpubind_error *err)
{
    int before = 0;

    layout->first = calloc((size_t)layout->nnodes + 1, sizeof *layout->first);
    layout->listed = calloc((size_t)layout->nranks, sizeof *layout->listed);
    if (!layout->first || !layout->listed)
        return error_set(err, "out of memory");
    for (int n = 0; n < layout->nnodes; n++) {
        layout->first[n] = before;
        before += layout->nodes[n].nranks;
    }
    layout->first[layout->nnodes] = before;
    for (int rank = 0; rank < layout->nranks; rank++)
        layout->listed[layout->first[layout->ranks[rank].node] + layout->ranks[rank].local] = rank;
    return 0;
}

/* Each node's slots; nodes without a number share what those leave. Returns how many
 * ranks found a place. */
static int spread_block(struct layout *layout)
{
    int open = 0, before = 0, rank = 0;
    long long left = layout->nranks;

    for (int n = 0; n < layout->nnodes; n++) {
        left -= layout->nodes[n].slots > 0 ? layout->nodes[n].slots : 0;
        open += !layout->nodes[n].slots;
    }
    for (int n = 0; n < layout->nnodes; n++) {
        int share = layout->nodes[n].slots;

        if (!share)
            share = left < 0 ? 0 : (int)(left / open) + (before++ < left % open);
        for (; share > 0 && rank < layout->nranks; share--)
            layout_place(layout, rank++, n);
    }
    return rank;
}

/* One rank a node and round, on those that are not full. */
static int spread_cyclic(struct layout *layout, int *open)
{
    int nopen = 0, rank = 0;

    for (int n = 0; n < layout->nnodes; n++)
        if (layout->nodes[n].slots != LAYOUT_CLOSED)
            open[nopen++] = n;
    while (nopen && rank < layout->nranks) {
        int kept = 0;

        for (int i = 0; i < nopen && rank < layout->nranks; i++) {
            struct layout_node *node = &layout->nodes[open[i]];

            layout_place(layout, rank++, open[i]);
            if (!node->slots || node->nranks < node->slots)
                open[kept++] = open[i];
        }
        nopen = kept;
    }
    return rank;
}

int layout_spread(struct layout *layout, int nranks, bool cyclic, struct gpubind_error *err)
{
    int *open = malloc((size_t)layout->nnodes * sizeof *open);
    int placed;

    if (!open || layout_make_ranks(layout, nranks, err) < 0) {
        free(open);
        return open ? -1 : error_set(err, "out of memory");
    }
    placed = cyclic ? spread_cyclic(layout, open) : spread_block(layout);
    free(open);
    if (placed < nranks)
        return error_set(err, "%d ranks do not fit into the nodes' slots", nranks);
    return layout_list(layout, err);
}

void layout_clear(struct layout *layout)
{
    for (int rank = 0; rank < layout->nranks; rank++)
        free(layout->ranks[rank].cpus);
    free(layout->ranks);
    free(layout->nodes);
    free(layout->place);
    free(layout->first);
    free(layout->listed);
    memset(layout, 0, sizeof *layout);
}
