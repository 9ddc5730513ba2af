/* Formats the sentence of an error. */
#include "core/base/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/text.h"

int error_set(struct gpubind_error *err, const char *format, ...)
{
    va_list args;

    if (!err)
        return -1;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    text_clean(err->text);
    return -1;
}

int error_of(struct gpubind_error *err, const char *what)
{
    struct gpubind_error before;

    if (!err)
        return -1;
    before = *err;
    return error_set(err, "%s: %s", what, before.text);
}
