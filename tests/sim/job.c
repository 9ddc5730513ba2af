/* The memory of all devices, shared by the processes of a job: the head of the job's
 * file is a table of processes and allocations, the rest are the allocations. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/sim.h"

#define MAX_PROCESSES 256 /* bits of holders */
#define MAX_ALLOCATIONS 32768
#define HEAD ((uint64_t)1 << 28)       /* where allocations begin */
#define FILE_BYTES ((uint64_t)1 << 45) /* it is sparse */

struct process {
    pid_t pid; /* 0: nobody */
    unsigned long long started;
};

static struct job {
    uint64_t ready; /* job_file.c's */
    uint64_t identity;
    pthread_mutex_t lock;
    uint64_t next_offset; /* never used again: an old mapping shows rubbish, not another */
    int nallocations;     /* entries that were ever used */
    struct process processes[MAX_PROCESSES];
    struct job_allocation allocations[MAX_ALLOCATIONS];
} * job;
static int file = -1;
static int self;

/* When the process was started, in ticks; 0 when there is none. */
static unsigned long long start_of(pid_t pid)
{
    char path[64], text[1024];
    unsigned long long started = 0;
    const char *at;
    size_t n;
    FILE *stat;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    stat = fopen(path, "re");
    if (!stat)
        return 0;
    n = fread(text, 1, sizeof text - 1, stat);
    fclose(stat);
    text[n] = '\0';
    at = strrchr(text, ')'); /* field 2 may hold anything; a dead process' state is Z */
    if (!at || strncmp(at, ") Z", 3) == 0 || strncmp(at, ") X", 3) == 0)
        return 0;
    for (int field = 2; field < 22 && at; field++)
        at = strchr(at + 1, ' ');
    if (at)
        started = strtoull(at, NULL, 10);
    return started;
}

static void lock_job(void)
{
    if (pthread_mutex_lock(&job->lock) == EOWNERDEAD)
        pthread_mutex_consistent(&job->lock);
}

static void unlock_job(void)
{
    pthread_mutex_unlock(&job->lock);
}

static bool is_held(const struct job_allocation *a)
{
    return a->holders[0] || a->holders[1] || a->holders[2] || a->holders[3];
}

static void set_holder(struct job_allocation *a, int process, bool holds)
{
    uint64_t bit = (uint64_t)1 << (process % 64);

    if (holds)
        a->holders[process / 64] |= bit;
    else
        a->holders[process / 64] &= ~bit;
}

/* When nobody is left, the memory is free. */
static void free_unheld(struct job_allocation *a)
{
    if (!a->nbytes || a->owned || is_held(a))
        return;
    fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)a->offset, (off_t)a->nbytes);
    a->nbytes = 0;
}

static void remove_process(int process)
{
    job->processes[process].pid = 0;
    for (int i = 0; i < job->nallocations; i++) {
        struct job_allocation *a = &job->allocations[i];

        a->owned = a->owned && a->owner != process;
        set_holder(a, process, false);
        free_unheld(a);
    }
}

static void remove_dead(void)
{
    for (int i = 0; i < MAX_PROCESSES; i++)
        if (job->processes[i].pid && start_of(job->processes[i].pid) != job->processes[i].started)
            remove_process(i);
}

static void start_table(uint64_t *head)
{
    struct job *table = (struct job *)head;
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&table->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    if (getrandom(&table->identity, sizeof table->identity, 0) < 0) /* tests/trust/refuse.c */
        table->identity = (uint64_t)getpid() << 32 | (uint32_t)clock();
    table->next_offset = HEAD;
}

void job_join(void)
{
    uint64_t *head;

    file = job_file_open(FILE_BYTES, sizeof *job, &head, start_table);
    job = (struct job *)head;
    lock_job();
    remove_dead();
    for (self = 0; self < MAX_PROCESSES && job->processes[self].pid; self++)
        ;
    if (self == MAX_PROCESSES)
        sim_die("more than %d processes in one job", MAX_PROCESSES);
    job->processes[self] = (struct process){getpid(), start_of(getpid())};
    unlock_job();
}

uint64_t job_identity(void)
{
    return job->identity;
}

static size_t used(int physical)
{
    size_t nbytes = 0;

    for (int i = 0; i < job->nallocations; i++)
        if (job->allocations[i].device == physical)
            nbytes += job->allocations[i].nbytes;
    return nbytes;
}

