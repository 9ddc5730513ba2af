#include "aware/message/direct_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "aware/base/next.h"
#include "aware/base/start.h"
#include "aware/base/world_ranks.h"
#include "aware/message/direct_search.h"
#include "core/base/hash.h"

static struct direct_segment *own;
static int own_fd = -1;
static int listener = -1;
static bool crowded;
static struct direct_peer *peers; /* by their ranks of MPI_COMM_WORLD */
static int npeers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the own one */

/* The processes that one launch of MPI_COMM_WORLD has started on this node have the same: PMIx's name of the
 * job and the addresses of its server (Open MPI 4 makes the name of 16 bits of a hash, which two jobs may
 * share), or the process that has started them. */
static uint64_t job_id(void)
{
    static const char server[] = "PMIX_SERVER_URI";
    const char *name = getenv("PMIX_NAMESPACE");
    const pid_t parent = getppid();
    uint64_t id;

    if (!name)
        return hash_bytes(HASH_START, &parent, sizeof parent);
    id = hash_text(HASH_START, name);
    for (char **variable = environ; *variable; variable++)
        if (strncmp(*variable, server, sizeof server - 1) == 0)
            id ^= hash_text(HASH_START, *variable); /* in any order */
    return id;
}

#define BACKLOG 4096

/* What the kernel makes of a backlog: Linux had at most 128 before 5.4. */
static int backlog(void)
{
    FILE *file = fopen("/proc/sys/net/core/somaxconn", "re");
    int most = BACKLOG;

    if (file && fscanf(file, "%d", &most) != 1)
        most = BACKLOG;
    if (file)
        fclose(file);
    return most < BACKLOG ? most : BACKLOG;
}

/* Its backlog alone is used: who connects has seen the process's number, and leaves. Those that have left are
 * still in the backlog, each with some KiB of the kernel's memory. */
static bool listen_as(uint64_t job, int rank)
{
    struct sockaddr_un address;
    const socklen_t length = direct_socket_name(&address, job, rank);

    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener >= 0 && bind(listener, (struct sockaddr *)&address, length) == 0 &&
        listen(listener, BACKLOG) == 0) {
        crowded = npeers > backlog();
        return true;
    }
    if (listener >= 0)
        close(listener);
    listener = -1;
    return false;
}

void direct_forget_visitors(void)
{
    int fd;

    while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
        close(fd);
}

bool direct_is_crowded(void)
{
    return crowded;
}

/* Allocates its pages now: a page that there is no memory for later is a signal. Where the kernel is told to
 * refuse that, they come when they are written. */
static bool allocate(int fd, size_t nbytes)
{
    const int error = posix_fallocate(fd, 0, (off_t)nbytes);

    if (error == EPERM || error == EACCES || error == ENOSYS)
        return ftruncate(fd, (off_t)nbytes) == 0;
    return error == 0;
}

void *direct_make_file(const char *name, size_t nbytes, int *fd)
{
    void *at = MAP_FAILED;

    *fd = memfd_create(name, MFD_CLOEXEC);
    if (*fd >= 0 && allocate(*fd, nbytes))
        at = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (at != MAP_FAILED)
        return at;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    return NULL;
}

static struct direct_segment *make_segment(void)
{
    const int fd = memfd_create(DIRECT_NAME, MFD_CLOEXEC);
    void *at = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, sizeof(struct direct_segment)) == 0)
        at = mmap(NULL, sizeof(struct direct_segment), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED && fd >= 0)
        close(fd);
    own_fd = fd;
    return at == MAP_FAILED ? NULL : at;
}

/* As for the library's own messages (gpubind(7)): another path than CUDA IPC is asked for. */
static bool is_allowed(void)
{
    static const char *const others[] = {"shared", "network", "mpi", "direct", "host"};
    const char *path = getenv("GPUBIND_PATH");

    if (!path || !*path || strcmp(path, "any") == 0 || strcmp(path, "ipc") == 0)
        return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(path, others[i]) == 0)
            return false;
    fprintf(stderr,
            "gpubind: GPUBIND_PATH is any, ipc, shared, network, mpi or host, not \"%s\"; taken "
            "as any\n",
            path);
    return true;
}

/* MPI_COMM_WORLD's ranks name the processes of a job. A process that was spawned may have the same
 * rank and parent as one of the first job. */
static bool find_rank(int *rank, int *size)
{
    int initialized = 0, finalized = 1;
    MPI_Comm parent = MPI_COMM_NULL;

    PMPI_Initialized(&initialized);
    PMPI_Finalized(&finalized);
    return initialized && !finalized && PMPI_Comm_get_parent(&parent) == MPI_SUCCESS &&
           parent == MPI_COMM_NULL && PMPI_Comm_rank(MPI_COMM_WORLD, rank) == MPI_SUCCESS &&
           PMPI_Comm_size(MPI_COMM_WORLD, size) == MPI_SUCCESS;
}

/* Others may open its files. */
static bool is_open_to_others(void)
{
    return prctl(PR_GET_DUMPABLE) == 1;
}

