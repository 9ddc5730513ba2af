/* Communicators: their messages do not meet, nor do ours meet the application's own.
 * For three ranks and more. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define BYTES 500
#define COMMS 5

static struct buffer out, in;

static void send_in(MPI_Comm comm, int dest, int tag, uint64_t seed)
{
    buffer_fill(&out, 0, BYTES, seed);
    succeeds(MPI_GPUSend(out.at, BYTES, MPI_BYTE, dest, tag, comm), "send");
}

static void receive_in(MPI_Comm comm, int source, int sender, int tag, uint64_t seed)
{
    MPI_Status status;

    buffer_reset(&in);
    succeeds(MPI_GPURecv(in.at, BYTES, MPI_BYTE, source, tag, comm, &status), "receive");
    status_is(&status, sender, tag, BYTES, "receive");
    received(&in, BYTES, seed, "receive");
}

/* The library's constructors do not see this one: PMPI is called. */
static MPI_Comm unseen(void)
{
    MPI_Comm comm;

    PMPI_Comm_split(MPI_COMM_WORLD, 0, job.rank, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

/* The world, a duplicate, its ranks backwards, one that was attached, one by group. */
static void make_comms(MPI_Comm comms[COMMS])
{
    MPI_Group group;

    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -job.rank, &comms[2]);
    comms[3] = unseen();
    succeeds(gpubind_comm_attach(comms[3]), "attach");
    succeeds(gpubind_comm_attach(comms[3]), "attach again");
    succeeds(gpubind_comm_attach(comms[1]), "attach one that is prepared");
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &comms[4]);
    MPI_Group_free(&group);
}

static int rank_in(MPI_Comm comm, int world)
{
    MPI_Group group, all;
    int rank;

    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_translate_ranks(all, 1, &world, group, &rank);
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    return rank;
}

/* One tag in all of them, received in the opposite order of the sends. */
static void do_not_meet(MPI_Comm comms[COMMS], bool wild)
{
    job_test("%d communicators, one tag%s: each message in its own", COMMS,
             wild ? ", wildcards" : "");
    for (int c = 0; c < COMMS && job.rank == 1; c++)
        send_in(comms[c], rank_in(comms[c], 2), 3, (uint64_t)c);
    for (int c = COMMS - 1; c >= 0 && job.rank == 2; c--) {
        int sender = rank_in(comms[c], 1);

        receive_in(comms[c], wild ? MPI_ANY_SOURCE : sender, sender, 3, (uint64_t)c);
    }
    job_result();
}

static void subsets(void)
{
    MPI_Comm half, single;
    int rank, size;

    job_test("halves of the world, and a communicator of one rank");
    MPI_Comm_split(MPI_COMM_WORLD, job.rank % 2, job.rank, &half);
    MPI_Comm_rank(half, &rank);
    MPI_Comm_size(half, &size);
    if (rank == 0 && size > 1)
        send_in(half, 1, 8, (uint64_t)(100 + job.rank));
    if (rank == 1)
        receive_in(half, MPI_ANY_SOURCE, 0, 8, (uint64_t)(100 + job.rank % 2));
    MPI_Comm_split(MPI_COMM_WORLD, job.rank, 0, &single);
    buffer_fill(&out, 0, BYTES, 5);
    buffer_reset(&in);
    succeeds(gpubind_sendrecv(out.at, BYTES, MPI_BYTE, 0, 1, in.at, BYTES, MPI_BYTE, 0, 1, single,
                              MPI_STATUS_IGNORE),
             "sendrecv alone");
    received(&in, BYTES, 5, "sendrecv alone");
    MPI_Comm_free(&half);
    MPI_Comm_free(&single);
    job_result();
}

