/* The NVIDIA driver's files in /proc and /dev, completed by NVML where needed. */
#include "host/discover/nvidia.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/discover/nvml.h"

/* What stands behind "key:" in a line, without the white space; NULL when it is
 * another line. */
static char *field(char *line, const char *key)
{
    size_t length = strlen(key);

    if (strncmp(line, key, length) != 0 || line[length] != ':')
        return NULL;
    line += length + 1;
    line += strspn(line, " \t");
    line[strcspn(line, "\r\n")] = '\0';
    return line;
}

static void entry_path(const char *root, const char *pci, const char *file, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/proc/driver/nvidia/gpus/%s%s", root, pci, file);
}

bool nvidia_read_information(const char *root, struct gpu *gpu, bool *excluded)
{
    char path[PATH_MAX], line[256];
    FILE *file;

    *excluded = false;
    entry_path(root, gpu->pci, "/information", path);
    file = fopen(path, "re");
    if (!file)
        return false;
    while (fgets(line, sizeof line, file)) {
        const char *value;

        if ((value = field(line, "GPU UUID")) && !strchr(value, '?'))
            snprintf(gpu->mig ? gpu->card_uuid : gpu->uuid, sizeof gpu->uuid, "%.95s", value);
        else if ((value = field(line, "Model")))
            snprintf(gpu->model, sizeof gpu->model, "%.63s", value);
        else if ((value = field(line, "Device Minor")))
            gpu->minor = atoi(value);
        else if ((value = field(line, "GPU Excluded")))
            *excluded = strcmp(value, "Yes") == 0;
    }
    fclose(file);
    return true;
}

static bool may_open(const char *root, int minor)
{
    char path[PATH_MAX];

    /* access asks the device cgroup too, and does not wake the GPU as open would. */
    snprintf(path, sizeof path, "%s/dev/nvidia%d", root, minor);
    return access(path, R_OK | W_OK) == 0;
}

static bool exists(const char *root, const char *path)
{
    char full[PATH_MAX];

    snprintf(full, sizeof full, "%s%s", root, path);
    return access(full, F_OK) == 0;
}

/* CUDA has it make the files where nothing has made them since the machine was started. */
static bool has_modprobe(const char *root)
{
    char path[PATH_MAX];
    struct stat status;

    snprintf(path, sizeof path, "%s/usr/bin/nvidia-modprobe", root);
    return stat(path, &status) == 0 && status.st_uid == 0 && status.st_mode & S_ISUID;
}

void nvidia_minors(const char *root, struct idset *minors)
{
    char path[PATH_MAX];
    struct dirent *entry;
    DIR *dir;

    idset_clear(minors);
    if (!exists(root, "/dev/nvidiactl")) {
        for (int minor = 0; has_modprobe(root) && minor < NODE_MAX_GPUS; minor++)
            idset_add(minors, minor);
        return;
    }
    snprintf(path, sizeof path, "%s/dev", root);
    dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        int minor, end = 0;

        if (sscanf(entry->d_name, "nvidia%4d%n", &minor, &end) == 1 && !entry->d_name[end] &&
            may_open(root, minor))
            idset_add(minors, minor);
    }
    if (dir)
        closedir(dir);
}

/* Whether the folder has an entry whose name begins so. */
static bool has_any(const char *root, const char *folder, const char *beginning)
{
    char path[PATH_MAX];
    struct dirent *entry;
    bool found = false;
    DIR *dir;

    snprintf(path, sizeof path, "%s%s", root, folder);
    dir = opendir(path);
    if (!dir)
        return false;
    while (!found && (entry = readdir(dir)))
        found = entry->d_name[0] != '.' &&
                strncmp(entry->d_name, beginning, strlen(beginning)) == 0;
    closedir(dir);
    return found;
}

/* Partitioned GPUs have capability files for their instances. */
static bool has_instances(const char *root, int minor)
{
    char folder[80];

    snprintf(folder, sizeof folder, "/proc/driver/nvidia/capabilities/gpu%d/mig", minor);
    return has_any(root, folder, "gi");
}

static const struct nvml_gpu *find_listed(const struct nvml_gpu *list, int nlisted, const char *pci)
{
    for (int i = 0; i < nlisted; i++)
        if (strcasecmp(list[i].pci, pci) == 0)
            return &list[i];
    return NULL;
}

/* Bandwidth from a to b: links that end there, or those of both into switches. */
static unsigned link_between(const struct nvml_gpu *a, const struct nvml_gpu *b)
{
    unsigned direct = 0, up = 0, down = 0;

    for (int l = 0; l < a->nlinks; l++) {
        if (a->link[l].to_switch)
            up += a->link[l].bandwidth;
        else if (strcasecmp(a->link[l].pci, b->pci) == 0)
            direct += a->link[l].bandwidth;
    }
    for (int l = 0; l < b->nlinks; l++)
        down += b->link[l].to_switch ? b->link[l].bandwidth : 0;
    if (down < up)
        up = down;
    return direct > up ? direct : up;
}

