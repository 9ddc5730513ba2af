#include "gpu/core/gpu_capture.h"

#include "gpu/core/gpu_calls.h"

enum {
    ACTIVE = 1,
    NO_SYNC = 1,
    MOVE = 1
}; /* CU_STREAM_CAPTURE_STATUS_, CU_USER_OBJECT_, CU_GRAPH_USER_OBJECT_ */

int gpu_capture_of(gpu_stream stream, struct gpu_capture *capture)
{
    int state = 0, status = gpu_stream_is_capturing(stream, &state);

    *capture = (struct gpu_capture){.active = status == GPU_OK && state == ACTIVE};
    if (capture->active && gpu_driver()->cuStreamGetCaptureInfo_v3 &&
        gpu_driver()->cuStreamGetCaptureInfo_v3(stream, &state, &capture->id, &capture->graph, NULL,
                                                NULL, NULL) != GPU_OK)
        capture->graph = NULL;
    return status;
}

bool gpu_graph_when_unused(gpu_graph graph, void (*unused)(void *what), void *what)
{
    struct CUuserObject_st *object;

    if (!graph || !gpu_driver()->cuUserObjectCreate || !gpu_driver()->cuUserObjectRelease ||
        !gpu_driver()->cuGraphRetainUserObject ||
        gpu_driver()->cuUserObjectCreate(&object, what, unused, 1, NO_SYNC) != GPU_OK)
        return false;
    if (gpu_driver()->cuGraphRetainUserObject(graph, object, 1, MOVE) == GPU_OK)
        return true;
    gpu_driver()->cuUserObjectRelease(object, 1); /* calls unused */
    return true;
}
