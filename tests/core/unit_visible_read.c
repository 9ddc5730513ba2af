/* CUDA_VISIBLE_DEVICES and its relatives, read as their drivers read them. */
#include "core/env/visible_devices.h"
#include "tests/cases.h"
#include "tests/tap.h"

static void shows(const struct visible_list *list, char text[256])
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < list->n; i++)
        used += (size_t)snprintf(text + used, 256 - used, "%s%d", i ? "," : "", list->gpu[i]);
}

static void is_read(const char *value, const struct visible_list *list, const char *wanted,
                    const char *got_bad, const char *bad)
{
    char got[256];
    bool same_end = bad ? got_bad && strcmp(got_bad, bad) == 0 : !got_bad;

    shows(list, got);
    if (!tap_ok(strcmp(got, wanted) == 0 && same_end, "'%s' is read", value))
        tap_diag("got %s, ended by %s; wanted %s, ended by %s", got, got_bad ? got_bad : "nothing",
                 wanted, bad ? bad : "nothing");
}

static struct ze_order ze;

/* Wanted: the positions seen; bad: the entry that ends the list, NULL for none. */
static void reads(const struct node *node, const char *value, const char *wanted, const char *bad)
{
    struct visible_list list;
    const char *got_bad = visible_parse(node, value, &ze, &list);

    is_read(value, &list, wanted, got_bad, bad);
}

static void reads_all(void)
{
    struct node node;

    node_four(&node);
    reads(&node, "", "", NULL);
    reads(&node, "0", "0", NULL);
    reads(&node, "2,0", "2,0", NULL);
    reads(&node, "0,1,2,3", "0,1,2,3", NULL);
    reads(&node, "-1", "", "-1");
    reads(&node, "0,-1,1", "0", "-1,1");
    reads(&node, "1,4,2", "1", "4,2");
    reads(&node, "0,0,1", "", "0,1");
    reads(&node, "2,GPU-1111", "2", "GPU-1111");
    reads(&node, "1a,2x", "1,2", NULL);
    reads(&node, "0x1", "0", NULL);
    reads(&node, "1,,2", "1", ",2");
    reads(&node, "99999999999999999999", "", "99999999999999999999");
    reads(&node, " 1, 2", "1,2", NULL);
    reads(&node, "NoDevFiles", "", "NoDevFiles");
    reads(&node, node.gpus[2].uuid, "2", NULL);
    reads(&node, "GPU-2222", "1", NULL);
    reads(&node, "gpu-2222", "", "gpu-2222");
    reads(&node, "GPU-3333,0,GPU-1", "2", "0,GPU-1");
    reads(&node, "GPU-3333,GPU-1111", "2,0", NULL);
    reads(&node, "GPU-3333,GPU-33", "", "GPU-33");
    reads(&node, "GPU-", "", "GPU-");
    reads(&node, "GPU-5", "", "GPU-5");
    snprintf(node.gpus[3].uuid, sizeof node.gpus[3].uuid, "GPU-22222229-0000");
    reads(&node, "GPU-2222222", "", "GPU-2222222");
    reads(&node, "GPU-22222229", "3", NULL);
    node_clear(&node);
}

static void opens(const struct node *node, const char *value, const char *wanted)
{
    struct visible_list list;
    char got[256], what[64];

    visible_parse(node, value, &ze, &list);
    visible_opened(node, &list);
    shows(&list, got);
    snprintf(what, sizeof what, "what CUDA opens of '%s'", value);
    tap_is(got, wanted, what);
}

static void reads_mig(void)
{
    struct node node;

    tap_ok(node_four_partitioned(&node) == 0, "two of four GPUs are partitioned");
    reads(&node, "MIG-aaaaaaaa-1", "1", NULL);
    reads(&node, "MIG-b", "2", NULL);
    reads(&node, "MIG-dddddddd-3", "", "MIG-dddddddd-3");
    reads(&node, "MIG-cccccccc-5,MIG-aaaaaaaa-1", "6,1", NULL);
    reads(&node, "MIG-GPU-44444444/2/0", "5", NULL);
    reads(&node, "MIG-GPU-44444444/", "", "MIG-GPU-44444444/");
    reads(&node, "0", "0", NULL);
    reads(&node, "1", "1,2", NULL);
    reads(&node, "2,3", "3,4,5,6", NULL);
    reads(&node, "4", "", "4");
    reads(&node, "GPU-2222", "1,2", NULL);
    reads(&node, "GPU-3333,GPU-4444", "3,4,5,6", NULL);
    reads(&node, "GPU-2222,MIG-a", "", "MIG-a");
    reads(&node, "MIG-a,GPU-1111", "1,0", NULL);
    opens(&node, "0,2", "0,3");
    opens(&node, "1", "1");
    opens(&node, "0,1", "1");
    opens(&node, "GPU-1111,MIG-cccccccc-5,MIG-a", "6");
    node_clear(&node);
}

/* Before the driver has initialised a GPU, it does not tell its UUID. */
static void meets_unknown(void)
{
    struct node node;

    node_four(&node);
    tap_ok(!visible_unreadable(&node, "GPU-7777"), "all UUIDs are known: one that none has");
    node.gpus[2].uuid[0] = '\0';
    tap_ok(!visible_unreadable(&node, "GPU-1111,GPU-2222"), "one is not known, and not named");
    tap_ok(!visible_unreadable(&node, "0,GPU-7777"), "... nor in a list of numbers");
    tap_ok(!visible_unreadable(&node, ""), "... nor in an empty one");
    tap_is(visible_unreadable(&node, "GPU-1111, GPU-7777,GPU-8"), "GPU-7777,GPU-8",
           "an entry that may be its UUID");
    node.gpus[2].vendor = GPU_AMD;
    tap_ok(!visible_unreadable(&node, "GPU-7777"), "of AMD's nothing is said");
    node_clear(&node);
}

