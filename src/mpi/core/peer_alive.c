#include "mpi/core/peer_alive.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "mpi/core/context.h"

/* Of this boot of this machine. */
static uint64_t hash_boot_id(void)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    char id[64];
    const size_t length = file ? fread(id, 1, sizeof id, file) : 0;

    if (file)
        fclose(file);
    return hash_bytes(HASH_START, id, length);
}

void process_describe(struct process *mine)
{
    struct stat namespace;

    *mine = (struct process){.pid = getpid()};
    if (stat("/proc/self/ns/pid", &namespace) == 0)
        mine->space = hash_boot_id() ^ (uint64_t) namespace.st_ino << 1;
}

int process_pid(const struct process *mine, const struct process *its)
{
    return mine->space && mine->space == its->space ? (int)its->pid : 0;
}

bool peer_check(struct domain *domain, const struct peer *peer)
{
    struct peer *its = &domain->peers[peer->domain_rank];
    int there;

    if (its->gone)
        return true;
    if (its->pid > 0)
        its->gone = kill(its->pid, 0) < 0 && errno == ESRCH;
    else if (library_may_call_mpi())
        its->gone = PMPI_Iprobe(its->domain_rank, MPI_ANY_TAG, domain->shadow, &there,
                                MPI_STATUS_IGNORE) != MPI_SUCCESS;
    if (its->gone)
        domain->look_again = true; /* at what is under way to it */
    return its->gone;
}

bool peers_check(void)
{
    bool more = false;

    for (struct domain *domain = domain_first(); domain; domain = domain->next)
        for (int i = 0; i < domain->size; i++) {
            const struct peer *peer = &domain->peers[i];

            if (peer->pid > 0 && !peer->gone && i != domain->rank && peer_check(domain, peer))
                more = true;
        }
    return more;
}

int comm_lost_rank(const struct comm *comm)
{
    int gone = 0, lost = -1, any = -1;

    for (int rank = 0; rank < comm->size; rank++) {
        if (!comm->domain->peers[comm->domain_ranks[rank]].gone)
            continue;
        gone++;
        any = rank;
        if (lost < 0 && !(comm->told && comm->told[rank]))
            lost = rank;
    }
    return lost < 0 && gone > 0 && gone == comm->size - 1 ? any : lost;
}

void comm_lost_told(struct comm *comm, int rank)
{
    if (!comm->told)
        comm->told = calloc((size_t)comm->size, sizeof *comm->told);
    if (comm->told) /* else it is told once more */
        comm->told[rank] = true;
}

int any_lost_rank(void)
{
    for (const struct domain *domain = domain_first(); domain; domain = domain->next)
        for (int i = 0; i < domain->size; i++)
            if (domain->peers[i].gone)
                return i;
    return -1;
}