size_t job_used(int physical)
{
    size_t nbytes;

    lock_job();
    remove_dead();
    nbytes = used(physical);
    unlock_job();
    return nbytes;
}

static int find_free(void)
{
    for (int i = 0; i < job->nallocations; i++)
        if (!job->allocations[i].nbytes)
            return i;
    if (job->nallocations == MAX_ALLOCATIONS)
        sim_die("more than %d allocations in one job", MAX_ALLOCATIONS);
    return job->nallocations++;
}

int job_allocate(int physical, size_t nbytes, int *entry)
{
    struct job_allocation *a;

    lock_job();
    if (used(physical) + nbytes > device_memory())
        remove_dead();
    if (nbytes > device_memory() || used(physical) + nbytes > device_memory()) {
        unlock_job();
        return CUDA_OUT_OF_MEMORY;
    }
    *entry = find_free();
    a = &job->allocations[*entry];
    a->offset = job->next_offset;
    a->generation++;
    a->device = (uint16_t)physical;
    a->owner = (uint16_t)self;
    a->owned = true;
    a->nbytes = nbytes;
    job->next_offset += nbytes;
    if (job->next_offset > FILE_BYTES)
        sim_die("the job has used up %llu bytes of addresses", (unsigned long long)FILE_BYTES);
    unlock_job();
    return CUDA_OK;
}

void job_place(int entry, uint64_t address)
{
    lock_job();
    job->allocations[entry].address = address;
    unlock_job();
}

/* Whoever reads it after its owner has freed it shall notice. What was never written
 * takes no memory, and stays so. */
static void spoil(int entry)
{
    const struct job_allocation *a = &job->allocations[entry];
    off_t end = (off_t)(a->offset + a->nbytes), from = lseek(file, (off_t)a->offset, SEEK_DATA);
    char *bytes = job_map(entry);

    while (from >= 0 && from < end) {
        off_t to = lseek(file, from, SEEK_HOLE);

        if (to > end)
            to = end;
        memset(bytes + (from - (off_t)a->offset), 0xdd, (size_t)(to - from));
        from = lseek(file, to, SEEK_DATA);
    }
    munmap(bytes, a->nbytes);
}

void job_check_unheld(int entry)
{
    lock_job();
    if (is_held(&job->allocations[entry]))
        spoil(entry);
    unlock_job();
}

void job_disown(int entry)
{
    struct job_allocation *a = &job->allocations[entry];

    lock_job();
    if (is_held(a))
        spoil(entry);
    a->owned = false;
    free_unheld(a);
    unlock_job();
}

bool job_hold(int entry, uint32_t generation)
{
    struct job_allocation *a;
    bool held;

    if (entry < 0 || entry >= MAX_ALLOCATIONS)
        return false;
    a = &job->allocations[entry];
    lock_job();
    held = a->nbytes && a->owned && a->generation == generation;
    if (held)
        set_holder(a, self, true);
    unlock_job();
    return held;
}

void job_share(int entry)
{
    lock_job();
    set_holder(&job->allocations[entry], self, true);
    job->allocations[entry].owned = false;
    unlock_job();
}

bool job_hold_shared(int entry, uint32_t generation)
{
    struct job_allocation *a;
    bool held;

    if (entry < 0 || entry >= MAX_ALLOCATIONS)
        return false;
    a = &job->allocations[entry];
    lock_job();
    held = a->nbytes && !a->owned && a->generation == generation;
    if (held)
        set_holder(a, self, true);
    unlock_job();
    return held;
}

void job_let_go(int entry)
{
    lock_job();
    set_holder(&job->allocations[entry], self, false);
    free_unheld(&job->allocations[entry]);
    unlock_job();
}

struct job_allocation job_look(int entry)
{
    struct job_allocation a = {0};

    if (entry < 0 || entry >= MAX_ALLOCATIONS)
        return a;
    lock_job();
    a = job->allocations[entry];
    unlock_job();
    return a;
}

bool job_owns(int entry, uint32_t generation)
{
    struct job_allocation a = job_look(entry);

    return a.nbytes && a.owned && a.owner == self && a.generation == generation;
}

char *job_map(int entry)
{
    const struct job_allocation *a = &job->allocations[entry];
    void *bytes = mmap(NULL, a->nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)a->offset);

    if (bytes == MAP_FAILED)
        sim_die("mmap: %s", strerror(errno));
    return bytes;
}
