/* What modules above the core add to it. The core names none of them: the library's start gives
 * it their table. A module leaves out what it has nothing for. */
#ifndef GPUBIND_MPI_CORE_MODULES_H
#define GPUBIND_MPI_CORE_MODULES_H

#include <stdbool.h>
#include <stdint.h>

struct comm;
struct domain;

struct module {
    const char *name;
    /* The library starts: what the core is to know besides this table. */
    void (*start)(void);
    /* One step of what it has under way; mpi: MPI may be called. In the table's order. */
    void (*progress)(bool mpi);
    /* The last of a step, when copies that had ended were completed. */
    void (*progress_end)(void);
    /* Now and then: at what waits for long. */
    void (*look_around)(void);

    /* Of the progress thread, asked without the lock: work that only the thread moves; how
     * often something happened; whether it must look now and then at processes that may end. */
    bool (*has_work)(void);
    unsigned (*events)(void);
    bool (*watches)(void);
    /* The thread is to end, which it does when has_work says no: what takes long is given up. */
    void (*give_up)(void);
    /* The thread has ended. */
    void (*thread_ended)(void);

    /* Others may write to this GPU memory without being asked. */
    bool (*holds_memory)(uint64_t id);

    /* A communicator was attached; one is about to go, and has no operations any more. */
    void (*comm_added)(void);
    void (*comm_removed)(struct comm *comm);

    /* Of a domain that no communicator uses: it is given up; something of it is still under
     * way; it goes. The last also of others, at the end. */
    void (*domain_given_up)(const struct domain *domain);
    bool (*domain_busy)(const struct domain *domain);
    void (*domain_removed)(struct domain *domain);
};

/* The table ends with NULL and stays. */
void modules_are(const struct module *const *modules);
/* The first; the table's end before modules_are. */
const struct module *const *modules_first(void);

#define for_each_module(at) \
    for (const struct module *const *at = modules_first(); *at; at++)

#endif
