/* Another user of the node, for tests: started as one, it does to a job what it can.
 *
 *   stranger knock SECONDS   looks for sockets of gpubind's and files in /dev/shm. Connects to each socket
 *                            again and again, says nonsense, and stays; sends datagrams of nonsense with
 *                            descriptors; opens the files. Ends after SECONDS, or when SIGTERM comes, and
 *                            says what it could.
 *   stranger plant COMMAND... started as a rank: listens at the places of the job's first ranks under
 *                            libgpubind-aware, in a process of its own, and becomes the command.
 *
 *   stranger apart COMMAND... the command with a network of its own, and so sockets without a path: nobody
 *                            knocks at other tests' doors.
 *
 * It becomes the user 65534. */
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/base/hash.h"

#define KEPT 5000       /* more than a backlog */
#define LISTENS 0x10000 /* among the flags in /proc/net/unix */

static int kept[KEPT], nkept;
static long connected, datagrams, opened, seen;
static volatile sig_atomic_t over;

static int become(void)
{
    const struct rlimit all = {KEPT + 100, KEPT + 100};

    setrlimit(RLIMIT_NOFILE, &all);
    return setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0 ? -1 : 0;
}

static socklen_t address_of(const char *name, struct sockaddr_un *address)
{
    const size_t length = strlen(name) < sizeof address->sun_path ? strlen(name) : 0;

    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path + 1, name, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

static void send_nonsense(const struct sockaddr_un *to, socklen_t length)
{
    static char words[64] = "nonsense, as long as a token and a rank";
    union {
        char bytes[CMSG_SPACE(3 * sizeof(int))];
        struct cmsghdr aligned;
    } control = {{0}};
    struct iovec part = {words, (size_t)(random() % 64)};
    struct msghdr message = {.msg_name = (void *)(size_t)to,
                             .msg_namelen = length,
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), fds[3] = {0, 0, 0};

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fds);
    memcpy(CMSG_DATA(head), fds, sizeof fds);
    for (int i = 0; i < 20; i++)
        datagrams += sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
    close(fd);
}

static void visit(const char *name, int type)
{
    struct sockaddr_un address;
    const socklen_t length = address_of(name, &address);
    int fd;

    seen++;
    if (type == SOCK_DGRAM) {
        send_nonsense(&address, length);
        return;
    }
    fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&address, length) == 0) {
        connected++;
        if (connected % 3)
            (void)!send(fd, "nonsense", connected % 9, MSG_NOSIGNAL);
    }
    if (nkept == KEPT)
        close(kept[random() % KEPT]);
    kept[nkept < KEPT ? nkept++ : random() % KEPT] = fd;
}

static void look_at_sockets(void)
{
    FILE *file = fopen("/proc/net/unix", "re");
    char line[512], name[256];
    unsigned flags, type;

    while (file && !over && fgets(line, sizeof line, file)) {
        const char *at = strstr(line, " @gpubind");

        if (at && !strstr(at, "gpubind-sim") && sscanf(at, " @%255s", name) == 1 &&
            sscanf(line, "%*s %*s %*s %x %x", &flags, &type) == 2 &&
            (type == SOCK_DGRAM || flags & LISTENS))
            for (int i = 0; i < 100; i++)
                visit(name, (int)type);
    }
    if (file)
        fclose(file);
}

static void look_at_files(void)
{
    glob_t found;

    if (glob("/dev/shm/gpubind*", 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const int fd = open(found.gl_pathv[i], O_RDONLY | O_CLOEXEC);

        seen++;
        opened += fd >= 0 || unlink(found.gl_pathv[i]) == 0;
        close(fd);
    }
    globfree(&found);
}

static void end(int signal)
{
    (void)signal;
    over = 1;
}

static int knock(int seconds)
{
    signal(SIGTERM, end);
    signal(SIGALRM, end);
    alarm((unsigned)seconds);
    while (!over) {
        look_at_sockets();
        look_at_files();
        usleep(200);
    }
    printf("seen %d connected %d datagrams %d opened %ld\n", seen > 0, connected > 0, datagrams > 0,
           opened);
    return 0;
}

/* As job_id in src/aware/message/direct_segment.c. */
static uint64_t job_id(void)
{
    const char *name = getenv("PMIX_NAMESPACE");
    const pid_t parent = getppid();
    uint64_t id = name ? hash_text(HASH_START, name)
                       : hash_bytes(HASH_START, &parent, sizeof parent);

    for (char **variable = environ; name && *variable; variable++)
        if (strncmp(*variable, "PMIX_SERVER_URI", strlen("PMIX_SERVER_URI")) == 0)
            id ^= hash_text(HASH_START, *variable);
    return id;
}

static int plant(char **command)
{
    const uint64_t job = job_id();
    const uid_t victim = getuid();
    const pid_t parent = getpid();
    int ready[2], fd, nplaces = 0;
    char name[100], byte = 0;

    if (pipe(ready) == 0 && fork() == 0) {
        struct sockaddr_un address;
        socklen_t length;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int rank = become() < 0 ? 4 : 0; rank < 4; rank++) {
            snprintf(name, sizeof name, "gpubind-aware/%u/%016llx/%d", (unsigned)victim,
                     (unsigned long long)job, rank);
            length = address_of(name, &address);
            fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
            nplaces += bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, 1) == 0;
        }
        (void)!write(ready[1], &byte, 1);
        fprintf(stderr, "planted %d\n", nplaces > 0);
        while (getppid() == parent)
            sleep(1);
        _exit(0);
    }
    (void)!read(ready[0], &byte, 1);
    execvp(command[0], command);
    return 127;
}

static int apart(char **command)
{
    struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};

    if (unshare(CLONE_NEWNET) < 0 ||
        ioctl(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), SIOCSIFFLAGS, &loopback) < 0)
        return 77;
    execvp(command[0], command);
    return 127;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "apart") == 0)
        return apart(argv + 2);
    if (argc > 2 && strcmp(argv[1], "plant") == 0)
        return plant(argv + 2);
    if (argc == 3 && strcmp(argv[1], "knock") == 0)
        return become() < 0 ? 77 : atoi(argv[2]) > 0 ? knock(atoi(argv[2])) : 0;
    fprintf(stderr, "usage: stranger knock SECONDS | plant COMMAND... | apart COMMAND...\n");
    return 2;
}
