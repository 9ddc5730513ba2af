/* Runs nvidia-cuda-mps-control, and checks or kills the daemon. */
#include "host/mps/mps_control.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/sys/sysroot.h"

#define PROGRAM "nvidia-cuda-mps-control"
#define START_LIMIT_S 15
#define ASK_LIMIT_S 5
/* Exit statuses of a run besides those of the program. */
#define NOT_RUN 126
#define NOT_FOUND 127
#define TOO_LONG 128

struct run {
    const char *option;               /* its one argument, or NULL ... */
    const char *command;              /* ... and a line on its standard input */
    const char *pipe, *log, *devices; /* its environment; NULL: as it is */
    const char *output_path;          /* where its output goes, NULL: nowhere */
    int limit_s;
};

static void be_program(const struct run *run, int input)
{
    const char *output_path = run->output_path ? run->output_path : "/dev/null";
    int output = open(output_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    setenv("CUDA_MPS_PIPE_DIRECTORY", run->pipe, 1);
    if (run->log)
        setenv("CUDA_MPS_LOG_DIRECTORY", run->log, 1);
    if (run->devices)
        setenv("CUDA_VISIBLE_DEVICES", run->devices, 1);
    execlp(PROGRAM, PROGRAM, run->option, (char *)NULL);
    _exit(errno == ENOENT || errno == ENOTDIR ? NOT_FOUND : NOT_RUN);
}

/* Returns its exit status. */
static int wait_for(pid_t child, int limit_s)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    int status = 0;

    for (int left = limit_s * 100; left > 0; left--) {
        pid_t ended = waitpid(child, &status, WNOHANG);

        if (ended == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : TOO_LONG + WTERMSIG(status);
        if (ended < 0 && errno != EINTR)
            return NOT_RUN;
        nanosleep(&moment, NULL);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return TOO_LONG;
}

static int run_program(const struct run *run)
{
    void (*before)(int);
    int pipes[2], status = NOT_RUN;
    pid_t child;

    if (pipe2(pipes, O_CLOEXEC) < 0)
        return NOT_RUN;
    /* The line fits into the pipe, so the write does not block. */
    if (run->command && write(pipes[1], run->command, strlen(run->command)) < 0)
        status = NOT_RUN;
    close(pipes[1]);
    /* If SIGCHLD is ignored, the exit status is lost. */
    before = signal(SIGCHLD, SIG_DFL);
    child = fork();
    if (child == 0)
        be_program(run, pipes[0]);
    close(pipes[0]);
    if (child > 0)
        status = wait_for(child, run->limit_s);
    signal(SIGCHLD, before);
    return status;
}

bool mps_control_answers(const char *pipe)
{
    const struct run ask = {.command = "get_server_list\n", .pipe = pipe, .limit_s = ASK_LIMIT_S};

    return run_program(&ask) == 0;
}

void mps_control_quit(const char *pipe)
{
    const struct run quit = {.command = "quit\n", .pipe = pipe, .limit_s = ASK_LIMIT_S};

    run_program(&quit);
}

/* The first line of the program's output. */
static void read_words(const char *output_path, char *words, size_t size)
{
    FILE *file = fopen(output_path, "re");

    words[0] = '\0';
    if (file && !fgets(words, (int)size, file))
        words[0] = '\0';
    if (file)
        fclose(file);
    words[strcspn(words, "\r\n")] = '\0';
    for (char *c = words; *c; c++)
        if (!isprint((unsigned char)*c))
            *c = '?';
}

/* The program returns when the daemon listens, it says; that may be a moment early. */
static bool will_answer(const char *pipe)
{
    const struct timespec moment = {.tv_nsec = 200000000};
    time_t end = time(NULL) + ASK_LIMIT_S;
    bool answers = mps_control_answers(pipe);

    while (!answers && time(NULL) < end) {
        nanosleep(&moment, NULL);
        answers = mps_control_answers(pipe);
    }
    return answers;
}

int mps_control_start(const char *pipe, const char *log, const char *devices,
                      const char *output_path, struct gpubind_error *err)
{
    const struct run start = {.option = "-d",
                              .pipe = pipe,
                              .log = log,
                              .devices = devices,
                              .output_path = output_path,
                              .limit_s = START_LIMIT_S};
    int status = run_program(&start);
    char words[256];

    if (status == NOT_FOUND)
        return error_set(err, "--mps: " PROGRAM ", which belongs to NVIDIA's driver, is not in "
                              "PATH");
    if (status == NOT_RUN)
        return error_set(err, "--mps: " PROGRAM " cannot be run");
    if (status == TOO_LONG)
        return error_set(err, "--mps: " PROGRAM " did not start its daemon within %d s",
                         START_LIMIT_S);
    read_words(output_path, words, sizeof words);
    if (status)
        return error_set(err, "--mps: " PROGRAM " failed with status %d%s%s", status,
                         *words ? ": " : "", words);
    if (!will_answer(pipe))
        return error_set(err, "--mps: the daemon that " PROGRAM " started does not answer%s%s",
                         *words ? ": " : "", words);
    return 0;
}

/* Reads /proc/PID/NAME into text, which ends with two NULs. */
static bool read_entry(const char *pid, const char *name, char *text, size_t size)
{
    char path[64];
    FILE *file;
    size_t length;

    snprintf(path, sizeof path, "/proc/%.20s/%s", pid, name);
    file = fopen(path, "re");
    if (!file)
        return false;
    length = fread(text, 1, size - 2, file);
    fclose(file);
    text[length] = text[length + 1] = '\0';
    return true;
}

/* The daemon and its server have long names, which the kernel cuts. */
static bool is_of(const char *pid, const char *pipe)
{
    static const char variable[] = "CUDA_MPS_PIPE_DIRECTORY=";
    static char text[1 << 17];

    if (!read_entry(pid, "comm", text, sizeof text) ||
        strncmp(text, PROGRAM, strlen("nvidia-cuda-mps")) != 0 ||
        !read_entry(pid, "environ", text, sizeof text))
        return false;
    for (const char *entry = text; *entry; entry += strlen(entry) + 1)
        if (strncmp(entry, variable, sizeof variable - 1) == 0)
            return strcmp(entry + sizeof variable - 1, pipe) == 0;
    return false;
}

bool mps_control_kill(const char *pipe)
{
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    bool found = false;

    while (processes && (entry = readdir(processes)))
        if (isdigit((unsigned char)entry->d_name[0]) && is_of(entry->d_name, pipe))
            found |= kill((pid_t)strtol(entry->d_name, NULL, 10), SIGKILL) == 0;
    if (processes)
        closedir(processes);
    return found;
}

/* ---- whether a daemon serves a directory, without a request to it */

/* The initial PID namespace (the kernel's PROC_PID_INIT_INO). In any other, the host's daemon
 * is not in /proc. */
#define INITIAL_PID_NAMESPACE "pid:[4026531836]"

/* A daemon that was killed leaves its pipe and its PID file behind. */
static bool has_died(const char *root, const char *directory)
{
    char namespace[64], path[PATH_MAX], number[32];
    long pid;

    snprintf(path, sizeof path, "%s/nvidia-cuda-mps-control.pid", directory);
    if (!sysroot_link(root, "/proc/self/ns/pid", namespace, sizeof namespace) ||
        strcmp(namespace, INITIAL_PID_NAMESPACE) != 0 ||
        !sysroot_line(root, path, number, sizeof number))
        return false;
    pid = strtol(number, NULL, 10);
    return pid > 0 && !sysroot_exists(root, "/proc/%ld", pid);
}

bool mps_is_served(const char *root, const char *directory)
{
    return sysroot_exists(root, "%s/control", directory) && !has_died(root, directory);
}
