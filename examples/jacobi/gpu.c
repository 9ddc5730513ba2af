#include "gpu.h"

#include <mpi.h>
#include <stdio.h>

#include "gpu_calls.h"

enum { NON_BLOCKING = 1, NO_TIMING = 2, NOT_READY = 600, MULTIPROCESSORS = 16, RELAXED = 2 };

static int device;
static struct CUmod_st *module;

static void must(int result, const char *what)
{
    if (result == 0)
        return;
    fprintf(stderr, "jacobi: %s: error %d of CUDA\n", what, result);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void gpu_take(int local_rank)
{
    struct CUctx_st *context;
    int count;

    must(cuda.count(&count), "cuDeviceGetCount");
    must(cuda.device(&device, local_rank % count), "cuDeviceGet");
    must(cuda.retain(&context, device), "cuDevicePrimaryCtxRetain");
    must(cuda.set_current(context), "cuCtxSetCurrent");
}

int gpu_multiprocessors(void)
{
    int n = 0;

    must(cuda.attribute(&n, MULTIPROCESSORS, device), "cuDeviceGetAttribute");
    return n;
}

const char *gpu_name(void)
{
    static char name[128];

    if (!cuda.device_name || cuda.device_name(name, sizeof name, device) != 0)
        return "GPU";
    return name;
}

/* ---- memory */

void *gpu_alloc(size_t nbytes)
{
    void *memory;

    if (cuda.alloc(&memory, nbytes) != 0) {
        fprintf(stderr, "jacobi: the GPU has no %zu bytes left\n", nbytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    gpu_zero_in(NULL, memory, nbytes);
    while (!gpu_is_idle(NULL))
        ;
    return memory;
}

void gpu_free(void *memory)
{
    must(cuda.release(memory), "cuMemFree");
}

void *gpu_alloc_host(size_t nbytes)
{
    void *memory;

    must(cuda.alloc_host(&memory, nbytes, 0), "cuMemHostAlloc");
    return memory;
}

void gpu_free_host(void *memory)
{
    must(cuda.free_host(memory), "cuMemFreeHost");
}

void gpu_write(void *to, const void *from, size_t nbytes)
{
    must(cuda.write(to, from, nbytes), "cuMemcpyHtoD");
    /* From pageable memory it may return before the data are there. */
    while (!gpu_is_idle(NULL))
        ;
}

void gpu_read(void *to, const void *from, size_t nbytes)
{
    must(cuda.read(to, from, nbytes), "cuMemcpyDtoH");
}

void gpu_write_in(gpu_stream stream, void *to, const void *from, size_t nbytes)
{
    must(cuda.write_in(to, from, nbytes, stream), "cuMemcpyHtoDAsync");
}

void gpu_read_in(gpu_stream stream, void *to, const void *from, size_t nbytes)
{
    must(cuda.read_in(to, from, nbytes, stream), "cuMemcpyDtoHAsync");
}

void gpu_zero_in(gpu_stream stream, void *at, size_t nbytes)
{
    must(cuda.set_in(at, 0, nbytes, stream), "cuMemsetD8Async");
}

/* ---- streams and events */

gpu_stream gpu_stream_make(bool urgent)
{
    gpu_stream stream;

    /* The driver takes the nearest priority that there is. */
    if (cuda.stream_urgent)
        must(cuda.stream_urgent(&stream, NON_BLOCKING, urgent ? -5 : 0),
             "cuStreamCreateWithPriority");
    else
        must(cuda.stream(&stream, NON_BLOCKING), "cuStreamCreate");
    return stream;
}

void gpu_stream_free(gpu_stream stream)
{
    must(cuda.stream_free(stream), "cuStreamDestroy");
}

void gpu_call_in(gpu_stream stream, void (*function)(void *), void *data)
{
    must(cuda.call_in(stream, function, data), "cuLaunchHostFunc");
}

gpu_event gpu_event_make(bool timed)
{
    gpu_event event;

    must(cuda.event(&event, timed ? 0 : NO_TIMING), "cuEventCreate");
    return event;
}

void gpu_event_free(gpu_event event)
{
    must(cuda.event_free(event), "cuEventDestroy");
}

void gpu_record(gpu_event event, gpu_stream stream)
{
    must(cuda.record(event, stream), "cuEventRecord");
}

void gpu_after(gpu_stream stream, gpu_event event)
{
    must(cuda.stream_after(stream, event, 0), "cuStreamWaitEvent");
}

bool gpu_reached(gpu_event event)
{
    int result = cuda.event_query(event);

    must(result == NOT_READY ? 0 : result, "work of the GPU");
    return result == 0;
}

bool gpu_is_idle(gpu_stream stream)
{
    int result = cuda.stream_query(stream);

    must(result == NOT_READY ? 0 : result, "work of the GPU");
    return result == 0;
}

double gpu_us_between(gpu_event begin, gpu_event end)
{
    float ms;

    must(cuda.elapsed(&ms, begin, end), "cuEventElapsedTime");
    return 1e3 * (double)ms;
}

/* ---- kernels */

bool gpu_load(const void *image)
{
    return cuda.load(&module, image) == 0;
}

gpu_function gpu_find_function(const char *name)
{
    gpu_function function;

    must(cuda.function(&function, module, name), name);
    return function;
}

int gpu_blocks_at_once(gpu_function function, int threads)
{
    int blocks = 1;

    if (cuda.occupancy)
        must(cuda.occupancy(&blocks, function, threads, 0),
             "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    return blocks > 0 ? blocks : 1;
}

void gpu_launch(gpu_function function, int blocks_x, int blocks_y, int threads, gpu_stream stream,
                void *argument)
{
    must(cuda.launch(function, (unsigned)blocks_x, (unsigned)blocks_y, 1, (unsigned)threads, 1, 1,
                     0, stream, &argument, NULL),
         "cuLaunchKernel");
}

/* ---- graphs */

bool gpu_has_graphs(void)
{
    return cuda.capture && cuda.end_capture && cuda.instantiate && cuda.graph_free && cuda.replay &&
           cuda.replayed_free;
}

void gpu_capture(gpu_stream stream)
{
    must(cuda.capture(stream, RELAXED), "cuStreamBeginCapture");
}

gpu_graph gpu_captured(gpu_stream stream)
{
    struct CUgraph_st *graph;
    gpu_graph ready;

    must(cuda.end_capture(stream, &graph), "cuStreamEndCapture");
    must(cuda.instantiate(&ready, graph, 0), "cuGraphInstantiate");
    must(cuda.graph_free(graph), "cuGraphDestroy");
    return ready;
}

void gpu_replay(gpu_graph graph, gpu_stream stream)
{
    must(cuda.replay(graph, stream), "cuGraphLaunch");
}

void gpu_graph_free(gpu_graph graph)
{
    must(cuda.replayed_free(graph), "cuGraphExecDestroy");
}
