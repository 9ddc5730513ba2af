/* Inside the simulated driver. Everything below is called with the lock held,
 * which sim_enter takes and sim_leave returns. */
#ifndef GPUBIND_TESTS_SIM_H
#define GPUBIND_TESTS_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/sim/sim_api.h"

#pragma GCC visibility push(default)
#define X(name, arguments) int name arguments;
CUDA_FUNCTIONS(X)
CUDA_OPTIONAL_FUNCTIONS(X)
SIM_DRIVER_FUNCTIONS(X)
#undef X
#pragma GCC visibility pop

#pragma GCC visibility push(hidden)

/* tests/trust/refuse.c knows the driver's own files and sockets by these. */
#define SIM_MEMFD (MFD_CLOEXEC | MFD_ALLOW_SEALING)
#define SIM_PROTOCOL PF_UNIX

enum sim_call {
#define X(name, arguments) CALL_##name,
    CUDA_FUNCTIONS(X) CUDA_OPTIONAL_FUNCTIONS(X) SIM_DRIVER_FUNCTIONS(X)
#undef X
        SIM_CALLS
};

/* Results that driver_api.h has no use for. */
enum sim_result {
    SIM_NOT_INITIALIZED = 3,
    SIM_INVALID_DEVICE = 101,
    SIM_INVALID_CONTEXT = 201,
    SIM_PEER_UNSUPPORTED = 217,
    SIM_ILLEGAL_STATE = 401,
    SIM_NOT_FOUND = 500,
    SIM_ILLEGAL_ADDRESS = 700,
    SIM_CONTEXT_DESTROYED = 709,
    SIM_NOT_REGISTERED = 713,
    SIM_LAUNCH_FAILED = 719,
    SIM_NOT_PERMITTED = 800,
    SIM_NOT_SUPPORTED = 801,
    SIM_CAPTURE_INVALIDATED = 901,
    SIM_CAPTURE_UNMATCHED = 903,
    SIM_CAPTURE_UNJOINED = 904,
    SIM_CAPTURE_ISOLATION = 905,
    SIM_CAPTURED_EVENT = 907,
    SIM_UNKNOWN = 999,
};

#define SIM_MAX_DEVICES 15
#define SIM_MULTIPROCESSORS 132
#define SIM_ATTRIBUTE_SHARED_OPTIN 97
#define SIM_SHARED_MOST (227 << 10) /* bytes of a block */
#define SIM_THREADS 704 /* resident at a time on a multiprocessor, of kernels with 92 registers */
#define SIM_PAGE 4096
#define SIM_POLL 20000 /* ns; up to 20 times as much where it has been in vain for long */

/* ---- entry.c */

/* At the head of every entry point. CUDA_OK: the lock is held and the call goes on;
 * else it returns the result at once. */
int sim_enter(enum sim_call call);
/* Returns result, without the lock. */
int sim_leave(int result);
void sim_lock(void);
void sim_unlock(void);
/* Waits, without the lock, for sim_changed or until that time of CLOCK_MONOTONIC. */
void sim_wait(uint64_t until);
void sim_changed(void);
const char *sim_name(int call);
/* The call of that name, -1 when there is none. */
int sim_find(const char *name, size_t length);
uint64_t sim_random(void);
/* What the call of this thread is to leave in the work that it queues. */
int sim_take_late(void);
/* Calls of the driver from here on are a host function's, which may not make any. */
void sim_begin_callback(void);
/* Zeroed memory for ever: handles stay valid, and may be found dead. */
void *sim_new(size_t nbytes);
/* A sentence on stderr, then abort: the test must not go on. */
__attribute__((format(printf, 1, 2), noreturn)) void sim_die(const char *format, ...);
/* The variable's whole number; fallback when it is not set. */
uint64_t sim_number(const char *variable, uint64_t fallback, uint64_t most);

/* ---- locks.c */

/* Around what a call waits for in the driver: work of the legacy stream, or of others. */
void lock_take(bool legacy);
void lock_give(bool legacy);
/* Waits until the call may go on. */
void lock_pass(enum sim_call call);

/* ---- faults.c */

void faults_load(void);
/* The rank that the launcher gave to this process, "" for none. */
const char *sim_rank(void);
/* What the nth call is to return; *late: what its work is to leave behind. */
int fault_of(enum sim_call call, unsigned long nth, int *late);

/* ---- devices.c */