static void finds(const struct node *node, const char *text, int wanted)
{
    struct gpubind_error err = {""};
    int got = node_find_gpu(node, text, &err);

    if (!tap_ok(got == wanted, "'%s' is GPU %d", text, wanted))
        tap_diag("got %d: %s", got, err.text);
}

static void finds_parts(void)
{
    struct gpubind_error err = {""};
    struct node node;

    tap_ok(node_four_partitioned(&node) == 0, "two of four GPUs are partitioned");
    finds(&node, "1", 1);
    finds(&node, "1:0", 1);
    finds(&node, "1:1", 2);
    finds(&node, "3:2", 6);
    finds(&node, "0:0", -1);
    finds(&node, "1:2", -1);
    finds(&node, "1:", -1);
    finds(&node, ":1", -1);
    finds(&node, "1:1x", -1);
    finds(&node, "MIG-bbbb", 2);
    finds(&node, "GPU-2222:1", 2);
    finds(&node, "GPU-2222", -1);
    finds(&node, "GPU-1111", 0);
    finds(&node, "0000:11:00.0:1", 2);
    finds(&node, "11:00.0:0", 1);
    finds(&node, "0000:11:00.0", -1);
    finds(&node, "0000:12:00.0", 3);
    node_find_gpu(&node, "GPU-2222", &err);
    tap_ok(strstr(err.text, "fits more than one") && strstr(err.text, "1 = 0000:11:00.0:0"),
           "parts are listed with their numbers");
    node_clear(&node);
}

/* ROCm's numbers are 2, 3, 0, 1 in order of PCI address. */
static void reads_rocr(void)
{
    struct visible_list list;
    const char *bad;
    struct node node;

    node_four(&node);
    for (int g = 0; g < 4; g++) {
        node.gpus[g].vendor = GPU_AMD;
        node.gpus[g].vendor_index = (g + 2) % 4;
        snprintf(node.gpus[g].uuid, sizeof node.gpus[g].uuid, "GPU-%d0aa00000000000%d", g / 2, g);
    }
    reads(&node, "", "", NULL);
    reads(&node, "0", "2", NULL);
    reads(&node, "3,0", "1,2", NULL);
    reads(&node, " 0x1 , 2", "3,0", NULL);
    reads(&node, "1x", "", "1x");
    reads(&node, "0,-1,1", "2", "-1,1");
    reads(&node, "0,4", "2", "4");
    reads(&node, "0,0,1", "2", "0,1");
    reads(&node, "0,,1", "2", ",1");
    reads(&node, "gpu-00AA000000000001,2", "1,0", NULL);
    reads(&node, "GPU-0", "", "GPU-0");
    reads(&node, "GPU-10aa000000000003x", "", "GPU-10aa000000000003x");
    visible_parse(&node, "3,0,2", &ze, &list);
    bad = visible_parse_hip(&node, "2,0,9,1", &list);
    is_read("3,0,2 and then HIP's 2,0,9,1", &list, "0,1", bad, "9,1");
    visible_parse(&node, "3,0,2", &ze, &list);
    bad = visible_parse_hip(&node, "1,GPU-00aa000000000001,GPU-10aa000000000003", &list);
    is_read("... and HIP's UUIDs", &list, "2,1", bad, "GPU-10aa000000000003");
    node_clear(&node);
}

/* Level Zero's own order begins with the second card; both have two tiles. */
static void reads_ze(void)
{
    static const struct ze_number own[] = {{1, 2}, {1, 3}, {0, 0}, {0, 1}};
    static const struct ze_number by_pci[] = {{0, 0}, {0, 1}, {1, 2}, {1, 3}};
    struct node node;

    node_four(&node);
    for (int g = 0; g < 4; g++) {
        node.gpus[g].vendor = GPU_INTEL;
        node.gpus[g].part = g % 2;
        node.gpus[g].ze[0] = own[g];
        node.gpus[g].ze[1] = by_pci[g];
    }
    reads(&node, "", "0,1,2,3", NULL);
    reads(&node, "default", "0,1,2,3", NULL);
    reads(&node, "0", "2", NULL);
    reads(&node, "3,0", "1,2", NULL);
    reads(&node, "0.1,1", "3", "0.1,1");
    reads(&node, "9,1,x", "3", "9,1,x");
    reads(&node, "65535", "", "65535");
    ze = visible_ze_order("COMPOSITE", NULL);
    reads(&node, "0", "2,3", NULL);
    reads(&node, "1.1,0.0", "1,2", NULL);
    reads(&node, "2", "", "2");
    reads(&node, "0.2", "", "0.2");
    ze = visible_ze_order("COMPOSITE", "1");
    reads(&node, "0", "0,1", NULL);
    ze = visible_ze_order("FLAT", "1");
    reads(&node, "3", "3", NULL);
    ze = visible_ze_order("COMBINED", "0");
    reads(&node, "3", "1", NULL);
    ze = visible_ze_order(NULL, NULL);
    node_clear(&node);
}

int main(void)
{
    reads_all();
    reads_mig();
    meets_unknown();
    finds_parts();
    reads_rocr();
    reads_ze();
    return tap_done();
}
