#include "mpi/p2p/deferred_payload.h"

#include <stdlib.h>

#include "core/base/list.h"
#include "mpi/p2p/recv.h"

static QUEUE_OF(struct gpubind_operation) expecting;

void deferred_payload_expect(struct gpubind_operation *receive)
{
    QUEUE_PUSH_FRONT(&expecting, receive, next);
}

void deferred_payload_withdraw(struct gpubind_operation *receive)
{
    QUEUE_REMOVE(&expecting, receive, next);
    free(receive->early->data);
    free(receive->early);
    receive->early = NULL;
}

static void attach(struct incoming_msg *incoming, const struct msg_header *header, char *data)
{
    incoming->header.flags &= (uint8_t)~MSG_PAYLOAD_DEFERRED;
    incoming->header.flags |= header->flags;
    free(incoming->data);
    incoming->data = data;
}

static bool is_of(const struct incoming_msg *incoming, const struct peer *peer, uint64_t operation)
{
    return incoming->peer == peer && incoming->header.operation == operation &&
           incoming->header.flags & MSG_PAYLOAD_DEFERRED;
}

static struct incoming_msg *find(struct incoming_msg *first, const struct peer *peer,
                                 uint64_t operation)
{
    while (first && !is_of(first, peer, operation))
        first = first->next;
    return first;
}

void deferred_payload_take(const struct peer *peer, const struct msg_header *header, char *data)
{
    struct gpubind_operation **link = &expecting.first, *receive;
    struct incoming_msg *incoming;

    while (*link && !is_of((*link)->early, peer, header->operation))
        link = &(*link)->next;
    receive = *link;
    if (receive) {
        QUEUE_UNLINK(&expecting, link, next);
        attach(receive->early, header, data);
        receive_again(receive);
        return;
    }
    incoming = find(match_unexpected(header->context), peer, header->operation);
    if (!incoming)
        incoming = find(match_extracted(), peer, header->operation);
    if (incoming)
        attach(incoming, header, data);
    else
        free(data);
}
