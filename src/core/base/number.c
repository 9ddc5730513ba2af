/* Numbers and switches as users write them. */
#include "core/base/number.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

bool number_read(const char *text, int low, int high, int *number)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || value < low || value > high)
        return false;
    *number = (int)value;
    return true;
}

int number_parse(const char *text, int low, int high, const char *from, int *number,
                 struct gpubind_error *err)
{
    if (!number_read(text, low, high, number))
        return error_set(err, "%s: '%s' is not a number from %d to %d", from, text, low, high);
    return 0;
}

int switch_parse(const char *text, const char *from, int *number, struct gpubind_error *err)
{
    static const char *const words[] = {"0", "1", "no", "yes", "false", "true", "off", "on"};

    for (int i = 0; i < 8; i++)
        if (strcasecmp(text, words[i]) == 0) {
            *number = i % 2;
            return 0;
        }
    return error_set(err, "%s: '%s' is neither 1 nor 0", from, text);
}
