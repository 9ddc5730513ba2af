/* Memory that the receiver has mapped is freed, and a message comes from memory at its addresses while the receiver's GPU
 * is busy, so that the old mapping cannot be closed: that message goes another way, later ones as before. */
#include "tests/aware/direct.h"

#define MOST_ROUNDS 200

static int calls_of(const char *name)
{
    int (*calls)(const char *) = NULL;

    *(void **)&calls = simulator_function("gpubind_sim_calls");
    return calls ? calls(name) : 0;
}

/* The receive waits for the message. */
static void pass(const struct buffer *buffer)
{
    if (job.rank == 0) {
        nap(10);
        MPI_Send(buffer->at, MIB, MPI_BYTE, 1, 1, messages);
    } else if (job.rank == 1) {
        MPI_Recv(buffer->at, MIB, MPI_BYTE, 0, 1, messages, MPI_STATUS_IGNORE);
    }
    job_barrier();
}

/* Rank 1 decides whether there is another round: one whose receiver comes late is buffered, and maps nothing. */
static bool is_another(int rounds, int least, const char *call, int calls)
{
    int another = rounds < least ||
                  (rounds < MOST_ROUNDS && simulator_function("gpubind_sim_calls") &&
                   calls_of(call) == calls);

    MPI_Bcast(&another, 1, MPI_INT, 1, job.plain);
    return another;
}

void test_freed_memory(void)
{
    struct buffer first, buffer, in;
    int opened, closed;

    job_test("memory that the receiver maps is freed while its GPU is busy");
    need_filled(&first, MEMORY_DEVICE, MIB, 1);
    need_buffer(&in, MEMORY_DEVICE, MIB);
    opened = calls_of("cuIpcOpenMemHandle");
    for (int i = 0; is_another(i, 3, "cuIpcOpenMemHandle", opened); i++)
        pass(job.rank == 0 ? &first : &in);
    buffer_clear(&first);
    need_filled(&buffer, MEMORY_DEVICE, MIB, 2);
    closed = calls_of("cuIpcCloseMemHandle");
    if (job.rank == 1 && gpu_count > 0)
        for (int i = 0; i < 5; i++)
            gpu_keep_busy(CUDA_LEGACY_STREAM);
    for (int i = 0; is_another(i, 6, "cuIpcCloseMemHandle", closed); i++) {
        if (job.rank == 1)
            buffer_reset(&in);
        pass(job.rank == 0 ? &buffer : &in);
        if (job.rank == 1)
            received(&in, MIB, 2, "from new memory");
    }
    if (job.rank == 1 && simulator_function("gpubind_sim_calls"))
        expect(calls_of("cuIpcCloseMemHandle") > closed, "the old mapping is still there");
    buffer_clear(&buffer);
    buffer_clear(&in);
    job_result();
}
