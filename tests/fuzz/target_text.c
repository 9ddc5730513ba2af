/* Texts that somebody typed, or that lie in a small file. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/idset.h"
#include "core/base/json.h"
#include "core/env/visible_devices.h"
#include "host/launch/placement.h"
#include "tests/fuzz/fuzz.h"

/* What was parsed and is written parses to the same. */
void fuzz_idlist(const char *bytes, size_t size)
{
    struct fuzz_input input = {bytes, bytes + size};
    char *text = fuzz_rest(&input), *list;
    struct idset set, again;
    struct gpubind_error err;

    idset_clear(&set);
    fuzz_expect(&err);
    if (idlist_parse(text, "list", &set, &err) < 0) {
        fuzz_refused(&err);
        FUZZ_CHECK(idset_empty(&set));
    } else {
        list = idlist_text(&set);
        FUZZ_CHECK(idlist_parse(list, "list", &again, &err) == 0);
        FUZZ_CHECK(idset_equal(&set, &again));
        FUZZ_CHECK(idset_count(&set) >= idlist_entries(list));
        free(list);
    }
    free(text);
}

static void check_list(const struct node *node, const char *text, const char *end,
                       const struct visible_list *list)
{
    bool seen[NODE_MAX_GPUS] = {false};

    FUZZ_CHECK(!end || (end >= text && end <= text + strlen(text)));
    FUZZ_CHECK(list->n <= node->ngpus);
    for (int i = 0; i < list->n; i++) {
        FUZZ_CHECK(list->gpu[i] >= 0 && list->gpu[i] < node->ngpus && !seen[list->gpu[i]]);
        seen[list->gpu[i]] = true;
    }
}

/* As each vendor reads it. */
void fuzz_visible(const char *bytes, size_t size)
{
    struct fuzz_input input = {bytes, bytes + size};
    struct node node = *fuzz_node();
    char *text = fuzz_rest(&input);
    struct visible_list list;

    node.gpus = malloc((size_t)node.ngpus * sizeof *node.gpus);
    for (int way = 0; node.gpus && way < 6; way++) {
        const struct ze_order ze = {.composite = way >= 3};

        memcpy(node.gpus, fuzz_node()->gpus, (size_t)node.ngpus * sizeof *node.gpus);
        for (int g = 0; g < node.ngpus; g++)
            node.gpus[g].vendor = (enum gpu_vendor)(way % 3);
        check_list(&node, text, visible_parse(&node, text, &ze, &list), &list);
        check_list(&node, text, visible_parse_hip(&node, text, &list), &list);
    }
    free(node.gpus);
    free(text);
}

static void read_map(const char *text)
{
    const struct node *node = fuzz_node();
    bool seen[NODE_MAX_GPUS] = {false};
    struct gpubind_error err;
    struct policy policy;

    policy_default(&policy);
    fuzz_expect(&err);
    if (map_read(node, text, &policy, &err) < 0) {
        fuzz_refused(&err);
        return;
    }
    FUZZ_CHECK(policy.nmap > 0);
    for (int i = 0; i < policy.nmap; i++) {
        FUZZ_CHECK(policy.map[i] >= 0 && policy.map[i] < node->ngpus && !seen[policy.map[i]]);
        seen[policy.map[i]] = true;
    }
}

/* As the text itself, and as that of a file. */
void fuzz_map(const char *bytes, size_t size)
{
    struct fuzz_input input = {bytes, bytes + size};
    char *text = fuzz_rest(&input);
    char name[64] = "@";
    int fd = fuzz_file(bytes, size, name + 1, sizeof name - 1);

    if (*text != '@')
        read_map(text);
    read_map(name);
    close(fd);
    free(text);
}

/* The length of the UTF-8 sequence that starts here, by the book (RFC 3629); 0: none. */
static int sequence(const unsigned char *at)
{
    unsigned low = 0x80, high = 0xbf;
    int length = *at < 0x80                  ? 1
                 : *at >= 0xc2 && *at < 0xe0 ? 2
                 : (*at & 0xf0) == 0xe0      ? 3
                 : *at >= 0xf0 && *at < 0xf5 ? 4
                                             : 0;

    low = *at == 0xe0 ? 0xa0 : *at == 0xf0 ? 0x90 : low;
    high = *at == 0xed ? 0x9f : *at == 0xf4 ? 0x8f : high;
    for (int i = 1; i < length; i++, low = 0x80, high = 0xbf)
        if (at[i] < low || at[i] > high)
            return 0;
    return length;
}

/* The end of the string that starts here, as a reader of JSON sees it. */
static const char *string_end(const char *at)
{
    FUZZ_CHECK(*at == '"');
    for (at++; *at != '"';) {
        int length = sequence((const unsigned char *)at);

        FUZZ_CHECK(length > 0 && (unsigned char)*at >= 0x20);
        if (*at == '\\') {
            FUZZ_CHECK(at[1] == '"' || at[1] == '\\' || at[1] == 'u');
            length = at[1] == 'u' ? 6 : 2;
            for (int i = 2; i < length; i++)
                FUZZ_CHECK(isxdigit((unsigned char)at[i]));
        }
        at += length;
    }
    return at + 1;
}

void fuzz_json(const char *bytes, size_t size)
{
    struct fuzz_input input = {bytes, bytes + size};
    char *string = fuzz_rest(&input);
    struct text text = {0};

    json_string(&(struct json){.text = &text}, NULL, string);
    FUZZ_CHECK(!text.failed);
    if (*string)
        FUZZ_CHECK(!*string_end(text.bytes));
    else
        FUZZ_CHECK(strcmp(text.bytes, "null") == 0);
    text_clear(&text);
    free(string);
}
