/* The PMIx server library: start, stop, and requests whose answer comes later. */
#include <errno.h>
#include <pmix.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/plugin/server.h"

struct answer {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    bool here;
    pmix_status_t status;
};

static char hostname[256];

/* What a client's coming and going asks of a daemon. Nothing here has to happen. */
static pmix_status_t client_connected(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done,
                                      void *data)
{
    (void)proc, (void)object, (void)done, (void)data;
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t client_finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done,
                                      void *data)
{
    (void)proc, (void)object, (void)done, (void)data;
    return PMIX_OPERATION_SUCCEEDED;
}

/* A client asks for a rank on another node: there is none that would know more. */
static pmix_status_t direct_modex(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
                                  pmix_modex_cbfunc_t done, void *data)
{
    (void)proc, (void)info, (void)ninfo, (void)done, (void)data;
    return PMIX_ERR_NOT_FOUND;
}

static pmix_server_module_t module = {
    .client_connected = client_connected,
    .client_finalized = client_finalized,
    .direct_modex = direct_modex,
};

/* PMIx keeps its rendezvous files and its shared memory below directory. */
int server_start(const char *directory)
{
    pmix_info_t *info;
    pmix_status_t status;

    if (options.hostname)
        snprintf(hostname, sizeof hostname, "%s", options.hostname);
    else
        gethostname(hostname, sizeof hostname - 1);
    PMIX_INFO_CREATE(info, 3);
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_TMPDIR, directory, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_SYSTEM_TMPDIR, directory, PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_HOSTNAME, hostname, PMIX_STRING);
    status = PMIx_server_init(&module, info, 3);
    PMIX_INFO_FREE(info, 3);
    if (status != PMIX_SUCCESS) {
        printf("start: error %s\n", error_name(status));
        return -1;
    }
    return 0;
}

void server_stop(void)
{
    PMIx_server_finalize();
}

const char *server_hostname(void)
{
    return hostname;
}

/* PMIx 4.2 says NOT-FOUND where 5.0 says PMIX_ERR_NOT_FOUND. */
const char *error_name(pmix_status_t status)
{
    static char name[128];
    const char *text = PMIx_Error_string(status);

    if (strncmp(text, "PMIX_", 5) == 0)
        text += 5;
    if (strncmp(text, "ERR_", 4) == 0)
        text += 4;
    snprintf(name, sizeof name, "%s", text);
    for (char *at = name; *at; at++)
        if (*at == '_')
            *at = '-';
    return name;
}

struct answer *answer_make(void)
{
    struct answer *answer = calloc(1, sizeof *answer);
    pthread_condattr_t monotonic;

    if (!answer) {
        perror("answer");
        exit(EXIT_USAGE);
    }
    pthread_mutex_init(&answer->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&answer->arrived, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return answer;
}

void answer_arrived(pmix_status_t status, void *data)
{
    struct answer *answer = data;

    pthread_mutex_lock(&answer->lock);
    answer->status = status;
    answer->here = true;
    pthread_cond_signal(&answer->arrived);
    pthread_mutex_unlock(&answer->lock);
}

static bool wait_here(struct answer *answer)
{
    struct timespec until;
    bool here;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += options.answer_timeout;
    pthread_mutex_lock(&answer->lock);
    while (!answer->here)
        if (pthread_cond_timedwait(&answer->arrived, &answer->lock, &until) == ETIMEDOUT)
            break;
    here = answer->here;
    pthread_mutex_unlock(&answer->lock);
    return here;
}

pmix_status_t answer_wait(struct answer *answer, pmix_status_t request, const char *what)
{
    pmix_status_t status = request;

    if (request == PMIX_OPERATION_SUCCEEDED) {
        status = PMIX_SUCCESS;
    } else if (request == PMIX_SUCCESS) {
        if (!wait_here(answer)) {
            printf("%s: no answer from PMIx within %u seconds\n", what, options.answer_timeout);
            fflush(stdout);
            _exit(EXIT_HUNG);
        }
        status = answer->status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : answer->status;
    }
    pthread_cond_destroy(&answer->arrived);
    pthread_mutex_destroy(&answer->lock);
    free(answer);
    return status;
}
