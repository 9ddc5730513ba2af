/* What the doctor reads, from folders that pretend machines: a sound one, and the same
 * with files changed, each of which one check must then find. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/doctor/doctor.h"
#include "host/doctor/collect.h"
#include "tests/tap.h"

static char root[] = "/tmp/gpubind-test-doctor.XXXXXX";
static struct doctor_facts facts;
static struct doctor_report report;

static void run(const char *command)
{
    char line[8192];

    snprintf(line, sizeof line, "cd '%s' && %s", root, command);
    if (system(line) != 0)
        tap_ok(false, "%s", line);
}

/* Two GPUs below one switch, in two NUMA nodes. The program itself stands for a
 * library of this machine's kind. */
static void make_sound(void)
{
    run("rm -rf -- * .dockerenv && mkdir -p dev proc/self/ns proc/driver/nvidia/gpus etc/OpenCL "
        "proc/sys/kernel/yama sys/bus/pci/devices sys/devices/system/node run usr/lib64/hwloc "
        "usr/lib/x86_64-linux-gnu sys/class tmp");
    run("touch dev/nvidiactl dev/nvidia-uvm dev/nvidia0 dev/nvidia1");
    run("printf 'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release "
        "Build  (x@y)\\nGCC version: gcc 13.3.0\\n' >proc/driver/nvidia/version");
    run("echo 0-1 | tee sys/devices/system/node/online >sys/devices/system/node/has_cpu; "
        "echo 'flags : fpu vme' >proc/cpuinfo");
    run("for g in 0 1; do a=0000:1$g:00.0; "
        "d=sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:0$g.0/$a; mkdir -p $d; "
        "ln -s ../../../devices/${d#sys/devices/} sys/bus/pci/devices/$a; "
        "echo 0x10de >$d/vendor; echo 0x030200 >$d/class; echo $g >$d/numa_node; "
        "mkdir -p $d/iommu_group sys/drivers/nvidia; echo identity >$d/iommu_group/type; "
        "printf '0x1 0x2 0x3\\n0x38000000000 0x39fffffffff 0x14220c\\n' >$d/resource; "
        "ln -s /x/drivers/nvidia $d/driver; mkdir proc/driver/nvidia/gpus/$a; "
        "printf 'Model: \\t\\t Fake GPU\\nGPU UUID: \\t GPU-%d0000000\\nDevice Minor: \\t %d\\n' "
        "$((g + 1)) $g >proc/driver/nvidia/gpus/$a/information; done");
    /* A bridge has 4096 bytes of configuration; no ACS in them. */
    run("for b in 0000:00:01.0 0000:01:00.0 0000:02:00.0 0000:02:01.0; do "
        "mkdir sys/bus/pci/devices/$b; head -c 4096 /dev/zero >sys/bus/pci/devices/$b/config; done");
    run("cp /proc/self/exe usr/lib/x86_64-linux-gnu/libcuda.so.580.159.03; "
        "cd usr/lib/x86_64-linux-gnu; ln -s libcuda.so.580.159.03 libcuda.so.1; "
        "cp libcuda.so.1 libnvidia-ml.so.580.159.03; "
        "ln -s libnvidia-ml.so.580.159.03 libnvidia-ml.so.1");
    run("printf 'ld.so\\0libcuda.so.1\\0/usr/lib/x86_64-linux-gnu/libcuda.so.1\\0libnvidia-ml.so.1"
        "\\0/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1\\0' >etc/ld.so.cache");
    run("printf 'proc /proc proc rw 0 0\\ntmpfs /dev/shm tmpfs rw,nosuid 0 0\\n' >proc/self/mounts; "
        "printf 'MemTotal:       67108864 kB\\n' >proc/meminfo");
    run("printf 'Limit  Soft  Hard  Units\\nMax locked memory         unlimited            unlimited  "
        "          bytes     \\nMax x 1 1\\n' >proc/self/limits; mkdir -p sys/class/infiniband/mlx5_0");
    run("printf 'Name:\\tx\\nCapEff:\\t0000000000000000\\nx:\\t1\\n' >proc/self/status; "
        "echo 0 >proc/sys/kernel/yama/ptrace_scope; echo 0 >proc/sys/kernel/numa_balancing; "
        "mkdir proc/1; echo systemd >proc/1/comm; "
        "echo '3600.50 1.0' >proc/uptime");
    run("printf '6,0,0,-;Linux version 6.1\\n SUBSYSTEM=x\\n4,1,5000000,-;NVRM: loading NVIDIA UNIX "
        "Open Kernel Module\\n' >dev/kmsg");
    run("ln -s 'pid:[4026531836]' proc/self/ns/pid; ln -s 'ipc:[4026531839]' proc/self/ns/ipc; "
        "ln -s 'user:[4026531837]' proc/self/ns/user");
}

