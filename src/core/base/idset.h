/* Sets of small numbers (PUs, NUMA nodes, ranks) and their text, "0-3,8,10". */
#ifndef GPUBIND_CORE_BASE_IDSET_H
#define GPUBIND_CORE_BASE_IDSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

/* Linux's largest CONFIG_NR_CPUS. */
#define IDSET_MAX 8192

struct idset {
    uint64_t word[IDSET_MAX / 64];
};

void idset_clear(struct idset *set);
void idset_add(struct idset *set, int id);
void idset_remove(struct idset *set, int id);
bool idset_has(const struct idset *set, int id);
bool idset_empty(const struct idset *set);
bool idset_equal(const struct idset *a, const struct idset *b);
bool idset_intersects(const struct idset *a, const struct idset *b);
/* Every member of a is in b. */
bool idset_within(const struct idset *a, const struct idset *b);
void idset_union(struct idset *into, const struct idset *other);
void idset_intersect(struct idset *into, const struct idset *other);
int idset_count(const struct idset *set);
/* Smallest member above `after` (-1 to start), or -1. */
int idset_next(const struct idset *set, int after);

/* Reads "0-3,8" (white space at the ends allowed). An empty text is the empty
 * set. Fails on anything else and on ids of IDSET_MAX and above; what names the
 * list in the sentence. On failure the set is untouched. */
int idlist_parse(const char *text, const char *what, struct idset *set, struct gpubind_error *err);

/* Number of comma-separated entries of any list; the empty text has none. */
int idlist_entries(const char *text);

/* Writes the list and a terminating NUL, at most size bytes; returns the length
 * that the whole list has, as snprintf does. */
size_t idlist_render(const struct idset *set, char *text, size_t size);

/* Same, into memory that the caller frees; NULL when there is no memory. */
char *idlist_text(const struct idset *set);

#endif
