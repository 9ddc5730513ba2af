/* gpubind: MPI ranks pass GPU memory to each other, on any MPI.
 *
 * MPI_GPUSend and MPI_GPURecv take the arguments of MPI_Send and MPI_Recv; a
 * buffer may be GPU memory or host memory, on either side. All functions return
 * MPI_SUCCESS or an MPI error class, after the communicator's error handler was
 * called; gpubind_error_text says it in a sentence. Each has a manual page of
 * section 3; gpubind(7) explains the whole.
 *
 * Both sides must use these calls: MPI_Recv does not receive what MPI_GPUSend sent.
 */
#ifndef GPUBIND_H
#define GPUBIND_H

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GPUBIND_PUBLIC __attribute__((visibility("default")))
#else
#define GPUBIND_PUBLIC
#endif

/* ---- start and end: both optional, see gpubind_init(3) */

/* Takes effect when MPI_Init was not seen by the library (it was loaded later).
 * Collective over MPI_COMM_WORLD, after MPI_Init. More calls do nothing. */
GPUBIND_PUBLIC int gpubind_init(void);
/* Closes every mapping, frees what the library holds. Collective over
 * MPI_COMM_WORLD; MPI_Finalize calls it. */
GPUBIND_PUBLIC int gpubind_finalize(void);

/* Prepares comm for the calls below. Collective over comm. Communicators made after
 * MPI_Init by MPI's constructors are prepared already, where the library saw
 * the call. Once is enough. Intercommunicators are refused (MPI_ERR_COMM). */
GPUBIND_PUBLIC int gpubind_comm_attach(MPI_Comm comm);

/* ---- point to point, blocking */

GPUBIND_PUBLIC int MPI_GPUSend(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                               MPI_Comm comm);
GPUBIND_PUBLIC int MPI_GPURecv(void *buf, int count, MPI_Datatype type, int source, int tag,
                               MPI_Comm comm, MPI_Status *status);
GPUBIND_PUBLIC int MPI_GPUSend_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest,
                                 int tag, MPI_Comm comm);
GPUBIND_PUBLIC int MPI_GPURecv_c(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag,
                                 MPI_Comm comm, MPI_Status *status);

/* Returns when its receive has begun. */
GPUBIND_PUBLIC int gpubind_ssend(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                                 MPI_Comm comm);
GPUBIND_PUBLIC int gpubind_ssend_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest,
                                   int tag, MPI_Comm comm);

/* Both at once, whatever the other ranks do first. The two buffers must not overlap. */
GPUBIND_PUBLIC int gpubind_sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                                    int dest, int sendtag, void *recvbuf, int recvcount,
                                    MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                                    MPI_Status *status);
GPUBIND_PUBLIC int gpubind_sendrecv_c(const void *sendbuf, MPI_Count sendcount,
                                      MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                                      MPI_Count recvcount, MPI_Datatype recvtype, int source,
                                      int recvtag, MPI_Comm comm, MPI_Status *status);

/* Both from one buffer: what comes takes the place of what was sent. */
GPUBIND_PUBLIC int gpubind_sendrecv_replace(void *buf, int count, MPI_Datatype type, int dest,
                                            int sendtag, int source, int recvtag, MPI_Comm comm,
                                            MPI_Status *status);
GPUBIND_PUBLIC int gpubind_sendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype type,
                                              int dest, int sendtag, int source, int recvtag,
                                              MPI_Comm comm, MPI_Status *status);

/* ---- what comes, before it is received */

struct gpubind_message {
    int source, tag;
    int on_gpu;        /* 1: the sender's buffer is GPU memory */
    MPI_Datatype type; /* the predefined type that the sender's consists of; MPI_BYTE when
                        * it consists of several */
    MPI_Count count;   /* elements of type */
    MPI_Count nbytes;
};

/* Waits until a message from source (or MPI_ANY_SOURCE) with tag (or MPI_ANY_TAG)
 * can be received, and describes it. It stays where it is. */
