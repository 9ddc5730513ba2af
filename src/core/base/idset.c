/* Sets of small numbers, and their text form "0-3,8". */
#include "core/base/idset.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void idset_clear(struct idset *set)
{
    memset(set, 0, sizeof *set);
}

void idset_add(struct idset *set, int id)
{
    if (id >= 0 && id < IDSET_MAX)
        set->word[id / 64] |= UINT64_C(1) << (id % 64);
}

void idset_remove(struct idset *set, int id)
{
    if (id >= 0 && id < IDSET_MAX)
        set->word[id / 64] &= ~(UINT64_C(1) << (id % 64));
}

bool idset_has(const struct idset *set, int id)
{
    return id >= 0 && id < IDSET_MAX && (set->word[id / 64] >> (id % 64) & 1);
}

bool idset_empty(const struct idset *set)
{
    return idset_next(set, -1) < 0;
}

bool idset_equal(const struct idset *a, const struct idset *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

bool idset_intersects(const struct idset *a, const struct idset *b)
{
    for (size_t i = 0; i < IDSET_MAX / 64; i++)
        if (a->word[i] & b->word[i])
            return true;
    return false;
}

bool idset_within(const struct idset *a, const struct idset *b)
{
    for (size_t i = 0; i < IDSET_MAX / 64; i++)
        if (a->word[i] & ~b->word[i])
            return false;
    return true;
}

void idset_union(struct idset *into, const struct idset *other)
{
    for (size_t i = 0; i < IDSET_MAX / 64; i++)
        into->word[i] |= other->word[i];
}

void idset_intersect(struct idset *into, const struct idset *other)
{
    for (size_t i = 0; i < IDSET_MAX / 64; i++)
        into->word[i] &= other->word[i];
}

int idset_count(const struct idset *set)
{
    int count = 0;

    for (size_t i = 0; i < IDSET_MAX / 64; i++)
        count += __builtin_popcountll(set->word[i]);
    return count;
}

int idset_next(const struct idset *set, int after)
{
    int id = after + 1;

    while (id < IDSET_MAX) {
        uint64_t rest = set->word[id / 64] >> (id % 64);

        if (rest)
            return id + __builtin_ctzll(rest);
        id = (id / 64 + 1) * 64;
    }
    return -1;
}

/* Reads one decimal number below IDSET_MAX; returns the first byte behind it,
 * or NULL. */
static const char *read_id(const char *text, int *id)
{
    int value = 0;

    if (!isdigit((unsigned char)*text))
        return NULL;
    for (; isdigit((unsigned char)*text); text++) {
        value = value * 10 + (*text - '0');
        if (value >= IDSET_MAX)
            return NULL;
    }
    *id = value;
    return text;
}

static const char *skip_space(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

int idlist_parse(const char *text, const char *what, struct idset *set, struct gpubind_error *err)
{
    struct idset result;
    const char *at = skip_space(text);

    idset_clear(&result);
    while (*at) {
        int first = 0, last = 0;

        at = read_id(at, &first);
        last = first;
        if (at && *at == '-')
            at = read_id(at + 1, &last);
        if (!at || last < first)
            return error_set(err, "%s: '%s' is not a list such as 0-3,8 of numbers below %d", what,
                             text, IDSET_MAX);
        for (int id = first; id <= last; id++)
            idset_add(&result, id);
        if (!*skip_space(at))
            break;
        if (*at != ',' || !isdigit((unsigned char)*++at))
            return error_set(err, "%s: '%s' is not a list such as 0-3,8", what, text);
    }
    *set = result;
    return 0;
}

int idlist_entries(const char *text)
{
    int n = *text != '\0';

    for (; *text; text++)
        n += *text == ',';
    return n;
}

size_t idlist_render(const struct idset *set, char *text, size_t size)
{
    size_t used = 0;
    int first = idset_next(set, -1);

    if (size)
        text[0] = '\0';
    while (first >= 0) {
        int last = first;
        size_t room = used < size ? size - used : 0;
        const char *comma = used ? "," : "";

        while (idset_has(set, last + 1))
            last++;
        if (last == first)
            used += (size_t)snprintf(room ? text + used : NULL, room, "%s%d", comma, first);
        else
            used += (size_t)snprintf(room ? text + used : NULL, room, "%s%d-%d", comma, first,
                                     last);
        first = idset_next(set, last);
    }
    return used;
}

char *idlist_text(const struct idset *set)
{
    size_t size = idlist_render(set, NULL, 0) + 1;
    char *text = malloc(size);

    if (text)
        idlist_render(set, text, size);
    return text;
}
