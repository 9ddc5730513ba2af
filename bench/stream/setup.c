/* Set-up of stream: GPU, buffers, the mapping for bare copies, NCCL. */
#include "bench/lib/peer_memory.h"
#include "bench/lib/program.h"
#include "bench/lib/ranks.h"
#include "bench/stream/stream.h"

#define TRIAL_TAG 9

static int check_ranks(struct stream_bench *bench, struct gpubind_error *err)
{
    MPI_Comm node;
    int here;

    if (bench->n < 2) {
        error_set(err, "stream needs two ranks (mpirun -np 2 gpubind gpubind-bench stream)");
        return BENCH_CANNOT;
    }
    PMPI_Comm_split_type(bench->pair == MPI_COMM_NULL ? MPI_COMM_SELF : bench->pair,
                         MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &here);
    PMPI_Comm_free(&node);
    if (bench->pair == MPI_COMM_NULL || here == 2)
        return 0;
    error_set(err, "stream measures within a node, and ranks 0 and 1 are on two");
    return BENCH_CANNOT;
}

static int open_gpu(struct stream_bench *bench, int local, struct gpubind_error *err)
{
    struct gpubind_error why;

    if (gpu_open(&bench->gpu, local, &why) == 0)
        return 0;
    return error_set(err, "rank %d: %s", bench->rank, why.text);
}

static int alloc(struct stream_bench *bench, struct gpubind_error *err)
{
    const struct bench_options *options = bench->options;
    struct gpubind_error why;
    size_t most = 1;

    if (bench->pair == MPI_COMM_NULL)
        return 0;
    for (int measure = 0; measure < STREAM_MEASURES; measure++)
        for (int i = 0; i < options->nsizes && options->stream_measures >> measure & 1; i++) {
            const size_t nbytes = options->sizes[i];
            const size_t need = nbytes *
                                (size_t)stream_window((enum stream_measure)measure, nbytes);

            most = need > most ? need : most;
        }
    if (buffer_alloc(&bench->out, &bench->gpu, most, &why) < 0 ||
        buffer_alloc(&bench->in, &bench->gpu, most, &why) < 0)
        return error_set(err, "rank %d: %s (--sizes chooses smaller ones)", bench->rank, why.text);
    return 0;
}

static bool open_remote(struct stream_bench *bench)
{
    int good;

    bench->remote = peer_memory_open(bench->pair, bench->other, bench->in.at);
    good = bench->remote != NULL;
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, bench->pair);
    return good;
}

/* Messages that the library passes from streams that are captured. Collective over the pair. */
static bool can_capture(const struct stream_bench *bench)
{
    const gpu_stream stream = bench->gpu.stream[0];
    gpu_graph graph = NULL;
    int good = bench->remote && gpu_has_graphs() &&
               gpu_capture_begin(stream, GPU_CAPTURE_RELAXED) == GPU_OK;

    if (good) {
        good = gpubind_irecv_on_stream(bench->in.at, 1, MPI_BYTE, bench->other, TRIAL_TAG,
                                       MPI_COMM_WORLD, stream) == MPI_SUCCESS &&
               gpubind_isend_on_stream(bench->out.at, 1, MPI_BYTE, bench->other, TRIAL_TAG,
                                       MPI_COMM_WORLD, stream) == MPI_SUCCESS;
        good &= gpubind_quiet_on_stream(stream) == MPI_SUCCESS;
        good &= gpu_capture_end(stream, &graph) == GPU_OK;
    }
    if (graph)
        gpu_graph_destroy(graph);
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, bench->pair);
    return good;
}

int stream_open(struct stream_bench *bench, struct gpubind_error *why_no_nccl,
                struct gpubind_error *err)
{
    const int local = ranks_local();
    int status;

    MPI_Comm_rank(MPI_COMM_WORLD, &bench->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench->n);
    bench->other = !bench->rank;
    PMPI_Comm_split(MPI_COMM_WORLD, bench->rank < 2 ? 0 : MPI_UNDEFINED, bench->rank, &bench->pair);
    status = ranks_agree(MPI_COMM_WORLD, check_ranks(bench, err), err);
    if (status == 0)
        status = ranks_agree(MPI_COMM_WORLD, open_gpu(bench, local, err), err);
    if (status == 0)
        status = ranks_agree(MPI_COMM_WORLD, alloc(bench, err), err);
    if (status != 0)
        return status;
    why_no_nccl->text[0] = '\0';
    bench->use[STREAM_GPUBIND] = bench->use[STREAM_PERSISTENT] = true;
    bench->use[STREAM_NCCL] = nccl_open(&bench->nccl, &bench->gpu, why_no_nccl) == 0;
    if (bench->pair == MPI_COMM_NULL)
        return 0;
    bench->use[STREAM_COPY] = open_remote(bench);
    bench->use[STREAM_GPUBIND_GRAPH] = bench->use[STREAM_PERSISTENT_GRAPH] = can_capture(bench);
    bench->use[STREAM_NCCL_GRAPH] = bench->use[STREAM_GPUBIND_GRAPH] && bench->use[STREAM_NCCL] &&
                                    nccl_can_be_captured(&bench->nccl);
    return 0;
}

/* The library maps buffers of the other rank's: it closes these mappings before they are freed. */
static void release(const struct buffer *buffer)
{
    if (buffer->at)
        gpubind_release(buffer->at);
}

void stream_clear(struct stream_bench *bench)
{
    nccl_close(&bench->nccl);
    peer_memory_close(bench->remote);
    if (bench->pair != MPI_COMM_NULL) {
        release(&bench->out);
        release(&bench->in);
        MPI_Barrier(bench->pair); /* nobody maps what is freed now */
        PMPI_Comm_free(&bench->pair);
    }
    buffer_free(&bench->out);
    buffer_free(&bench->in);
    gpu_close(&bench->gpu);
}