static void read_and_judge(void)
{
    doctor_facts_init(&facts);
    doctor_read_bus(root, &facts);
    doctor_read_driver(root, NULL, &facts);
    doctor_read_limits(root, &facts);
    doctor_read_hwloc(root, NULL, &facts);
    doctor_read_daemons(root, &facts);
    doctor_read_log(root, &facts);
    doctor_judge(&facts, &report);
}

static const struct doctor_result *result_of(const char *check)
{
    for (int c = 0; c < doctor_nchecks; c++)
        if (strcmp(doctor_checks[c].name, check) == 0)
            return &report.results[c];
    printf("Bail out! no check is called %s\n", check);
    exit(1);
}

/* What the files alone cannot tell, since nobody asked NVML or MPI; the namespaces and
 * visible GPUs are judged in tests/core/unit_doctor.c. */
static bool needs_more(const char *check)
{
    static const char *const names[] = {"all-visible",   "persistence", "compute-mode", "mig",
                                        "ecc",           "mps",         "peer-access",  "launcher",
                                        "cuda-aware",    "clocks",      "bar1",         "nvlink",
                                        "fabric-manager"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], check) == 0)
            return true;
    return false;
}

static void reads_sound(void)
{
    make_sound();
    read_and_judge();
    tap_is_int(facts.ngpus, 2, "two GPUs");
    tap_is(facts.gpus[1].pci, "0000:11:00.0", "address");
    tap_is(facts.gpus[1].uuid, "GPU-20000000", "UUID");
    tap_is(facts.gpus[1].model, "Fake GPU", "model");
    tap_is(facts.gpus[1].kernel_driver, "nvidia", "driver of the device");
    tap_is_int(facts.gpus[1].minor, 1, "minor");
    tap_is_int(facts.gpus[1].numa, 1, "NUMA node");
    tap_is_int(facts.gpus[1].nbridges, 3, "bridges above");
    tap_is(facts.gpus[1].bridge[2].pci, "0000:02:01.0", "the lowest is the last");
    tap_is_int(facts.gpus[1].bridge[2].acs, -2, "which has no ACS");
    tap_is(facts.driver_version, "580.159.03", "version of the module");
    tap_is(facts.nvml_version, "580.159.03", "version of the library");
    tap_is(facts.cuda_path, "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "libcuda, by the cache");
    tap_is_int((long)(facts.shm_bytes >> 30), 32, "half of 64 GiB");
    tap_is_int(facts.nnuma, 2, "NUMA nodes");
    tap_is_int((long)(facts.gpus[1].bar1_bytes >> 30), 128, "BAR1");
    tap_is_int((long)facts.uptime, 3600, "seconds since boot");
    tap_ok(!facts.kernel_log_cut, "the whole log");
    for (int c = 0; c < doctor_nchecks; c++)
        if (!needs_more(doctor_checks[c].name) &&
            !tap_ok(report.results[c].state == DOCTOR_FINE, "fine: %s", doctor_checks[c].name))
            tap_diag("%s", report.results[c].sentence.bytes);
    doctor_clear(&report);
}

/* The first region of a GPU from Hopper on: of 64 bits, 16 MiB. */
#define HOPPER                                                \
    "cd sys/bus/pci/devices/0000:10:00.0; >resource printf '" \
    "0x9e0a2000000 0x9e0a2ffffff 0x14220c\\n0 0 0\\n"

/* What one change makes of one check. */
/* clang-format off */
static const struct {
    const char *check, *command;
    enum doctor_state state;
    const char *part; /* of the sentence, the evidence or the line to set */
} changes[] = {
    {"driver", "rm -r proc/driver dev/nvidia*", DOCTOR_FOUND, "modprobe nvidia"},
    {"driver", "rm -r proc/driver dev/nvidia*; for d in sys/bus/pci/devices/0000:1*; do "
               "ln -sfn /x/drivers/nouveau $d/driver; done", DOCTOR_FOUND, "is nouveau"},
    {"driver", "rm -r proc/driver dev/nvidia*; touch .dockerenv; "
               "echo 'overlay / overlay rw 0 0' >>proc/self/mounts", DOCTOR_FOUND, "--gpus all"},
    {"driver", "rm -r proc/driver dev/nvidia*; touch .dockerenv", DOCTOR_FOUND, "modprobe nvidia"},
    {"driver", "rm -r proc/driver dev/nvidia*; ln -sf 'pid:[4026532201]' proc/self/ns/pid; "
               "echo 'overlay / overlay rw 0 0' >>proc/self/mounts", DOCTOR_FOUND, "this container was not"},
    {"driver", "rm -r proc/driver dev/nvidia*; echo 'overlay / overlay rw 0 0' >>proc/self/mounts", DOCTOR_FOUND,
     "modprobe nvidia"},
    {"driver", "rm -r proc/driver/nvidia/gpus/0000:11:00.0; rm sys/bus/pci/devices/0000:11:00.0/driver",
     DOCTOR_FOUND, "does not drive 0000:11:00.0"},
    {"driver", "rm -r proc/driver/nvidia/gpus/0000:11:00.0", DOCTOR_FINE, "580.159.03"},
    {"hidden-gpus", "rm -r proc/driver/nvidia/gpus/0000:11:00.0", DOCTOR_FOUND,
     "/proc/driver/nvidia/gpus does not have it"},
    {"driver", "rm -r proc/driver dev/nvidia* sys/bus/pci", DOCTOR_MOOT, "no NVIDIA GPU"},
    {"driver", "for d in sys/bus/pci/devices/0000:1*; do echo 0x068000 >$d/class; done; "
               "rm -r proc/driver dev/nvidia*", DOCTOR_MOOT, "no NVIDIA GPU"},
    {"device-files", "rm dev/nvidiactl", DOCTOR_FOUND, "nvidia-modprobe"},
    {"uvm", "rm dev/nvidia-uvm", DOCTOR_FOUND, "nvidia-modprobe -u"},
    {"cuda-library", "rm usr/lib/x86_64-linux-gnu/libcuda.so.1", DOCTOR_FOUND, "libcuda.so.1"},
    {"cuda-library", "cd usr/lib/x86_64-linux-gnu; rm libcuda.so.1; echo text >libcuda.so.1",
     DOCTOR_FOUND, "libcuda.so.1"},
    {"cuda-library", "cp usr/lib/x86_64-linux-gnu/libcuda.so.1 usr/lib64; rm etc/ld.so.cache",
     DOCTOR_FINE, "/usr/lib64/libcuda.so.1"},
    {"library-version", "cd usr/lib/x86_64-linux-gnu; mv libnvidia-ml.so.580.159.03 "
                        "libnvidia-ml.so.580.200; ln -sf libnvidia-ml.so.580.200 libnvidia-ml.so.1",
     DOCTOR_FOUND, "580.200"},
    {"library-version", "cd usr/lib/x86_64-linux-gnu; mkdir nvidia ../../../etc/alternatives; "
                        "mv libnvidia-ml.so.580.159.03 nvidia/libnvidia-ml.so.580.200; "
                        "ln -sf ../../../etc/alternatives/glx--libnvidia-ml.so.1-x86_64 libnvidia-ml.so.1; "
                        "ln -s ../../usr/lib/x86_64-linux-gnu/nvidia/libnvidia-ml.so.580.200 "
                        "../../../etc/alternatives/glx--libnvidia-ml.so.1-x86_64",
     DOCTOR_FOUND, "580.200"},
    {"library-version", "rm usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", DOCTOR_UNKNOWN, "libraries"},
    {"hidden-gpus", "rm dev/nvidia1", DOCTOR_FOUND, "1 of the machine's 2"},
    {"hidden-gpus", "rm dev/nvidia[01]", DOCTOR_FOUND, "2 of the machine's 2"},
    {"numa", "for d in sys/bus/pci/devices/0000:1*; do echo -1 >$d/numa_node; done", DOCTOR_FOUND,
     "near to 0000:10:00.0, 0000:11:00.0"},
    {"fabric-manager", "mkdir -p sys/bus/pci/devices/0000:05:00.0; cd sys/bus/pci/devices/0000:05:00.0; "
                       "echo 0x10de >vendor; echo 0x068000 >class", DOCTOR_FOUND,
     "/sys/bus/pci/devices/0000:05:00.0: 1 NVLink switch"},
    {"fabric-manager", "touch dev/nvidia-nvswitch0 dev/nvidia-nvswitch1 dev/nvidia-nvswitchctl", DOCTOR_FOUND,
     "/dev/nvidia-nvswitch*: 2 NVLink switches"},
    {"fabric-manager", "touch dev/nvidia-nvswitch0; mkdir proc/77; echo nv-fabricmanage >proc/77/comm",
     DOCTOR_FINE, "nv-fabricmanager runs"},
    {"fabric-manager", "touch dev/nvidia-nvswitch0; ln -sf 'pid:[4026532201]' proc/self/ns/pid",
     DOCTOR_UNKNOWN, "not in sight"},
    {"fabric-manager", "touch dev/nvidia-nvswitch0; rm -r proc/1", DOCTOR_UNKNOWN, "not in sight"},
    {"mps-left", "mkdir -p tmp/nvidia-mps; echo 999 >tmp/nvidia-mps/nvidia-cuda-mps-control.pid; rm -r proc/1",
     DOCTOR_FINE, "left over"},
    {"xid", "printf '4,2,7000001,-;NVRM: Xid (PCI:0000:11:00): 79, pid=1, GPU has fallen\\n' >>dev/kmsg",
     DOCTOR_FOUND, "0000:11:00.0: 1 Xid error since boot, the last 79"},
    {"xid", "printf '4,2,7000001,-;NVRM: Xid (PCI:0000:11:00): 79, pid=1\\n' >>dev/kmsg", DOCTOR_FOUND,
     "/dev/kmsg: [7.000001] NVRM: Xid (PCI:0000:11:00): 79, pid=1"},
    {"xid", "printf '4,2,7000001,-;NVRM: Xid (PCI:0000:11:00 GPU-I:05 GPU-CI:00): 95, pid=1\\n' >>dev/kmsg",
     DOCTOR_FOUND, "0000:11:00.0: 1 Xid error since boot, the last 95"},
    {"xid", "for i in 3 4 5; do printf \"4,$i,${i}000000,-;NVRM: Xid (0000:10:00): 31, Ch 8\\n\" >>dev/kmsg; done",
     DOCTOR_FOUND, "0000:10:00.0: 3 Xid errors since boot, the last 31"},
    {"xid", "printf '12,2,7000000,-;NVRM: Xid (PCI:0000:11:00): 79, of a user\\n' >>dev/kmsg", DOCTOR_FINE, "no Xid"},
    {"xid", "sed -i 1,2d dev/kmsg", DOCTOR_FINE, "its beginning was overwritten"},
    {"xid", "rm dev/kmsg", DOCTOR_UNKNOWN, "is not there"},
    {"xid", "rm dev/kmsg; mkfifo dev/kmsg", DOCTOR_FINE, "no Xid"},
    {"xid", "i=0; while [ $i -lt 300 ]; do printf \"4,$i,9,-;NVRM: Xid (PCI:0000:11:00): $i, x\\n\"; i=$((i + 1)); "
            "done >>dev/kmsg", DOCTOR_FOUND, "0000:11:00.0: 64 Xid errors"},
    {"numa-balancing", "echo 1 >proc/sys/kernel/numa_balancing", DOCTOR_FOUND, "numa_balancing: 1"},
    {"numa-balancing", "rm proc/sys/kernel/numa_balancing", DOCTOR_UNKNOWN, "cannot be read"},
    {"bar1", "rm sys/bus/pci/devices/0000:10:00.0/resource", DOCTOR_UNKNOWN, "NVML"},
    {"bar1", HOPPER "0x9c000000000 0x9cfffffffff 0x14220c\\n0 0 0\\n0x9e0a0000000 0x9e0a1ffffff 0x14220c\\n'",
     DOCTOR_UNKNOWN, "0000:10:00.0/resource: BAR1 of 65536 MiB"},
    {"bar1", HOPPER "0 0 0\\n0 0 0\\n0 0 0\\n'", DOCTOR_UNKNOWN, "0000:10:00.0/resource: BAR1 of 0 MiB"},
    {"bar1", HOPPER "0x9e040000000 0x9e07fffffff 0x14220c\\n0 0 0\\n0x9c000000000 0x9d7ffffffff 0x14220c\\n'",
     DOCTOR_UNKNOWN, "0000:10:00.0/resource: BAR1 of 98304 MiB"},
    {"shm", "sed -i 's/tmpfs rw/tmpfs ro/' proc/self/mounts", DOCTOR_FOUND, "may not be written to"},
    {"numa", "echo 0-2 >sys/devices/system/node/online; echo 0 >sys/devices/system/node/has_cpu; "
             "for d in sys/bus/pci/devices/0000:1*; do echo -1 >$d/numa_node; done", DOCTOR_MOOT, "one NUMA node"},
    {"numa-balancing", "echo 0-2 >sys/devices/system/node/online; echo 0 >sys/devices/system/node/has_cpu; "
                       "echo 1 >proc/sys/kernel/numa_balancing", DOCTOR_FOUND, "numa_balancing: 1"},
    {"numa", "rm -r sys/devices/system", DOCTOR_UNKNOWN, "/sys/devices/system/node"},
    {"iommu", "echo DMA-FQ >sys/bus/pci/devices/0000:10:00.0/iommu_group/type", DOCTOR_FOUND,
     "iommu.passthrough=1"},
    {"iommu", "rm -r sys/bus/pci/devices/0000:1*/iommu_group", DOCTOR_FINE, "is not there"},
    {"iommu", "echo 'flags : fpu hypervisor vme' >proc/cpuinfo", DOCTOR_MOOT, "virtual machine"},
    {"acs", "head -c 64 /dev/zero >sys/bus/pci/devices/0000:02:00.0/config", DOCTOR_UNKNOWN, "root"},
    {"shm", "echo 'shm /dev/shm tmpfs rw,nosuid,size=65536k 0 0' >>proc/self/mounts", DOCTOR_FOUND,
     "holds 64 MiB"},
    {"shm", "echo 'none /dev/shm tmpfs rw,size=67108864 0 0' >>proc/self/mounts", DOCTOR_FOUND,
     "holds 64 MiB"},
    {"shm", "echo 'none /dev/shm tmpfs rw,size=2G 0 0' >>proc/self/mounts", DOCTOR_FINE, "size=2G"},
    {"shm", "sed -i 's/tmpfs .dev.shm tmpfs/x \\/dev\\/shm ext4/' proc/self/mounts", DOCTOR_FOUND,
     "type ext4"},
    {"shm", "rm proc/self/mounts", DOCTOR_UNKNOWN, "/dev/shm"},
    {"memlock", "sed -i 's/unlimited /8388608 /' proc/self/limits", DOCTOR_FOUND, "ulimit -l"},
    {"memlock", "sed -i 's/unlimited /8388608 /g' proc/self/limits", DOCTOR_FOUND, "limits.d"},
    {"memlock", "rm -r sys/class/infiniband", DOCTOR_MOOT, "RDMA"},
    {"memlock", "rm proc/self/limits", DOCTOR_UNKNOWN, "limits"},
    {"ptrace-scope", "echo 2 >proc/sys/kernel/yama/ptrace_scope", DOCTOR_FOUND, "sysctl"},
    {"ptrace-scope", "echo 2 >proc/sys/kernel/yama/ptrace_scope; "
                     "sed -i 's/^CapEff.*/CapEff:\\t0000000000080000/' proc/self/status",
     DOCTOR_FINE, "CAP_SYS_PTRACE"},
    {"ptrace-scope", "rm -r proc/sys/kernel/yama", DOCTOR_FINE, "yama is not there"},
    {"ptrace-scope", "rm -r proc/sys", DOCTOR_UNKNOWN, "cannot be read"},
    {"pid-namespace", "ln -sf 'pid:[4026532201]' proc/self/ns/pid", DOCTOR_FOUND, "process namespace"},
    {"ipc-namespace", "ln -sf 'ipc:[4026532201]' proc/self/ns/ipc; touch run/.containerenv; "
                      "echo 'o / overlay rw 0 0' >>proc/self/mounts", DOCTOR_FOUND, "podman run --ipc"},
    {"user-namespace", "ln -sf 'user:[4026532201]' proc/self/ns/user", DOCTOR_FOUND, "user namespace"},
    {"user-namespace", "rm proc/self/ns/user", DOCTOR_UNKNOWN, "/proc/self/ns/user"},
    {"hwloc-plugins", "touch usr/lib64/hwloc/hwloc_opencl.so", DOCTOR_FINE, "hwloc_opencl.so"},
    {"hwloc-plugins", "touch usr/lib64/hwloc/hwloc_cuda.so", DOCTOR_FOUND, "HWLOC_COMPONENTS=-cuda"},
    {"hwloc-plugins", "touch usr/lib64/hwloc/hwloc_xml_libxml.so usr/lib64/hwloc/hwloc_cuda.so.old",
     DOCTOR_FINE, "looked in /usr/lib64/hwloc"},
    {"hwloc-plugins", "mkdir -p usr/lib/x86_64-linux-gnu/hwloc etc/OpenCL/vendors; "
                      "touch usr/lib/x86_64-linux-gnu/hwloc/hwloc_opencl.so; "
                      "echo libnvidia-opencl.so.1 >etc/OpenCL/vendors/nvidia.icd", DOCTOR_FOUND,
     "/etc/OpenCL/vendors/nvidia.icd"},
    {"hwloc-plugins", "mkdir -p etc/OpenCL/vendors; touch usr/lib64/hwloc/hwloc_opencl.so; "
                      "echo libpocl.so.2 >etc/OpenCL/vendors/pocl.icd", DOCTOR_FINE, "opencl"},
    {"hwloc-plugins", "rmdir usr/lib64/hwloc", DOCTOR_UNKNOWN, "HWLOC_PLUGINS_PATH"},
    {"mps", "mkdir -p tmp/nvidia-mps; touch tmp/nvidia-mps/control", DOCTOR_FINE, "MPS server runs"},
    {"mps", "mkdir -p tmp/nvidia-mps; touch tmp/nvidia-mps/control; rm -f proc/self/ns/pid; "
            "mkdir -p proc/self/ns; ln -s 'pid:[4026531836]' proc/self/ns/pid; "
            "echo 999 >tmp/nvidia-mps/nvidia-cuda-mps-control.pid", DOCTOR_MOOT, "has died"},
    {"mps-left", "mkdir -p tmp/nvidia-mps; echo 999 >tmp/nvidia-mps/nvidia-cuda-mps-control.pid", DOCTOR_FOUND,
     "died and left its pipes in /tmp/nvidia-mps"},
    {"mps-left", "mkdir -p tmp/nvidia-mps proc/999; echo 999 >tmp/nvidia-mps/nvidia-cuda-mps-control.pid; "
                 "echo bash >proc/999/comm", DOCTOR_FOUND, "which is no MPS control daemon"},
    {"mps-left", "mkdir -p tmp/nvidia-mps proc/999; echo 999 >tmp/nvidia-mps/nvidia-cuda-mps-control.pid; "
                 "echo nvidia-cuda-mps >proc/999/comm; printf 'nvidia-cuda-mps-control\\0-d\\0' >proc/999/cmdline",
     DOCTOR_FOUND, "runs that nobody uses"},
    {"mps-left", "mkdir -p tmp/nvidia-mps proc/999 proc/1000; echo 999 >tmp/nvidia-mps/nvidia-cuda-mps-control.pid; "
                 "echo nvidia-cuda-mps | tee proc/999/comm >proc/1000/comm; "
                 "printf 'nvidia-cuda-mps-control\\0-d\\0' >proc/999/cmdline; "
                 "printf 'nvidia-cuda-mps-server\\0' >proc/1000/cmdline; "
                 "printf 'Name:\\tx\\nPPid:\\t999\\n' >proc/1000/status", DOCTOR_FINE, "with a server"},
    {"mps-left", "mkdir -p tmp/nvidia-mps proc/999 proc/1000; echo 999 >tmp/nvidia-mps/nvidia-cuda-mps-control.pid; "
                 "echo nvidia-cuda-mps | tee proc/999/comm >proc/1000/comm; "
                 "printf 'nvidia-cuda-mps-control\\0-d\\0' >proc/999/cmdline; "
                 "printf 'nvidia-cuda-mps-server\\0' >proc/1000/cmdline; "
                 "printf 'Name:\\tx\\nPPid:\\t1\\n' >proc/1000/status", DOCTOR_FINE, "with a server"},
    {"mps-left", "mkdir -p proc/1000; echo nvidia-cuda-mps >proc/1000/comm; "
                 "printf '/usr/bin/nvidia-cuda-mps-server\\0' >proc/1000/cmdline; "
                 "printf 'Name:\\tx\\nPPid:\\t1\\n' >proc/1000/status", DOCTOR_FOUND, "kill 1000"},
    {"mps-left", "mkdir -p tmp/gpubind-mps.0.1.x/pipe; echo 999 >tmp/gpubind-mps.0.1.x/pipe/nvidia-cuda-mps-control.pid",
     DOCTOR_FOUND, "/tmp/gpubind-mps.0.1.x/pipe"},
    {"persistence", "mkdir run/nvidia-persistenced; touch run/nvidia-persistenced/socket",
     DOCTOR_UNKNOWN, "nvidia-persistenced is there"},
};
/* clang-format on */

static bool says(const struct doctor_result *result, const char *part)
{
    return (result->sentence.bytes && strstr(result->sentence.bytes, part)) ||
           (result->evidence.bytes && strstr(result->evidence.bytes, part)) ||
           (result->set.bytes && strstr(result->set.bytes, part));
}

static void sees_changes(void)
{
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const struct doctor_result *result;

        make_sound();
        run(changes[i].command);
        read_and_judge();
        result = result_of(changes[i].check);
        if (!tap_ok(result->state == changes[i].state && says(result, changes[i].part),
                    "%s after: %.60s", changes[i].check, changes[i].command))
            tap_diag("state %d: %s; seen: %s; set: %s", (int)result->state,
                     result->sentence.bytes ? result->sentence.bytes : "",
                     result->evidence.bytes ? result->evidence.bytes : "",
                     result->set.bytes ? result->set.bytes : "");
        doctor_clear(&report);
    }
}

