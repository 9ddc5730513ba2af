/* The step `key`: a key's value, as a real client of this server sees it, or as the
 * server itself does. A client stays until its namespace is forgotten, as a rank of a
 * job does: libpmix drops what it knows of a job when all local ranks have left. */
#include <errno.h>
#include <fcntl.h>
#include <pmix.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/plugin/server.h"

extern char **environ;

static struct client {
    struct client *next;
    pmix_nspace_t name;
    pmix_rank_t rank;
    pid_t process;
    int to;
    FILE *from;
} * clients;

static char **copy_environ(void)
{
    size_t n = 0;
    char **copy;

    while (environ[n])
        n++;
    copy = calloc(n + 1, sizeof *copy);
    if (!copy)
        abort();
    for (size_t i = 0; i < n; i++)
        copy[i] = strdup(environ[i]);
    return copy;
}

static void free_environ(char **env)
{
    for (size_t i = 0; env && env[i]; i++)
        free(env[i]);
    free(env);
}

static int spawn_self(struct client *client, char **env)
{
    char self[4096] = "", option[] = "--client", seconds[16];
    char *argv[] = {self, option, client->name, seconds, NULL};
    posix_spawn_file_actions_t actions;
    int to[2], from[2], status;

    /* Not the link itself: in valgrind's child it is valgrind. */
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0 || pipe2(to, O_CLOEXEC) < 0 ||
        pipe2(from, O_CLOEXEC) < 0) {
        perror("client");
        exit(EXIT_USAGE);
    }
    snprintf(seconds, sizeof seconds, "%u", options.answer_timeout);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    status = posix_spawn(&client->process, self, &actions, NULL, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    client->to = to[1];
    client->from = fdopen(from[0], "r");
    return status == 0 && client->from ? 0 : -1;
}

/* Prints why, and gives NULL, when there can be no client. */
static struct client *start_client(const char *name, pmix_rank_t rank)
{
    struct client *client = calloc(1, sizeof *client);
    char **env = copy_environ();
    pmix_status_t status;
    pmix_proc_t proc;

    if (!client)
        abort();
    PMIX_LOAD_NSPACE(client->name, name);
    client->rank = rank;
    PMIX_LOAD_PROCID(&proc, name, rank);
    status = PMIx_server_setup_fork(&proc, &env);
    if (status != PMIX_SUCCESS || spawn_self(client, env) < 0) {
        printf("error %s\n", status == PMIX_SUCCESS ? "no process" : error_name(status));
        free(client);
        client = NULL;
    } else {
        client->next = clients;
        clients = client;
    }
    free_environ(env);
    return client;
}

static struct client *find_client(const char *name, pmix_rank_t rank)
{
    for (struct client *at = clients; at; at = at->next)
        if (strcmp(at->name, name) == 0 && at->rank == rank)
            return at;
    return start_client(name, rank);
}

/* A client ends by itself when its input does; if it does not, by its alarm(). */
void clients_end(const char *name)
{
    struct client **at = &clients;

    while (*at) {
        struct client *client = *at;

        if (name && strcmp(client->name, name) != 0) {
            at = &client->next;
            continue;
        }
        *at = client->next;
        close(client->to);
        waitpid(client->process, NULL, 0);
        fclose(client->from);
        free(client);
    }
}

/* crash NAME; EXIT_USAGE when that is nobody. */
int crash_step(const struct words *words)
{
    int n = 0;

    for (struct client *at = clients; at; at = at->next)
        if (strcmp(at->name, words->word[1]) == 0)
            n += kill(at->process, SIGKILL) == 0;
    clients_end(words->word[1]);
    return n ? EXIT_OK : EXIT_USAGE;
}

static int ask_client(struct client *client, pmix_rank_t rank, const char *key)
{
    struct pollfd answered = {.fd = fileno(client->from), .events = POLLIN};
    char *line = NULL;
    size_t size = 0;
    int status = EXIT_STEP_FAILED;

    /* A client that could not start has left its reason, and reads nothing. */
    if (dprintf(client->to, "%u %s\n", rank, key) < 0 && errno != EPIPE)
        perror("client");
    if (poll(&answered, 1, (int)options.answer_timeout * 1000) != 1) {
        printf("error the client does not answer\n");
    } else if (getline(&line, &size, client->from) < 0) {
        printf("error the client is gone\n");
    } else {
        fputs(line, stdout);
        status = strncmp(line, "error ", 6) == 0 ? EXIT_STEP_FAILED : EXIT_OK;
    }
    free(line);
    return status;
}

/* "job" is the namespace as a whole. */
static int read_rank(const char *text, pmix_rank_t *rank)
{
    unsigned long number;

    *rank = PMIX_RANK_WILDCARD;
    if (strcmp(text, "job") == 0)
        return 0;
    if (word_number(text, PMIX_RANK_VALID, &number) < 0)
        return -1;
    *rank = (pmix_rank_t)number;
    return 0;
}

/* key NAME RANK|job KEY [by=RANK|by=server] */
int key_step(const struct words *words)
{
    const char *name = words->word[1], *key = key_text(words->word[3]), *asker = NULL;
    const struct nspace *nspace = nspace_find(name);
    struct client *client;
    pmix_rank_t rank, by;

    if (read_rank(words->word[2], &rank) < 0)
        return EXIT_USAGE;
    by = rank == PMIX_RANK_WILDCARD && nspace ? nspace_rank(nspace, 0) : rank;
    if (words->n > 4) {
        asker = word_value(words->word[4], "by");
        if (!asker || (strcmp(asker, "server") != 0 && read_rank(asker, &by) < 0))
            return EXIT_USAGE;
    }
    printf("%s %s %s: ", name, words->word[2], words->word[3]);
    if (asker && strcmp(asker, "server") == 0)
        return key_print(name, rank, key, stdout);
    client = find_client(name, by);
    return client ? ask_client(client, rank, key) : EXIT_STEP_FAILED;
}
