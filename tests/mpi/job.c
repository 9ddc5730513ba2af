#include "tests/mpi/job.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME_BYTES 160
#define FAULT_BYTES 400
#define SHOWN_RANKS 4

struct job job;

static char name[NAME_BYTES];  /* of the test under way; "" for none */
static char place[NAME_BYTES]; /* in it */
static int tests, failed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    int count;
    char first[FAULT_BYTES];
} faults;

/* Only what a signal handler may call. */
static void hangs(int number)
{
    static const char text[] = "# hangs: ";

    (void)number;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0 ||
        write(STDERR_FILENO, name, strlen(name)) < 0 ||
        write(STDERR_FILENO, place, strlen(place)) < 0 || write(STDERR_FILENO, "\n", 1) < 0)
        _exit(125);
    _exit(124);
}

/* As in some containers, no process may read another's memory. */
static void refuse_reads(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        fprintf(stderr, "ranks: reads cannot be refused\n");
}

unsigned job_seconds(unsigned otherwise)
{
    const char *seconds = getenv("TEST_SECONDS"), *patience = getenv("TEST_PATIENCE");

    return (seconds ? (unsigned)atoi(seconds) : otherwise) *
           (patience ? (unsigned)atoi(patience) : 1);
}

void job_start(int threads)
{
    MPI_Comm node;

    if (getenv("TEST_MULTIPLE"))
        threads = MPI_THREAD_MULTIPLE;
    if (getenv("TEST_NO_READS"))
        refuse_reads();
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGALRM, hangs);
    alarm(job_seconds(60));
    snprintf(name, sizeof name, "MPI_Init");
    MPI_Init_thread(NULL, NULL, threads, &job.threads);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &job.local);
    MPI_Comm_free(&node);
    MPI_Comm_dup(MPI_COMM_WORLD, &job.plain);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    gpu_start(job.local);
    name[0] = '\0';
}

int job_end(void)
{
    snprintf(name, sizeof name, "MPI_Finalize");
    gpu_end();
    MPI_Comm_free(&job.plain);
    if (job.rank == 0)
        printf("1..%d\n", tests);
    MPI_Finalize();
    printf("finalized\n");
    return failed && job.rank == 0; /* mpirun kills the others when one of them fails */
}

void job_test(const char *format, ...)
{
    va_list args;

    faults.count = 0;
    place[0] = '\0';
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    if (getenv("TEST_VERBOSE"))
        fprintf(stderr, "# rank %d: %s\n", job.rank, name);
}

void job_at(const char *format, ...)
{
    va_list args;

    snprintf(place, sizeof place, ", ");
    va_start(args, format);
    vsnprintf(place + 2, sizeof place - 2, format, args);
    va_end(args);
    if (getenv("TEST_VERBOSE"))
        fprintf(stderr, "# rank %d: %s%s\n", job.rank, name, place);
}

int job_faults(void)
{
    int count;

    pthread_mutex_lock(&lock);
    count = faults.count;
    pthread_mutex_unlock(&lock);
    return count;
}

static void print_faults(const int counts[], const char *texts)
{
    int shown = 0, ranks = 0;

    for (int rank = 0; rank < job.size; rank++) {
        if (!counts[rank])
            continue;
        ranks++;
        if (shown < SHOWN_RANKS) {
            printf("# rank %d, first of %d: %s\n", rank, counts[rank],
                   texts + (size_t)rank * FAULT_BYTES);
            shown++;
        }
    }
    if (ranks > shown)
        printf("# and %d more ranks\n", ranks - shown);
}

void job_result(void)
{
    int any, *counts = calloc((size_t)job.size, sizeof *counts);
    char *texts = calloc((size_t)job.size, FAULT_BYTES);

    if (!counts || !texts)
        abort();
    MPI_Allreduce(&faults.count, &any, 1, MPI_INT, MPI_MAX, job.plain);
    if (any) {
        MPI_Gather(&faults.count, 1, MPI_INT, counts, 1, MPI_INT, 0, job.plain);
        MPI_Gather(faults.first, FAULT_BYTES, MPI_CHAR, texts, FAULT_BYTES, MPI_CHAR, 0, job.plain);
        failed++;
    }
    tests++;
    if (job.rank == 0) {
        printf("%sok %d - %s\n", any ? "not " : "", tests, name);
        print_faults(counts, texts);
    }
    free(counts);
    free(texts);
    name[0] = '\0';
}

