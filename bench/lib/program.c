#include "bench/lib/program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int bench_fail(const struct gpubind_error *err)
{
    fprintf(stderr, "gpubind-bench: %s\n", err->text);
    return EXIT_OWN;
}

int bench_print(struct text *text)
{
    struct gpubind_error err;
    bool failed = text->failed;

    errno = 0;
    if (!failed && text->length)
        fwrite(text->bytes, 1, text->length, stdout);
    text_clear(text);
    if (!failed && fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    error_set(&err, "cannot write: %s", failed ? "out of memory" : strerror(errno));
    return bench_fail(&err);
}
