#include "mpi/core/transport.h"

#include <stddef.h>

#include "mpi/core/context.h"

static const struct transport *table;

void transports_have(const struct transport *rows)
{
    table = rows;
}

const struct transport *transport_row(enum transport_kind kind)
{
    return &table[kind];
}

bool transport_allowed(enum transport_kind kind)
{
    return library_settings()->transports & 1u << kind;
}

bool transport_reaches(enum transport_kind kind, const struct domain *domain,
                       const struct peer *peer)
{
    return transport_allowed(kind) && table[kind].reaches && table[kind].reaches(domain, peer);
}

enum transport_kind transport_to(const struct domain *domain, const struct peer *peer)
{
    int kind = 0;

    while (kind < TRANSPORT_MPI && !transport_reaches((enum transport_kind)kind, domain, peer))
        kind++;
    return (enum transport_kind)kind;
}
