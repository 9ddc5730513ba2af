#include "core/base/similar.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

static int least(int a, int b)
{
    return a < b ? a : b;
}

static char upper(char c)
{
    return (char)toupper((unsigned char)c);
}

int similar_edits(const char *a, const char *b)
{
    int rows[3][SIMILAR_LONGEST + 1] = {{0}};
    int *last = rows[0], *row = rows[1], *before_last = rows[2];
    int m = (int)strlen(a), n = (int)strlen(b);

    if (m > SIMILAR_LONGEST || n > SIMILAR_LONGEST)
        return INT_MAX;
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 1; i <= m; i++) {
        int *oldest = before_last;

        before_last = last;
        last = row;
        row = oldest;
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            char x = upper(a[i - 1]), y = upper(b[j - 1]);

            row[j] = least(last[j - 1] + (x != y), least(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x == upper(b[j - 2]) && upper(a[i - 2]) == y)
                row[j] = least(row[j], before_last[j - 2] + 1);
        }
    }
    return row[n];
}

void similar_try(struct similar *similar, const char *other)
{
    const int edits = similar_edits(similar->word, other);

    if (edits >= similar->least)
        return;
    similar->least = edits;
    similar->best = other;
}