GPUBIND_PUBLIC int gpubind_probe(int source, int tag, MPI_Comm comm,
                                 struct gpubind_message *message);
/* The same without waiting: *flag says whether message was filled. */
GPUBIND_PUBLIC int gpubind_iprobe(int source, int tag, MPI_Comm comm, int *flag,
                                  struct gpubind_message *message);

/* A message that was taken: no other receive gets it, and no probe sees it. */
typedef struct gpubind_matched_message *gpubind_matched;
#define GPUBIND_MATCHED_NULL ((gpubind_matched)0)
#define GPUBIND_MATCHED_NO_PROC ((gpubind_matched)1) /* of MPI_PROC_NULL */

/* As gpubind_probe and gpubind_iprobe, but they take the message. message may be NULL. */
GPUBIND_PUBLIC int gpubind_mprobe(int source, int tag, MPI_Comm comm, gpubind_matched *matched,
                                  struct gpubind_message *message);
GPUBIND_PUBLIC int gpubind_improbe(int source, int tag, MPI_Comm comm, int *flag,
                                   gpubind_matched *matched, struct gpubind_message *message);
/* Receives a message that was taken; *matched is GPUBIND_MATCHED_NULL then. */
GPUBIND_PUBLIC int gpubind_mrecv(void *buf, int count, MPI_Datatype type, gpubind_matched *matched,
                                 MPI_Status *status);
GPUBIND_PUBLIC int gpubind_mrecv_c(void *buf, MPI_Count count, MPI_Datatype type,
                                   gpubind_matched *matched, MPI_Status *status);

/* Receives a message of unknown size into memory allocated for it on the current
 * GPU (the rank's first when none is current): *buf, which the caller gives to
 * gpubind_free. For an empty message *buf is NULL. message may be NULL. */
GPUBIND_PUBLIC int gpubind_recv_alloc(void **buf, int source, int tag, MPI_Comm comm,
                                      struct gpubind_message *message);

/* ---- nonblocking */

/* Made by isend, irecv and their like; ended, and set to GPUBIND_REQUEST_NULL, by the test or
 * wait that finds it complete. */
typedef struct gpubind_operation *gpubind_request;
#define GPUBIND_REQUEST_NULL ((gpubind_request)0)

GPUBIND_PUBLIC int gpubind_isend(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                                 MPI_Comm comm, gpubind_request *request);
GPUBIND_PUBLIC int gpubind_irecv(void *buf, int count, MPI_Datatype type, int source, int tag,
                                 MPI_Comm comm, gpubind_request *request);
GPUBIND_PUBLIC int gpubind_isend_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest,
                                   int tag, MPI_Comm comm, gpubind_request *request);
GPUBIND_PUBLIC int gpubind_irecv_c(void *buf, MPI_Count count, MPI_Datatype type, int source,
                                   int tag, MPI_Comm comm, gpubind_request *request);
/* Complete when its receive has begun. */
GPUBIND_PUBLIC int gpubind_issend(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                                  MPI_Comm comm, gpubind_request *request);
GPUBIND_PUBLIC int gpubind_issend_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest,
                                    int tag, MPI_Comm comm, gpubind_request *request);
/* Of a message that was taken; *matched is GPUBIND_MATCHED_NULL then. */
GPUBIND_PUBLIC int gpubind_imrecv(void *buf, int count, MPI_Datatype type, gpubind_matched *matched,
                                  gpubind_request *request);
GPUBIND_PUBLIC int gpubind_imrecv_c(void *buf, MPI_Count count, MPI_Datatype type,
                                    gpubind_matched *matched, gpubind_request *request);
GPUBIND_PUBLIC int gpubind_test(gpubind_request *request, int *flag, MPI_Status *status);
GPUBIND_PUBLIC int gpubind_wait(gpubind_request *request, MPI_Status *status);
/* statuses: n of them, or MPI_STATUSES_IGNORE. MPI_ERR_IN_STATUS when one failed:
 * each status' MPI_ERROR says which. */
