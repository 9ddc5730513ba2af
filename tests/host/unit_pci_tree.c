/* The PCI tree as sysfs tells it, with a folder of our own in the place of /. No file there
 * is a device's configuration space. */
#include <stdlib.h>
#include <unistd.h>

#include "core/base/text.h"
#include "host/discover/hwloc_pci.h"
#include "tests/tap.h"

static char root[] = "/tmp/gpubind-test-pci.XXXXXX";
static struct pci_tree tree;

static void run(const char *command)
{
    char line[1024];

    snprintf(line, sizeof line, "cd '%s' && %s", root, command);
    if (system(line) != 0)
        tap_ok(false, "%s", line);
}

/* path: below /sys/devices, with the function last. */
static void add(const char *path, const char *class_id, const char *vendor, const char *device)
{
    const char *name = strrchr(path, '/') + 1;
    char line[900];

    snprintf(line, sizeof line,
             "mkdir -p sys/devices/%s sys/bus/pci/devices && echo %s > sys/devices/%s/class && "
             "echo %s > sys/devices/%s/vendor && echo %s > sys/devices/%s/device && "
             "ln -s ../../../devices/%s sys/bus/pci/devices/%s",
             path, class_id, path, vendor, path, device, path, path, name);
    run(line);
}

static int by_address(const void *a, const void *b)
{
    const struct pci_function *x = a, *y = b;
    unsigned long long left = ((unsigned long long)x->domain << 32) | x->bus << 16 | x->dev << 8 |
                              x->func;
    unsigned long long right = ((unsigned long long)y->domain << 32) | y->bus << 16 | y->dev << 8 |
                               y->func;

    return (left > right) - (left < right);
}

/* A line for each function: a device's ids, a bridge's buses. */
static char *drawn(void)
{
    struct text text = {0};

    qsort(tree.function, (size_t)tree.n, sizeof tree.function[0], by_address);
    for (int i = 0; i < tree.n; i++) {
        const struct pci_function *at = &tree.function[i];

        text_add(&text, "%04x:%02x:%02x.%x ", at->domain, at->bus, at->dev, at->func);
        if (at->is_bridge)
            text_add(&text, "[%02x-%02x]\n", at->first_bus, at->last_bus);
        else
            text_add(&text, "%04x %04x:%04x\n", at->class_id, at->vendor, at->device);
    }
    return text.bytes;
}

static void compare(const char *wanted, const char *what)
{
    char *text = drawn();

    tap_is(text ? text : "", wanted, what);
    free(text);
}

static void test_behind_bridges(void)
{
    add("pci0000:16/0000:16:01.0", "0x060400", "0x8086", "0x352a");
    add("pci0000:16/0000:16:01.0/0000:17:00.0", "0x030200", "0x10de", "0x2330");
    tap_ok(pci_tree_read(root, &tree), "a GPU below a root port");
    compare("0000:16:01.0 [17-17]\n0000:17:00.0 0302 10de:2330\n", "the two of them");
    run("rm -r sys");
}

static void test_switch(void)
{
    add("pci0000:40/0000:40:01.0/0000:41:00.0/0000:42:01.0/0000:45:00.2", "0x020000", "0x15b3",
        "0x101e");
    add("pci0000:40/0000:40:01.0/0000:41:00.0/0000:42:00.0/0000:43:00.0", "0x030200", "0x10de",
        "0x2330");
    add("pci0000:40/0000:40:01.0/0000:41:00.0/0000:42:01.0/0000:44:00.0", "0x020700", "0x15b3",
        "0x1021");
    tap_ok(pci_tree_read(root, &tree), "a GPU, a NIC and its virtual function below a switch");
    compare("0000:40:01.0 [41-45]\n0000:41:00.0 [42-45]\n0000:42:00.0 [43-43]\n"
            "0000:42:01.0 [44-45]\n0000:43:00.0 0302 10de:2330\n0000:44:00.0 0207 15b3:1021\n"
            "0000:45:00.2 0200 15b3:101e\n",
            "each bridge has the buses below it, also those of virtual functions");
    run("rm -r sys");
}

static void test_left_out(void)
{
    add("pci0000:00/0000:00:08.1", "0x088000", "0x8086", "0x09a4");
    add("pci0000:00/0000:00:1c.0", "0x060400", "0x8086", "0x1bb8");
    add("pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0", "0x010802", "0x8086",
        "0x0b60");
    add("platform/soc/pci0001:00/0001:00:00.0/0001:01:00.0", "0x010802", "0x144d", "0xa80a");
    tap_ok(pci_tree_read(root, &tree), "what is of no use here");
    compare("0001:00:00.0 [01-01]\n0001:01:00.0 0108 144d:a80a\n",
            "system devices, bridges above nothing, domains that hwloc cannot hold");
    run("rm -r sys");
}

static void test_unreadable(void)
{
    tap_ok(!pci_tree_read(root, &tree), "no sysfs: hwloc looks by itself");
    run("mkdir -p sys/bus/pci/devices/0000:17:00.0 && "
        "echo 0x030200 > sys/bus/pci/devices/0000:17:00.0/class");
    tap_ok(!pci_tree_read(root, &tree), "nor where names are no links");
    run("rm -r sys");
    run("mkdir -p sys/devices/one sys/bus/pci/devices && echo 0x030200 > sys/devices/one/class && "
        "for domain in 0000 0001 0002 0003 0004; do for bus in $(seq 16 99); do "
        "for dev in 1 2 3; do ln -s ../../../devices/one "
        "sys/bus/pci/devices/$domain:$bus:0$dev.0; done; done; done");
    tap_ok(!pci_tree_read(root, &tree), "nor where there are too many");
    run("rm -r sys");
}

int main(void)
{
    if (!mkdtemp(root)) {
        tap_ok(false, "a folder of our own");
        return tap_done();
    }
    test_behind_bridges();
    test_switch();
    test_left_out();
    test_unreadable();
    rmdir(root);
    return tap_done();
}
