/* The machine's devices, and those of them that this process sees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "tests/sim/sim.h"

static int nphysical;
static int visible[SIM_MAX_DEVICES], nvisible;
static bool reaches[SIM_MAX_DEVICES][SIM_MAX_DEVICES];
static size_t memory;
static uint64_t host;

static void load_host(void)
{
    const char *name = getenv("GPUBIND_SIM_HOST");
    char own[256] = "";

    if (!name || !*name) {
        gethostname(own, sizeof own - 1);
        name = own;
    }
    host = 14695981039346656037u; /* FNV-1a */
    for (; *name; name++)
        host = (host ^ (unsigned char)*name) * 1099511628211u;
}

static void load_peers(void)
{
    const char *rows = getenv("GPUBIND_SIM_PEERS");
    bool all = !rows || !*rows || strcmp(rows, "all") == 0;
    bool none = !all && strcmp(rows, "none") == 0;

    for (int i = 0; i < nphysical; i++)
        for (int j = 0; j < nphysical; j++) {
            char c = '0';

            if (!all && !none) {
                if (strlen(rows) != (size_t)(nphysical * (nphysical + 1) - 1))
                    sim_die("GPUBIND_SIM_PEERS=%s is not %d rows", rows, nphysical);
                c = rows[i * (nphysical + 1) + j];
                if (c != '0' && c != '1')
                    sim_die("GPUBIND_SIM_PEERS=%s has a '%c'", rows, c);
            }
            reaches[i][j] = i == j || all || c == '1';
        }
}

static void read_uuid(int physical, unsigned char uuid[16])
{
    memset(uuid, 0x11 * (physical + 1), 4);
    for (int i = 4; i < 16; i++)
        uuid[i] = (unsigned char)(host >> (8 * (i % 8)) ^ (uint64_t)i);
}

