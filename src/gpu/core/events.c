#include "gpu/core/events.h"

#include <stdlib.h>

#define EVENTS 64 /* made with a GPU; two messages in chunks have 24 copies each under way */

static struct spare {
    struct spare *next;
    struct gpu *gpu;
    gpu_event event;
} * spares;

int event_take(struct gpu *gpu, gpu_event *event)
{
    for (struct spare **link = &spares; *link; link = &(*link)->next)
        if ((*link)->gpu == gpu) {
            struct spare *spare = *link;

            *event = spare->event;
            *link = spare->next;
            free(spare);
            return GPU_OK;
        }
    return gpu_driver()->cuEventCreate(event, GPU_EVENT_NO_TIMING);
}

void event_give(struct gpu *gpu, gpu_event event)
{
    struct spare *spare = malloc(sizeof *spare);

    if (!spare) {
        gpu_driver()->cuEventDestroy_v2(event);
        return;
    }
    *spare = (struct spare){spares, gpu, event};
    spares = spare;
}

void events_prepare(struct gpu *gpu)
{
    gpu_event event;

    for (int i = 0; i < EVENTS; i++)
        if (gpu_driver()->cuEventCreate(&event, GPU_EVENT_NO_TIMING) == GPU_OK)
            event_give(gpu, event);
}

int event_of_legacy(struct gpu *gpu, gpu_event *event)
{
    int status = gpu_driver()->cuStreamQuery(GPU_LEGACY_STREAM);

    *event = NULL;
    if (status != GPU_NOT_READY)
        return status;
    status = event_take(gpu, event);
    if (status == GPU_OK) {
        status = gpu_driver()->cuEventRecord(*event, GPU_LEGACY_STREAM);
        if (status != GPU_OK) {
            event_give(gpu, *event);
            *event = NULL;
        }
    }
    return status;
}

void events_stop(void)
{
    struct spare *spare;

    while ((spare = spares)) {
        if (!gpu_is_dead(spare->gpu)) {
            bool entered = gpu_enter(spare->gpu);

            gpu_driver()->cuEventDestroy_v2(spare->event);
            gpu_leave(entered);
        }
        spares = spare->next;
        free(spare);
    }
}