static void take_links(const struct nvml_gpu *list, int nlisted, struct node *node)
{
    for (int a = 0; a < node->ngpus; a++)
        for (int b = 0; b < node->ngpus; b++) {
            const struct nvml_gpu *x = find_listed(list, nlisted, node->gpus[a].pci);
            const struct nvml_gpu *y = find_listed(list, nlisted, node->gpus[b].pci);

            if (a != b && x && y)
                node->link[a * node->ngpus + b] = link_between(x, y);
        }
}

/* GPUs that no PCI tree shows, as in some sandboxes: near to all cores. */
static int add_listed(const struct nvml_gpu *list, int nlisted, struct node *node,
                      struct gpubind_error *err)
{
    struct node expanded;

    if (node_make(&expanded, node->ncores, nlisted, 0, err) < 0)
        return -1;
    memcpy(expanded.name, node->name, sizeof expanded.name);
    memcpy(expanded.cores, node->cores, (size_t)node->ncores * sizeof *node->cores);
    for (int g = 0; g < nlisted; g++) {
        struct gpu *gpu = &expanded.gpus[g];

        memcpy(gpu->pci, list[g].pci, sizeof gpu->pci);
        memcpy(gpu->model, list[g].model, sizeof gpu->model);
        gpu->minor = list[g].minor;
        gpu->vendor_index = g;
        for (int c = 0; c < node->ncores; c++)
            idset_add(&gpu->cores, c);
        for (int h = 0; h < nlisted; h++)
            expanded.gpu_hops[g * nlisted + h] = g == h ? 0 : 64;
    }
    node_locate(&expanded);
    node_number(&expanded);
    node_clear(node);
    *node = expanded;
    return 0;
}

/* Each partitioned GPU becomes its instances; one in MIG mode that has none is of no
 * use to anybody. */
static int take_instances(const struct nvml_gpu *list, int nlisted, struct node *node,
                          struct gpubind_error *err)
{
    bool keep[NODE_MAX_GPUS];

    for (int g = 0; g < node->ngpus; g++) {
        const struct nvml_gpu *listed = find_listed(list, nlisted, node->gpus[g].pci);

        keep[g] = node->gpus[g].mig || !listed || !listed->mig || listed->ninstances;
    }
    node_keep_gpus(node, keep);
    for (int g = node->ngpus - 1; g >= 0; g--) {
        const struct nvml_gpu *listed = find_listed(list, nlisted, node->gpus[g].pci);
        char instances[NVML_MAX_INSTANCES][96];

        /* A recorded machine may know of them. */
        if (!listed || !listed->ninstances || node->gpus[g].mig)
            continue;
        memcpy(instances, listed->instances, sizeof instances);
        if (node_partition(node, g, instances, listed->ninstances, err) < 0)
            return -1;
    }
    return 0;
}

static int take_listed(const struct nvml_gpu *list, int nlisted, bool links, struct node *node,
                       struct gpubind_error *err)
{
    if (node->ngpus == 0 && nlisted && add_listed(list, nlisted, node, err) < 0)
        return -1;
    for (int g = 0; g < node->ngpus; g++) {
        const struct nvml_gpu *listed = find_listed(list, nlisted, node->gpus[g].pci);

        if (listed && !node->gpus[g].uuid[0] && !strchr(listed->uuid, '?'))
            memcpy(node->gpus[g].uuid, listed->uuid, sizeof node->gpus[g].uuid);
    }
    if (links)
        take_links(list, nlisted, node);
    if (take_instances(list, nlisted, node, err) < 0)
        return -1;
    node_number(node);
    return 0;
}

static bool has_entry(const char *root, const struct gpu *gpu)
{
    char path[PATH_MAX];

    entry_path(root, gpu->pci, "", path);
    return access(path, F_OK) == 0;
}

/* A container that has the driver and none of the GPUs: no folder, and NVML answers with an
 * empty list. A machine that is pretended keeps its GPUs. */
static bool lists_none(const char *root, int nlisted)
{
    return nlisted == 0 && !exists(root, "/proc/driver/nvidia/gpus") && !getenv("HWLOC_XMLFILE");
}

static void drop(struct node *node, const bool keep[])
{
    const int before = node->ngpus;

    node_withhold(node, keep);
    node_keep_gpus(node, keep);
    node_number(node);
    node->nhidden += before - node->ngpus;
}

