/* Which rank runs where: nodes, slots, block, cyclic, rankfiles. */
#include <stdio.h>
#include <stdlib.h>

#include "core/plan/process_map.h"
#include "tests/tap.h"

/* "NODE:LOCAL ..." for all ranks, or the error's sentence. */
static const char *show(const struct layout *layout, int status, const struct gpubind_error *err)
{
    static char text[1024];
    size_t used = 0;

    if (status < 0)
        return err->text;
    text[0] = '\0';
    for (int r = 0; r < layout->nranks && used < sizeof text; r++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s:%d", r ? " " : "",
                                 layout->nodes[layout->ranks[r].node].name, layout->ranks[r].local);
    return text;
}

static void spreads(const char *nodes, int nranks, bool cyclic, const char *wanted)
{
    struct layout layout = {0};
    struct gpubind_error err = {""};
    int status = layout_nodes(&layout, nodes, &err);
    char what[128];

    if (status == 0)
        status = layout_spread(&layout, nranks, cyclic, &err);
    snprintf(what, sizeof what, "%d ranks on '%s', %s", nranks, nodes, cyclic ? "cyclic" : "block");
    tap_is(show(&layout, status, &err), wanted, what);
    layout_clear(&layout);
}

static void ranks_from(const char *nodes, const char *file, const char *wanted, const char *what)
{
    struct layout layout = {0};
    struct gpubind_error err = {""};
    int status = nodes ? layout_nodes(&layout, nodes, &err) : 0;

    if (status == 0)
        status = layout_rankfile(&layout, file, "ranks", &err);
    tap_is(show(&layout, status, &err), wanted, what);
    layout_clear(&layout);
}

/* Fails, with a sentence in which the word stands. */
static void refuses_nodes(const char *text, const char *word)
{
    struct layout layout = {0};
    struct gpubind_error err = {""};

    tap_ok(layout_nodes(&layout, text, &err) == -1 && strstr(err.text, word),
           "nodes '%.40s' are refused", text);
    layout_clear(&layout);
}

static void refuses_file(const char *file, const char *word)
{
    struct layout layout = {0};
    struct gpubind_error err = {""};

    if (!tap_ok(layout_rankfile(&layout, file, "ranks", &err) == -1 && strstr(err.text, word),
                "a rankfile is refused, naming '%s'", word))
        tap_diag("said: %s", err.text);
    layout_clear(&layout);
}

static void reads_parts(void)
{
    struct layout layout = {0};
    struct gpubind_error err;

    tap_is_int(layout_nodes(&layout, "a:2=x/y.xml,b=z.xml,c", &err), 0, "names, slots and files");
    tap_ok(layout.nnodes == 3 && layout.nodes[0].slots == 2 && layout.nodes[1].slots == 0,
           "slots as written");
    tap_is(layout.nodes[0].file, "x/y.xml", "the file of a node with slots");
    tap_is(layout.nodes[1].file, "z.xml", "the file of a node without");
    tap_is(layout.nodes[2].file, "", "no file");
    layout_clear(&layout);
}

static void binds(void)
{
    struct layout layout = {0};
    struct gpubind_error err;
    char *cpus = NULL;

    tap_is_int(layout_rankfile(&layout, "rank 0=a slot=0-3,8\nrank 1=a\n", "ranks", &err), 0,
               "a rankfile with and without slots");
    if (layout.nranks == 2 && layout.ranks[0].bound)
        cpus = idlist_text(layout.ranks[0].cpus);
    tap_is(cpus, "0-3,8", "the CPUs of a slot");
    tap_ok(layout.nranks == 2 && !layout.ranks[1].bound, "no slot, no binding");
    free(cpus);
    layout_clear(&layout);
}

