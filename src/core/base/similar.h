/* How much two words differ, for proposing what was meant. */
#ifndef GPUBIND_CORE_BASE_SIMILAR_H
#define GPUBIND_CORE_BASE_SIMILAR_H

/* Longer words are as different as can be. */
#define SIMILAR_LONGEST 63

/* Characters to insert, delete, replace or exchange with their neighbour (Damerau and
 * Levenshtein's distance, where nothing is edited twice). Case makes no difference. */
int similar_edits(const char *a, const char *b);

/* A search of a list for what is nearest to a word. */
struct similar {
    const char *word;
    int least;        /* edits: as many are too many */
    const char *best; /* NULL: none is like it */
};
void similar_try(struct similar *similar, const char *other);

#endif
