/* Iovs that receivers advertise in shared memory, and the senders' tables of them. */
#include "mpi/datatype/iov_advert.h"

#include <stdlib.h>

#include "mpi/datatype/pack.h"

#define TABLES_MAX 32 /* for types of other ranks, each in GPU memory */

static struct known {
    struct known *next; /* the latest first */
    const struct domain *domain;
    const struct peer *peer;
    uint64_t name; /* the peer gives no other type the same one */
    struct iov_table *table;
} * known;

bool iov_advert_publish(struct gpubind_operation *receive, struct rtr *rtr)
{
    struct domain *domain = receive->domain;
    struct iov_advert *iov = segment_iov_advert(&domain->segment, domain->segment.me);
    const uint64_t name = pack_type_name(receive->pack, &rtr->niov, &rtr->extent);

    if (domain->iov_advert_user || rtr->niov > IOV_ADVERT_MAX)
        return false;
    if (iov->name != name) { /* no sender reads it now */
        if (!segment_allocate_iov_advert(&domain->segment, rtr->niov))
            return false;
        pack_iov(receive->pack, iov->blocks);
        iov->name = name;
    }
    rtr->iov_name = name;
    domain->iov_advert_user = receive;
    return true;
}

void iov_advert_withdraw(const struct gpubind_operation *receive)
{
    if (receive->domain->iov_advert_user == receive)
        receive->domain->iov_advert_user = NULL;
}

static struct iov_table *find(const struct peer *peer, uint64_t name)
{
    for (struct known **link = &known; *link; link = &(*link)->next)
        if ((*link)->peer == peer && (*link)->name == name) {
            struct known *found = *link;

            *link = found->next;
            found->next = known;
            known = found;
            return found->table;
        }
    return NULL;
}

static void forget(struct known **link)
{
    struct known *gone = *link;

    *link = gone->next;
    iov_table_free(gone->table);
    free(gone);
}

static void forget_beyond(int most)
{
    struct known **link = &known;

    for (int i = 0; i < most && *link; i++)
        link = &(*link)->next;
    while (*link)
        forget(link);
}

struct iov_table *iov_advert_read(const struct domain *domain, const struct peer *peer,
                                  const struct rtr *rtr)
{
    const struct iov_advert *iov = segment_iov_advert(&domain->segment, peer->local);
    struct iov_table *table = find(peer, rtr->iov_name);
    struct known *made;

    if (table || iov->name != rtr->iov_name)
        return table;
    made = malloc(sizeof *made);
    table = made ? iov_table_make(iov->blocks, rtr->niov, rtr->extent) : NULL;
    if (!table) {
        free(made);
        return NULL;
    }
    *made = (struct known){known, domain, peer, rtr->iov_name, table};
    known = made;
    forget_beyond(TABLES_MAX);
    return table;
}

void iov_advert_forget(const struct domain *domain)
{
    for (struct known **link = &known; *link;)
        if (!domain || (*link)->domain == domain)
            forget(link);
        else
            link = &(*link)->next;
}
