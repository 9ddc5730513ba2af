/* The layout of the segment that the ranks of a node share, and its set-up. */
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
    return whole_pages(sizeof(struct rank_ctrl));
}

static size_t rtrs_at(const struct segment *segment)
{
    return rings_at() + whole_pages((size_t)segment->n * segment->ring_entries * sizeof(uint64_t));
}

static size_t descriptors_at(const struct segment *segment)
{
    return rtrs_at(segment) + whole_pages((size_t)segment->n * sizeof(struct rtr));
}

static size_t eager_at(const struct segment *segment)
{
    return descriptors_at(segment) +
           whole_pages((size_t)segment->ndescriptors * sizeof(struct descriptor));
}

static size_t iov_advert_bytes(uint64_t n)
{
    return whole_pages(sizeof(struct iov_advert) + n * sizeof(struct iov_block));
}

static size_t stream_receives_bytes(void)
{
    return whole_pages(sizeof(struct stream_receives));
}

static void measure(struct segment *segment)
{
    segment->ndescriptors = segment->n <= 8 ? 8192 : 1024;
    segment->neager = segment->n <= 8 ? 512 : 128;
    segment->ring_entries = (uint64_t)segment->ndescriptors;
    segment->bounce_at = eager_at(segment) + (size_t)segment->neager * EAGER_BYTES;
    segment->iov_advert_at = segment->bounce_at + (size_t)BOUNCE_BUFFERS * BOUNCE_BYTES +
                             (size_t)segment->n * RESERVE_BOUNCE_BYTES;
    segment->flags_at = segment->iov_advert_at + iov_advert_bytes(IOV_ADVERT_MAX);
    segment->receives_at = segment->flags_at + (size_t)STREAM_FLAGS * STREAM_FLAG_BYTES;
    segment->part_bytes = segment->receives_at + (size_t)segment->n * stream_receives_bytes();
    segment->nbytes = segment->part_bytes * (size_t)segment->n;
}

static char *part(const struct segment *segment, int rank)
{
    return segment->base + segment->part_bytes * (size_t)rank;
}

struct rank_ctrl *segment_rank_ctrl(const struct segment *segment, int rank)
{
    return (struct rank_ctrl *)(void *)part(segment, rank);
}

_Atomic uint64_t *segment_ring(const struct segment *segment, int receiver, int sender)
{
    return (_Atomic uint64_t *)(void *)(part(segment, receiver) + rings_at()) +
           segment->ring_entries * (size_t)sender;
}

struct rtr *segment_rtr(const struct segment *segment, int receiver, int sender)
{
    return (struct rtr *)(void *)(part(segment, receiver) + rtrs_at(segment)) + sender;
}

struct descriptor *segment_descriptor(const struct segment *segment, int rank, int number)
{
    return (struct descriptor *)(void *)(part(segment, rank) + descriptors_at(segment)) + number;
}

char *segment_eager(const struct segment *segment, int rank, int number)
{
    return part(segment, rank) + eager_at(segment) + (size_t)number * EAGER_BYTES;
}

char *segment_bounce(const struct segment *segment, int rank)
{
    return part(segment, rank) + segment->bounce_at;
}

char *segment_data(const struct segment *segment, int rank, enum segment_data data, size_t *nbytes)
{
    if (data == SEGMENT_BOUNCE) {
        *nbytes = (size_t)BOUNCE_BUFFERS * BOUNCE_BYTES;
        return segment_bounce(segment, rank);
    }
    *nbytes = (size_t)segment->neager * EAGER_BYTES;
    return segment_eager(segment, rank, 0);
}

/* Allocates pages of this rank's part. */
static bool allocate(const struct segment *segment, size_t from, size_t nbytes)
{
    return shm_file_allocate(segment->fd, segment->part_bytes * (size_t)segment->me + from, nbytes);
}

bool segment_allocate_bounce(const struct segment *segment)
{
    return allocate(segment, segment->bounce_at, (size_t)BOUNCE_BUFFERS * BOUNCE_BYTES);
}