GPUBIND_PUBLIC int gpubind_waitall(int n, gpubind_request requests[], MPI_Status *statuses);
/* *index: which one ended, MPI_UNDEFINED when all are GPUBIND_REQUEST_NULL. */
GPUBIND_PUBLIC int gpubind_waitany(int n, gpubind_request requests[], int *index,
                                   MPI_Status *status);
/* *nended: how many have ended, at least one, and indices which; as many statuses. MPI_UNDEFINED
 * when all are GPUBIND_REQUEST_NULL. */
GPUBIND_PUBLIC int gpubind_waitsome(int n, gpubind_request requests[], int *nended, int indices[],
                                    MPI_Status *statuses);
/* The same without waiting: all or nothing is ended, one, or those that are complete. */
GPUBIND_PUBLIC int gpubind_testall(int n, gpubind_request requests[], int *flag,
                                   MPI_Status *statuses);
GPUBIND_PUBLIC int gpubind_testany(int n, gpubind_request requests[], int *index, int *flag,
                                   MPI_Status *status);
GPUBIND_PUBLIC int gpubind_testsome(int n, gpubind_request requests[], int *nended, int indices[],
                                    MPI_Status *statuses);
/* As gpubind_test, but the request stays. What went wrong, the call says that ends it. */
GPUBIND_PUBLIC int gpubind_request_get_status(gpubind_request request, int *flag,
                                              MPI_Status *status);
/* A receive that has no message yet ends, and its status says that it is cancelled; others,
 * and sends, end as if nothing had been said. A wait or test is needed all the same. */
GPUBIND_PUBLIC int gpubind_cancel(gpubind_request *request);
/* Of any request. An active one completes in the background, and its errors are not returned. A persistent one that was
 * started on a stream may be freed only when the stream has done that work, and no graph that holds it is launched any
 * more. */
GPUBIND_PUBLIC int gpubind_request_free(gpubind_request *request);
/* Moves what can be moved, without waiting. */
GPUBIND_PUBLIC int gpubind_progress(void);

/* ---- in the order of a stream, which may be NULL (the legacy default stream of the current context): the calls do not
 * wait for messages, but may wait until earlier messages of the stream leave room */

/* cudaStream_t and CUstream are this. */
typedef struct CUstream_st *gpubind_stream;

/* The message leaves, or is received, after earlier work in the stream; later work in it
 * comes after the buffer was sent, or filled; the host does not wait for that. What goes wrong
 * lets the stream go on, and is returned by the next call with that stream. Sends and
 * receives match those of the calls above. */
GPUBIND_PUBLIC int gpubind_send_on_stream(const void *buf, int count, MPI_Datatype type, int dest,
                                          int tag, MPI_Comm comm, gpubind_stream stream);
GPUBIND_PUBLIC int gpubind_recv_on_stream(void *buf, int count, MPI_Datatype type, int source,
                                          int tag, MPI_Comm comm, gpubind_stream stream);
/* Both at once, as MPI_Sendrecv: neither need come before the other. */
GPUBIND_PUBLIC int gpubind_sendrecv_on_stream(const void *sendbuf, int sendcount,
                                              MPI_Datatype sendtype, int dest, int sendtag,
                                              void *recvbuf, int recvcount, MPI_Datatype recvtype,
                                              int source, int recvtag, MPI_Comm comm,
                                              gpubind_stream stream);
/* As the two before, but later work in the stream does not wait for the buffer before
 * gpubind_quiet_on_stream. */
GPUBIND_PUBLIC int gpubind_isend_on_stream(const void *buf, int count, MPI_Datatype type, int dest,
                                           int tag, MPI_Comm comm, gpubind_stream stream);
GPUBIND_PUBLIC int gpubind_irecv_on_stream(void *buf, int count, MPI_Datatype type, int source,
                                           int tag, MPI_Comm comm, gpubind_stream stream);
