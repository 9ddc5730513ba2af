/* gpubind-bench report's roofline and peaks, from recorded results. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/cases/halo_schema.h"
#include "bench/cases/host.h"
#include "bench/cases/p2p.h"
#include "bench/cases/peer_kernel_schema.h"
#include "bench/cases/put_schema.h"
#include "bench/lib/kernels.h"
#include "bench/lib/sysfs.h"
#include "bench/main/roofline.h"
#include "bench/pt2pt/pt2pt.h"
#include "tests/tap.h"

static struct table p2p = {.schema = &p2p_schema}, host = {.schema = &host_schema},
                    pt2pt = {.schema = &pt2pt_schema}, peer = {.schema = &peer_kernel_schema},
                    halo = {.schema = &halo_schema}, put = {.schema = &put_schema},
                    roofline = {.schema = &roofline_schema};
static struct peaks peaks;

static void add_p2p(const char *measure, int from, int to, const char *access, double us,
                    double gb_per_s)
{
    table_add_row(&p2p);
    table_set_word(&p2p, P2P_MEASURE, measure);
    table_set_number(&p2p, P2P_FROM, from);
    table_set_number(&p2p, P2P_TO, to);
    if (access)
        table_set_word(&p2p, P2P_ACCESS, access);
    table_set_number(&p2p, P2P_US, us);
    table_set_number(&p2p, P2P_GB_PER_S, gb_per_s);
    table_set_word(&p2p, P2P_DATA, "right");
}

static void record_p2p(void)
{
    text_add(&p2p.machine, "two GPUs <\"A\" & B>\n");
    text_add(&p2p.notes, "GPU 1 cannot access GPU 2 & more\n");
    add_p2p("one-way", 0, 1, "off", 1700, 39.5);
    add_p2p("one-way", 1, 0, "off", 1710, 39.2);
    add_p2p("one-way", 1, 0, "on", 172, 390);
    add_p2p("one-way", 0, 1, "on", 171, 392);
    add_p2p("both-ways", 0, 1, "on", 179, 750);
    add_p2p("latency", 0, 1, "on", 5.1, 0.0016);
    add_p2p("latency", 1, 0, "on", 5.2, 0.0016);
    add_p2p("local", 0, 0, NULL, 65, 2000);
    add_p2p("local", 1, 1, NULL, 70, 1900);
}

static void add_host(const char *measure, const char *memory, const char *way, const char *order,
                     double chunk, const char *when, double gb_per_s)
{
    table_add_row(&host);
    table_set_word(&host, HOST_MEASURE, measure);
    table_set_word(&host, HOST_WAY, way);
    if (memory)
        table_set_word(&host, HOST_MEMORY, memory);
    if (order) {
        table_set_word(&host, HOST_ORDER, order);
        table_set_number(&host, HOST_CHUNK, chunk);
    }
    if (when)
        table_set_word(&host, HOST_WHEN, when);
    table_set_number(&host, HOST_GB_PER_S, gb_per_s);
}

static void record_host(void)
{
    add_host("copies", "pageable", "up", NULL, 0, NULL, 8);
    add_host("copies", "page-locked", "up", NULL, 0, NULL, 55);
    add_host("copies", "page-locked", "down", NULL, 0, NULL, 52);
    add_host("chunks", "page-locked", "both", "one stream", 65536, NULL, 9);
    add_host("chunks", "page-locked", "both", "one stream", 1048576, NULL, 24);
    add_host("chunks", "page-locked", "both", "depth first", 65536, NULL, 11);
    add_host("chunks", "page-locked", "both", "depth first", 1048576, NULL, 43);
    add_host("together", NULL, "up", NULL, 0, "alone, sum", 110);
    add_host("together", NULL, "up", NULL, 0, "all at once, sum", 66);
}

static void add_message(const char *method, double nbytes, double gb_per_s)
{
    table_add_row(&pt2pt);
    table_set_word(&pt2pt, PT2PT_MEASURE, "bandwidth");
    table_set_word(&pt2pt, PT2PT_METHOD, method);
    table_set_number(&pt2pt, PT2PT_BYTES, nbytes);
    table_set_number(&pt2pt, PT2PT_GB_PER_S, gb_per_s);
}

/* The patterns of peer-kernel, in GPU 0's memory and in GPU 1's. */
static void record_peer(void)
{
    static const double speeds[PATTERNS][2] = {{3800, 660}, {470, 85}, {320, 21}, {0.012, 0.008}};

    for (int pattern = 0; pattern < PATTERNS; pattern++)
        for (int memory = 0; memory < 2; memory++)
            peer_kernel_add_row(&peer, pattern, memory, 1e6, 16, 0.016 / speeds[pattern][memory],
                                false);
}

