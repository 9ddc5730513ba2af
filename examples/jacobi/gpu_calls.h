/* The driver's calls themselves, for gpu.c and gpu_calls.c alone. */
#ifndef JACOBI_GPU_CALLS_H
#define JACOBI_GPU_CALLS_H

#include "gpu.h"

struct CUctx_st;
struct CUmod_st;
struct CUgraph_st;

struct gpu_calls {
    int (*init)(unsigned);
    int (*count)(int *);
    int (*device)(int *, int);
    int (*device_name)(char *, int, int);
    int (*attribute)(int *, int, int);
    int (*retain)(struct CUctx_st **, int);
    int (*set_current)(struct CUctx_st *);
    int (*alloc)(void **, size_t);
    int (*release)(void *);
    int (*alloc_host)(void **, size_t, unsigned);
    int (*free_host)(void *);
    int (*write)(void *, const void *, size_t);
    int (*read)(void *, const void *, size_t);
    int (*write_in)(void *, const void *, size_t, gpu_stream);
    int (*read_in)(void *, const void *, size_t, gpu_stream);
    int (*set_in)(void *, unsigned char, size_t, gpu_stream);
    int (*stream)(gpu_stream *, unsigned);
    int (*stream_urgent)(gpu_stream *, unsigned, int);
    int (*stream_free)(gpu_stream);
    int (*stream_query)(gpu_stream);
    int (*stream_after)(gpu_stream, gpu_event, unsigned);
    int (*call_in)(gpu_stream, void (*)(void *), void *);
    int (*event)(gpu_event *, unsigned);
    int (*event_free)(gpu_event);
    int (*record)(gpu_event, gpu_stream);
    int (*event_query)(gpu_event);
    int (*elapsed)(float *, gpu_event, gpu_event);
    int (*load)(struct CUmod_st **, const void *);
    int (*function)(gpu_function *, struct CUmod_st *, const char *);
    int (*occupancy)(int *, gpu_function, int, size_t);
    int (*launch)(gpu_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  unsigned, gpu_stream, void **, void **);
    int (*capture)(gpu_stream, int);
    int (*end_capture)(gpu_stream, struct CUgraph_st **);
    int (*instantiate)(gpu_graph *, struct CUgraph_st *, unsigned long long);
    int (*graph_free)(struct CUgraph_st *);
    int (*replay)(gpu_graph, gpu_stream);
    int (*replayed_free)(gpu_graph);
};

extern struct gpu_calls cuda;

#endif
