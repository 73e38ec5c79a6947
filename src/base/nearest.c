/* SPDX-License-Identifier: BSD-3-Clause */
/* "Did you mean ...?" */
#include "base/base.h"

enum { LONGEST = 64, FARTHEST = 3 };

/** Lower case of ASCII: the program's locale must not change the meaning of a setting. */
static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/** Edit distance; two neighbours exchanged count as one edit. Both at most LONGEST characters. */
static int distance(const char *a, int na, const char *b, int nb)
{
    int rows[3][LONGEST + 1];
    int *before = rows[0], *above = rows[1], *row = rows[2];
    for (int j = 0; j <= nb; j++)
        above[j] = j;
    for (int i = 1; i <= na; i++) {
        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (same ? 0 : 1));
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = least(row[j], before[j - 2] + 1);
        }
        int *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[nb];
}

const char *wio_nearest(const char *word, const char *const *candidates, int n)
{
    size_t length = strlen(word);
    if (length == 0 || length > LONGEST)
        return NULL;
    const char *best = NULL;
    /* A word that would be replaced completely is not near. */
    int best_distance = least(FARTHEST + 1, (int)length);
    for (int i = 0; i < n; i++) {
        size_t other = strlen(candidates[i]);
        if (other > LONGEST)
            continue;
        int d = distance(word, (int)length, candidates[i], (int)other);
        if (d < best_distance) {
            best_distance = d;
            best = candidates[i];
        }
    }
    return best;
}