static void add_halo(const char *grid, const char *way, int nranks, double bytes, double us)
{
    const int cells[] = {16, 131072}, places[] = {nranks, 1};
    const struct halo_row row = {.grid = grid,
                                 .way = way,
                                 .meets = true,
                                 .in_turn = us < 20,
                                 .ndims = 2,
                                 .cells = cells,
                                 .places = places,
                                 .nranks = nranks,
                                 .times = 1000,
                                 .bytes = bytes,
                                 .us = us};

    halo_add_row(&halo, &row);
}

/* One rank alone is faster, but is no exchange between GPUs. */
static void record_halo(void)
{
    for (int nranks = 1; nranks <= 8; nranks *= 2) {
        add_halo("rows of 64 KiB", "stream", nranks, 131072, 5.6 + 0.3 * nranks);
        add_halo("rows of 1 MiB", "stream", nranks, 2097152, nranks == 1 ? 3 : 9.9 + 0.1 * nranks);
        add_halo("rows of 1 MiB", "start, wait", nranks, 2097152, 14 + nranks);
        add_halo("rows of 1 MiB", "graph", nranks, 2097152, 9.7 + 0.1 * nranks);
    }
}

/* As many blocks and warps as on a GPU of 132 multiprocessors. */
static void record_put(void)
{
    for (int way = 0; way < 2 * BY_KINDS; way++) {
        const bool is_put = way < BY_KINDS;

        for (int power = 0; power <= 8; power++)
            for (int warps = 4; warps <= 32; warps *= 2) {
                const int blocks = power < 8 ? 1 << power : 132;

                put_add_move(&put, is_put, way % BY_KINDS, blocks, warps,
                             (is_put ? 369 : 360) * fmin(1, blocks * warps / 256.0), false);
            }
        put_note_enough(&put, is_put, way % BY_KINDS);
    }
    for (int how = 0; how < PINGS; how++)
        put_add_ping(&put, how, 1.3 + 0.2 * how, false);
}

static void set_peak(struct peak *peak, double bytes_per_s, const char *why)
{
    peak->bytes_per_s = bytes_per_s;
    snprintf(peak->why, sizeof peak->why, "%s", why);
}

static void record(void)
{
    record_p2p();
    record_host();
    record_peer();
    record_halo();
    record_put();
    add_message("gpubind", 1048576, 300);
    add_message("copy", 1048576, 320);
    add_message("gpubind", 2097152, 342);
    add_message("copy", 2097152, 360);
    peaks.n = 2;
    for (int i = 0; i < 2; i++) {
        snprintf(peaks.gpu[i].name, sizeof peaks.gpu[i].name, "GPU & more %d", i);
        peak_of_memory(3201000, 6144, &peaks.gpu[i].memory);
        peak_of_bus("32.0 GT/s PCIe\n", "16\n", &peaks.gpu[i].bus);
        set_peak(&peaks.gpu[i].pair[1 - i], 450e9, "18 NVLinks of 25 GB/s");
    }
    peaks.next = peaks.partner = peaks.all = peaks.gpu[0].pair[1];
    peaks_print(&peaks, &roofline.machine);
    roofline_add(&p2p, &peaks, &roofline);
    roofline_add(&host, &peaks, &roofline);
    roofline_add(&pt2pt, &peaks, &roofline);
    roofline_add(&peer, &peaks, &roofline);
    roofline_add(&halo, &peaks, &roofline);
    roofline_add(&put, &peaks, &roofline);
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-3 * fabs(b);
}

/* A row of what says gb_per_s, and percent of ceiling. */
static bool roofline_has(const char *what, double gb_per_s, double ceiling, const char *why)
{
    for (int row = 0; row < roofline.nrows; row++) {
        if (strcmp(table_cell(&roofline, row, ROOFLINE_WHAT)->word, what) != 0 ||
            strcmp(table_cell(&roofline, row, ROOFLINE_WHY)->word, why) != 0)
            continue;
        return near(table_cell(&roofline, row, ROOFLINE_GB_PER_S)->number, gb_per_s) &&
               near(table_cell(&roofline, row, ROOFLINE_CEILING)->number, ceiling) &&
               near(table_cell(&roofline, row, ROOFLINE_PERCENT)->number, 100 * gb_per_s / ceiling);
    }
    return false;
}

