/* All ways in which the data of a message go from one rank to another. The message itself is
 * announced by send_shm.c on a node and by send_net.c between nodes, where small data go with it;
 * then the receiver chooses the first transport that can get them. */
#include "mpi/p2p/transports.h"

#include <dlfcn.h>
#include <string.h>

#include "core/msg/msg_header.h"
#include "mpi/core/request.h"
#include "mpi/p2p/rndv_put.h"
#include "mpi/transport/bounce_pool.h"
#include "mpi/transport/rndv_get.h"
#include "mpi/transport/rndv_get_host.h"
#include "mpi/transport/rndv_staged_mpi.h"
#include "mpi/transport/rndv_staged_shm.h"

static bool is_self(const struct domain *domain, const struct peer *peer)
{
    return peer->domain_rank == domain->rank;
}

static bool maps_gpu_memory(const struct domain *domain, const struct peer *peer)
{
    return peer->local >= 0 && !peer->no_ipc && !is_self(domain, peer);
}

static bool is_on_node(const struct domain *domain, const struct peer *peer)
{
    (void)domain;
    return peer->local >= 0;
}

static bool is_elsewhere(const struct domain *domain, const struct peer *peer)
{
    return !is_on_node(domain, peer);
}

/* A function of the MPI library itself: libgpubind-aware has one of this name, too, which speaks
 * for the application's calls. */
static void *mpi_function(const char *name)
{
    int (*init)(int *, char ***) = PMPI_Init;
    void *address, *library;
    Dl_info info;

    memcpy(&address, &init, sizeof address);
    library = dladdr(address, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    return library ? dlsym(library, name) : NULL;
}

/* Open MPI and MPICH say so through an extension, which is looked up so that the
 * library need not be built for the MPI that has it. */
static bool mpi_is_cuda_aware(void)
{
    static int aware = -1;
    int (*query)(void);

    if (aware >= 0)
        return aware;
    *(void **)&query = mpi_function("MPIX_Query_cuda_support");
    aware = query && query() == 1;
    return aware;
}

static bool mpi_takes_pointers(const struct domain *domain, const struct peer *peer)
{
    return is_elsewhere(domain, peer) && mpi_is_cuda_aware();
}

const struct transport transports[TRANSPORTS] = {
    [TRANSPORT_SELF] = {"self", TRACE_DIRECT, is_self, .get = rndv_get_self},
    [TRANSPORT_IPC] = {"ipc", TRACE_DIRECT, maps_gpu_memory, .get = rndv_get_ipc, .put = rndv_put,
                       .progress = rndv_gets_progress},
    [TRANSPORT_CMA] = {"cma", TRACE_PLAIN, .get = rndv_get_host,
                       .progress = rndv_gets_host_progress},
    [TRANSPORT_SHM] = {"shared", TRACE_STAGED, is_on_node, .get = rndv_staged_shm_get,
                       .progress = rndv_staged_shm_progress},
    [TRANSPORT_MPI_DIRECT] = {"mpi", TRACE_PLAIN, mpi_takes_pointers, .get = rndv_mpi_direct_get},
    [TRANSPORT_MPI] = {"network", TRACE_STAGED, is_elsewhere, .get = rndv_mpi_get,
                       .progress = rndv_mpi_progress, .wants_mpi = rndv_mpi_busy},
};

void transports_get(struct gpubind_operation *receive, const struct msg_header *header)
{
    for (int kind = 0; kind < TRANSPORTS; kind++) {
        request_went(receive, transports[kind].trace); /* before it is over */
        if (transports[kind].get(receive, header))
            return;
    }
}

bool transports_put(struct gpubind_operation *send)
{
    for (int kind = 0; kind < TRANSPORTS; kind++)
        if (transports[kind].put && transports[kind].put(send))
            return true;
    return false;
}

void transports_progress(bool mpi)
{
    for (const struct transport *row = transports; row < transports + TRANSPORTS; row++)
        if (row->progress && (!row->wants_mpi || (mpi && row->wants_mpi())))
            row->progress();
}

void transports_prepare(struct domain *domain, const struct peer *peer, const struct memory *memory)
{
    const bool ipc = transport_allowed(TRANSPORT_IPC);

    if (is_self(domain, peer)) {
        domain_pin_now(domain, domain->segment.me, SEGMENT_EAGER);
        return;
    }
    if (peer->local < 0) {
        bounce_pool_prepare(NULL, NULL);
        return;
    }
    domain_pin_now(domain, domain->segment.me, SEGMENT_EAGER);
    domain_pin_now(domain, peer->local, SEGMENT_EAGER);
    if (!ipc || !peer->ipc_works || peer->no_ipc || !memory->shareable) {
        bounce_pool_prepare(domain, NULL);
        domain_pin_now(domain, peer->local, SEGMENT_BOUNCE);
    }
    domain_pin_wanted(domain, domain->segment.me);
    domain_pin_wanted(domain, peer->local);
    if (ipc && !memory->shareable)
        bounce_pool_prepare(NULL, memory->gpu);
}