/* GPUs that neither the driver's folder nor NVML lists are not CUDA's: a container's runtime
 * hides them, or vfio-pci or nouveau drives them. Where no GPU of the node is listed, the
 * topology is another machine's, or NVML, whose list is then -1 long, did not answer. */
static void drop_unlisted(const char *root, const struct nvml_gpu *list, int nlisted,
                          struct node *node)
{
    bool keep[NODE_MAX_GPUS];
    int nkept = 0;

    for (int g = 0; g < node->ngpus; g++) {
        keep[g] = has_entry(root, &node->gpus[g]) ||
                  find_listed(list, nlisted, node->gpus[g].pci) != NULL;
        nkept += keep[g];
    }
    if (nkept == node->ngpus || (nkept == 0 && !lists_none(root, nlisted)))
        return;
    drop(node, keep);
}

/* Nobody can open those that the driver was told to exclude (NVreg_ExcludedGpus), and CUDA does not count them. */
static void read_all(const char *root, struct node *node)
{
    bool keep[NODE_MAX_GPUS];
    int nkept = 0;

    for (int g = 0; g < node->ngpus; g++) {
        bool excluded;

        nvidia_read_information(root, &node->gpus[g], &excluded);
        keep[g] = !excluded;
        nkept += keep[g];
    }
    if (nkept < node->ngpus)
        drop(node, keep);
}

/* The driver's folder lists some of the GPUs and not all. */
static bool misses_entry(const char *root, const struct node *node)
{
    int n = 0;

    for (int g = 0; g < node->ngpus; g++)
        n += has_entry(root, &node->gpus[g]);
    return n > 0 && n < node->ngpus;
}

static bool misses_uuid(const struct node *node)
{
    for (int g = 0; g < node->ngpus; g++)
        if (!node->gpus[g].uuid[0])
            return true;
    return false;
}

static const char mig_gap[] = "a GPU is partitioned (MIG)";

/* What the files do not say and a plan needs; NULL: nothing. */
static const char *find_gap(const char *root, const struct node *node)
{
    static const char folder[] = "/proc/driver/nvidia/gpus";

    if (node->ngpus == 0 && node->nhidden == 0 &&
        (!exists(root, folder) || has_any(root, folder, "")))
        return "there is a driver, but no GPU shows on the PCI bus";
    for (int g = 0; g < node->ngpus; g++)
        if (node->gpus[g].minor >= 0 && !node->gpus[g].mig &&
            has_instances(root, node->gpus[g].minor))
            return mig_gap;
    return NULL;
}

static int ask_nvml(const char *root, bool links, const char *gap, struct node *node,
                    struct gpubind_error *err)
{
    struct nvml_gpu *list = malloc(NVML_MAX_GPUS * sizeof *list);
    struct gpubind_error why;
    int nlisted, status = 0;

    if (!list)
        return error_set(err, "out of memory");
    nlisted = nvml_ask(links, NVML_SECONDS, list, NVML_MAX_GPUS, &why);
    if (nlisted == NVML_FAILED)
        snprintf(node->nvml_failure, sizeof node->nvml_failure, "%.90s", why.text);
    /* Without names for the instances, all ranks would get the first. */
    if (nlisted < 0 && gap == mig_gap)
        status = error_set(err, "%s, and its instances are named by NVML alone: %s", gap, why.text);
    drop_unlisted(root, list, nlisted, node);
    if (status == 0 && nlisted > 0)
        status = take_listed(list, nlisted, links, node, err);
    free(list);
    return status;
}

bool nvidia_tells_of(const struct node *node)
{
    if (node->recorded)
        return false;
    return !getenv("HWLOC_XMLFILE") || (node->ngpus && nvidia_has_driver(""));
}

bool nvidia_has_driver(const char *root)
{
    return exists(root, "/proc/driver/nvidia") || exists(root, "/dev/nvidiactl") ||
           exists(root, "/dev/dxg"); /* Windows' subsystem for Linux */
}

int nvidia_refine(const char *root, enum nvml_use use, struct node *node, struct gpubind_error *err)
{
    bool links = use == NVML_FOR_LINKS && node->ngpus > 1;
    const char *gap;

    if (node->ngpus && node->gpus[0].vendor != GPU_NVIDIA)
        return 0;
    if (!nvidia_has_driver(root)) {
        /* CUDA cannot use them. */
        node->ngpus = 0;
        return 0;
    }
    read_all(root, node);
    gap = find_gap(root, node);
    if (use != NVML_NEVER && (gap || links || misses_uuid(node) || misses_entry(root, node)))
        return ask_nvml(root, links, gap, node, err);
    drop_unlisted(root, NULL, -1, node);
    return gap && use == NVML_NEVER ? error_set(err, "%s: NVML would have to be asked", gap) : 0;
}