/* An extended capability at 0x100 that leads to ACS at 0x148, whose control is 0x1d. */
static void reads_acs(void)
{
    make_sound();
    run("cd sys/bus/pci/devices/0000:02:01.0; head -c 256 /dev/zero >config; "
        "printf '\\001\\000\\201\\024' >>config; head -c 68 /dev/zero >>config; "
        "printf '\\015\\000\\001\\000\\000\\000\\035\\000' >>config; head -c 3760 /dev/zero >>config");
    read_and_judge();
    tap_is_int(facts.gpus[1].bridge[2].acs, 0x1d, "the control register of ACS");
    tap_ok(result_of("acs")->state == DOCTOR_FOUND &&
               says(result_of("acs"), "setpci -s 0000:02:01.0 ECAP_ACS+0x6.w=0000"),
           "which redirects");
    doctor_clear(&report);
    /* A list that bites its own tail. */
    run("cd sys/bus/pci/devices/0000:02:01.0; head -c 256 /dev/zero >config; "
        "printf '\\001\\000\\001\\020' >>config; head -c 3836 /dev/zero >>config");
    read_and_judge();
    tap_is_int(facts.gpus[1].bridge[2].acs, -2, "an endless list of capabilities");
    doctor_clear(&report);
}

/* Nothing that can lie in those places may end or stop the reader. */
static void meets_ruins(void)
{
    static const char *const ruins[] = {
        "rm -rf proc sys etc usr dev run",
        "for f in $(find proc sys etc -type f); do head -c 3000 /dev/urandom >$f; done",
        "for f in $(find proc sys etc -type f); do rm $f; mkdir $f; done",
        "for f in $(find proc sys etc -type f ! -name information); do rm $f; mkfifo $f; done",
        "for f in $(find proc sys etc -type f); do : >$f; done",
        "for f in $(find proc sys etc -type f); do rm $f; ln -s loop $f; done",
        "for f in $(find proc sys etc -type f); do head -c 200000 /dev/zero | tr '\\0' x >$f; done",
    };

    for (size_t i = 0; i < sizeof ruins / sizeof ruins[0]; i++) {
        int unexplained = 0;

        make_sound();
        run(ruins[i]);
        read_and_judge();
        for (int c = 0; c < doctor_nchecks; c++)
            unexplained += report.results[c].state != DOCTOR_FINE &&
                           !report.results[c].sentence.length;
        tap_ok(!unexplained, "survives: %s", ruins[i]);
        doctor_clear(&report);
    }
}

