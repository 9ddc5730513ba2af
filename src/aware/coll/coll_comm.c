#include "aware/coll/coll_comm.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aware/base/creations.h"
#include "aware/coll/coll_nccl.h"
#include "aware/coll/coll_ways.h"
#include "aware/message/direct_segment.h"
#include "aware/message/outgoing.h"
#include "aware/request/calls.h"

/* Seconds after MPI_Init in which others may still make their segments. */
#define GRACE 0.2

struct coll_member {
    struct direct_peer *peer;
    struct direct_post *post;
    uint64_t before; /* what its post has said before this communicator's first call */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool post_is_used[DIRECT_POSTS];
static double started; /* seconds; 0: long ago */

void coll_start(void)
{
    if (direct_own())
        started = outgoing_now();
}

/* ---- who sees whom */

static struct direct_peer *look_for(int world)
{
    struct direct_peer *peer = direct_peer_now(world);

    while (!peer && outgoing_now() - started < GRACE) {
        usleep(1000);
        peer = direct_peer_now(world);
    }
    return peer;
}

/* Decides, and tells the others. */
static struct direct_peer *see(int world)
{
    _Atomic uint8_t *sight = &direct_own()->sights[world];
    struct direct_peer *peer = NULL;

    if (atomic_load(sight) != DIRECT_UNSEEN)
        peer = look_for(world);
    pthread_mutex_lock(&lock); /* another thread may have decided */
    if (atomic_load(sight) == DIRECT_UNDECIDED)
        atomic_store(sight, peer ? DIRECT_SEEN : DIRECT_UNSEEN);
    if (atomic_load(sight) == DIRECT_UNSEEN)
        peer = NULL;
    pthread_mutex_unlock(&lock);
    return peer;
}

static bool lives(const struct direct_peer *peer)
{
    return !atomic_load(&peer->segment->ended) && direct_peer_lives(peer);
}

/* What a member has decided about a rank of MPI_COMM_WORLD: it is in the same call, or will be. */
static bool has_seen(const struct direct_peer *peer, int world)
{
    uint8_t sight;

    for (unsigned spins = 1; !(sight = atomic_load(&peer->segment->sights[world])); spins++) {
        progress_idle(spins);
        if (spins % 4096 == 0 && !lives(peer))
            return false;
    }
    return sight == DIRECT_SEEN;
}

/* Who has not found one looks for none behind it: all read what the others have decided in this order. */
static bool all_see_all(struct coll_comm *comm)
{
    for (int i = 0; i < comm->size; i++) {
        const int world = direct_world_rank(comm->comm, i);

        comm->members[i].peer = world >= 0 && world < DIRECT_RANKS ? see(world) : NULL;
        if (!comm->members[i].peer)
            return false;
    }
    for (int i = 0; i < comm->size; i++)
        for (int j = 0; j < comm->size; j++)
            if (!has_seen(comm->members[i].peer, comm->members[j].peer->segment->rank))
                return false;
    return true;
}

/* ---- a communicator */

/* The others are in the same call, and would wait for a rank that had no memory for it. */
static void abort_without_memory(MPI_Comm comm)
{
    fprintf(stderr, "gpubind: out of memory in a collective call with GPU memory\n");
    PMPI_Abort(comm, MPI_ERR_NO_MEM);
}

static void *allocate(MPI_Comm comm, size_t n, size_t size)
{
    void *memory = calloc(n, size);

    if (!memory)
        abort_without_memory(comm);
    return memory;
}

/* DIRECT_POSTS: all are used. */
static int take_post(void)
{
    int post = 0;

    pthread_mutex_lock(&lock);
    while (post < DIRECT_POSTS && post_is_used[post])
        post++;
    if (post < DIRECT_POSTS)
        post_is_used[post] = true;
    pthread_mutex_unlock(&lock);
    return post;
}

static void give_post(int post)
{
    pthread_mutex_lock(&lock);
    if (post < DIRECT_POSTS)
        post_is_used[post] = false;
    pthread_mutex_unlock(&lock);
}

/* Tells the others where this process will say yes or no. Numbers of calls go on where those of the post's
 * last communicator have ended: somebody may not have read these yet. false: some rank has no post, or goes by
 * other ways, or by none. */
static bool exchange_posts(struct coll_comm *comm)
{
    const int post = take_post();
    const uint64_t ways = coll_ways_word();
    const uint64_t mine[3] = {(uint64_t)post,
                              post < DIRECT_POSTS ? direct_own()->posts[post].said : 0, ways};
    uint64_t *all = allocate(comm->comm, 3 * (size_t)comm->size, sizeof *all);
    bool agrees = CALL_MPI(PMPI_Allgather(mine, 3, MPI_UINT64_T, all, 3, MPI_UINT64_T,
                                          comm->comm)) == MPI_SUCCESS &&
                  ways != 0;

    for (int i = 0; agrees && i < comm->size; i++) {
        agrees = all[3 * i] < DIRECT_POSTS && all[3 * i + 2] == ways;
        comm->members[i].post = &comm->members[i].peer->segment->posts[agrees ? all[3 * i] : 0];
        comm->members[i].before = all[3 * i + 1];
    }
    free(all);
    direct_forget_visitors(); /* all have found all */
    comm->post = post;
    return agrees;
}

static void free_all(struct coll_comm *comm)
{
    free(comm->members);
    free(comm->sends);
    free(comm->receives);
    free(comm->requests);
    free(comm->statuses);
    free(comm);
}

static bool grow(void **memory, size_t n, size_t size)
{
    void *grown = realloc(*memory, n * size);

    if (grown)
        *memory = grown;
    return grown != NULL;
}

bool coll_make_room(struct coll_comm *comm, size_t n)
{
    if (n <= comm->room)
        return true;
    if (!grow((void **)&comm->sends, n, sizeof *comm->sends) ||
        !grow((void **)&comm->receives, n, sizeof *comm->receives) ||
        !grow((void **)&comm->requests, 2 * n, sizeof *comm->requests) ||
        !grow((void **)&comm->statuses, 2 * n, sizeof *comm->statuses))
        return false;
    comm->room = n;
    return true;
}

static struct coll_comm *make(MPI_Comm of)
{
    struct coll_comm *comm = allocate(of, 1, sizeof *comm);