int devices_load(void);
int device_count(void);
/* The device's number on the machine, whatever this process sees. */
int device_physical(int device);
/* The other way; -1 when this process does not see it. */
int device_ordinal(int physical);
bool device_reaches(int physical, int other);
/* In bytes, of each device. */
size_t device_memory(void);
/* A number made of the host's name. */
uint64_t device_host(void);

/* ---- contexts.c */

struct CUctx_st {
    int device, physical;
    int retained;
    bool primary, alive;
    unsigned long long id;        /* never given twice; the handle may be */
    unsigned peers;               /* bit by physical device: access is enabled */
    struct CUstream_st *legacy;   /* or a green context's default one, which waits for no other */
    struct CUctx_st *home;        /* of a green context: the primary one */
    int users;                    /* of a green context: how often it is in one thread's stack, */
    const void *user;             /* this thread's */
    struct CUstream_st *recorder; /* of events that come after all streams' work; NULL: none yet */
    unsigned flags;
    bool trapped; /* by a kernel: its streams are of no use any more */
};

/* CUDA_OK, or why there is none. Of a green context: the primary one. */
int context_current(struct CUctx_st **context);
/* The green context that is current; NULL: none. */
struct CUctx_st *context_green(void);

/* ---- job_file.c */

/* The job's file of nbytes: that of the other processes, or a new one, which start fills
 * (but for the first word). *head: its first head_bytes. Returns the descriptor. */
int job_file_open(uint64_t nbytes, size_t head_bytes, uint64_t **head, void (*start)(uint64_t *));

/* ---- job.c: what all processes of the job share */

struct job_allocation {
    uint64_t offset, nbytes; /* in the job's file; nbytes is 0 when there is none */
    uint64_t holders[4];     /* bit by process */
    uint64_t address;        /* in its owner */
    uint32_t generation;
    uint16_t device, owner;
    bool owned; /* not yet freed by its owner */
};

void job_join(void);
uint64_t job_identity(void);
/* CUDA_OK or CUDA_OUT_OF_MEMORY. */
int job_allocate(int physical, size_t nbytes, int *entry);
/* It lies there in its owner, this process. */
void job_place(int entry, uint64_t address);
/* The owner's end of it. Peers that still hold it read rubbish from now on. */
void job_disown(int entry);
/* Nobody may have it mapped when it is freed; its memory is in use until job_disown. */
void job_check_unheld(int entry);
/* False when it is gone. */
bool job_hold(int entry, uint32_t generation);
/* Makes my new allocation nobody's own: it is there as long as somebody holds it, as I do
 * now. Such a one can be held also when its owner has let go. */
void job_share(int entry);
bool job_hold_shared(int entry, uint32_t generation);
void job_let_go(int entry);
/* Its entry: of the caller's own or held allocations only. */
struct job_allocation job_look(int entry);
/* Is it this process' own, of that generation? */
bool job_owns(int entry, uint32_t generation);
/* The whole of it, where the CPU can read and write it. */
char *job_map(int entry);
size_t job_used(int physical);

/* ---- ranges.c */

enum range_kind {
    RANGE_DEVICE,
    RANGE_POOL, /* of cuMemAllocAsync: cannot be exported */
    RANGE_IMPORTED,
    RANGE_MAPPED, /* of cuMemMap */
    RANGE_MANAGED,
    RANGE_HOST,       /* of cuMemHostAlloc */
    RANGE_REGISTERED, /* of cuMemHostRegister */
};

struct range {
    uintptr_t start; /* as the application knows it */
    size_t nbytes;
    size_t mapped; /* bytes at the page that start lies in */
    enum range_kind kind;
    char *alias;              /* start, where the CPU can read it */
    struct CUctx_st *context; /* RANGE_MAPPED: none */
    struct vmm *vmm;          /* RANGE_MAPPED: what is mapped, */
    unsigned access;          /* and for whom, bit by physical device */
    unsigned long long buffer_id;
    int entry;  /* of the job's table, -1 for none */
    int opened; /* RANGE_IMPORTED: how often */
    int uses;   /* by queued work */
    bool dead;
    bool leaving;     /* cuMemFreeAsync was called: only kernels can still access it */
    bool synchronous; /* CUDA_POINTER_SYNC_MEMOPS */
};

struct place {
    struct range *range; /* NULL: pageable host memory */
    char *bytes;
};

/* The live range that the address lies in, or NULL. */
struct range *range_find(uintptr_t address);
bool range_overlaps(uintptr_t start, size_t nbytes);
/* A range in the tables. For device kinds of nbytes, at a new address or, if may_reuse,
 * at the last one of that size that was freed. */