static void heeds_variables(void)
{
    char instances[56 * 41 + 1];

    make_sound();
    run("mkdir -p opt/a opt/b; touch opt/b/hwloc_cuda.so; "
        "cp usr/lib/x86_64-linux-gnu/libcuda.so.1 opt/a");
    doctor_facts_init(&facts);
    doctor_read_bus(root, &facts);
    doctor_read_driver(root, ":/opt/none:/opt/a", &facts);
    doctor_read_hwloc(root, "/opt/a:/opt/b", &facts);
    tap_is(facts.cuda_path, "/opt/a/libcuda.so.1", "LD_LIBRARY_PATH comes first");
    tap_is(facts.plugin_folders, "/opt/a:/opt/b",
           "HWLOC_PLUGINS_PATH in place of the usual folders");
    tap_ok(facts.nplugins == 1 && strcmp(facts.plugins[0].path, "/opt/b/hwloc_cuda.so") == 0,
           "a plugin there");
    setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
    for (int i = 0; i < 56; i++)
        snprintf(instances + i * 41, 42, "MIG-%036d,", i);
    setenv("CUDA_VISIBLE_DEVICES", instances, 1);
    doctor_read_environment(&facts);
    doctor_read_limits(root, &facts);
    tap_is(facts.visible.value, instances, "the MIG instances of eight GPUs, whole");
    tap_is(facts.container, "kubernetes", "a pod, by its environment");
}

int main(void)
{
    char command[64];

    if (!mkdtemp(root)) {
        printf("Bail out! %s: %s\n", root, strerror(errno));
        return 1;
    }
    alarm(240);
    reads_sound();
    sees_changes();
    reads_acs();
    meets_ruins();
    heeds_variables();
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command) == 0 ? tap_done() : 1;
}