    comm->comm = of;
    comm->own = MPI_COMM_NULL;
    comm->post = DIRECT_POSTS;
    PMPI_Comm_size(of, &comm->size);
    PMPI_Comm_rank(of, &comm->rank);
    comm->members = allocate(of, (size_t)comm->size, sizeof *comm->members);
    comm->near = all_see_all(comm);
    comm->agrees = comm->near && (comm->size == 1 ? coll_ways_word() != 0 : exchange_posts(comm));
    if (comm->agrees) {
        if (!coll_make_room(comm, (size_t)comm->size))
            abort_without_memory(comm->comm);
    } else { /* it may have very many ranks */
        free(comm->members);
        comm->members = NULL;
    }
    return comm;
}

static int keyval = MPI_KEYVAL_INVALID;

static void make_keyval(void)
{
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL) !=
        MPI_SUCCESS)
        keyval = MPI_KEYVAL_INVALID;
}

static bool may_agree(MPI_Comm comm)
{
    int inter = 1;

    return PMPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && !inter;
}

/* Those that this thread is freeing, the last one first. MPI calls the application's callbacks for their attributes
 * there; MPICH 4.0 has given back the memory of some, and hangs where one is set then. */
static __thread struct coll_freeing *freeing __attribute__((tls_model("initial-exec")));

static bool is_being_freed(MPI_Comm of)
{
    const struct coll_freeing *one = freeing;

    while (one && one->comm != of)
        one = one->before;
    return one;
}

/* NULL: the communicator has other ranks than its own, or is being freed. */
static struct coll_comm *find(MPI_Comm of)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct coll_comm *comm = NULL;
    int found = 0;

    if (!direct_own() || of == MPI_COMM_NULL || is_being_freed(of))
        return NULL;
    pthread_once(&once, make_keyval);
    if (keyval == MPI_KEYVAL_INVALID ||
        PMPI_Comm_get_attr(of, keyval, &comm, &found) != MPI_SUCCESS)
        return NULL;
    if (!found) {
        if (!may_agree(of))
            return NULL;
        comm = make(of);
        PMPI_Comm_set_attr(of, keyval, comm);
    }
    return comm;
}

struct coll_comm *coll_comm(MPI_Comm of)
{
    struct coll_comm *comm = find(of);

    return comm && comm->agrees ? comm : NULL;
}

bool coll_comm_is_near(MPI_Comm of)
{
    const struct coll_comm *comm = find(of);

    return comm && comm->near;
}

bool coll_own_comm(struct coll_comm *comm)
{
    if (comm->own == MPI_COMM_NULL &&
        (CALL_MPI(PMPI_Comm_split(comm->comm, 0, comm->rank, &comm->own)) != MPI_SUCCESS ||
         PMPI_Comm_set_errhandler(comm->own, MPI_ERRORS_RETURN) != MPI_SUCCESS))
        comm->own = MPI_COMM_NULL;
    return comm->own != MPI_COMM_NULL;
}

