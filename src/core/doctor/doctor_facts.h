/* What is known of a node and of this process, without judgement. Plain bytes, so
 * that a child process can hand them over. A zeroed struct does not do: see
 * doctor_facts_init. */
#ifndef GPUBIND_CORE_DOCTOR_DOCTOR_FACTS_H
#define GPUBIND_CORE_DOCTOR_DOCTOR_FACTS_H

#include <stdbool.h>

#define DOCTOR_MAX_GPUS 64
#define DOCTOR_MAX_BRIDGES 8

/* Where a number can be -1 it is then not known, unless noted otherwise. */
enum doctor_file {
    DOCTOR_FILE_UNKNOWN,
    DOCTOR_FILE_USABLE,
    DOCTOR_FILE_ABSENT,
    DOCTOR_FILE_DENIED, /* by its mode */
    DOCTOR_FILE_HIDDEN  /* it is there, but the device cgroup refuses it */
};

enum doctor_nvml { DOCTOR_NVML_NOT_ASKED, DOCTOR_NVML_ANSWERED, DOCTOR_NVML_FAILED };

struct doctor_bridge {
    char pci[16];
    int acs; /* the ACS control register; -1: may not be read, -2: it has none */
};

struct doctor_gpu {
    char pci[24], uuid[96], model[64]; /* "": not known */
    bool on_bus;                       /* in sysfs */
    bool in_driver;                    /* by the driver */
    char kernel_driver[24];            /* the kernel driver that it is bound to */
    int minor;
    enum doctor_file device; /* /dev/nvidiaMINOR */
    int numa;                /* as sysfs has it, where -1 is "none"; -2: not known */
    char iommu[16];          /* type of its IOMMU group; "": none */
    int nbridges;            /* above it, from the root port down */
    struct doctor_bridge bridge[DOCTOR_MAX_BRIDGES];
    /* by NVML */
    int persistence, compute_mode, mig, instances;
    long long ecc_errors;     /* uncorrected, since the driver was loaded */
    long long bar1_bytes;     /* by sysfs; 0: it has none */
    long long memory_bytes;   /* by NVML, like the rest */
    long long clock_limits;   /* enum doctor_clock_limit: what lowers the clocks now */
    int links_up, links_down; /* NVLinks */
    int fabric;               /* enum doctor_fabric; the GPU's place in it */
    int fabric_status;        /* nvmlReturn_t of that */
};

/* Bits, with NVML's numbers. */
enum doctor_clock_limit {
    DOCTOR_CLOCKS_IDLE = 0x1,
    DOCTOR_CLOCKS_SET = 0x2, /* by nvidia-smi -ac or -lgc */
    DOCTOR_CLOCKS_POWER = 0x4,
    DOCTOR_CLOCKS_SLOWDOWN = 0x8, /* by the hardware: of the two below, or other */
    DOCTOR_CLOCKS_SYNC = 0x10,
    DOCTOR_CLOCKS_THERMAL = 0x20,
    DOCTOR_CLOCKS_HOT = 0x40,   /* by the hardware */
    DOCTOR_CLOCKS_BRAKE = 0x80, /* by the power supply */
};

/* Whether the GPU has joined the NVLink fabric, with NVML's numbers. */
enum doctor_fabric {
    DOCTOR_FABRIC_NONE,
    DOCTOR_FABRIC_NOT_STARTED,
    DOCTOR_FABRIC_JOINING,
    DOCTOR_FABRIC_JOINED
};

/* Errors of one number that the driver logged of one GPU. */
struct doctor_xid {
    char pci[24]; /* without the function */
    int number, count;
    double last;    /* seconds after boot */
    char line[160]; /* the last */
};
#define DOCTOR_MAX_XIDS 64

/* A folder of pipes of an MPS control daemon. */
struct doctor_mps {
    char directory[256];
    long pid;      /* by its file; 0: not known */
    bool runs;     /* a process of that number and name */
    bool gpubinds; /* gpubind --mps made it, whose supervisor ends it */
    int servers;   /* below that process */
};

enum {
    DOCTOR_PROCESSES_ANY = 0,
    DOCTOR_PROCESSES_ONE_THREAD,
    DOCTOR_PROCESSES_NONE,
    DOCTOR_PROCESSES_ONE
}; /* compute modes, with NVML's numbers */

struct doctor_mpi {
    char name[16], version[32];
    int cuda;           /* 0 no, 1 yes */
    char evidence[256]; /* a command and its output, or why it has none */
};

