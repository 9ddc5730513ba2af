/* The calls of the CUDA driver that the program makes, opened at run time, so that no
 * toolkit is needed to build it. A call that fails ends the job with a sentence. */
#ifndef JACOBI_GPU_H
#define JACOBI_GPU_H

#include <stdbool.h>
#include <stddef.h>

/* CUstream, CUevent, CUmodule, CUfunction, CUgraphExec */
typedef struct CUstream_st *gpu_stream;
typedef struct CUevent_st *gpu_event;
typedef struct CUfunc_st *gpu_function;
typedef struct CUgraphExec_st *gpu_graph;

/* false: there is no driver, or no GPU that this rank may use. */
bool gpu_find(void);
/* Takes a GPU: the local rank's, of those that are visible. */
void gpu_take(int local_rank);
int gpu_multiprocessors(void);
const char *gpu_name(void);

/* Memory of the GPU, all bytes 0. */
void *gpu_alloc(size_t nbytes);
void gpu_free(void *memory);
/* Page-locked memory of the host. */
void *gpu_alloc_host(size_t nbytes);
void gpu_free_host(void *memory);
void gpu_write(void *to, const void *from, size_t nbytes);
void gpu_read(void *to, const void *from, size_t nbytes);
void gpu_write_in(gpu_stream stream, void *to, const void *from, size_t nbytes);
void gpu_read_in(gpu_stream stream, void *to, const void *from, size_t nbytes);
void gpu_zero_in(gpu_stream stream, void *at, size_t nbytes);

/* Streams that do not wait for the legacy one. urgent: its kernels go first. */
gpu_stream gpu_stream_make(bool urgent);
void gpu_stream_free(gpu_stream stream);
/* The host calls function when the stream comes to it. */
void gpu_call_in(gpu_stream stream, void (*function)(void *), void *data);
gpu_event gpu_event_make(bool timed);
void gpu_event_free(gpu_event event);
void gpu_record(gpu_event event, gpu_stream stream);
/* Later work in the stream comes after the event. */
void gpu_after(gpu_stream stream, gpu_event event);
bool gpu_reached(gpu_event event);
bool gpu_is_idle(gpu_stream stream);
double gpu_us_between(gpu_event begin, gpu_event end);

/* false: this driver cannot load it. */
bool gpu_load(const void *image);
gpu_function gpu_find_function(const char *name);
/* How many blocks of it run on a multiprocessor at a time. */
int gpu_blocks_at_once(gpu_function function, int threads);
/* argument: the kernel's only one. */
void gpu_launch(gpu_function function, int blocks_x, int blocks_y, int threads, gpu_stream stream,
                void *argument);

/* The driver has graphs. */
bool gpu_has_graphs(void);
void gpu_capture(gpu_stream stream);
gpu_graph gpu_captured(gpu_stream stream);
void gpu_replay(gpu_graph graph, gpu_stream stream);
void gpu_graph_free(gpu_graph graph);

#endif
