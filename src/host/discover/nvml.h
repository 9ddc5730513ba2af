/* NVML, opened at run time. It costs tens of milliseconds to initialise, so it
 * is used only where other sources have no answer. */
#ifndef GPUBIND_HOST_DISCOVER_NVML_H
#define GPUBIND_HOST_DISCOVER_NVML_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/topo/node.h"

#define NVML_MAX_GPUS 64
#define NVML_MAX_INSTANCES 8

struct nvml_gpu {
    char pci[24]; /* as in struct gpu */
    char uuid[96];
    char model[64];
    int minor;
    bool prohibited; /* its compute mode is Prohibited */
    bool mig;        /* nothing but its instances can be used */
    int ninstances;
    char instances[NVML_MAX_INSTANCES][96];
    int nlinks;
    struct {
        bool to_switch;
        char pci[24];       /* the other end */
        unsigned bandwidth; /* MB/s */
    } link[36];
};

/* All GPUs that NVML lists, at most max; -1 when there is no NVML. links: also
 * ask for the links. */
int nvml_list(bool links, struct nvml_gpu *gpus, int max);

/* How long a launcher waits for NVML: without persistence mode the driver initialises
 * all GPUs first. */
#define NVML_SECONDS 30
/* NVML does not exist here or refuses; NVML hung or crashed. */
enum { NVML_UNUSABLE = -1, NVML_FAILED = -2 };

/* The same in a child process, for so many seconds at most: a driver in trouble hangs or
 * crashes who asks it. NVML_UNUSABLE or NVML_FAILED with a sentence in why. */
int nvml_ask(bool links, int seconds, struct nvml_gpu *gpus, int max, struct gpubind_error *why);

/* Opens NVML for several calls. The status of nvmlInit, or -1 when there is no library
 * that has what it takes; only after NVML_OK nvml_close follows. */
struct nvml_api;
int nvml_open(struct nvml_api *api);
void nvml_close(struct nvml_api *api);
/* Of all GPUs, by their number in NVML. */
bool nvml_read_gpu(const struct nvml_api *api, unsigned index, bool links, struct nvml_gpu *gpu);

#endif
