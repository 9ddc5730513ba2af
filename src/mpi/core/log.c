#include "mpi/core/log.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/base/variables.h"
#include "mpi/core/domain.h"

static int rank = -1; /* kept: the thread that says it may not ask MPI */

static bool node_has_had(enum warning kind)
{
    const struct domain *domain = domain_first();
    const uint32_t bit = 1u << kind;

    return domain && domain->segment.base &&
           atomic_fetch_or(&segment_rank_ctrl(&domain->segment, 0)->warned, bit) & bit;
}

void warn_start(void)
{
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
}

void warn_once(enum warning kind, const char *format, ...)
{
    static bool said[WARNINGS];
    char sentence[600];
    va_list args;

    if (said[kind])
        return;
    said[kind] = true;
    if (node_has_had(kind))
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