bool segment_allocate_eager(const struct segment *segment)
{
    return allocate(segment, eager_at(segment), (size_t)segment->neager * EAGER_BYTES);
}

bool segment_allocate_descriptors(const struct segment *segment, int from, int to)
{
    return allocate(segment, descriptors_at(segment) + (size_t)from * sizeof(struct descriptor),
                    (size_t)(to - from) * sizeof(struct descriptor));
}

struct iov_advert *segment_iov_advert(const struct segment *segment, int rank)
{
    return (struct iov_advert *)(void *)(part(segment, rank) + segment->iov_advert_at);
}

bool segment_allocate_iov_advert(const struct segment *segment, uint64_t n)
{
    return allocate(segment, segment->iov_advert_at, iov_advert_bytes(n));
}

char *segment_map_flags(const struct segment *segment, int rank)
{
    const size_t at = segment->part_bytes * (size_t)rank + segment->flags_at;
    void *flags = mmap(NULL, (size_t)STREAM_FLAGS * STREAM_FLAG_BYTES, PROT_READ | PROT_WRITE,
                       MAP_SHARED, segment->fd, (off_t)at);

    return flags == MAP_FAILED ? NULL : flags;
}

bool segment_allocate_flags(const struct segment *segment)
{
    return allocate(segment, segment->flags_at, (size_t)STREAM_FLAGS * STREAM_FLAG_BYTES);
}

_Atomic uint32_t *segment_stream_flag(const struct segment *segment, int rank, uint32_t i)
{
    return (_Atomic uint32_t *)(void *)(part(segment, rank) + segment->flags_at +
                                        (size_t)i * STREAM_FLAG_BYTES);
}

struct stream_receives *segment_stream_receives(const struct segment *segment, int receiver,
                                                int sender)
{
    return (struct stream_receives *)(void *)(part(segment, receiver) + segment->receives_at +
                                              (size_t)sender * stream_receives_bytes());
}

bool segment_allocate_stream_receives(const struct segment *segment, int sender)
{
    return allocate(segment, segment->receives_at + (size_t)sender * stream_receives_bytes(),
                    stream_receives_bytes());
}

bool segment_allocate_reserve_bounce(const struct segment *segment, int to, uint64_t *offset)
{
    *offset = (uint64_t)BOUNCE_BUFFERS * BOUNCE_BYTES + (uint64_t)to * RESERVE_BOUNCE_BYTES;
    return allocate(segment, segment->bounce_at + *offset, RESERVE_BOUNCE_BYTES);
}

static bool map(struct segment *segment)
{
    void *at = mmap(NULL, segment->nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, segment->fd, 0);

    segment->base = at == MAP_FAILED ? NULL : at;
    return segment->base;
}

/* The bytes that the ranks come to use when they send all kinds of messages. */
static size_t expected_bytes(const struct segment *segment)
{
    const size_t each = descriptors_at(segment) +
                        (size_t)segment->neager * (sizeof(struct descriptor) + EAGER_BYTES) +
                        (size_t)BOUNCE_BUFFERS * BOUNCE_BYTES + iov_advert_bytes(IOV_ADVERT_MAX);

    return each * (size_t)segment->n;
}

int segment_make(MPI_Comm node, struct segment *segment, struct gpubind_error *err)
{
    bool good;

    memset(segment, 0, sizeof *segment);
    PMPI_Comm_rank(node, &segment->me);
    PMPI_Comm_size(node, &segment->n);
    measure(segment);
    segment->fd = shm_file_open(node, segment->nbytes, expected_bytes(segment), err);
    if (segment->fd < 0)
        return -1;
    good = map(segment) && allocate(segment, 0, descriptors_at(segment)) &&
           segment_allocate_descriptors(segment, 0, segment->neager);
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
    atomic_store(&segment_rank_ctrl(segment, segment->me)->left, 1);
    for (int rank = 0; rank < segment->n; rank++)
        atomic_fetch_add(&segment_rank_ctrl(segment, rank)->acks, 1);
}

bool segment_has_left(const struct segment *segment, int rank)
{
    return atomic_load_explicit(&segment_rank_ctrl(segment, rank)->left, memory_order_acquire);
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