/* "GPU-" and as many digits as length leaves. */
static bool begins_uuid(int physical, const char *entry, size_t length)
{
    unsigned char uuid[16];
    char text[48];
    int at = snprintf(text, sizeof text, "GPU-");

    read_uuid(physical, uuid);
    for (int i = 0; i < 16; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%02x",
                       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
    return length > 4 && strncasecmp(text, entry, length < 40 ? length : 40) == 0;
}

/* The physical device, -1 when there is none or more than one. */
static int find_device(const char *entry, bool uuids)
{
    int found = -1;
    char *end;
    long index = strtol(entry, &end, 10);

    if (strncmp(entry, "GPU-", 4) != 0)
        return !uuids && end != entry && index >= 0 && index < nphysical ? (int)index : -1;
    for (int d = 0; uuids && d < nphysical; d++) {
        if (!begins_uuid(d, entry, strcspn(entry, ", \t")))
            continue;
        if (found >= 0)
            return -1;
        found = d;
    }
    return found;
}

/* What follows an entry that names no device is not seen; a device named twice
 * leaves none at all. */
static void load_visible(void)
{
    const char *entry = getenv("CUDA_VISIBLE_DEVICES");
    bool uuids;

    nvisible = 0;
    for (int d = 0; !entry && d < nphysical; d++)
        visible[nvisible++] = d;
    if (!entry || !*entry)
        return;
    entry += strspn(entry, " \t");
    uuids = strncmp(entry, "GPU-", 4) == 0;
    while (entry) {
        int d = find_device(entry, uuids);

        if (d < 0)
            return;
        if (device_ordinal(d) >= 0) {
            nvisible = 0;
            return;
        }
        visible[nvisible++] = d;
        entry = strchr(entry, ',');
        if (entry)
            entry += 1 + strspn(entry + 1, " \t");
    }
}

int devices_load(void)
{
    nphysical = (int)sim_number("GPUBIND_SIM_DEVICES", 2, SIM_MAX_DEVICES);
    memory = sim_number("GPUBIND_SIM_MEMORY", (uint64_t)1 << 30, (uint64_t)1 << 40);
    load_host();
    load_peers();
    load_visible();
    return nvisible ? CUDA_OK : CUDA_NO_DEVICE;
}

int device_count(void)
{
    return nvisible;
}

int device_physical(int device)
{
    return visible[device];
}

int device_ordinal(int physical)
{
    for (int i = 0; i < nvisible; i++)
        if (visible[i] == physical)
            return i;
    return -1;
}

bool device_reaches(int physical, int other)
{
    return reaches[physical][other];
}

size_t device_memory(void)
{
    return memory;
}

uint64_t device_host(void)
{
    return host;
}

static bool is_device(int device)
{
    return device >= 0 && device < nvisible;
}

int cuDeviceGetCount(int *count)
{
    int result = sim_enter(CALL_cuDeviceGetCount);

    if (result)
        return result;
    *count = nvisible;
    return sim_leave(CUDA_OK);
}

int cuDeviceGet(int *device, int ordinal)
{
    int result = sim_enter(CALL_cuDeviceGet);

    if (result)
        return result;
    if (!is_device(ordinal))
        return sim_leave(SIM_INVALID_DEVICE);
    *device = ordinal;
    return sim_leave(CUDA_OK);
}

int cuDeviceGetUuid_v2(struct cuda_uuid *uuid, int device)
{
    int result = sim_enter(CALL_cuDeviceGetUuid_v2);

    if (result)
        return result;
    if (!is_device(device))
        return sim_leave(SIM_INVALID_DEVICE);
    read_uuid(visible[device], (unsigned char *)uuid->bytes);
    return sim_leave(CUDA_OK);
}

static int bus_of(int physical)
{
    return 0x0b + 0x0f * physical;
}

int cuDeviceGetPCIBusId(char *text, int length, int device)
{
    int result = sim_enter(CALL_cuDeviceGetPCIBusId);

    if (result)
        return result;
    if (!is_device(device))
        return sim_leave(SIM_INVALID_DEVICE);
    if (length < 13)
        return sim_leave(CUDA_INVALID_VALUE);
    snprintf(text, (size_t)length, "0000:%02X:00.0", (unsigned)bus_of(visible[device]));
    return sim_leave(CUDA_OK);
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    int result = sim_enter(CALL_cuDeviceGetAttribute);

    if (result)
        return result;
    if (!is_device(device))
        return sim_leave(SIM_INVALID_DEVICE);
    if (attribute < 1 || attribute > 150)
        return sim_leave(CUDA_INVALID_VALUE);
    *value = 0;
    if (attribute == CUDA_ATTRIBUTE_UNIFIED_ADDRESSING)
        *value = 1;
    if (attribute == CUDA_ATTRIBUTE_MULTIPROCESSORS)
        *value = SIM_MULTIPROCESSORS;
    if (attribute == SIM_ATTRIBUTE_SHARED_OPTIN)
        *value = SIM_SHARED_MOST;
    if (attribute == CUDA_ATTRIBUTE_MEMORY_CLOCK)
        *value = 3201000;
    if (attribute == CUDA_ATTRIBUTE_MEMORY_BUS)
        *value = 6144;
    if (attribute == 33) /* PCI bus; device and domain are 0 */
        *value = bus_of(visible[device]);
    if (attribute == CUDA_ATTRIBUTE_WORDS_OF_64)
        *value = (int)sim_number("GPUBIND_SIM_WORDS_OF_64", 1, 1);
    if (attribute == CUDA_ATTRIBUTE_FLUSH_REMOTE_WRITES)
        *value = (int)sim_number("GPUBIND_SIM_FLUSH", 0, 1);
    if (attribute == CUDA_ATTRIBUTE_MPS)
        *value = (int)sim_number("GPUBIND_SIM_MPS", 0, 1);
    if (attribute == CUDA_ATTRIBUTE_VIRTUAL_MEMORY ||
        attribute == CUDA_ATTRIBUTE_FILE_DESCRIPTORS ||
        attribute == CUDA_ATTRIBUTE_VIRTUAL_MEMORY_RDMA)
        *value = vmm_is_there();
    if (attribute == 75) /* compute capability 9.0 */
        *value = 9;
    return sim_leave(CUDA_OK);
}

int cuDeviceGetP2PAttribute(int *value, int attribute, int device, int peer)
{
    int result = sim_enter(CALL_cuDeviceGetP2PAttribute);

    if (result)
        return result;
    if (!is_device(device) || !is_device(peer) || device == peer)
        return sim_leave(SIM_INVALID_DEVICE);
    if (attribute < CUDA_PAIR_RANK || attribute > 4)
        return sim_leave(CUDA_INVALID_VALUE);
    *value = attribute != CUDA_PAIR_RANK && reaches[visible[device]][visible[peer]];
    return sim_leave(CUDA_OK);
}

int cuDeviceTotalMem_v2(size_t *nbytes, int device)
{
    int result = sim_enter(CALL_cuDeviceTotalMem_v2);

    if (result)
        return result;
    if (!is_device(device))
        return sim_leave(SIM_INVALID_DEVICE);
    *nbytes = memory;
    return sim_leave(CUDA_OK);
}

int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    int result = sim_enter(CALL_cuDeviceCanAccessPeer);

    if (result)
        return result;
    if (!is_device(device) || !is_device(peer))
        return sim_leave(SIM_INVALID_DEVICE);
    *can = device != peer && reaches[visible[device]][visible[peer]];
    return sim_leave(CUDA_OK);
}
