#include "mpi/base/nvtx_part.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

bool nvtx_part_is_on;
static __thread int depth; /* of this thread's ranges */

/* ---- what a tool finds: tables of the functions of NVTX 3, by their numbers */

enum { CORE = 1, CUDA, OPENCL, CUDART, CORE2, SYNC, MODULES };
enum { CALLBACKS = 1, VERSION_INFO = 3 };
enum { DOMAIN_PUSH = 4, DOMAIN_POP = 5, DOMAIN_CREATE = 12 }; /* of CORE2 */
#define NVTX 3
#define MOST 16

typedef void (*function)(void);

/* Functions of a module, with number 0, which is none. */
static const unsigned char sizes[MODULES] = {
    [CORE] = 16, [CUDA] = 9, [OPENCL] = 15, [CUDART] = 7, [CORE2] = 16, [SYNC] = 7};
static function functions[MODULES][MOST]; /* the tool's; NULL: it has none */
static function *places[MODULES][MOST + 1];

static int find_table(int module, function ***table, unsigned *size)
{
    if (module < CORE || module >= MODULES)
        return 0;
    for (int i = 1; i < sizes[module]; i++)
        places[module][i] = &functions[module][i];
    if (size)
        *size = sizes[module];
    if (table)
        *table = places[module];
    return 1;
}

static void hear_version(uint32_t version)
{
    (void)version;
}

static const void *find_export(uint32_t id)
{
    static const struct {
        size_t size;
        int (*find)(int module, function ***table, unsigned *size);
    } callbacks = {sizeof callbacks, find_table};
    static const struct {
        size_t size;
        uint32_t version, reserved;
        void (*hear)(uint32_t version);
    } version_info = {sizeof version_info, NVTX, 0, hear_version};

    if (id == CALLBACKS)
        return &callbacks;
    return id == VERSION_INFO ? &version_info : NULL;
}

/* ---- ranges */

static void *domain;
static int (*push)(void *domain, const void *attributes);
static int (*pop)(void *domain);

/* The tool has set its functions. */
static int use(struct gpubind_error *err)
{
    void *(*const create)(const char *) = (void *(*)(const char *))functions[CORE2][DOMAIN_CREATE];

    push = (int (*)(void *, const void *))functions[CORE2][DOMAIN_PUSH];
    pop = (int (*)(void *))functions[CORE2][DOMAIN_POP];
    if (!create || !push || !pop) {
        error_set(err, "the NVTX tool takes no ranges of domains");
        return -1;
    }
    domain = create("gpubind");
    nvtx_part_is_on = true;
    return 1;
}

int nvtx_part_open(struct gpubind_error *err)
{
    const char *path = secure_getenv("NVTX_INJECTION64_PATH");
    int (*start)(const void *(*exports)(uint32_t)) = NULL;
    void *tool;

    if (nvtx_part_is_on || !path || !*path)
        return nvtx_part_is_on;
    tool = dlopen(path, RTLD_LAZY);
    if (tool)
        *(void **)&start = dlsym(tool, "InitializeInjectionNvtx2");
    if (!start)
        error_set(err, "no NVTX tool: %s", dlerror());
    else if (start(find_export))
        return use(err);
    else
        error_set(err, "the NVTX tool %s has refused", path);
    if (tool)
        dlclose(tool);
    return -1;
}

/* Of an event, in the form of NVTX 2 and later. */
struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    union {
        uint64_t all;
        int32_t number;
    } payload;
    int32_t message_type;
    const char *message;
};
enum { PAYLOAD_INT32 = 5 };
enum { MESSAGE_BYTES = 1 }; /* UTF-8, that ends with a 0 */

void nvtx_part_push(const char *name, int peer)
{
    struct attributes attributes = {
        .version = NVTX, .size = sizeof attributes, .message_type = MESSAGE_BYTES, .message = name};

    if (peer >= 0) {
        attributes.payload_type = PAYLOAD_INT32;
        attributes.payload.number = peer;
    }
    push(domain, &attributes);
    depth++;
}

void nvtx_part_pop(void)
{
    if (depth == 0)
        return;
    depth--;
    pop(domain);
}