struct doctor_plugin {
    char component[16]; /* "opencl" */
    char path[256];
};

/* A variable of the environment. */
struct doctor_variable {
    bool set;
    char value[4096]; /* CUDA_VISIBLE_DEVICES may name 56 MIG instances: 2296 bytes */
};

struct doctor_facts {
    char version[24], node[256];

    /* the job */
    char launcher[16]; /* "none" */
    char launcher_error[512];
    bool in_slurm_job, by_gpubind; /* started inside one, below gpubind or its plugin */
    int local_size;                /* ranks on the node, 0: not known */
    int daemon_seen;               /* 1: the launcher's daemon is above this process, 0: it
                                      is not in sight */

    /* the driver */
    bool driver_loaded, windows;               /* windows: its subsystem for Linux */
    bool lists_gpus;                           /* /proc/driver/nvidia/gpus is there */
    char driver_version[32], nvml_version[32]; /* of the module; of the library's file */
    char cuda_path[256], nvml_path[256];       /* libraries, "": not found */
    enum doctor_file ctl, uvm;                 /* /dev/nvidiactl, /dev/nvidia-uvm */
    enum doctor_nvml nvml;
    bool nvml_mismatch;
    char nvml_why[256]; /* it did not answer */

    /* GPUs of NVIDIA, in order of PCI address */
    int ngpus;
    struct doctor_gpu gpus[DOCTOR_MAX_GPUS];
    int peer[DOCTOR_MAX_GPUS][DOCTOR_MAX_GPUS];   /* nvmlGpuP2PStatus_t */
    int nvlink[DOCTOR_MAX_GPUS][DOCTOR_MAX_GPUS]; /* 1, 0 */
    struct doctor_variable visible, order;        /* CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER */
    struct doctor_variable mps_directory;         /* CUDA_MPS_PIPE_DIRECTORY */
    bool mps_runs;
    int nmps;
    struct doctor_mps mps[8];
    long mps_orphan;   /* an MPS server whose control daemon has died; 0: none */
    bool persistenced; /* its runtime files are there */

    /* switches of NVLink, and the daemon that starts them */
    int nswitches;
    char switches[128]; /* where one shows */
    int fabric_manager; /* 1: it runs, 0: it does not */
    char fabric_evidence[128];

    /* the kernel's log */
    enum doctor_file kernel_log; /* /dev/kmsg */
    bool kernel_log_cut;         /* its beginning was overwritten */
    int nxids;
    struct doctor_xid xids[DOCTOR_MAX_XIDS];
    double uptime; /* seconds */

    /* the machine */
    int nnuma, nnuma_cpus; /* NUMA nodes; those of them with CPUs */
    int numa_balancing;    /* as /proc/sys/kernel has it, bits */
    int virtual_machine;

    /* limits of the process and of its container */
    bool in_pod;        /* Kubernetes's variables are set */
    char container[16]; /* "docker", "podman", "apptainer", "kubernetes"; "container": of
                           another kind; "": none */
    long long shm_bytes, shm_free;
    int shm_writable;
    char shm_type[24], shm_evidence[256];    /* of the file system, "": no mount of its own */
    char memlock_soft[24], memlock_hard[24]; /* bytes or "unlimited"; "": not known */
    char rdma[64];                           /* an RDMA device, "": none */
    int ptrace_scope;                        /* -1: no Yama, -2: not known */
    bool caps_known, cap_ptrace;
    unsigned long pid_namespace, ipc_namespace, user_namespace; /* 0: not known */

    /* MPI and hwloc */
    int nmpis;
    struct doctor_mpi mpis[2];
    int nplugins;
    struct doctor_plugin plugins[8];
    char plugin_folders[512]; /* that were looked in, of those that are there */
    char icd[256];            /* NVIDIA's OpenCL driver, "": none */
    struct doctor_variable hwloc_components, hwloc_blacklist, hwloc_xml;
};

/* The kernel's include/linux/proc_ns.h: the numbers of the first namespaces, those of
 * the machine itself. */
#define DOCTOR_FIRST_IPC 0xEFFFFFFFul
#define DOCTOR_FIRST_USER 0xEFFFFFFDul
#define DOCTOR_FIRST_PID 0xEFFFFFFCul

/* Nothing is known. */
void doctor_facts_init(struct doctor_facts *facts);
/* A further GPU of which nothing but the address is known; NULL when there are too
 * many. The order is kept. */
struct doctor_gpu *doctor_facts_gpu(struct doctor_facts *facts, const char *pci);

#endif
