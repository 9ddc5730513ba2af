/* What the pieces of the PMIx server for tests share. server.c tells what it is for. */
#ifndef GPUBIND_TESTS_PLUGIN_SERVER_H
#define GPUBIND_TESTS_PLUGIN_SERVER_H

#include <pmix_server.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* How a run ends. A run that hung exits with 124, as timeout(1) does. */
enum {
    EXIT_OK = 0,
    EXIT_STEP_FAILED = 1, /* PMIx refused a step, so a job would not have started */
    EXIT_USAGE = 2,       /* the command line or the script is wrong */
    EXIT_HUNG = 124
};

struct options {
    bool all_variables;       /* --all: print what PMIx itself adds, too */
    bool verbose;             /* --verbose: show what failing runs wrote to stderr */
    bool keep_failing;        /* --keep-failing: all later allocations fail as well */
    const char *hostname;     /* --hostname: this node's name; NULL: the machine's */
    const char *watched;      /* --watch, --fail-allocations: part of an object's path */
    bool campaign;            /* --fail-allocations */
    unsigned long first_fail; /* --from: the first allocation that fails */
    unsigned long last_fail;  /* --to: the last; 0: until none is left */
    unsigned timeout;         /* --timeout: seconds that one run may take */
    unsigned answer_timeout;  /* seconds that PMIx, or a client, may take for one request */
};

extern struct options options;

/* server_script.c: runs the lines of a script; an EXIT_ status. Syntax errors are
 * told on stderr. */
struct script {
    char **lines;
    size_t nlines;
    const char *name;
};
int script_read(const char *path, struct script *script);
void script_clear(struct script *script);
int script_run(const struct script *script);

/* server_words.c: a line as words, and lists in words. */
#define WORDS_MAX 64
struct words {
    size_t n;
    char *word[WORDS_MAX];
    char text[4096]; /* that the words point into */
};
int words_split(const char *line, long round, struct words *words);
/* VALUE when WORD is KEY=VALUE, else NULL. */
const char *word_value(const char *word, const char *key);
int word_number(const char *text, unsigned long most, unsigned long *number);
/* The position-th part of text between separators, copied to part; false when there
 * are fewer. */
bool word_part(const char *text, char separator, size_t position, char *part, size_t size);
bool word_listed(const char *list, const char *word);

/* server_pmix.c: the library, and waiting for what it answers later. */
struct answer;
int server_start(const char *directory);
void server_stop(void);
const char *server_hostname(void);
/* An error's name, the same for all versions of PMIx; valid until the next call. */
const char *error_name(pmix_status_t status);
struct answer *answer_make(void);
void answer_arrived(pmix_status_t status, void *answer);
/* Waits, frees the answer. Ends the process when nothing arrives in time: libpmix
 * still holds the pointer. `request` is what PMIx was asked with: an error there means
 * that no answer will come. */
pmix_status_t answer_wait(struct answer *answer, pmix_status_t request, const char *what);

/* server_nspace.c: namespaces. Each prints what went wrong and gives an EXIT_ status. */
struct nspace {
    struct nspace *next;
    pmix_nspace_t name;
    const char *like; /* orted, prrte or slurm */
    uint32_t size, local, first, step, noderank;
    uint32_t napps, nnodes;
    uint32_t *node_of; /* each rank's node; the numbers go up with their lowest rank */
    uint32_t *app_of;  /* each rank's application */
    uint32_t here;     /* this node's number */
    char hostname[256];
    char *cpusets, *apps, *omit, *give;
    pmix_proc_t parent; /* its name is empty when nobody spawned this */
};
int nspace_register(const struct words *words);
int nspace_forget(const char *name);
void nspace_forget_all(void);
/* NULL when no such namespace was registered. */
const struct nspace *nspace_find(const char *name);
/* The rank with this local rank. */
uint32_t nspace_rank(const struct nspace *nspace, uint32_t local);

