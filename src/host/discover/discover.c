/* Discovery with hwloc, which is loaded as discover.so. */
#include "host/discover/discover.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/topo/node_from_hwloc.h"
#include "host/discover/hwloc_init.h"
#include "host/discover/hwloc_pci.h"

/* hwloc's GPU backends initialise the vendors' libraries, which takes seconds on
 * a large node. Its plugins are loaded while a topology is made, before one can
 * say which components to leave out, hence the environment; it is restored, since
 * the program is to inherit what the user gave us. */
int init_without_gpu_backends(hwloc_topology_t *topology, bool reads_xml)
{
    static const char name[] = "HWLOC_PLUGINS_BLACKLIST";
    static const char gpus[] = "hwloc_opencl.so,hwloc_cuda.so,hwloc_nvml.so,hwloc_gl.so";
    static const char *const backends[] = {"opencl", "cuda", "nvml", "gl"};
    const char *now = getenv(name);
    char *before = now ? strdup(now) : NULL;
    struct text left_out = {0};
    int status;

    /* libxml2 and what it needs are a fifth of a load that reads no XML. */
    text_add(&left_out, "%s%s%s%s", gpus, reads_xml ? "" : ",hwloc_xml_libxml.so",
             before ? "," : "", before ? before : "");
    setenv(name, left_out.bytes ? left_out.bytes : gpus, 1);
    text_clear(&left_out);
    status = hwloc_topology_init(topology);
    if (before)
        setenv(name, before, 1);
    else
        unsetenv(name);
    free(before);
    for (int i = 0; status == 0 && i < 4; i++)
        hwloc_topology_set_components(*topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                      backends[i]);
    return status;
}

/* Parts of discovery that take long on a large machine and are not used here. */
static void leave_out(hwloc_topology_t topology)
{
    hwloc_pci_from_sysfs(topology);
    /* It moves this process to every CPU and asks each about itself, which a hypervisor has
     * to answer; Linux has told what the answers are, but in some sandboxes. */
    if (!getenv("HWLOC_COMPONENTS") &&
        access("/sys/devices/system/cpu/cpu0/topology/core_id", R_OK) == 0)
        hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
#if HWLOC_API_VERSION >= 0x00020800
    /* How fast a CPU is, from three files of each. */
    hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS);
#endif
}

static void filter(hwloc_topology_t topology)
{
    hwloc_topology_set_icache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_L1CACHE, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_L2CACHE, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    /* Distances between devices are counted in bridges. */
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_BRIDGE, HWLOC_TYPE_FILTER_KEEP_ALL);
}

/* The X of <topology version="X.Y">; 1 where there is none, as in those of hwloc 1; 0 where
 * it is another text. */
static int xml_version(const char *xml)
{
    const char *tag = strstr(xml, "<topology"), *version, *end;

    end = tag ? strchr(tag, '>') : NULL;
    if (!end)
        return 0;
    version = strstr(tag, "version=");
    return version && version < end ? atoi(version + strlen("version=") + 1) : 1;
}

int refuse_xml(const char *file, const char *xml, struct gpubind_error *err)
{
    int version = xml_version(xml), own = (int)(hwloc_get_api_version() >> 16);

    if (version > own)
        return error_set(err,
                         "topology file %s is XML of hwloc %d, and the hwloc here reads that "
                         "of hwloc %d: have it written by lstopo --export-xml-flags v%d",
                         file, version, own, own);
    if (version && version + 1 < own)
        return error_set(err,
                         "topology file %s is XML of hwloc %d, which the hwloc %d here does "
                         "not read: lstopo of hwloc 2 rewrites it",
                         file, version, own);
    return error_set(err, "topology file %s is no hwloc XML", file);
}

/* Why hwloc cannot load this machine or file. */
static int refuse_machine(struct gpubind_error *err)
{
    int why = errno;
    const char *path = getenv("HWLOC_XMLFILE");
    FILE *file = path ? fopen(path, "re") : NULL;
    char xml[1024];
    size_t length = file ? fread(xml, 1, sizeof xml - 1, file) : 0;

    if (file)
        fclose(file);
    xml[length] = '\0';
    if (xml_version(xml) > (int)(hwloc_get_api_version() >> 16))
        return refuse_xml(path, xml, err);
    return error_set(err, "hwloc cannot read this machine's topology: %s", strerror(why));
}

static int load(hwloc_topology_t topology, const char *file, const char *xml,
                struct gpubind_error *err)
{
    filter(topology);
    errno = 0;
    /* hwloc counts the NUL. */
    if (file && hwloc_topology_set_xmlbuffer(topology, xml, (int)strlen(xml) + 1) < 0)
        return refuse_xml(file, xml, err);
    if (hwloc_topology_load(topology) < 0)
        return file ? refuse_xml(file, xml, err) : refuse_machine(err);
    return 0;
}

static void name_node(struct node *node, const char *file)
{
    const char *base;

    if (!file && gethostname(node->name, sizeof node->name) == 0)
        node->name[sizeof node->name - 1] = '\0';
    if (!file || node->name[0])
        return;
    base = strrchr(file, '/');
    base = base ? base + 1 : file;
    snprintf(node->name, sizeof node->name, "%.*s", (int)strcspn(base, "."), base);
    text_clean(node->name);
}

int gpubind_discover(const char *version, const char *file, const char *xml, struct node *node,
                     struct gpubind_error *err)
{
    hwloc_topology_t topology;
    int status;

    memset(node, 0, sizeof *node);
    if (strcmp(version, PACKAGE_VERSION) != 0)
        return error_set(err, "gpubind %s found the discover.so of version %s", version,
                         PACKAGE_VERSION);
    if (init_without_gpu_backends(&topology, file || getenv("HWLOC_XMLFILE")) < 0)
        return error_set(err, "hwloc cannot be used: %s", strerror(errno));
    if (!file)
        leave_out(topology);
    status = load(topology, file, xml, err);
    if (status == 0)
        status = node_from_hwloc(topology, node, err);
    if (status == 0) {
        node->recorded = !hwloc_topology_is_thissystem(topology);
        name_node(node, file);
    }
    hwloc_topology_destroy(topology);
    return status;
}