static void other_constructors(void)
{
    MPI_Comm comm, sub;
    MPI_Group group, all;
    int dims[] = {job.size}, periods[] = {1}, left, right, ranks[] = {0, 1};

    job_test("Cartesian, split by type and group communicators are prepared");
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm);
    MPI_Cart_shift(comm, 0, 1, &left, &right);
    buffer_fill(&out, 0, BYTES, (uint64_t)job.rank);
    buffer_reset(&in);
    succeeds(gpubind_sendrecv(out.at, BYTES, MPI_BYTE, right, 1, in.at, BYTES, MPI_BYTE, left, 1,
                              comm, MPI_STATUS_IGNORE),
             "around a Cartesian communicator");
    received(&in, BYTES, (uint64_t)left, "around a Cartesian communicator");
    MPI_Comm_free(&comm);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    if (job.rank == 0)
        send_in(comm, 1, 2, 21);
    if (job.rank == 1)
        receive_in(comm, 0, 0, 2, 21);
    MPI_Comm_free(&comm);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 2, ranks, &group);
    if (job.rank < 2) {
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 7, &sub);
        if (job.rank == 0)
            send_in(sub, 1, 2, 22);
        else
            receive_in(sub, 0, 0, 2, 22);
        MPI_Comm_free(&sub);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    job_result();
}

/* A message from rank 0 to rank 1, and back. */
static void passes(MPI_Comm comm, uint64_t seed)
{
    if (job.rank == 0) {
        send_in(comm, 1, 2, seed);
        receive_in(comm, MPI_ANY_SOURCE, 1, 2, seed + 1);
    }
    if (job.rank == 1) {
        receive_in(comm, MPI_ANY_SOURCE, 0, 2, seed);
        send_in(comm, 0, 2, seed + 1);
    }
}

/* Duplicates of any kind, and of duplicates; those of MPI_Comm_idup are complete in an order
 * of each rank's own. */