/* Begins a group: nonblocking messages of the stream from now on may leave together, as late as the next quiet or
 * blocking call with it. That call must follow, or the other ranks wait for ever. The sends take one launch then, in place
 * of one each. */
GPUBIND_PUBLIC int gpubind_group_on_stream(gpubind_stream stream);
/* Later work in the stream comes after all that was sent and received on it so far. */
GPUBIND_PUBLIC int gpubind_quiet_on_stream(gpubind_stream stream);

/* ---- persistent: set up once, started often */

/* Arguments as for gpubind_isend and gpubind_irecv, wildcards too. The request is inactive until
 * it is started, again after a wait or test found it complete, and freed by
 * gpubind_request_free. */
GPUBIND_PUBLIC int gpubind_send_init(const void *buf, int count, MPI_Datatype type, int dest,
                                     int tag, MPI_Comm comm, gpubind_request *request);
GPUBIND_PUBLIC int gpubind_recv_init(void *buf, int count, MPI_Datatype type, int source, int tag,
                                     MPI_Comm comm, gpubind_request *request);
GPUBIND_PUBLIC int gpubind_send_init_c(const void *buf, MPI_Count count, MPI_Datatype type,
                                       int dest, int tag, MPI_Comm comm, gpubind_request *request);
GPUBIND_PUBLIC int gpubind_recv_init_c(void *buf, MPI_Count count, MPI_Datatype type, int source,
                                       int tag, MPI_Comm comm, gpubind_request *request);
/* The buffers are ready to be sent, or filled: a message each, which matches those of any
 * call. Waits for nobody. */
GPUBIND_PUBLIC int gpubind_start(gpubind_request *request);
GPUBIND_PUBLIC int gpubind_startall(int n, gpubind_request requests[]);
/* Starts them after earlier work in the stream; later work in it comes after their
 * ends. They need no wait, and are inactive at once for the host; what fails later lets
 * the stream go on, as above. To and from other nodes with MPI_THREAD_MULTIPLE alone.
 * Between GPUs that reach each other the nth send to a rank with a tag and the nth receive
 * there are connected, and meet only each other from then on; then it may be captured into
 * a graph, after a first start. Until they are connected the call may wait until the process of
 * the other side has called the library. */
GPUBIND_PUBLIC int gpubind_startall_on_stream(int n, gpubind_request requests[],
                                              gpubind_stream stream);

/* ---- halo exchange: the ghost cells of a grid that is spread over GPUs */

typedef struct gpubind_halo_plan *gpubind_halo;
#define GPUBIND_HALO_NULL ((gpubind_halo)0)

enum { GPUBIND_HALO_IN_TURN = 1 };

struct gpubind_halo_grid {
    int ndims;            /* 1 to 3; the last dimension lies together in memory */
    int ranks[3];         /* that the grid is spread over, along each dimension; 0: chosen */
    int periodic[3];      /* the first and the last are neighbours */
    int cells[3];         /* of this rank, without ghost cells */
    int width[3];         /* ghost cells on either side; 0: none, and nothing is exchanged */
    int pitch;            /* elements from one row to the next; 0: rows lie together */
    int corners;          /* edges and corners are exchanged too */
    MPI_Datatype element; /* predefined, or dense */
    int flags;            /* 0 or GPUBIND_HALO_IN_TURN: the arrays are exchanged in turn, and
                       * nobody reads or writes an array's ghost cells any more when the
                       * exchange of the next one starts; saves the ranks from asking each
                       * other */
};

/* Collective over comm. Its ranks that have a GPU make the grid, in their order, the
 * last dimension running fastest; the others get GPUBIND_HALO_NULL. arrays: narrays of
 * them in memory of this rank's GPU or host memory, each with its ghost cells, whose exchange may be started. */