struct range *range_add(enum range_kind kind, uintptr_t start, size_t nbytes,
                        struct CUctx_st *context);
uintptr_t range_address(size_t mapped, bool may_reuse);
void range_remove(struct range *range);
/* The nth live range, or NULL behind the last. */
struct range *range_at(int nth);
bool range_on_device(const struct range *range);
/* Do synchronous copies and fills of it by the application wait until they are done? */
bool range_is_synchronous(const struct range *range, const struct CUctx_st *context);
/* Bytes before an allocation of nbytes in its first page. */
size_t range_lead(size_t nbytes);
/* Was the address device memory once, or might it become some? */
bool range_is_device_address(uintptr_t address);
/* Where the bytes lie: CUDA_OK, or CUDA_INVALID_VALUE when they leave the range in which
 * they begin, or no device may reach it. Ends the process over freed device memory. */
int place_find(enum sim_call call, cuda_address address, size_t nbytes, struct place *place);
/* Queued work uses the range until it calls place_drop. */
void place_keep(struct place *place);
void place_drop(struct place *place);
/* Can work in the context read and write it? */
bool place_reached(const struct CUctx_st *context, const struct place *place);

/* ---- memory.c */

/* Gives the range back to whom it belongs. */
void range_release(struct range *range);
/* The same for what a stream frees: memory of cuMemAlloc stays in use until somebody waits for the
 * stream, as an H200's driver has it; to ask whether the stream is idle does not help. */
void range_release_in(struct CUstream_st *stream, struct range *range);
void stream_return_memory(struct CUstream_st *stream);
void range_release_all(const struct CUctx_st *context);

/* ---- vmm.c */

/* Memory of cuMemCreate, as this process knows it: by handles and mappings. */
struct vmm {
    struct vmm *next;
    unsigned long long handle; /* its number in this process */
    int entry;                 /* of the job's table */
    uint32_t generation;
    int physical;
    size_t nbytes;
    bool exportable, imported;
    int handles, mappings;
};

/* GPUBIND_SIM_CUMEM=no: there is no such memory. */
bool vmm_is_there(void);
/* NULL: no handle, or one that was released. */
struct vmm *vmm_of(unsigned long long handle);
/* When neither handles nor mappings are left, this process holds it no more. */
void vmm_let_go(struct vmm *vmm);

/* ---- operations.c and queue.c */

struct dependency {
    struct CUstream_st *stream;
    uint64_t ticket;
};

struct copy {
    struct place to, from; /* no from.bytes: a fill with value */
    size_t width, rows;
    size_t to_pitch, from_pitch;
    unsigned char value;
};

struct operation {
    struct operation *next;
    struct CUstream_st *stream;
    enum sim_call call;
    uint64_t ticket;
    uint64_t due; /* ns; not before */
    int error;    /* to be left in the stream instead of being done */
    bool traps;   /* and the context is of no use from then on */
    bool running; /* a host function, in its thread */
    /* Of a kernel: blocks, those that have been resident, those of them that have ended; threads of a block. */
    unsigned blocks, resident, ended, threads;
    struct CUgraph_st *graph; /* the end of a launch of it */
    bool whole;               /* a block needs all of a multiprocessor */
    struct dependency *needs;
    int nneeds;
    struct copy *copies;
    size_t ncopies;
    char *staged; /* of pageable memory, freed with the operation */
    struct CUevent_st *event;
    struct place freed; /* of cuMemFreeAsync */
    void (*function)(void *);
    void *data;
    /* Work that waits for what others do to memory: begins when its turn comes, and is
     * asked every SIM_POLL, as long as it is the first of its stream. */
    enum step (*step)(struct operation *op);
    unsigned asked;       /* in vain */
    struct place *places; /* that step uses */
    size_t nplaces;
    void *state; /* of step, freed with the operation */
    size_t state_bytes;
};

enum step { STEP_STUCK, STEP_MOVED, STEP_FINISHED };

enum capture { CAPTURE_NONE, CAPTURE_ACTIVE, CAPTURE_INVALIDATED };

struct nodes { /* of a graph */
    int *numbers;
    int n;
};

