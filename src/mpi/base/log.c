#include "mpi/base/log.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/base/variables.h"

static int rank = -1; /* stored: a thread that warns may not be allowed to call MPI */
static bool (*test_and_set_on_node)(uint32_t bit);

void warn_start(bool (*test_and_set)(uint32_t bit))
{
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    test_and_set_on_node = test_and_set;
}

void warn_once(enum warning kind, const char *format, ...)
{
    static bool said[WARNINGS];
    char sentence[600];
    va_list args;

    if (said[kind])
        return;
    said[kind] = true;
    if (test_and_set_on_node && test_and_set_on_node(1u << kind))
        return;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    fprintf(stderr, "gpubind: rank %d: %s\n", rank, sentence);
}

void warn_unknown_variables(void)
{
    struct text unknown = {0};

    variables_note_unknown(environ, "; ", &unknown);
    if (unknown.length && !unknown.failed)
        warn_once(WARN_VARIABLE, "%.*s", (int)unknown.length - 2, unknown.bytes);
    text_clear(&unknown);
}