/* Every name is found again, and every rank is listed where it is. */
static void finds_many(void)
{
    enum { NODES = 3000 };
    char *text = malloc(NODES * 24), *end = text;
    struct layout layout = {0};
    struct gpubind_error err = {""};
    int wrong = 0;

    for (int n = 0; n < NODES; n++)
        end += sprintf(end, "%snode%04d", n ? "," : "", n);
    tap_is_int(layout_nodes(&layout, text, &err), 0, "3000 nodes by name");
    end = text;
    for (int rank = 0; rank < NODES; rank++)
        end += sprintf(end, "rank %d=node%04d\n", rank, (rank * 7) % NODES);
    tap_is_int(layout_rankfile(&layout, text, "ranks", &err), 0, "a rankfile of as many lines");
    for (int rank = 0; rank < layout.nranks; rank++)
        wrong += layout.ranks[rank].node != (rank * 7) % NODES ||
                 layout.listed[layout.first[layout.ranks[rank].node]] != rank;
    tap_is_int(layout.nranks ? wrong : -1, 0, "each rank is on its node, and listed there");
    layout_clear(&layout);
    free(text);
    tap_is_int(layout_nodes(&layout, "a,b", &err), 0, "two nodes");
    tap_ok(layout_rankfile(&layout, "rank 0=a\nrank 1=b\nrank 2=a", "ranks", &err) == 0 &&
               layout.first[0] == 0 && layout.first[1] == 2 && layout.first[2] == 3 &&
               layout.listed[0] == 0 && layout.listed[1] == 2 && layout.listed[2] == 1,
           "ranks are listed node by node");
    layout_clear(&layout);
}

int main(void)
{
    char longname[400];

    spreads("2", 5, false, "n0:0 n0:1 n0:2 n1:0 n1:1");
    spreads("2", 5, true, "n0:0 n1:0 n0:1 n1:1 n0:2");
    spreads("3", 2, false, "n0:0 n1:0");
    spreads("a:1,b:3", 4, false, "a:0 b:0 b:1 b:2");
    spreads("a:1,b:3", 4, true, "a:0 b:0 b:1 b:2");
    spreads("a:2,b:2", 3, false, "a:0 a:1 b:0");
    spreads("a:2,b:2", 5, false, "5 ranks do not fit into the nodes' slots");
    spreads("a:2,b:2", 5, true, "5 ranks do not fit into the nodes' slots");
    spreads("a:1,b,c:2", 6, true, "a:0 b:0 c:0 b:1 c:1 b:2");
    spreads("a:1,b,c", 6, false, "a:0 b:0 b:1 b:2 c:0 c:1");
    spreads("1", 0, false, "0 ranks are out of range (1 to 1048576)");
    ranks_from(NULL, "rank 1=b\nrank 0=a\nrank 2=b\n", "a:0 b:0 b:1", "a rankfile in any order");
    ranks_from("b,a", "rank 0=a\nrank 1=b", "a:0 b:0", "a rankfile for nodes that are given");
    ranks_from("a", "rank 0=b", "node b of the rankfile is not among the nodes given",
               "a host that is not given");
    ranks_from(NULL, "# all\n\n  rank 0=a slot=1 # one\r\n", "a:0", "comments, spaces, CR");
    ranks_from(NULL, "a\nb # second\n\na\n", "a:0 b:0 a:1", "a host a line");
    refuses_nodes("", "NAME");
    refuses_nodes("0", "out of range");
    refuses_nodes("65537", "out of range");
    refuses_nodes("99999999999999999999", "out of range");
    refuses_nodes("a,,b", "NAME");
    refuses_nodes("a,a", "twice");
    refuses_nodes("a:0", "slots");
    refuses_nodes("a:x", "slots");
    refuses_nodes("a:-1", "slots");
    refuses_nodes("a=", "NAME");
    memset(longname, 'a', sizeof longname);
    longname[sizeof longname - 1] = '\0';
    refuses_nodes(longname, "too long");
    refuses_file("", "names no rank");
    refuses_file("rank 0 = a", "line 1");
    refuses_file("rank 0=a\nrank zero=a", "line 2");
    refuses_file("rank 0=a\nrank 0=b", "twice");
    refuses_file("rank 0=a\nrank 2=b", "rank 2");
    refuses_file("rank 1=a\n\n", "missing");
    refuses_file("rank -1=a", "line 1");
    refuses_file("rank 99999999999=a", "line 1");
    refuses_file("rank 0=a slot=9999", "slot=9999");
    refuses_file("rank 0=a slot=", "slot=");
    refuses_file("rank 0=a slot=1 more", "line 1");
    reads_parts();
    binds();
    finds_many();
    return tap_done();
}
