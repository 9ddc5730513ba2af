#include "mpi/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

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

char *segment_data(const struct segment *segment, int rank, size_t *nbytes)
{
    *nbytes = segment->lanes_at + (size_t)LANES * LANE_BYTES - slots_at(segment);
    return part(segment, rank) + slots_at(segment);
}

/* A page that the file system cannot give is SIGBUS later; so it is asked now. The
 * file has no name by then, but the mapping can be asked through madvise. */
static bool populate(char *from, size_t nbytes)
{
#ifdef MADV_POPULATE_WRITE
    if (madvise(from, nbytes, MADV_POPULATE_WRITE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS)
        return false;
#endif
    (void)from, (void)nbytes;
    return true;
}

bool segment_reserve_lanes(const struct segment *segment)
{
    return populate(segment_lanes(segment, segment->me), (size_t)LANES * LANE_BYTES);
}

bool segment_reserve_slots(const struct segment *segment)
{
    return populate(segment_slot(segment, segment->me, 0),
                    (size_t)segment->nslots * EAGER_BYTES);
}

struct pieces *segment_pieces(const struct segment *segment, int rank)
{
    return (struct pieces *)(void *)(part(segment, rank) + segment->pieces_at);
}

bool segment_reserve_pieces(const struct segment *segment, uint64_t n)
{
    return populate(part(segment, segment->me) + segment->pieces_at, pieces_bytes(n));
}

bool segment_reserve_spare(const struct segment *segment, int to, uint64_t *offset)
{
    *offset = (uint64_t)LANES * LANE_BYTES + (uint64_t)to * SPARE_BYTES;
    return populate(segment_lanes(segment, segment->me) + *offset, SPARE_BYTES);
}

/* A name that nobody else has, known to the leader alone until it is broadcast. */
static int create(char *name, size_t room, size_t nbytes, struct gpubind_error *err)
{
    struct timespec now;
    int fd = -1;

    for (int i = 0; i < 100 && fd < 0; i++) {
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(name, room, "/gpubind.%ld.%lx%d", (long)getpid(), (unsigned long)now.tv_nsec, i);
        fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0)
        return error_set(err, "shared memory cannot be made: %s", strerror(errno));
    if (ftruncate(fd, (off_t)nbytes) < 0) {
        error_set(err, "%zu bytes of shared memory cannot be had: %s", nbytes, strerror(errno));
        shm_unlink(name);
        close(fd);
        return -1;
    }
    return fd;
}

static bool map(struct segment *segment, int fd)
{
    void *at = mmap(NULL, segment->nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    segment->base = at == MAP_FAILED ? NULL : at;
    return segment->base;
}

/* The sentence of the first rank that has one, on all. */
static void share_error(MPI_Comm node, const struct segment *segment, bool good,
                        struct gpubind_error *err)
{
    int mine = good ? segment->n : segment->me, first;
    struct gpubind_error text = {{0}};

    PMPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, node);
    if (first == segment->n)
        return;
    if (first == segment->me && err)
        text = *err;
    PMPI_Bcast(text.text, sizeof text.text, MPI_CHAR, first, node);
    if (err)
        *err = text;
}

int segment_make(MPI_Comm node, struct segment *segment, struct gpubind_error *err)
{
    char name[64] = "";
    int fd = -1, good, all;

    memset(segment, 0, sizeof *segment);
    PMPI_Comm_rank(node, &segment->me);
    PMPI_Comm_size(node, &segment->n);
    measure(segment);
    if (segment->me == 0) {
        fd = create(name, sizeof name, segment->nbytes, err);
        if (fd < 0)
            name[0] = '\0';
    }
    PMPI_Bcast(name, sizeof name, MPI_CHAR, 0, node);
    if (segment->me > 0 && name[0])
        fd = shm_open(name, O_RDWR | O_CLOEXEC, 0600);
    good = fd >= 0 && map(segment, fd) &&
           populate(part(segment, segment->me), descriptors_at(segment)) &&
           populate(part(segment, segment->me) + descriptors_at(segment),
                    (size_t)segment->nslots * sizeof(struct descriptor));
    if (!good && (segment->me > 0 || name[0]))
        error_set(err, "shared memory of this node cannot be used: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    PMPI_Allreduce(&good, &all, 1, MPI_INT, MPI_LAND, node);
    if (segment->me == 0 && name[0])
        shm_unlink(name);
    if (!all) {
        share_error(node, segment, good, err);
        segment_clear(segment);
        return -1;
    }
    PMPI_Barrier(node);
    return 0;
}

void segment_clear(struct segment *segment)
{
    if (segment->base)
        munmap(segment->base, segment->nbytes);
    segment->base = NULL;
}