/* ---- agreement */

static struct direct_post *own_post(const struct coll_comm *comm)
{
    return &direct_own()->posts[comm->post];
}

static uint64_t own_call(const struct coll_comm *comm)
{
    return comm->members[comm->rank].before + comm->calls;
}

void coll_give_up(struct coll_comm *comm)
{
    comm->agrees = false;
    if (comm->size == 1)
        return;
    atomic_store(&own_post(comm)->gave_up, own_call(comm));
}

/* Earlier communicators' calls had lower numbers. */
static bool has_given_up(const struct coll_member *member)
{
    return atomic_load(&member->post->gave_up) > member->before;
}

bool coll_all_live(const struct coll_comm *comm)
{
    for (int i = 0; i < comm->size && comm->size > 1; i++)
        if (!direct_peer_lives(comm->members[i].peer) || has_given_up(&comm->members[i]))
            return false;
    return true;
}

/* The member's word has come to that call. false: it will not. */
static bool await(struct coll_comm *comm, const struct coll_member *member,
                  const _Atomic uint64_t *word, uint64_t call)
{
    for (unsigned spins = 1; atomic_load(word) < member->before + call; spins++) {
        progress_idle(spins);
        if (has_given_up(member) || (spins % 4096 == 0 && !lives(member->peer))) {
            coll_give_up(comm);
            return false;
        }
    }
    return true;
}

/* All have read that all had said yes, so that this process may say something else. That takes nothing
 * that they have to be called for: each has said yes, and has all answers. */
static bool await_readers(struct coll_comm *comm)
{
    bool all = true;

    for (int i = 0; comm->agreed && all && i < comm->size; i++)
        all = await(comm, &comm->members[i], &comm->members[i].post->read, comm->agreed);
    comm->agreed = 0;
    return all;
}

/* Where it has said yes in a later call, it knows that somebody has said no in this one. */
static bool says_yes(struct coll_comm *comm, const struct coll_member *member)
{
    return await(comm, member, &member->post->said, comm->calls) &&
           atomic_load(&member->post->yes) == member->before + comm->calls;
}

/* A communicator of one rank has no post: there may be many. */
bool coll_agree(struct coll_comm *comm, bool yes)
{
    if (comm->size == 1)
        return yes;
    comm->calls++;
    yes = yes && await_readers(comm);
    if (yes)
        atomic_store(&own_post(comm)->yes, own_call(comm));
    atomic_store(&own_post(comm)->said, own_call(comm));
    for (int i = 0; yes && i < comm->size; i++)
        yes = says_yes(comm, &comm->members[i]);
    atomic_store(&own_post(comm)->read, own_call(comm));
    if (yes)
        comm->agreed = comm->calls;
    return yes;
}

/* The others are all in this call: the second agreement waits for nothing else. */
bool coll_prepare_own(struct coll_comm *comm)
{
    bool begun, goes;

    if (comm->own != MPI_COMM_NULL)
        return true;
    begun = creation_own_begin();
    goes = coll_agree(comm, begun);
    if (goes)
        coll_own_comm(comm); /* where it fails, so do the messages */
    if (begun)
        creation_own_end();
    return goes;
}

/* ---- the end */

static void leave(MPI_Comm of)
{
    struct coll_comm *comm = NULL;
    int found = 0;

    if (keyval == MPI_KEYVAL_INVALID || of == MPI_COMM_NULL || of == MPI_COMM_WORLD ||
        of == MPI_COMM_SELF || PMPI_Comm_get_attr(of, keyval, &comm, &found) != MPI_SUCCESS ||
        !found)
        return;
    await_readers(comm); /* the post will be another communicator's */
    PMPI_Comm_delete_attr(of, keyval);
    if (comm->own != MPI_COMM_NULL)
        CALL_MPI(PMPI_Comm_free(&comm->own));
    nccl_close(comm->nccl);
    give_post(comm->post);
    free_all(comm);
}

static void end_free(void *of, int code)
{
    (void)code;
    freeing = ((struct coll_freeing *)of)->before;
}

void coll_comm_free_begin(struct coll_freeing *one, MPI_Comm of)
{
    leave(of);
    *one = (struct coll_freeing){.comm = of, .before = freeing};
    freeing = one;
    undo_begin(&one->undo, end_free, one);
}

void coll_comm_free_end(struct coll_freeing *one)
{
    if (!undo_end(&one->undo))
        end_free(one, MPI_SUCCESS);
}
