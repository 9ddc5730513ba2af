/* The step `fork`: what PMIx makes of a process' environment before it is started. */
#include <dirent.h>
#include <pmix.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/plugin/server.h"

/* What a test wants to see, as beginnings; all else is PMIx's own. */
/* clang-format off */
static const char *const shown[] = {
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "ROCR_", "ZE_", "GPUBIND_", "UCX_NET_DEVICES",
    "OMP_", "LD_PRELOAD",
};
/* clang-format on */

struct request {
    const char *nspace;
    char **variables;
    size_t nvariables;
    bool null;  /* *env is NULL */
    bool child; /* asked in a forked process, as slurmstepd does */
};

bool variable_shown(const char *variable)
{
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (strncmp(variable, shown[i], strlen(shown[i])) == 0)
            return true;
    return options.all_variables;
}

/* NULL for an environment that is not there. PMIx frees and extends it with free() and
 * realloc(). */
static char **env_make(const struct request *request)
{
    char **env;

    if (request->null)
        return NULL;
    env = calloc(request->nvariables + 1, sizeof *env);
    if (!env)
        abort();
    for (size_t i = 0; i < request->nvariables; i++)
        env[i] = strdup(request->variables[i]);
    return env;
}

static void env_free(char **env)
{
    for (size_t i = 0; env && env[i]; i++)
        free(env[i]);
    free(env);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* One variable stays one line, whatever it holds. */
static void print_line(FILE *to, const char *who, const char *text)
{
    fprintf(to, "%s: ", who);
    for (; *text; text++) {
        if (*text == '\n')
            fputs("\\n", to);
        else
            fputc(*text, to);
    }
    fputc('\n', to);
}

static bool is_given(const struct request *request, const char *variable)
{
    for (size_t i = 0; i < request->nvariables; i++)
        if (strcmp(request->variables[i], variable) == 0)
            return true;
    return false;
}

/* Whether nothing came, went or changed among the variables that are shown. */
static bool is_as_given(const struct request *request, char **env, size_t n)
{
    size_t given = 0, found = 0;

    for (size_t i = 0; i < request->nvariables; i++)
        given += variable_shown(request->variables[i]);
    for (size_t i = 0; i < n; i++) {
        if (variable_shown(env[i]) && !is_given(request, env[i]))
            return false;
        found += variable_shown(env[i]);
    }
    return given == found;
}

/* Failing runs are compared: there, a rank that was left alone looks like one that had
 * no variables before. */
static void print_env(const struct request *request, FILE *to, const char *who, char **env)
{
    size_t n = 0, printed = 0;

    while (env && env[n])
        n++;
    if (n)
        qsort(env, n, sizeof *env, by_text);
    if (options.campaign && is_as_given(request, env, n))
        n = 0;
    for (size_t i = 0; i < n; i++) {
        if (!variable_shown(env[i]))
            continue;
        print_line(to, who, env[i]);
        printed++;
    }
    if (!printed)
        print_line(to, who, "-");
}

static int ask(const struct request *request, uint32_t rank, FILE *to)
{
    char **env = env_make(request);
    char who[PMIX_MAX_NSLEN + 16];
    pmix_status_t status;
    pmix_proc_t proc;

    PMIX_LOAD_PROCID(&proc, request->nspace, rank);
    snprintf(who, sizeof who, "%s %u", request->nspace, rank);
    status = PMIx_server_setup_fork(&proc, &env);
    if (status == PMIX_SUCCESS)
        print_env(request, to, who, env);
    else
        fprintf(to, "%s: error %s\n", who, error_name(status));
    env_free(env);
    return status == PMIX_SUCCESS ? EXIT_OK : EXIT_STEP_FAILED;
}

#ifdef __SANITIZE_ADDRESS__
static bool sleeps(const char *task)
{
    char path[64], line[256], state = 0;
    const char *end = NULL;
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%.16s/stat", task);
    file = fopen(path, "re");
    if (!file)
        return true; /* it has ended */
    if (fgets(line, sizeof line, file))
        end = strrchr(line, ')'); /* of its name */
    fclose(file);
    return !end || sscanf(end + 1, " %c", &state) != 1 || state == 'S';
}

/* A child has the allocator's locks as other threads held them. glibc's malloc() sees to
 * that; AddressSanitizer's of gcc 12 and 13 does not, and the child would wait for ever.
 * So PMIx's threads are let come to rest first. */
static void await_threads(void)
{
    bool all = false;

    while (!all) {
        DIR *folder = opendir("/proc/self/task");
        const struct dirent *task;

        all = true;
        while (folder && (task = readdir(folder)))
            if (task->d_name[0] != '.' && strtol(task->d_name, NULL, 10) != getpid())
                all = all && sleeps(task->d_name);
        if (folder)
            closedir(folder);
        if (!all)
            usleep(1000);
    }
}
#else
static void await_threads(void)
{
}
#endif

/* A daemon's process has threads, its forked child has one. */
static int ask_in_child(const struct request *request, uint32_t rank)
{
    int status;
    pid_t child;

    fflush(stdout);
    await_threads();
    child = fork();
    if (child == 0) {
        alarm(options.answer_timeout);
        status = ask(request, rank, stdout);
        fflush(stdout);
        _exit(status);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("fork");
        return EXIT_USAGE;
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
        printf("%s %u: hung\n", request->nspace, rank);
        fflush(stdout);
        _exit(EXIT_HUNG);
    }
    if (WIFSIGNALED(status)) {
        /* The same end for the whole run, so that it is reported as a crash. */
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    return WEXITSTATUS(status);
}

static int ask_one(const struct request *request, uint32_t rank)
{
    return request->child ? ask_in_child(request, rank) : ask(request, rank, stdout);
}

static int ask_all(const struct request *request)
{
    const struct nspace *nspace = nspace_find(request->nspace);
    int status = EXIT_OK;

    if (!nspace)
        return EXIT_USAGE;
    for (uint32_t local = 0; local < nspace->local; local++)
        if (ask_one(request, nspace_rank(nspace, local)) != EXIT_OK)
            status = EXIT_STEP_FAILED;
    return status;
}

/* fork NAME RANK|all [VAR=VALUE...] [null] [child] */
int fork_step(const struct words *words)
{
    struct request request = {.nspace = words->word[1]};
    char *variables[WORDS_MAX];
    unsigned long rank;

    request.variables = variables;
    for (size_t i = 3; i < words->n; i++) {
        if (strcmp(words->word[i], "null") == 0)
            request.null = true;
        else if (strcmp(words->word[i], "child") == 0)
            request.child = true;
        else if (strchr(words->word[i], '='))
            variables[request.nvariables++] = words->word[i];
        else
            return EXIT_USAGE;
    }
    if (request.null && request.nvariables)
        return EXIT_USAGE;
    if (strcmp(words->word[2], "all") == 0)
        return ask_all(&request);
    if (word_number(words->word[2], UINT32_MAX, &rank) < 0)
        return EXIT_USAGE;
    return ask_one(&request, (uint32_t)rank);
}
