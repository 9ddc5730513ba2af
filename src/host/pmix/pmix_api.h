/* The part of PMIx's client interface that gpubind calls, declared here since the library is
 * opened at run time. tests/host/abi_pmix.c compares it with pmix.h where that is installed. */
#ifndef GPUBIND_HOST_PMIX_PMIX_API_H
#define GPUBIND_HOST_PMIX_PMIX_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pmix_name {
    char nspace[256];
    uint32_t rank;
};

struct pmix_datum {
    uint16_t type;
    union {
        bool flag;
        uint16_t uint16;
        uint32_t uint32;
        char *string;
        struct {
            char *bytes;
            size_t size;
        } object;
        struct {
            char *name, *value, separator;
        } largest;
    } data;
};

struct pmix_attribute {
    char key[512];
    uint32_t flags;
    struct pmix_datum value;
};

/* Types, whom what is put is for, the rank that stands for a job, a status. */
enum {
    PMIX_TYPE_BOOL = 1,
    PMIX_TYPE_STRING = 3,
    PMIX_TYPE_UINT16 = 13,
    PMIX_TYPE_UINT32 = 14,
    PMIX_TYPE_OBJECT = 27
};
enum { PMIX_FOR_ALL = 3, PMIX_OK = 0, PMIX_DONE_AT_ONCE = -157 };
#define PMIX_WHOLE_JOB (UINT32_MAX - 1)

#define PMIX_KEY_SIZE "pmix.job.size"
#define PMIX_KEY_HOSTNAME "pmix.hname"
#define PMIX_KEY_OPTIONAL "pmix.optional"
#define PMIX_KEY_COLLECT "pmix.collect"

typedef void pmix_done(int status, void *context);

/* name, arguments; all return 0 on success */
#define PMIX_FUNCTIONS(X)                                                                       \
    X(PMIx_Init, (struct pmix_name *, struct pmix_attribute *, size_t))                         \
    X(PMIx_Finalize, (const struct pmix_attribute *, size_t))                                   \
    X(PMIx_Put, (uint8_t, const char *, struct pmix_datum *))                                   \
    X(PMIx_Commit, (void))                                                                      \
    X(PMIx_Fence_nb, (const struct pmix_name *, size_t, const struct pmix_attribute *, size_t,  \
                      pmix_done *, void *))                                                     \
    X(PMIx_Get, (const struct pmix_name *, const char *, const struct pmix_attribute *, size_t, \
                 struct pmix_datum **))

struct pmix_api {
#define X(name, arguments) int(*name) arguments;
    PMIX_FUNCTIONS(X)
#undef X
};

#endif