GPUBIND_PUBLIC int gpubind_halo_create(MPI_Comm comm, const struct gpubind_halo_grid *grid,
                                       int narrays, void *const arrays[], gpubind_halo *halo);
/* Sends the boundary cells of that array to the neighbours and receives its ghost cells;
 * nothing of both may be written until the wait. */
GPUBIND_PUBLIC int gpubind_halo_start(gpubind_halo halo, int array);
GPUBIND_PUBLIC int gpubind_halo_wait(gpubind_halo halo);
/* Both, in the order of the stream. */
GPUBIND_PUBLIC int gpubind_halo_exchange_on_stream(gpubind_halo halo, int array,
                                                   gpubind_stream stream);
/* This rank's place in the grid, and the ranks along each dimension: ndims numbers
 * each; either may be NULL. */
GPUBIND_PUBLIC int gpubind_halo_place(gpubind_halo halo, int place[], int ranks[]);
/* The rank of comm at an offset of -1, 0 or 1 along each dimension; MPI_PROC_NULL: none. */
GPUBIND_PUBLIC int gpubind_halo_neighbor(gpubind_halo halo, const int offset[], int *rank);
/* Collective over the grid's ranks. Sets *halo to GPUBIND_HALO_NULL. */
GPUBIND_PUBLIC int gpubind_halo_free(gpubind_halo *halo);

/* ---- memory */

/* GPU memory on the current GPU that every path of the library can reach. */
GPUBIND_PUBLIC int gpubind_alloc(void **buf, size_t nbytes);
/* Frees what gpubind_alloc or gpubind_recv_alloc made; peers let go of it first.
 * NULL does nothing. */
GPUBIND_PUBLIC int gpubind_free(void *buf);
/* To be called before memory that was sent from, or received into, is freed by other
 * means: when it returns, no peer maps the allocation that ptr lies in. */
GPUBIND_PUBLIC int gpubind_release(const void *ptr);

/* ---- who is where */

/* The matrix of GPU pairs. */
struct gpubind_peers {
    int n;        /* ranks of the communicator */
    char *access; /* n * n: access[i * n + j] is one of GPUBIND_PEER_... */
};
enum {
    GPUBIND_PEER_NONE = 0,   /* on one node, but at least one cannot reach the other */
    GPUBIND_PEER_DIRECT = 1, /* one copy, through peer access or on the same GPU */
    GPUBIND_PEER_REMOTE = 2, /* not on the same node */
    GPUBIND_PEER_NO_GPU = 3  /* one of the two has no GPU */
};
/* Enables peer access between the GPUs of every two ranks of a node that can reach
 * each other, in both directions; pairs that cannot are named on stderr, once, and
 * are no error. Collective over comm. The matrix is the same on all ranks and
 * symmetric; peers may be NULL, else it is cleared with gpubind_peers_clear. */
GPUBIND_PUBLIC int gpubind_enable_peer_access(MPI_Comm comm, struct gpubind_peers *peers);
GPUBIND_PUBLIC void gpubind_peers_print(const struct gpubind_peers *peers, FILE *to);
GPUBIND_PUBLIC void gpubind_peers_clear(struct gpubind_peers *peers);

/* The communicator of the ranks that have a GPU, in the order of comm;
 * MPI_COMM_NULL on the others. Collective over comm. The caller frees it. */
GPUBIND_PUBLIC int gpubind_comm_gpus(MPI_Comm comm, MPI_Comm *gpus);
/* The nearest lower (north) and higher (south) rank of comm that has a GPU;
 * MPI_PROC_NULL where there is none, or on a rank without a GPU. periodic: the
 * first and the last are neighbours. Collective over comm. */
GPUBIND_PUBLIC int gpubind_neighbors(MPI_Comm comm, int periodic, int *north, int *south);
/* The rank of comm that has GPU gpu of node node: nodes are numbered by their lowest
 * rank, the GPUs of a node by PCI address, both from 0. MPI_ERR_RANK when there is
 * none; the lowest rank when several share it. Collective over comm the first
 * time, local afterwards. */
