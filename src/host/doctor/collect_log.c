/* The driver's errors (Xid) in the kernel's log. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/doctor/collect.h"
#include "host/sys/sysroot.h"

/* A record is at most 8 KiB; a log that is written all the while ends after so many reads. */
#define RECORD_MAX 8192
#define READS_MAX 1000000
#define SECONDS_MAX 5

static struct doctor_xid *find_xid(struct doctor_facts *facts, const char *pci, int number)
{
    struct doctor_xid *xid;

    for (int x = 0; x < facts->nxids; x++)
        if (facts->xids[x].number == number && strcmp(facts->xids[x].pci, pci) == 0)
            return &facts->xids[x];
    if (facts->nxids == DOCTOR_MAX_XIDS)
        return NULL;
    xid = &facts->xids[facts->nxids++];
    snprintf(xid->pci, sizeof xid->pci, "%s", pci);
    xid->number = number;
    return xid;
}

/* "4,1234,567890123,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1, ...": priority and facility,
 * sequence, microseconds after boot. Of a MIG instance "(PCI:0000:3b:00 GPU-I:05 GPU-CI:00)"
 * stands there. A facility other than the kernel's (0) is of a user. The first record that is
 * still there has number 0 where none was overwritten. */
static void take_record(const char *record, bool *first, struct doctor_facts *facts)
{
    static const char mark[] = "NVRM: Xid (";
    const char *text = strchr(record, ';'), *at = text ? strstr(text, mark) : NULL;
    char pci[24];
    unsigned priority;
    unsigned long long sequence, when;
    struct doctor_xid *xid;
    int number;

    if (*first && sscanf(record, "%u,%llu", &priority, &sequence) == 2) {
        facts->kernel_log_cut |= sequence > 0;
        *first = false;
    }
    if (!at || sscanf(record, "%u,%llu,%llu", &priority, &sequence, &when) != 3 || priority >> 3)
        return;
    at += sizeof mark - 1;
    at += strncmp(at, "PCI:", 4) == 0 ? 4 : 0;
    if (sscanf(at, "%23[0-9a-fA-F:.]", pci) != 1 || !(at = strchr(at, ')')) ||
        sscanf(at, "): %d", &number) != 1)
        return;
    for (char *c = pci; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    pci[strcspn(pci, ".")] = '\0';
    xid = find_xid(facts, pci, number);
    if (!xid)
        return;
    xid->count++;
    xid->last = (double)when * 1e-6;
    snprintf(xid->line, sizeof xid->line, "%.*s", (int)strcspn(text + 1, "\n"), text + 1);
    for (char *c = xid->line; *c; c++)
        if (!isprint((unsigned char)*c))
            *c = '?';
}

/* Whole lines of what is there; the rest moves to the front. Returns its length. */
static size_t take_lines(char *bytes, size_t length, bool *first, struct doctor_facts *facts)
{
    char *line = bytes, *end;

    bytes[length] = '\0';
    while ((end = memchr(line, '\n', length - (size_t)(line - bytes)))) {
        *end = '\0';
        take_record(line, first, facts);
        line = end + 1;
    }
    length -= (size_t)(line - bytes);
    memmove(bytes, line, length);
    return length;
}

/* Each read of /dev/kmsg gives one record; EAGAIN ends it, EPIPE tells that some were
 * overwritten before they were read. A pretended log is a file. */
static void read_records(int fd, struct doctor_facts *facts)
{
    char bytes[2 * RECORD_MAX + 1];
    size_t length = 0;
    time_t end = time(NULL) + SECONDS_MAX;
    bool first = true;

    for (int reads = 0; reads < READS_MAX && (reads % 1024 || time(NULL) <= end); reads++) {
        ssize_t got = read(fd, bytes + length, RECORD_MAX);

        if (got < 0 && errno == EPIPE)
            facts->kernel_log_cut = true;
        else if (got == 0 || (got < 0 && errno != EINTR))
            break;
        if (got <= 0)
            continue;
        length = take_lines(bytes, length + (size_t)got, &first, facts);
        /* No record is that long. */
        if (length > RECORD_MAX)
            length = 0;
    }
}

void doctor_read_log(const char *root, struct doctor_facts *facts)
{
    char full[2 * PATH_MAX], line[64];
    int fd;

    if (sysroot_line(root, "/proc/uptime", line, sizeof line) && isdigit((unsigned char)line[0]))
        facts->uptime = strtod(line, NULL);
    snprintf(full, sizeof full, "%s/dev/kmsg", root);
    fd = open(full, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        facts->kernel_log = errno == ENOENT || errno == ENOTDIR || errno == ENXIO
                                ? DOCTOR_FILE_ABSENT
                                : DOCTOR_FILE_DENIED;
        return;
    }
    facts->kernel_log = DOCTOR_FILE_USABLE;
    read_records(fd, facts);
    close(fd);
}