void job_skip(const char *reason)
{
    tests++;
    if (job.rank == 0)
        printf("ok %d - %s # SKIP %s\n", tests, name, reason);
    name[0] = '\0';
}

__attribute__((format(printf, 1, 0))) static void fault(const char *format, va_list args)
{
    int used = 0;

    pthread_mutex_lock(&lock);
    if (!faults.count++) {
        if (place[0])
            used = snprintf(faults.first, sizeof faults.first, "%s: ", place + 2);
        vsnprintf(faults.first + used, sizeof faults.first - (size_t)used, format, args);
    }
    pthread_mutex_unlock(&lock);
}

bool expect(bool good, const char *format, ...)
{
    va_list args;

    if (good)
        return true;
    va_start(args, format);
    fault(format, args);
    va_end(args);
    return false;
}

bool succeeds(int status, const char *format, ...)
{
    char what[NAME_BYTES];
    va_list args;

    if (status == MPI_SUCCESS)
        return true;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return expect(false, "%s: status %d, '%s'", what, status, gpubind_error_text());
}

/* Does text have one of the words, in whatever case? */
static bool mentions(const char *text, const char *words)
{
    size_t length;

    if (!words)
        return *text != '\0';
    for (; *words; words += length + (words[length] == '|')) {
        length = strcspn(words, "|");
        for (const char *at = text; *at; at++)
            if (strncasecmp(at, words, length) == 0)
                return true;
    }
    return false;
}

bool fails(int status, int class, const char *words, const char *what)
{
    char text[FAULT_BYTES];
    int got = MPI_SUCCESS;

    snprintf(text, sizeof text, "%s", gpubind_error_text());
    if (status != MPI_SUCCESS)
        MPI_Error_class(status, &got);
    return expect(got == class, "%s: error class %d instead of %d, '%s'", what, got, class, text) &&
           expect(mentions(text, words), "%s: the text '%s' has none of the words '%s'", what, text,
                  words ? words : "(any)");
}

bool is_int(long long got, long long wanted, const char *what)
{
    return expect(got == wanted, "%s: got %lld, wanted %lld", what, got, wanted);
}

bool status_is(MPI_Status *status, int source, int tag, MPI_Count nbytes, const char *what)
{
    MPI_Count got = -7;

    MPI_Get_elements_x(status, MPI_BYTE, &got);
    return expect(status->MPI_SOURCE == source && status->MPI_TAG == tag && got == nbytes,
                  "%s: status of %d, tag %d, %lld bytes instead of %d, tag %d, %lld bytes", what,
                  status->MPI_SOURCE, status->MPI_TAG, (long long)got, source, tag,
                  (long long)nbytes);
}

bool received(const struct buffer *buffer, size_t nbytes, uint64_t seed, const char *what)
{
    size_t differs = 0;
    bool right = buffer_holds(buffer, 0, nbytes, seed, &differs);

    return expect(right, "%s: %zu bytes into %s: byte %zu is wrong", what, nbytes,
                  memory_name(buffer->kind), differs) &&
           expect(buffer_untouched(buffer, nbytes), "%s: written behind the %zu bytes, into %s",
                  what, nbytes, memory_name(buffer->kind));
}

void need_buffer(struct buffer *buffer, enum memory kind, size_t nbytes)
{
    if (buffer_make(buffer, kind, nbytes) == 0)
        return;
    fprintf(stderr, "no %zu bytes of %s for the test\n", nbytes, memory_name(kind));
    abort();
}

void need_filled(struct buffer *buffer, enum memory kind, size_t nbytes, uint64_t seed)
{
    need_buffer(buffer, kind, nbytes);
    buffer_fill(buffer, 0, nbytes, seed);
}

void job_barrier(void)
{
    MPI_Barrier(job.plain);
}

unsigned random_next(uint64_t *state)
{
    uint64_t word = *state += 0x9E3779B97F4A7C15u;

    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
    return (unsigned)(word >> 33);
}