GPUBIND_PUBLIC int gpubind_rank_at(MPI_Comm comm, int node, int gpu, int *rank);

/* ---- what went wrong, what is done */

/* The last error of this thread as a sentence, "" when there was none. Valid until
 * its next call of the library. */
GPUBIND_PUBLIC const char *gpubind_error_text(void);
/* How this rank would reach each rank of comm, by size: a table. */
GPUBIND_PUBLIC int gpubind_paths_print(MPI_Comm comm, FILE *to);

/* ---- windows: GPU memory of every rank that the others write to and read by themselves */

typedef struct gpubind_window *gpubind_win;
#define GPUBIND_WIN_NULL ((gpubind_win)0)

/* What kernels take: its layout, and the calls for them, are in gpubind_device.cuh. */
struct gpubind_device_win;

/* nbytes of GPU memory, at a multiple of 256, and nsignals words of 64 bits, all zero, on
 * the current GPU; both are each rank's own choice, and may be 0. Collective over comm.
 * On failure *win is GPUBIND_WIN_NULL on all ranks. */
GPUBIND_PUBLIC int gpubind_win_allocate(MPI_Comm comm, size_t nbytes, int nsignals,
                                        gpubind_win *win);
/* The memory of that rank, as kernels and copies of this rank reach it, and how much it
 * is; NULL where they cannot: it is on another node, or without peer access (the calls on
 * streams below reach it all the same). Valid until gpubind_win_free. Either result may be NULL. */
GPUBIND_PUBLIC int gpubind_win_pointer(gpubind_win win, int rank, void **pointer, size_t *nbytes);
/* The same of all ranks as a table in memory of this rank's GPU, for its kernels. Valid
 * until gpubind_win_free. */
GPUBIND_PUBLIC int gpubind_win_device(gpubind_win win, const struct gpubind_device_win **device);
/* Collective. Nothing may be under way in the window that this rank began. Sets *win to
 * GPUBIND_WIN_NULL; of GPUBIND_WIN_NULL nothing is done. */
GPUBIND_PUBLIC int gpubind_win_free(gpubind_win *win);

/* In the order of a stream of this rank's GPU; the calls return at once and are local. An
 * offset counts bytes from the target's start of the window; buf may be GPU memory or
 * host memory, and is the caller's again when the stream has come so far; the data are at the
 * target then. MPI_PROC_NULL is no target. For a target without a pointer the library moves
 * the data, and the stream waits for it: to other nodes with MPI_THREAD_MULTIPLE alone, and
 * not in a capture (MPI_ERR_OTHER); what fails then is returned by a later call with the
 * stream. */
GPUBIND_PUBLIC int gpubind_put_on_stream(const void *buf, size_t nbytes, int target, size_t offset,
                                         gpubind_win win, gpubind_stream stream);
GPUBIND_PUBLIC int gpubind_get_on_stream(void *buf, size_t nbytes, int target, size_t offset,
                                         gpubind_win win, gpubind_stream stream);
/* Sets a signal word of the target, after all that was put on this stream before. */
GPUBIND_PUBLIC int gpubind_signal_on_stream(int signal, unsigned long long value, int target,
                                            gpubind_win win, gpubind_stream stream);
/* Both: the data, then the signal. */
GPUBIND_PUBLIC int gpubind_put_signal_on_stream(const void *buf, size_t nbytes, int signal,
                                                unsigned long long value, int target, size_t offset,
                                                gpubind_win win, gpubind_stream stream);
/* Later work in the stream waits until that signal word of this rank is value or more, modulo
 * 2^64 (less than 2^63 ahead), and then sees what was put before it. */
GPUBIND_PUBLIC int gpubind_wait_signal_on_stream(int signal, unsigned long long value,
                                                 gpubind_win win, gpubind_stream stream);

#ifdef __cplusplus
}
#endif

#endif
