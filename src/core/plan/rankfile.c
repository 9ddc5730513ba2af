/* Reads a process map from an Open MPI rankfile or a list of hosts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/plan/process_map_internal.h"

/* One line of a rankfile, cut into its words. */
struct rankfile_line {
    int rank;
    char *host, *slots;
};

/* 1: a rank, 0: an empty line, -1: a syntax error. A lone host is that of the rank next. */
static int read_line(char *line, int next, struct rankfile_line *out)
{
    char *words[3], *save = NULL, *equals;
    int n = 0;

    line[strcspn(line, "#\r\n")] = '\0';
    for (char *word = strtok_r(line, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
        if (n == 3)
            return -1;
        words[n++] = word;
    }
    if (n == 0)
        return 0;
    if (n == 1 && strcmp(words[0], "rank") != 0 && !strchr(words[0], '=')) {
        *out = (struct rankfile_line){.rank = next, .host = words[0]};
        return 1;
    }
    if (n < 2 || strcmp(words[0], "rank") != 0 || !(equals = strchr(words[1], '=')) || !equals[1])
        return -1;
    *equals = '\0';
    if (!number_read(words[1], 0, LAYOUT_MAX_RANKS - 1, &out->rank))
        return -1;
    if (n == 3 && strncmp(words[2], "slot=", 5) != 0)
        return -1;
    out->host = equals + 1;
    out->slots = n == 3 ? words[2] + 5 : NULL;
    return 1;
}

static int bind_rank(struct layout_rank *rank, const char *slots, const char *what, int number,
                     struct gpubind_error *err)
{
    rank->cpus = malloc(sizeof *rank->cpus);
    if (!rank->cpus)
        return error_set(err, "out of memory");
    rank->bound = true;
    if (idlist_parse(slots, what, rank->cpus, NULL) < 0 || idset_empty(rank->cpus))
        return error_set(err, "%s: rank %d: slot=%s is not a list of CPUs such as 0-3,8", what,
                         number, slots);
    return 0;
}

/* The node of a host, made new while the file itself says which there are. */
static int host_node(struct layout *layout, const char *host, bool open, struct gpubind_error *err)
{
    int node = layout_find(layout, host);

    if (node >= 0)
        return node;
    if (!open)
        return error_set(err, "node %s of the rankfile is not among the nodes given", host);
    if (strlen(host) >= sizeof layout->nodes->name)
        return error_set(err, "the node name %.40s... is too long", host);
    return layout_named(layout, host, err) < 0 ? -1 : layout->nnodes - 1;
}

static int add_line(struct layout *layout, struct rankfile_line *line, bool open, const char *what,
                    struct gpubind_error *err)
{
    struct layout_rank *rank = &layout->ranks[line->rank];
    int node = host_node(layout, line->host, open, err);

    if (node < 0)
        return -1;
    if (rank->node >= 0)
        return error_set(err, "%s: rank %d is named twice", what, line->rank);
    rank->node = node;
    return line->slots ? bind_rank(rank, line->slots, what, line->rank, err) : 0;
}

static int count_lines(const char *text)
{
    int n = 1;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* Local numbers go by rank; every rank up to the highest must be there. */
static int close_ranks(struct layout *layout, const char *what, struct gpubind_error *err)
{
    while (layout->nranks && layout->ranks[layout->nranks - 1].node < 0)
        layout->nranks--;
    if (!layout->nranks)
        return error_set(err, "%s names no rank", what);
    for (int rank = 0; rank < layout->nranks; rank++) {
        if (layout->ranks[rank].node < 0)
            return error_set(err, "%s: rank %d is missing", what, rank);
        layout_place(layout, rank, layout->ranks[rank].node);
    }
    return layout_list(layout, err);
}

int layout_rankfile(struct layout *layout, const char *text, const char *what,
                    struct gpubind_error *err)
{
    bool open = layout->nnodes == 0;
    int number = 0, next = 0, status = 0;
    char *copy = strdup(text), *rest = copy, *line;

    if (!copy || layout_make_ranks(layout, count_lines(text), err) < 0) {
        free(copy);
        return copy ? -1 : error_set(err, "out of memory");
    }
    for (int rank = 0; rank < layout->nranks; rank++)
        layout->ranks[rank].node = -1;
    while (status == 0 && (line = strsep(&rest, "\n"))) {
        struct rankfile_line words;
        int found = read_line(line, next, &words);

        number++;
        if (found < 0)
            status = error_set(err, "%s, line %d: neither 'rank N=HOST [slot=CPUS]' nor a host",
                               what, number);
        else if (found && words.rank >= layout->nranks)
            status = error_set(err, "%s: rank %d is named, but not all below it", what, words.rank);
        else if (found)
            status = add_line(layout, &words, open, what, err);
        next += found > 0;
    }
    free(copy);
    return status < 0 ? -1 : close_ranks(layout, what, err);
}
