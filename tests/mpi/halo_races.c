/* Ranks that are late: what they read in their ghost cells is never that of a later step,
 * and what they send never that of an earlier one. One rank after the other is slow. */
#include <stdlib.h>
#include <time.h>

#include "tests/mpi/halo_world.h"
#include "tests/mpi/tests.h"

#define STEPS 8

/* Own cells alone: in turn, the neighbours may write the ghost cells already. */
static void write_cells(const struct world *world, int array, const char *image,
                        struct CUstream_st *stream)
{
    const struct gpubind_halo_grid *grid = &world->grid;
    const size_t element = (size_t)world->element_nbytes,
                 pitch = element * (size_t)world->length[1];
    const size_t at = pitch * (size_t)grid->width[0] + element * (size_t)grid->width[1];
    struct cuda_copy_2d copy = {.from_type = CUDA_MEMORY_DEVICE,
                                .to_type = CUDA_MEMORY_DEVICE,
                                .from_device = (cuda_address)(uintptr_t)image + at,
                                .to_device = (cuda_address)(uintptr_t)world->at[array] + at,
                                .from_pitch = pitch,
                                .to_pitch = pitch,
                                .width = element * (size_t)grid->cells[1],
                                .height = (size_t)grid->cells[0]};

    is_int(cuda.cuMemcpy2DAsync_v2(&copy, stream), 0, "cuMemcpy2DAsync");
}

/* Each step's values, and room for what is seen then, on the GPU. */
static void make_steps(struct world *world, struct buffer *images, struct buffer *seen)
{
    char *image = malloc(world->nbytes);

    need_buffer(images, MEMORY_DEVICE, STEPS * world->nbytes);
    need_buffer(seen, MEMORY_DEVICE, STEPS * world->nbytes);
    for (int step = 0; step < STEPS; step++) {
        world_image(world, image, step);
        gpu_put(images->at + (size_t)step * world->nbytes, image, world->nbytes);
    }
    free(image);
    job_barrier();
}

/* All in one stream, that no host waits for until the end: slow work on one rank, the
 * array's values, the exchange, slow work on another, a copy of what the ghost cells are. */
static void in_a_stream(struct world *world)
{
    struct buffer images, seen;

    make_steps(world, &images, &seen);
    for (int step = 0; step < STEPS; step++) {
        const int array = step % world->narrays;
        const size_t at = (size_t)step * world->nbytes;

        if (step % job.size == job.rank)
            gpu_keep_busy(world->stream);
        if (step < world->narrays) /* ghost cells too: the first exchange of an array asks */
            cuda.cuMemcpyDtoDAsync_v2((cuda_address)(uintptr_t)world->at[array],
                                      (cuda_address)(uintptr_t)images.at + at, world->nbytes,
                                      world->stream);
        else
            write_cells(world, array, images.at + at, world->stream);
        if (!world_queue(world, array)) {
            cuda.cuStreamSynchronize(world->stream);
            world_exchange(world, array, false);
        }
        if ((step + 1) % job.size == job.rank)
            gpu_keep_busy(world->stream);
        cuda.cuMemcpyDtoDAsync_v2((cuda_address)(uintptr_t)seen.at + at,
                                  (cuda_address)(uintptr_t)world->at[array], world->nbytes,
                                  world->stream);
    }
    is_int(cuda.cuStreamSynchronize(world->stream), 0, "the stream");
    for (int step = 0; step < STEPS; step++)
        world_holds(world, seen.at + (size_t)step * world->nbytes, step, "what the stream saw");
    buffer_clear(&images);
    buffer_clear(&seen);
}

static void on_the_host(struct world *world)
{
    const struct timespec a_while = {0, 20000000};
    struct buffer images, seen;
    bool good = true;

    make_steps(world, &images, &seen);
    for (int step = 0; step < STEPS; step++) {
        const int array = step % world->narrays;

        write_cells(world, array, images.at + (size_t)step * world->nbytes, world->stream);
        cuda.cuStreamSynchronize(world->stream);
        if (step % job.size == job.rank)
            nanosleep(&a_while, NULL);
        succeeds(gpubind_halo_start(world->halo, array), "start, step %d", step);
        succeeds(gpubind_halo_wait(world->halo), "wait, step %d", step);
        if ((step + 1) % job.size == job.rank)
            nanosleep(&a_while, NULL);
        good = good && world_holds(world, world->at[array], step, "after the wait");
    }
    buffer_clear(&images);
    buffer_clear(&seen);
}

static void race(int narrays, int flags, bool on_stream)
{
    struct world world = {.narrays = narrays, .base = {3, 50}, .kind = MEMORY_DEVICE};

    world.grid = (struct gpubind_halo_grid){.ndims = 2,
                                            .ranks = {job.size, 1},
                                            .periodic = {1, 1},
                                            .width = {2, 1},
                                            .corners = 1,
                                            .element = MPI_DOUBLE,
                                            .flags = flags};
    job_test("%d arrays%s, %s: each step is seen as it was", narrays, flags ? " in turn" : "",
             on_stream ? "on a stream" : "start and wait");
    if (world_make(&world, MPI_COMM_WORLD, job.rank)) {
        if (on_stream)
            in_a_stream(&world);
        else
            on_the_host(&world);
    }
    world_clear(&world);
    job_result();
}

void test_halo_races(void)
{
    int all_have;

    MPI_Allreduce(&gpu_count, &all_have, 1, MPI_INT, MPI_MIN, job.plain);
    for (int on_stream = 0; all_have && on_stream < 2; on_stream++) {
        race(1, 0, on_stream);
        race(2, 0, on_stream);
        race(2, GPUBIND_HALO_IN_TURN, on_stream);
        race(3, GPUBIND_HALO_IN_TURN, on_stream);
    }
}
