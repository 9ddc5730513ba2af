#include "gpu/core/events.h"

#include <stdlib.h>

#define EVENTS 64 /* made with a GPU; two messages in chunks have 24 copies each under way */

static struct free_event {
    struct free_event *next;
    struct gpu *gpu;
    gpu_event event;
} * free_events;

int event_take(struct gpu *gpu, gpu_event *event)
{
    for (struct free_event **link = &free_events; *link; link = &(*link)->next)
        if ((*link)->gpu == gpu) {
            struct free_event *free_event = *link;

            *event = free_event->event;
            *link = free_event->next;
            free(free_event);
            return GPU_OK;
        }
    gpu_agents_leave();
    return gpu_driver()->cuEventCreate(event, GPU_EVENT_NO_TIMING);
}

void event_give(struct gpu *gpu, gpu_event event)
{
    struct free_event *free_event = malloc(sizeof *free_event);

    if (!free_event) {
        gpu_driver()->cuEventDestroy_v2(event);
        return;
    }
    *free_event = (struct free_event){free_events, gpu, event};
    free_events = free_event;
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
    struct free_event *free_event;

    while ((free_event = free_events)) {
        if (!gpu_is_dead(free_event->gpu)) {
            bool entered = gpu_enter(free_event->gpu);

            gpu_driver()->cuEventDestroy_v2(free_event->event);
            gpu_leave(entered);
        }
        free_events = free_event->next;
        free(free_event);
    }
}