static void duplicates(void)
{
    enum { N = 6 };
    MPI_Comm comms[N];
    MPI_Request requests[2];

    job_test("MPI_Comm_idup, and duplicates that the library does not see, are prepared");
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_idup(MPI_COMM_WORLD, &comms[1], &requests[0]);
    MPI_Comm_idup(comms[0], &comms[2], &requests[1]);
    MPI_Wait(&requests[job.rank % 2], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[!(job.rank % 2)], MPI_STATUS_IGNORE);
    PMPI_Comm_dup(MPI_COMM_WORLD, &comms[3]);
    PMPI_Comm_dup(comms[2], &comms[4]);
    MPI_Comm_dup_with_info(comms[3], MPI_INFO_NULL, &comms[5]);
    for (int i = 0; i < N; i++)
        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    /* All are sent in before the receiver names one of them, and in another order. */
    for (int i = 0; i < N && job.rank == 0; i++)
        send_in(comms[i], 1, 3, (uint64_t)(40 + i));
    job_barrier();
    for (int i = N - 1; i >= 0 && job.rank == 1; i--)
        receive_in(comms[i], MPI_ANY_SOURCE, 0, 3, (uint64_t)(40 + i));
    for (int i = 0; i < N; i++)
        passes(comms[(i + 3) % N], (uint64_t)(60 + 2 * i));
    for (int i = 0; i < N; i++)
        MPI_Comm_free(&comms[i]);
    job_result();

    job_test("a duplicate that nobody uses, and one whose original is freed first");
    MPI_Comm_idup(MPI_COMM_WORLD, &comms[0], &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_idup(comms[1], &comms[2], &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Comm_free(&comms[1]);
    MPI_Comm_free(&comms[0]);
    passes(comms[2], 80);
    MPI_Comm_free(&comms[2]);
    job_result();
}

static void by_neighbours(void)
{
    int left = (job.rank + job.size - 1) % job.size, right = (job.rank + 1) % job.size;
    MPI_Comm comm, half, inter;
    int ends[64], edges[128], both[2] = {left, right};

    job_test("graph, adjacent graph and merged communicators are prepared");
    for (int i = 0; i < job.size; i++) {
        ends[i] = 2 * i + 2;
        edges[2 * i] = (i + job.size - 1) % job.size;
        edges[2 * i + 1] = (i + 1) % job.size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, job.size, ends, edges, 0, &comm);
    passes(comm, 90);
    MPI_Comm_free(&comm);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, both, both, 2, both, both, MPI_INFO_NULL, 0,
                                   &comm);
    passes(comm, 92);
    MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, job.rank % 2, job.rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !(job.rank % 2), 8, &inter);
    MPI_Intercomm_merge(inter, job.rank % 2, &comm);
    if (job.rank == 0)
        send_in(comm, rank_in(comm, 1), 2, 96);
    if (job.rank == 1)
        receive_in(comm, MPI_ANY_SOURCE, rank_in(comm, 0), 2, 96);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
#if MPI_VERSION >= 4
    MPI_Group group;

    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Comm_create_from_group(group, "gpubind", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    passes(comm, 98);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
#endif
    job_result();
}

/* MPI's own receive, posted for anything before ours are sent, waits for MPI's own. */
static void not_the_applications(void)
{
    int word = 0, flag = 1;
    MPI_Request request;
    MPI_Status status;

    job_test("MPI_Irecv for any source and tag meets none of our messages");
    if (job.rank == 0)
        MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    job_barrier();
    for (int i = 0; i < 10 && job.rank == 1; i++)
        send_in(MPI_COMM_WORLD, 0, i, (uint64_t)i);
    for (int i = 0; i < 10 && job.rank == 0; i++)
        receive_in(MPI_COMM_WORLD, MPI_ANY_SOURCE, 1, i, (uint64_t)i);
    if (job.rank == 0) {
        MPI_Test(&request, &flag, &status);
        expect(!flag, "MPI_Irecv took one of our messages");
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
        expect(!flag, "MPI_Iprobe sees a message");
    }
    job_barrier();
    if (job.rank == 2) {
        word = 4242;
        MPI_Send(&word, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
    }
    if (job.rank == 0) {
        MPI_Wait(&request, &status);
        expect(word == 4242 && status.MPI_SOURCE == 2 && status.MPI_TAG == 6,
               "MPI_Irecv got %d from rank %d, tag %d", word, status.MPI_SOURCE, status.MPI_TAG);
    }
    job_result();
}

/* ... and MPI's own messages meet none of our receives. */
static void not_ours(void)
{
    struct gpubind_message message;
    int word = job.rank, flag = 1;

    job_test("our wildcard receive meets no message of MPI_Send");
    if (job.rank == 1) {
        MPI_Send(&word, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
        send_in(MPI_COMM_WORLD, 0, 3, 31);
    }
    if (job.rank == 0) {
        receive_in(MPI_COMM_WORLD, MPI_ANY_SOURCE, 1, 3, 31);
        succeeds(gpubind_iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message),
                 "iprobe");
        expect(!flag, "iprobe sees a message");
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        is_int(word, 1, "MPI_Recv");
    }
    job_result();
}

/* What a communicator needs is given back with it. Some MPIs have 2048 of them. */
static void made_and_freed(int times)
{
    job_test("%d communicators made, used and freed", times);
    for (int i = 0; i < times; i++) {
        MPI_Comm comm;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (job.rank == 0 && i % 50 == 0)
            send_in(comm, 1, 1, (uint64_t)i);
        if (job.rank == 1 && i % 50 == 0)
            receive_in(comm, 0, 0, 1, (uint64_t)i);
        MPI_Comm_free(&comm);
    }
    job_result();
}

/* `ranks comms [TIMES]`: how many communicators are made and freed in the end. */
void test_comms(void)
{
    MPI_Comm comms[COMMS];

    need_buffer(&out, MEMORY_DEVICE, BYTES);
    need_buffer(&in, MEMORY_DEVICE, BYTES);
    make_comms(comms);
    do_not_meet(comms, false);
    do_not_meet(comms, true);
    subsets();
    other_constructors();
    duplicates();
    by_neighbours();
    not_the_applications();
    not_ours();
    made_and_freed(nargs ? atoi(arguments[0]) : 2500);
    for (int c = 1; c < COMMS; c++)
        MPI_Comm_free(&comms[c]);
    buffer_clear(&out);
    buffer_clear(&in);
}
