#include "aware/message/direct_ask.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "aware/memory/gpu_buffer.h"
#include "aware/message/direct_memory.h"
#include "aware/message/progress.h"

#define LOOKS 4096 /* between two questions whether a process lives */

enum { IDLE, ASKED, DONE, FAILED };

static bool is_gone(const struct direct_peer *peer, unsigned spins)
{
    return spins % LOOKS == 0 && (atomic_load(&peer->segment->ended) ||
                                  !atomic_load(&peer->segment->serves) || !direct_peer_lives(peer));
}

/* One process asks at a time. What one that has ended had asked for is done first. false: the peer is gone. */
static bool begin(const struct direct_peer *peer)
{
    struct direct_ask *ask = &peer->segment->ask;

    for (unsigned spins = 1;; spins++) {
        int32_t holder = 0;

        if (atomic_compare_exchange_strong(&ask->holder, &holder, getpid()))
            return true;
        if (spins % LOOKS == 0 && !direct_process_lives(holder) &&
            atomic_load(&ask->state) != ASKED &&
            atomic_compare_exchange_strong(&ask->holder, &holder, getpid()))
            return true;
        if (is_gone(peer, spins))
            return false;
        progress_idle(spins);
    }
}

static bool copy_piece(const struct direct_peer *peer, uint64_t address, char *host, size_t nbytes,
                       bool to_peer)
{
    struct direct_segment *segment = peer->segment;
    struct direct_ask *ask = &segment->ask;

    ask->address = address;
    ask->nbytes = nbytes;
    ask->writes = to_peer;
    if (to_peer)
        memcpy(ask->data, host, nbytes);
    atomic_store(&ask->state, ASKED);
    direct_wake(segment);
    for (unsigned spins = 1; atomic_load(&ask->state) == ASKED; spins++) {
        if (is_gone(peer, spins))
            return false;
        progress_idle(spins);
    }
    if (!to_peer && atomic_load(&ask->state) == DONE)
        memcpy(host, ask->data, nbytes);
    return atomic_load(&ask->state) == DONE;
}

void direct_ask_refuse(const struct direct_peer *peer)
{
    fprintf(stderr,
            "gpubind: GPU memory of rank %d of MPI_COMM_WORLD cannot be accessed: its process "
            "has ended or could not start a thread, or the copy failed\n",
            peer->segment->rank);
}

int direct_ask_copy(const struct direct_peer *peer, uint64_t address, void *host, size_t nbytes,
                    bool to_peer)
{
    const bool begun = begin(peer);
    bool copied = begun;

    for (size_t done = 0; copied && done < nbytes; done += DIRECT_ASK_ROOM) {
        const size_t left = nbytes - done, piece = left < DIRECT_ASK_ROOM ? left : DIRECT_ASK_ROOM;

        copied = copy_piece(peer, address + done, (char *)host + done, piece, to_peer);
    }
    if (begun)
        atomic_store(&peer->segment->ask.holder, 0);
    if (!copied)
        direct_ask_refuse(peer);
    return copied ? 0 : -1;
}

void direct_ask_serve(struct direct_segment *own)
{
    struct direct_ask *ask = &own->ask;
    void *memory;
    int status = 0;

    if (atomic_load(&ask->state) != ASKED)
        return;
    memory = (void *)(uintptr_t)ask->address;
    if (!buffer_is_on_gpu(memory))
        memcpy(ask->writes ? memory : ask->data, ask->writes ? ask->data : memory, ask->nbytes);
    else if (ask->writes)
        status = direct_from_host(memory, ask->data, ask->nbytes);
    else
        status = direct_to_host(ask->data, memory, ask->nbytes);
    atomic_store(&ask->state, status == 0 ? DONE : FAILED);
}
