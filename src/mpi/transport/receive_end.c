#include "mpi/transport/receive_end.h"

#include "mpi/core/gate.h"
#include "mpi/core/ipc_refs.h"
#include "mpi/core/shm_inbox.h"
#include "mpi/datatype/pack.h"

bool receive_make_dense(struct gpubind_operation *receive)
{
    if (!receive->pack || pack_dense(receive, &receive->error) == 0)
        return true;
    receive_finish(receive, -1, &receive->error);
    return false;
}

void receive_finish(struct gpubind_operation *receive, int status, const struct gpubind_error *err)
{
    if (receive->mapping)
        mapping_done(receive->mapping);
    receive->mapping = NULL;
    if (receive->from)
        gate_let_go(receive->domain, receive->peer->local, &receive->from->gate);
    inbox_acknowledge(receive->domain, receive->peer, receive->from, DESCRIPTOR_FIN);
    if (status < 0 && err != &receive->error)
        receive->error = *err;
    if (status < 0)
        request_fail(receive);
    else
        request_succeed(receive);
    request_release(receive);
}
