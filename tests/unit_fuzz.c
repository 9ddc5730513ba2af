/* The parsers under random text: they take it or refuse it with a sentence, and
 * what they took is consistent. Meant to run under a sanitizer, too. */
#include <stdlib.h>
#include <unistd.h>

#include "core/layout.h"
#include "core/visible.h"
#include "host/map.h"
#include "tests/cases.h"
#include "tests/tap.h"

#define LONGEST 120

/* Mostly pieces that the format knows, some bytes of any kind, never a NUL. */
static void roll_text(struct dice *dice, const char *const *pieces, int npieces,
                      char text[LONGEST + 1])
{
    size_t length = 0;
    int wanted = dice_below(dice, 20);

    text[0] = '\0';
    for (int i = 0; i < wanted; i++) {
        char byte[2] = {(char)(1 + dice_below(dice, 255)), '\0'};
        const char *piece = dice_once_in(dice, 15) ? byte : pieces[dice_below(dice, npieces)];

        if (length + strlen(piece) > LONGEST)
            break;
        strcpy(text + length, piece);
        length += strlen(piece);
    }
}

static bool idlist_holds(const struct node *node, const char *text)
{
    struct idset set, again;
    struct gpubind_error err = {""};
    char *list;
    bool good;

    (void)node;
    idset_clear(&set);
    if (idlist_parse(text, "list", &set, &err) < 0)
        return err.text[0] && idset_empty(&set);
    list = idlist_text(&set);
    good = list && idlist_parse(list, "list", &again, &err) == 0 && idset_equal(&set, &again);
    free(list);
    return good;
}

static bool visible_holds(const struct node *node, const char *text)
{
    struct idset gpus;
    const char *end = visible_parse(node, text, &gpus);

    if (end && (end < text || end > text + strlen(text)))
        return false;
    for (int g = idset_next(&gpus, -1); g >= 0; g = idset_next(&gpus, g))
        if (g >= node->ngpus)
            return false;
    return true;
}

static bool consistent(const struct layout *layout)
{
    int total = 0;

    for (int n = 0; n < layout->nnodes; n++)
        total += layout->nodes[n].nranks;
    for (int r = 0; r < layout->nranks; r++) {
        const struct layout_rank *rank = &layout->ranks[r];

        if (rank->node < 0 || rank->node >= layout->nnodes || rank->local < 0 ||
            rank->local >= layout->nodes[rank->node].nranks || rank->bound != !!rank->cpus)
            return false;
    }
    return layout->nranks > 0 && total == layout->nranks;
}

static bool rankfile_holds(const struct node *node, const char *text)
{
    struct layout layout = {0};
    struct gpubind_error err = {""};
    int status = layout_rankfile(&layout, text, "ranks", &err);
    bool good = status < 0 ? err.text[0] != '\0' : consistent(&layout);

    (void)node;
    layout_clear(&layout);
    return good;
}

static bool nodes_hold(const struct node *node, const char *text)
{
    struct layout layout = {0};
    struct gpubind_error err = {""};
    int status = layout_nodes(&layout, text, &err);
    bool good = status < 0 ? err.text[0] != '\0' : layout.nnodes > 0;

    (void)node;
    if (good && status == 0 && layout_spread(&layout, 7, true, &err) == 0)
        good = consistent(&layout);
    layout_clear(&layout);
    return good;
}

static bool map_holds(const struct node *node, const char *text)
{
    struct policy policy;
    struct gpubind_error err = {""};
    bool seen[NODE_MAX_GPUS] = {false};

    policy_default(&policy);
    if (map_read(node, text, &policy, &err) < 0)
        return err.text[0] != '\0';
    for (int i = 0; i < policy.nmap; i++) {
        if (policy.map[i] < 0 || policy.map[i] >= node->ngpus || seen[policy.map[i]])
            return false;
        seen[policy.map[i]] = true;
    }
    return policy.nmap > 0;
}

/* The same through a file. */
static bool map_file_holds(const struct node *node, const char *text)
{
    char name[] = "@/tmp/gpubind-test-map.XXXXXX";
    int fd = mkstemp(name + 1);
    size_t length = strlen(text);
    bool good = fd >= 0 && write(fd, text, length) == (ssize_t)length && map_holds(node, name);

    close(fd);
    unlink(name + 1);
    return good;
}

#define PIECES(list) list, (int)(sizeof list / sizeof list[0])

static const char *const numbers[] = {"0",    "1",    "2", "7", "12", "8191",
                                      "8192", "-",    ",", " ", "99999999999"};
static const char *const gpus[] = {"0",     "1",            "2",    "3",            ",",
                                   ",",     "-1",           " ",    "GPU-",         "GPU-1",
                                   "GPU-22222222", "MIG-",  "0000:10:00.0", "11:00.0",
                                   "@",     "#",            "\n",   "x"};
static const char *const lines[] = {"rank ", "rank 0=a", "rank 1=b", "\n", "\n", "slot=0-3",
                                    " slot=", "=", "0", "1", "2", "a", "b", "#", " ", "\t", ","};
static const char *const nodes[] = {"a", "b", "n0", "2", "9", ":", "=", ",", ",", "x.xml", "-"};

static const struct parser {
    const char *title;
    bool (*holds)(const struct node *node, const char *text);
    const char *const *pieces;
    int npieces;
    int every; /* slow ones get a part of the texts */
} parsers[] = {
    {"idlist", idlist_holds, PIECES(numbers), 1},
    {"CUDA_VISIBLE_DEVICES", visible_holds, PIECES(gpus), 1},
    {"rankfile", rankfile_holds, PIECES(lines), 1},
    {"nodes", nodes_hold, PIECES(nodes), 1},
    {"map", map_holds, PIECES(gpus), 1},
    {"map file", map_file_holds, PIECES(gpus), 20},
};

static void show(const char *text)
{
    printf("# fails with: ");
    for (; *text; text++)
        printf(*text > ' ' && *text < 127 ? "%c" : "\\x%02x", (unsigned char)*text);
    printf("\n");
}

static void try_parser(struct dice *dice, const struct node *node, const struct parser *parser,
                       int wanted)
{
    char text[LONGEST + 1];
    int failed = 0;

    for (int i = 0; i < wanted / parser->every; i++) {
        roll_text(dice, parser->pieces, parser->npieces, text);
        if (!parser->holds(node, text) && failed++ == 0)
            show(text);
    }
    tap_ok(failed == 0, "%s: %d random texts", parser->title, wanted / parser->every);
}

int main(void)
{
    static const int numa[] = {0, 0, 1, 1};
    const struct drawing drawing = {2, 1, 4, 1, 4, numa};
    struct dice dice = {dice_seed(5)};
    int wanted = cases_wanted(20000);
    struct node node;

    node_draw(&drawing, &node);
    for (size_t p = 0; p < sizeof parsers / sizeof parsers[0]; p++)
        try_parser(&dice, &node, &parsers[p], wanted);
    node_clear(&node);
    return tap_done();
}
