/* Hooks that modules above the core register with it, so that the core calls none of them by name:
 * api/start.c passes the table. A module leaves NULL what it does not need. */
#ifndef GPUBIND_MPI_BASE_MODULES_H
#define GPUBIND_MPI_BASE_MODULES_H

#include <stdbool.h>
#include <stdint.h>

struct comm;
struct domain;

struct module {
    const char *name;
    /* The library starts. */
    void (*start)(void);
    /* One step of progress; mpi: MPI may be called. In the table's order. */
    void (*progress)(bool mpi);
    /* At the end of a step, after completed copies were handled. */
    void (*progress_end)(void);
    /* Now and then during waits: checks what has waited for long. */
    void (*look_around)(void);

    /* For the progress thread, called without the lock: there is work that only this thread moves;
     * a step of it may wait some microseconds (NULL: not so); a count of events; whether it must check now and then
     * for processes that have died. */
    bool (*has_work)(void);
    bool (*can_wait)(void);
    unsigned (*events)(void);
    bool (*watches)(void);
    /* The thread is to end, as soon as has_work returns false: gives up what would take long. */
    void (*give_up)(void);
    /* The thread has ended. */
    void (*thread_ended)(void);

    /* Peers may write to this GPU memory at any time. */
    bool (*holds_memory)(uint64_t id);

    /* A communicator was attached; one without requests is about to be freed. */
    void (*comm_added)(void);
    void (*comm_removed)(struct comm *comm);

    /* For a domain that no communicator uses: it is given up; something of it is still under way;
     * it is about to be freed. The last also for other domains, at the end. */
    void (*domain_given_up)(const struct domain *domain);
    bool (*domain_busy)(const struct domain *domain);
    void (*domain_removed)(struct domain *domain);
};

/* Registers the table, which ends with NULL and stays valid. */
void modules_are(const struct module *const *modules);
/* The first row; before modules_are the end of the table. */
const struct module *const *modules_first(void);

#define for_each_module(at) for (const struct module *const *at = modules_first(); *at; at++)

#endif