static void make_own(void)
{
    struct direct_segment *segment;
    int rank = 0;

    if (!aware_is_on() || !is_allowed() || !is_open_to_others() || !find_rank(&rank, &npeers))
        return;
    segment = make_segment();
    peers = calloc((size_t)npeers, sizeof *peers);
    if (!segment || !peers ||
        getrandom(&segment->nonce, sizeof segment->nonce, GRND_NONBLOCK) != sizeof segment->nonce ||
        !world_ranks_start())
        return;
    segment->magic = DIRECT_MAGIC;
    segment->job = job_id();
    segment->pid = getpid();
    segment->rank = rank;
    peers[rank].segment = segment;
    if (listen_as(segment->job, rank))
        own = segment;
}

struct direct_segment *direct_own(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_own);
    return own;
}

bool direct_segment_end(void)
{
    if (!own)
        return false;
    atomic_store(&own->receives, 0);
    atomic_store(&own->receives_small, 0);
    atomic_store(&own->ended, 1);
    world_ranks_end();
    return true;
}

void direct_segment_hide(void)
{
    pthread_mutex_lock(&lock);
    close(listener);
    listener = -1;
    pthread_mutex_unlock(&lock);
}

/* ---- others */

/* Looks for it at the first calls, and then ever more seldom: it may be on another node. */
static struct direct_peer *find(int rank)
{
    struct direct_peer *peer = &peers[rank];

    if (peer->segment)
        return peer;
    if (peer->asked++ < peer->retry)
        return NULL;
    peer->retry = 2 * peer->asked < 1024 ? 2 * peer->asked : peer->asked + 1024;
    direct_forget_visitors();
    peer->segment = direct_search(own->job, rank, own_fd);
    peer->error = peer->segment ? 0 : errno;
    if (peer->segment)
        atomic_store(&peer->segment->visited, 1);
    return peer->segment ? peer : NULL;
}

static int find_world_rank(MPI_Comm comm, int rank)
{
    if (comm == MPI_COMM_WORLD)
        return rank >= 0 && rank < npeers ? rank : MPI_UNDEFINED;
    return comm == MPI_COMM_NULL ? MPI_UNDEFINED : world_rank(comm, rank);
}

struct direct_peer *direct_peer(MPI_Comm comm, int rank)
{
    struct direct_peer *peer = NULL;
    int world;

    if (!direct_own())
        return NULL;
    pthread_mutex_lock(&lock);
    world = find_world_rank(comm, rank);
    if (world != MPI_UNDEFINED)
        peer = find(world);
    pthread_mutex_unlock(&lock);
    return peer;
}

int direct_world_rank(MPI_Comm comm, int rank)
{
    int world;

    if (!direct_own())
        return MPI_UNDEFINED;
    pthread_mutex_lock(&lock);
    world = find_world_rank(comm, rank);
    pthread_mutex_unlock(&lock);
    return world;
}

struct direct_peer *direct_peer_now(int rank)
{
    struct direct_peer *peer = NULL;

    if (!direct_own() || rank < 0 || rank >= npeers)
        return NULL;
    pthread_mutex_lock(&lock);
    peers[rank].retry = 0;
    peer = find(rank);
    pthread_mutex_unlock(&lock);
    return peer;
}

#define LOOKS 500 /* for a sender, in a second */

static int error_of(int rank)
{
    int error = 0;

    if (!direct_own() || rank < 0 || rank >= npeers)
        return 0;
    pthread_mutex_lock(&lock);
    if (!peers[rank].segment)
        error = peers[rank].error;
    pthread_mutex_unlock(&lock);
    return error;
}

/* That process has lost a message of that rank. */
static bool has_lost(const struct direct_segment *segment, int rank)
{
    return rank < DIRECT_RANKS &&
           atomic_load_explicit(&segment->lost[rank], memory_order_relaxed) != 0;
}

struct direct_peer *direct_peer_of_sender(int rank)
{
    struct direct_peer *peer = direct_peer_now(rank);

    for (int i = 0;
         !peer && i < LOOKS && direct_search_again(error_of(rank)) && !has_lost(own, rank); i++) {
        usleep(2000);
        peer = direct_peer_now(rank);
    }
    return peer;
}

bool direct_peer_is_hidden(int rank)
{
    const int error = error_of(rank);

    return error != 0 && error != ECONNREFUSED;
}

void direct_peer_lost(int rank)
{
    if (rank >= 0 && rank < npeers && rank < DIRECT_RANKS)
        atomic_store(&own->lost[rank], 1);
}

bool direct_peer_receives(const struct direct_peer *peer)
{
    return !peer->slow && atomic_load_explicit(&peer->segment->receives, memory_order_acquire) &&
           !has_lost(peer->segment, own->rank);
}

bool direct_peer_receives_small(const struct direct_peer *peer)
{
    return direct_peer_receives(peer) &&
           atomic_load_explicit(&peer->segment->receives_small, memory_order_acquire);
}

bool direct_process_lives(pid_t pid)
{
    return kill(pid, 0) == 0 || errno != ESRCH;
}

void direct_wake(struct direct_segment *segment)
{
    atomic_fetch_add(&segment->wanted, 1);
    syscall(SYS_futex, &segment->wanted, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool direct_peer_lives(const struct direct_peer *peer)
{
    return direct_process_lives(peer->segment->pid);
}

void *direct_peer_map(const struct direct_peer *peer, int fd, size_t nbytes, bool write)
{
    char name[16];

    snprintf(name, sizeof name, "%d", fd);
    return direct_map_file(peer->segment->pid, name, nbytes, write);
}
