/* Captures of streams into graphs, as far as the library has a part in them. */
#ifndef GPUBIND_GPU_CORE_GPU_CAPTURE_H
#define GPUBIND_GPU_CORE_GPU_CAPTURE_H

#include <stdbool.h>

#include "gpu/core/gpu_types.h"

struct gpu_capture {
    bool active;
    unsigned long long
        id;          /* of each capture another; 0: the driver does not tell (before CUDA 12.3) */
    gpu_graph graph; /* that is captured into; NULL: the same */
};

/* What the driver returns; GPU_CAPTURE_IMPLICIT: of the legacy stream, while a blocking one is captured. */
int gpu_capture_of(gpu_stream stream, struct gpu_capture *capture);
/* unused(what) is called once when the graph is gone, and all that were made of it have ended and are gone: in a thread
 * of the driver's, and must call nothing of it. false: it will not be. */
bool gpu_graph_when_unused(gpu_graph graph, void (*unused)(void *what), void *what);

#endif