/* server_infos.c: what PMIx is told, as a list; PMIX_INFO_FREE(list, room) frees it. */
struct infos {
    pmix_info_t *list;
    size_t n, room;
    const char *omit; /* names of keys that are left out */
};
void infos_make(struct infos *infos, size_t room, const char *omit);
void infos_add(struct infos *infos, const char *key, const void *data, pmix_data_type_t type);
void infos_add_number(struct infos *infos, const char *key, uint32_t number, pmix_data_type_t type);
/* Takes part over. */
void infos_add_array(struct infos *infos, const char *key, struct infos *part);
/* The text of the key that is named PMIX_...; an unknown name is its own text. */
const char *key_text(const char *name);

/* server_describe.c: what a daemon says about a namespace. */
pmix_status_t nspace_describe(const struct nspace *nspace, struct infos *infos);

/* server_fork.c: `fork`. */
int fork_step(const struct words *words);
/* Whether a test looks at this one, "NAME" or "NAME=VALUE". */
bool variable_shown(const char *variable);

/* server_application.c: `application`. */
int application_step(const struct words *words);

/* server_key.c: `key`, and the clients that it starts. */
int key_step(const struct words *words);
/* Ends the clients of a namespace, or all of them. */
void clients_end(const char *name);
/* `crash`: likewise, with SIGKILL. */
int crash_step(const struct words *words);

/* server_client.c: the client; and what it and the server print of a key. */
int key_client(char **arguments);
int key_print(const char *name, pmix_rank_t rank, const char *key, FILE *to);

/* server_watch.c: calls that come from the watched object, and the one that fails. */
struct failure {
    unsigned long fail; /* the allocation to fail, counted from 1; 0: none */
    unsigned long seen; /* allocations so far */
    bool keep_failing;  /* all later ones fail as well */
    bool happened;
    char function[32]; /* what failed, for the report */
    char place[128];   /* OBJECT+OFFSET, for addr2line */
    size_t nbytes;
};
/* Objects whose path holds `part` are watched from now on. `failure` may be NULL; it is
 * written from any thread, and after fork(). */
void watch_begin(const char *part, struct failure *failure);
/* After dlopen() and dlclose(). */
void watch_look(void);
bool watch_is(const void *caller);
/* Whether this allocation is to fail; errno is set then. */
bool watch_refuses(const void *caller, const char *function, size_t nbytes);
/* OBJECT+OFFSET of an address in a watched object. */
void watch_place(const void *address, char *text, size_t size);

/* server_blocks.c: the blocks that the watched object asked for and that nobody has
 * freed. */
void blocks_begin(void);
void blocks_add(void *block, size_t nbytes, const void *caller);
/* Who asked for the block; NULL when it is not one of these. */
const void *blocks_remove(void *block);
void blocks_total(size_t *nblocks, size_t *nbytes);
void blocks_print(void);

/* server_memory.c: malloc() and the like, for the whole process: all of its blocks. */
void memory_total(size_t *nblocks, size_t *nbytes);

/* server_report.c: `memory`. */
void report_memory(void);
/* What the watched object still holds, at the end. */
void report_held(void);
/* Whether malloc() is ours. */
bool memory_interposed(void);

/* server_compare.c: what was printed, and what should have been. */
enum likeness {
    LIKE_SAME,
    LIKE_DECLINED, /* the same, but for ranks that got nothing at all */
    LIKE_OTHER     /* the first lines that differ are given */
};
#define COMPARE_LINE 1024
enum likeness compare_output(FILE *wanted_file, FILE *got_file, char wanted_line[COMPARE_LINE],
                             char got_line[COMPARE_LINE]);

/* server_campaign.c: the script again and again, a different allocation failing. */
int campaign_run(const struct script *script);

/* server_supervise.c: one run in a process of its own, which cannot outlive or outlast
 * its supervisor, with a folder of its own that is removed. */
struct run {
    int status; /* as of waitpid() */
    bool hung;
    FILE *out, *err; /* what it wrote, when asked to collect; else NULL */
};
int supervise(const struct script *script, struct failure *failure, bool collect, struct run *run);

#endif
