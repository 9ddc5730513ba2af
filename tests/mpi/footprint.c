/* What a rank takes of the host's memory when it has passed GPU memory to all others of its node, beyond what it took
 * for one of them: its own memory (Pss_Anon in /proc/self/smaps_rollup), and its part of the memory that the library's
 * ranks share, as far as it is allocated. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

enum { LARGEST = 1 << 20, MOST_KIB = 8 << 10 };
static const int lengths[] = {8, 64 << 10, LARGEST};

static struct CUstream_st *stream;
static struct buffer out, in;

/* KiB; -1: the kernel does not tell. */
static long own(void)
{
    char line[256];
    long kib = -1;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");

    while (file && kib < 0 && fgets(line, sizeof line, file))
        sscanf(line, "Pss_Anon: %ld", &kib);
    if (file)
        fclose(file);
    return kib;
}

/* KiB of all ranks. */
static long shared(void)
{
    DIR *files = opendir("/proc/self/fd");
    char name[64];
    long kib = 0;

    for (const struct dirent *entry; files && (entry = readdir(files));) {
        const ssize_t length = readlinkat(dirfd(files), entry->d_name, name, sizeof name - 1);
        struct stat file;

        name[length > 0 ? length : 0] = '\0';
        if ((strstr(name, "memfd:gpubind ") || strstr(name, "/dev/shm/gpubind.")) &&
            fstatat(dirfd(files), entry->d_name, &file, 0) == 0)
            kib += (long)file.st_blocks / 2;
    }
    if (files)
        closedir(files);
    return kib;
}

/* When no rank takes more meanwhile. */
static long largest(void)
{
    long mine, all;

    job_barrier();
    mine = own() + shared() / job.size;
    job_barrier();
    MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_MAX, job.plain);
    return all;
}

/* With the next ranks. */
static void pass(int nbytes, int others, bool in_stream)
{
    for (int i = 1; i <= others; i++) {
        const int to = (job.rank + i) % job.size, from = (job.rank + job.size - i) % job.size;

        if (!in_stream) {
            succeeds(gpubind_sendrecv(out.at, nbytes, MPI_BYTE, to, 0, in.at, nbytes, MPI_BYTE,
                                      from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                     "sendrecv with rank %d", to);
            continue;
        }
        succeeds(gpubind_irecv_on_stream(in.at, nbytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, stream),
                 "irecv_on_stream from rank %d", from);
        succeeds(gpubind_isend_on_stream(out.at, nbytes, MPI_BYTE, to, 0, MPI_COMM_WORLD, stream),
                 "isend_on_stream to rank %d", to);
        succeeds(gpubind_quiet_on_stream(stream), "quiet");
    }
    if (in_stream)
        stream_ends(stream);
}

static void takes(const char *what, long before)
{
    const long more = largest() - before;

#ifndef __SANITIZE_ADDRESS__ /* where what was freed stays */
    expect(more < MOST_KIB, "%s: %ld KiB more, not less than %d", what, more, MOST_KIB);
#endif
    if (job.rank == 0)
        printf("# %d ranks, %s: at most %ld KiB more a rank than %ld\n", job.size, what, more,
               before);
}

void test_footprint(void)
{
    const int all = job.size - 1;
    long before;

    if (own() < 0) {
        job_skip("no Pss_Anon in /proc/self/smaps_rollup");
        return;
    }
    job_test("%d ranks, and what each takes", job.size);
    need_buffer(&out, MEMORY_DEVICE, LARGEST);
    need_buffer(&in, MEMORY_DEVICE, LARGEST);
    if (cuda.cuStreamCreate(&stream, 1))
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < 6; i++) /* what is taken once, by the driver, too */
        pass(lengths[i % 3], 1, i < 3);
    expect(shared() > 0, "no memory is shared");
    before = largest();
    for (int i = 0; i < 3; i++)
        pass(lengths[i], all, false);
    takes("messages with all", before);
    for (int i = 0; i < 3; i++)
        pass(lengths[i], all, true);
    takes("on streams, too", before);
    buffer_clear(&out);
    buffer_clear(&in);
    cuda.cuStreamDestroy_v2(stream);
    job_result();
}