struct CUstream_st {
    struct CUstream_st *next;
    struct CUctx_st *context, *green; /* NULL: of no green one */
    bool blocking, legacy, destroyed;
    bool first; /* its priority is the greatest */
    bool stuck; /* its first work waits for others */
    struct operation *head, *last;
    uint64_t submitted, done; /* tickets */
    int error;                /* left by work; the next query or wait takes it */
    uint64_t error_serial;
    enum capture capture;
    int capture_mode;
    int capture_thread;
    const struct CUstream_st *capture_origin;
    struct CUgraph_st *graph; /* that it captures into: */
    int branch;
    struct nodes tail;          /* what the next node comes after */
    struct CUstream_st *told;   /* of errors of its work, in its place; NULL: itself */
    struct freed_memory *freed; /* until somebody waits for the stream */
};

struct CUevent_st {
    struct CUctx_st *context;
    unsigned long long context_id;
    struct CUstream_st *stream; /* of the latest record, NULL before */
    uint64_t ticket;
    uint64_t reached; /* ns: when its work was done */
    uint64_t error_serial;
    bool captured, destroyed, untimed;
    struct nodes nodes; /* captured: it comes after them */
};

void queue_load(void);
struct CUstream_st *stream_new(struct CUctx_st *context, bool blocking, bool legacy);
/* Waits for all work of the context, then its streams are no more. */
void streams_end(struct CUctx_st *context);
struct operation *operation_new(enum sim_call call, size_t ncopies);
/* With zeroed places, and a zeroed state of nbytes. */
struct operation *operation_with_step(enum sim_call call, enum step (*step)(struct operation *),
                                      size_t nplaces, size_t nbytes);
/* Another like it, which was not submitted. */
struct operation *operation_clone(const struct operation *op);
/* Its kernel ends by a trap. */
void operation_trap(struct operation *op);
/* So many blocks have ended; the others do with the operation. */
void operation_end_blocks(struct operation *op, unsigned n);
/* The place, which must not have been freed meanwhile; what: reads or writes. */
char *operation_touch(const struct operation *op, const struct place *place, const char *what);
/* Queues op, which it takes over, and does what can be done. Returns its ticket. */
uint64_t stream_submit(struct CUstream_st *stream, struct operation *op);
void operation_need(struct operation *op, struct CUstream_st *stream, uint64_t ticket);
/* From here on the places of its copies must stay until it is freed. */
void operation_keep(struct operation *op);
void operation_copy(struct operation *op);
void operation_free(struct operation *op);
/* Does all that is ready; returns when the next becomes so, UINT64_MAX for never. */
uint64_t streams_advance(void);
void stream_wait(const struct CUstream_st *stream, uint64_t ticket);
void context_wait(const struct CUctx_st *context);
int stream_take_error(struct CUstream_st *stream);
struct CUstream_st *stream_first(void);

/* ---- channels.c */

void channels_load(void);
/* What the operation, which is to be the stream's last, has to wait for. */
void channel_need(struct operation *op, const struct CUstream_st *stream);
/* The stream may go on. */
bool channel_is_free(const struct CUstream_st *stream);

/* ---- streams.c */

/* The stream of a handle, whatever it is used for. */
int stream_find(struct CUstream_st *handle, struct CUstream_st **stream);
/* The same to queue work there: the legacy stream may be in the way of a capture. */
int stream_use(struct CUstream_st *handle, struct CUstream_st **stream);

/* ---- capture.c */

/* CUDA_CAPTURE_IMPLICIT when a blocking stream of the context captures. */
int capture_blocks_legacy(const struct CUctx_st *context, bool invalidate);
/* Is the call one that may not be made now? Then captures are invalid. */
int capture_refuses(enum sim_call call);
/* The same for a call that is unsafe with its arguments. */
int capture_forbids_unsafe(void);
/* The stream waits for an event that was recorded while origin captured; it also captures then. */
int capture_join(struct CUstream_st *stream, const struct CUstream_st *origin);
/* The stream waits for an event from outside; a capture may not. */
int capture_isolates(struct CUstream_st *stream);
/* Nobody waits for a whole context in which a stream captures. */
int capture_forbids_wait(const struct CUctx_st *context);

/* ---- graphs.c */

/* Those that are not there yet. */
void nodes_add(struct nodes *nodes, const struct nodes *more);
void nodes_clear(struct nodes *nodes);
/* A stream captures into a new graph; into one. */
void graph_begin(struct CUstream_st *stream);
void graph_join(struct CUstream_st *stream, struct CUgraph_st *graph);
/* Takes over the operation, whose places are kept. */
void graph_add(struct CUstream_st *stream, struct operation *op);
/* At the end of the capture: all work of other streams comes before the end of the origin's. */
bool graph_is_joined(const struct CUstream_st *origin);
/* A user less. */
void graph_leave(struct CUgraph_st *graph);

#pragma GCC visibility pop

#endif
