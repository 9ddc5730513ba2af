/* The GPUs of a process, and peer access between them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cases/p2p.h"
#include "bench/lib/machine.h"

static int open_one(struct p2p_gpu *one, int number, size_t nbytes, struct gpubind_error *err)
{
    gpu_event *events[] = {&one->begin, &one->end, &one->ready};
    int status = GPU_OK;

    if (gpu_open_number(&one->gpu, number, err) < 0)
        return -1;
    for (int i = 0; i < 3 && status == GPU_OK; i++)
        status = gpu_event_create(events[i], 0);
    if (gpu_check(status, "an event cannot be made", err) < 0 ||
        buffer_alloc(&one->out, &one->gpu, nbytes, err) < 0)
        return -1;
    return buffer_alloc(&one->in, &one->gpu, nbytes, err);
}

int p2p_open(struct p2p *p2p, size_t nbytes, struct gpubind_error *err)
{
    struct gpubind_error why;
    int n;

    if (gpu_visible(&n, err) < 0)
        return -1;
    if (n > P2P_MAX_GPUS)
        return error_set(err, "%d GPUs are visible, more than %d", n, P2P_MAX_GPUS);
    p2p->gpus = calloc(n ? (size_t)n : 1, sizeof *p2p->gpus);
    if (!p2p->gpus)
        return error_set(err, "out of memory");
    for (int i = 0; i < n; i++) {
        p2p->n++;
        if (open_one(&p2p->gpus[i], i, nbytes, &why) < 0)
            return error_set(err, "GPU %d: %s", i, why.text);
    }
    return 0;
}

void p2p_close(struct p2p *p2p)
{
    for (int i = 0; i < p2p->n; i++) {
        struct p2p_gpu *one = &p2p->gpus[i];
        gpu_event events[] = {one->begin, one->end, one->ready};

        if (one->gpu.context && gpu_use(&one->gpu, NULL) == 0) {
            buffer_free(&one->out);
            buffer_free(&one->in);
            for (int j = 0; j < 3; j++)
                if (events[j])
                    gpu_event_destroy(events[j]);
        }
        gpu_close(&one->gpu);
    }
    free(p2p->gpus);
    p2p->gpus = NULL;
    p2p->n = 0;
}

bool p2p_reaches(const struct p2p *p2p, int from, int to)
{
    const struct bench_gpu *gpu = &p2p->gpus[from].gpu;
    int can = 0;

    return gpu_device_reaches(&can, gpu->device, p2p->gpus[to].gpu.device) == GPU_OK && can;
}

int p2p_access(const struct p2p *p2p, int from, int to, bool on, struct gpubind_error *err)
{
    const struct bench_gpu *gpu = &p2p->gpus[from].gpu;
    gpu_context peer = p2p->gpus[to].gpu.context;
    char text[80];
    int status;

    if (gpu_use(gpu, err) < 0)
        return -1;
    status = on ? gpu_context_enable_peer(peer, 0) : gpu_context_disable_peer(peer);
    if (status == GPU_PEER_ALREADY_ENABLED || status == GPU_PEER_NOT_ENABLED)
        return 0;
    snprintf(text, sizeof text, "peer access of GPU %d to GPU %d cannot be turned %s", from, to,
             on ? "on" : "off");
    return gpu_check(status, text, err);
}

void p2p_describe(struct p2p *p2p, const char *subcommand, const char *alone)
{
    struct text *text = &p2p->table->machine;
    char begin[24];

    text_add(text, "gpubind-bench %s %s: %d GPU%s of one process\n", PACKAGE_VERSION, subcommand,
             p2p->n, p2p->n == 1 ? "" : "s");
    machine_add_host(text);
    for (int i = 0; i < p2p->n; i++) {
        snprintf(begin, sizeof begin, "GPU %d: ", i);
        machine_add_gpu(begin, &p2p->gpus[i].gpu, text);
        text_add(text, "\n");
    }
    if (p2p->n == 1)
        text_add(&p2p->table->notes, "%s\n", alone);
}
