#include "mpi/shm/segment.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpi/shm/shm_file.h"

#define PAGE 4096u

static size_t whole_pages(size_t nbytes)
{
    return (nbytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

static size_t rings_at(void)
{
    return whole_pages(sizeof(struct station));
}

static size_t offers_at(const struct segment *segment)
{
    return rings_at() +
           whole_pages((size_t)segment->n * segment->ring_entries * sizeof(uint64_t));
}

static size_t descriptors_at(const struct segment *segment)
{
    return offers_at(segment) + whole_pages((size_t)segment->n * sizeof(struct offer));
}

static size_t slots_at(const struct segment *segment)
{
    return descriptors_at(segment) +
           whole_pages((size_t)segment->ndescriptors * sizeof(struct descriptor));
}

static size_t pieces_bytes(uint64_t n)
{
    return whole_pages(sizeof(struct pieces) + n * sizeof(struct gather_piece));
}

static void measure(struct segment *segment)
{
    segment->ndescriptors = segment->n <= 8 ? 8192 : 1024;
    segment->nslots = segment->n <= 8 ? 512 : 128;
    segment->ring_entries = (uint64_t)segment->ndescriptors;
    segment->lanes_at = slots_at(segment) + (size_t)segment->nslots * EAGER_BYTES;
    segment->pieces_at = segment->lanes_at + (size_t)LANES * LANE_BYTES +
                         (size_t)segment->n * SPARE_BYTES;
    segment->part_bytes = segment->pieces_at + pieces_bytes(PIECES_MOST);
    segment->nbytes = segment->part_bytes * (size_t)segment->n;
}

static char *part(const struct segment *segment, int rank)
{
    return segment->base + segment->part_bytes * (size_t)rank;
}

struct station *segment_station(const struct segment *segment, int rank)
{
    return (struct station *)(void *)part(segment, rank);
}

_Atomic uint64_t *segment_ring(const struct segment *segment, int receiver, int sender)
{
    return (_Atomic uint64_t *)(void *)(part(segment, receiver) + rings_at()) +
           segment->ring_entries * (size_t)sender;
}

struct offer *segment_offer(const struct segment *segment, int receiver, int sender)
{
    return (struct offer *)(void *)(part(segment, receiver) + offers_at(segment)) + sender;
}

struct descriptor *segment_descriptor(const struct segment *segment, int rank, int number)
{
    return (struct descriptor *)(void *)(part(segment, rank) + descriptors_at(segment)) + number;
}

char *segment_slot(const struct segment *segment, int rank, int number)
{
    return part(segment, rank) + slots_at(segment) + (size_t)number * EAGER_BYTES;
}

char *segment_lanes(const struct segment *segment, int rank)
{
    return part(segment, rank) + segment->lanes_at;
}

char *segment_data(const struct segment *segment, int rank, enum segment_data data,
                   size_t *nbytes)
{
    if (data == SEGMENT_LANES) {
        *nbytes = (size_t)LANES * LANE_BYTES;
        return segment_lanes(segment, rank);
    }
    *nbytes = (size_t)segment->nslots * EAGER_BYTES;
    return segment_slot(segment, rank, 0);
}

/* Of my part. */
static bool reserve(const struct segment *segment, size_t from, size_t nbytes)
{
    return node_memory_reserve(segment->fd, segment->part_bytes * (size_t)segment->me + from,
                               nbytes);
}

bool segment_reserve_lanes(const struct segment *segment)
{
    return reserve(segment, segment->lanes_at, (size_t)LANES * LANE_BYTES);
}

bool segment_reserve_slots(const struct segment *segment)
{
    return reserve(segment, slots_at(segment), (size_t)segment->nslots * EAGER_BYTES);
}

bool segment_reserve_descriptors(const struct segment *segment, int from, int to)
{
    return reserve(segment, descriptors_at(segment) + (size_t)from * sizeof(struct descriptor),
                   (size_t)(to - from) * sizeof(struct descriptor));
}

struct pieces *segment_pieces(const struct segment *segment, int rank)
{
    return (struct pieces *)(void *)(part(segment, rank) + segment->pieces_at);
}

bool segment_reserve_pieces(const struct segment *segment, uint64_t n)
{
    return reserve(segment, segment->pieces_at, pieces_bytes(n));
}

bool segment_reserve_spare(const struct segment *segment, int to, uint64_t *offset)
{
    *offset = (uint64_t)LANES * LANE_BYTES + (uint64_t)to * SPARE_BYTES;
    return reserve(segment, segment->lanes_at + *offset, SPARE_BYTES);
}

static bool map(struct segment *segment)
{
    void *at = mmap(NULL, segment->nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, segment->fd, 0);

    segment->base = at == MAP_FAILED ? NULL : at;
    return segment->base;
}

/* What the ranks use sooner or later when they send all kinds of messages. */
static size_t expected_bytes(const struct segment *segment)
{
    const size_t each = descriptors_at(segment) +
                        (size_t)segment->nslots * (sizeof(struct descriptor) + EAGER_BYTES) +
                        (size_t)LANES * LANE_BYTES + pieces_bytes(PIECES_MOST);

    return each * (size_t)segment->n;
}

int segment_make(MPI_Comm node, struct segment *segment, struct gpubind_error *err)
{
    bool good;

    memset(segment, 0, sizeof *segment);
    PMPI_Comm_rank(node, &segment->me);
    PMPI_Comm_size(node, &segment->n);
    measure(segment);
    segment->fd = node_memory_open(node, segment->nbytes, expected_bytes(segment), err);
    if (segment->fd < 0)
        return -1;
    good = map(segment) && reserve(segment, 0, descriptors_at(segment)) &&
           segment_reserve_descriptors(segment, 0, segment->nslots);
    if (!good)
        error_set(err, "shared memory of this node cannot be used: %s", strerror(errno));
    if (node_agree(node, good, err) < 0) {
        segment_clear(segment);
        return -1;
    }
    PMPI_Barrier(node);
    return 0;
}

void segment_leave(const struct segment *segment)
{
    atomic_store(&segment_station(segment, segment->me)->left, 1);
    for (int rank = 0; rank < segment->n; rank++)
        atomic_fetch_add(&segment_station(segment, rank)->acks, 1);
}

bool segment_has_left(const struct segment *segment, int rank)
{
    return atomic_load_explicit(&segment_station(segment, rank)->left, memory_order_acquire);
}

void segment_clear(struct segment *segment)
{
    if (segment->base)
        munmap(segment->base, segment->nbytes);
    if (segment->fd >= 0)
        close(segment->fd);
    segment->base = NULL;
    segment->fd = -1;
}
