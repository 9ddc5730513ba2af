#include "gpu_calls.h"

#include <dlfcn.h>
#include <stdlib.h>

struct gpu_calls cuda;

/* clang-format off */
static const struct {
    const char *name;
    size_t at;
    bool needed;
} calls[] = {
#define CALL(member, name, needed) {name, offsetof(struct gpu_calls, member), needed}
    CALL(init, "cuInit", true),
    CALL(count, "cuDeviceGetCount", true),
    CALL(device, "cuDeviceGet", true),
    CALL(device_name, "cuDeviceGetName", false),
    CALL(attribute, "cuDeviceGetAttribute", true),
    CALL(retain, "cuDevicePrimaryCtxRetain", true),
    CALL(set_current, "cuCtxSetCurrent", true),
    CALL(alloc, "cuMemAlloc_v2", true),
    CALL(release, "cuMemFree_v2", true),
    CALL(alloc_host, "cuMemHostAlloc", true),
    CALL(free_host, "cuMemFreeHost", true),
    CALL(write, "cuMemcpyHtoD_v2", true),
    CALL(read, "cuMemcpyDtoH_v2", true),
    CALL(write_in, "cuMemcpyHtoDAsync_v2", true),
    CALL(read_in, "cuMemcpyDtoHAsync_v2", true),
    CALL(set_in, "cuMemsetD8Async", true),
    CALL(stream, "cuStreamCreate", true),
    CALL(stream_urgent, "cuStreamCreateWithPriority", false),
    CALL(stream_free, "cuStreamDestroy_v2", true),
    CALL(stream_query, "cuStreamQuery", true),
    CALL(stream_after, "cuStreamWaitEvent", true),
    CALL(call_in, "cuLaunchHostFunc", true),
    CALL(event, "cuEventCreate", true),
    CALL(event_free, "cuEventDestroy_v2", true),
    CALL(record, "cuEventRecord", true),
    CALL(event_query, "cuEventQuery", true),
    CALL(elapsed, "cuEventElapsedTime", true),
    CALL(load, "cuModuleLoadData", true),
    CALL(function, "cuModuleGetFunction", true),
    CALL(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", false),
    CALL(launch, "cuLaunchKernel", true),
    CALL(capture, "cuStreamBeginCapture_v2", false),
    CALL(end_capture, "cuStreamEndCapture", false),
    CALL(instantiate, "cuGraphInstantiateWithFlags", false),
    CALL(graph_free, "cuGraphDestroy", false),
    CALL(replay, "cuGraphLaunch", false),
    CALL(replayed_free, "cuGraphExecDestroy", false),
#undef CALL
};
/* clang-format on */

bool gpu_find(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const char *role = getenv("GPUBIND_ROLE");
    int count = 0;

    if (!driver)
        return false;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        void *call = dlsym(driver, calls[i].name);

        if (!call && calls[i].needed)
            return false;
        *(void **)((char *)&cuda + calls[i].at) = call;
    }
    if (role && *role && role[0] != 'g') /* gpubind gave it none */
        return false;
    return cuda.init(0) == 0 && cuda.count(&count) == 0 && count > 0;
}