static void check_roofline(void)
{
    tap_ok(roofline_has("copies one way, fastest pair (0 to 1)", 392, 450, "18 NVLinks of 25 GB/s"),
           "the fastest pair with peer access");
    tap_ok(roofline_has("copies one way, slowest pair (1 to 0)", 390, 450, "18 NVLinks of 25 GB/s"),
           "the slowest pair with peer access, by its links");
    tap_ok(roofline_has("copies both ways, slowest pair (0 to 1)", 750, 900,
                        "2 x 18 NVLinks of 25 GB/s"),
           "both ways have twice as much");
    tap_ok(roofline_has("memory of the slowest GPU", 3800, 4916.736,
                        "memory of 6144 bits at 2 x 3201 MHz"),
           "a copy within a GPU reads and writes");
    tap_ok(roofline_has("up from page-locked memory", 55, 63.015, "PCIe 5.0 x16"),
           "the bus, by its generation");
    tap_ok(roofline_has("all ranks up at once", 66, 110, "the sum of the ranks alone"),
           "ranks at once");
    tap_ok(roofline_has("messages beside a bare copy", 342, 360, "the bare copy of as many bytes"),
           "messages beside the copy of the same size");
    tap_ok(roofline_has("messages, at their best size", 342, 450, "18 NVLinks of 25 GB/s"),
           "... and beside the links");
    tap_ok(roofline_has("kernel in its GPU's memory", 3800, 4916.736,
                        "memory of 6144 bits at 2 x 3201 MHz"),
           "a kernel beside its own GPU's memory");
    tap_ok(roofline_has("kernel in another's, slowest pair (0 to 1)", 660, 900,
                        "2 x 18 NVLinks of 25 GB/s"),
           "a kernel that loads and stores there beside the links both ways");
    tap_ok(roofline_has("all that rank 0 sends, best grid", 2097.152 / 10.5, 450,
                        "18 NVLinks of 25 GB/s"),
           "halos of all ranks, not of one alone");
    tap_ok(roofline_has("put by kernels, best way", 369, 450, "18 NVLinks of 25 GB/s") &&
               roofline_has("get by kernels, best way", 360, 450, "18 NVLinks of 25 GB/s"),
           "puts and gets beside the links");
    tap_ok(roofline.nrows == 14, "nothing is judged that was not measured");
}

static void check_put(void)
{
    struct table few = {.schema = &put_schema};

    put_add_move(&few, true, BY_WARP, 8, 16, 355, false);
    put_add_move(&few, true, BY_WARP, 32, 16, 370, false);
    put_note_enough(&few, true, BY_WARP);
    tap_ok(strstr(few.notes.bytes, "370 GB/s, takes 8 blocks (of 16 warps: 355 GB/s)") != NULL,
           "put: the fewest blocks that nearly reach the best");
    table_clear(&few);
}

static void check_peaks(void)
{
    struct peak peak;

    peak_of_bus("2.5 GT/s PCIe", "1", &peak);
    tap_ok(near(peak.bytes_per_s, 0.25e9) && strcmp(peak.why, "PCIe 1.0 x1") == 0, "PCIe 1.0");
    peak_of_bus("Unknown", "255", &peak);
    tap_ok(peak.bytes_per_s == 0, "a bus that does not say what it is has no ceiling");
    peak_of_bus("", "", &peak);
    tap_ok(peak.bytes_per_s == 0, "nor has one that says nothing");
    peak_of_memory(0, 6144, &peak);
    tap_ok(peak.bytes_per_s == 0, "nor a memory without a clock");
}

static void check_ports(void)
{
    char port[24];

    sysfs_port_of("../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0", port);
    tap_ok(strcmp(port, "0000:16:01.0") == 0, "a root port, from a device's link");
    sysfs_port_of("../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0", port);
    tap_ok(strcmp(port, "0000:16:01.0") == 0, "... with a switch between");
    sysfs_port_of("../../../devices/pci0000:16/0000:16:02.0", port);
    tap_ok(!*port, "a device of the root complex has none");
    sysfs_port_of("", port);
    tap_ok(!*port, "nor has one without a link");
}

int main(void)
{
    record();
    check_roofline();
    check_put();
    check_peaks();
    check_ports();
    table_clear(&p2p);
    table_clear(&host);
    table_clear(&pt2pt);
    table_clear(&peer);
    table_clear(&halo);
    table_clear(&put);
    table_clear(&roofline);
    return tap_done();
}
