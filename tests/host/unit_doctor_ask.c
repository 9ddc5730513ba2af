/* Those who are asked: NVML, MPI's tools. They answer, fail, die or hang, and none of
 * it may end the doctor or make it wait. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/doctor/collect.h"
#include "host/sys/subprocess.h"
#include "tests/tap.h"

static struct doctor_facts facts;

/* ---- children */

static void work_write(int out, void *context)
{
    for (int i = 0; i < *(int *)context; i++)
        if (write(out, "0123456789", 10) != 10)
            _exit(9);
}
static void work_end(int out, void *context)
{
    (void)out;
    _exit(*(int *)context);
}
static void work_hang(int out, void *context)
{
    (void)context;
    if (write(out, "half", 4) != 4 || fork() < 0)
        _exit(9);
    for (;;)
        pause();
}
static void work_close(int out, void *context)
{
    (void)context;
    close(out);
    for (;;)
        pause();
}

static void ends(void (*work)(int, void *), int number, int seconds, long wanted, size_t wanted_got,
                 const char *sentence)
{
    static char bytes[100];
    struct gpubind_error err = {""};
    size_t got = 0;
    long length = subprocess_run(work, &number, seconds, bytes, sizeof bytes, &got, &err);

    if (!tap_ok(length == wanted && got == wanted_got && strcmp(err.text, sentence) == 0,
                "a child: %ld, '%s'", wanted, sentence))
        tap_diag("%ld, %zu bytes, '%s'", length, got, err.text);
}

static void runs_children(void)
{
    ends(work_write, 3, 20, 30, 30, "");
    ends(work_write, 100000, 20, 100, 100, "");
    ends(work_end, 0, 20, 0, 0, "");
    ends(work_end, 4, 20, -1, 0, "exit status 4");
    ends(work_hang, 0, 1, -1, 4, "no answer within 1 seconds");
    ends(work_close, 0, 1, -1, 0, "no answer within 1 seconds");
    signal(SIGCHLD, SIG_IGN);
    ends(work_end, 5, 20, -1, 0, "exit status 5");
    tap_ok(signal(SIGCHLD, SIG_DFL) == SIG_IGN, "what was done with SIGCHLD is restored");
}

/* ---- MPI */

static char folder[] = "/tmp/gpubind-test-ask.XXXXXX";

static void write_tool(const char *name, const char *script)
{
    char path[64];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    if (!file || fprintf(file, "#!/bin/sh\n%s\n", script) < 0 || fclose(file) || chmod(path, 0755))
        tap_ok(false, "%s: %s", path, strerror(errno));
}

static void remove_tools(void)
{
    static const char *const names[] = {"ompi_info", "mpichversion"};

    for (int i = 0; i < 2; i++) {
        char path[64];

        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
}

/* PATH has the pretended tools, and env by which they are started. */
static void ask_mpi(int seconds)
{
    char *before = strdup(getenv("PATH"));

    setenv("PATH", folder, 1);
    doctor_facts_init(&facts);
    doctor_ask_mpi(seconds, &facts);
    setenv("PATH", before, 1);
    free(before);
}

static const struct {
    const char *tool, *script, *name, *version;
    int cuda;
    const char *evidence;
} answers[] = {
    {"ompi_info",
     "echo package:x; echo ompi:version:full:5.0.7\n"
     "echo mca:opal:base:param:opal_built_with_cuda_support:value:true",
     "Open MPI", "5.0.7", 1, "ompi_info --parsable --all: 5.0.7: built_with_cuda_support: true"},
    {"ompi_info",
     "echo package:x; echo ompi:version:full:4.1.4\n"
     "echo mca:opal:base:param:opal_built_with_cuda_support:value:false",
     "Open MPI", "4.1.4", 0, "ompi_info --parsable --all: 4.1.4: built_with_cuda_support: false"},
    {"ompi_info",
     "echo package:x; echo ompi:version:full:5.0.2; echo mca:accelerator:cuda:version:mca:2.1.0\n"
     "echo mca:opal:base:param:opal_built_with_cuda_support:value:false",
     "Open MPI", "5.0.2", 1, "ompi_info --parsable --all: 5.0.2: mca:accelerator:cuda"},
    {"ompi_info", "echo nothing", "Open MPI", "", -1,
     "ompi_info --parsable --all: nothing of built_with_cuda_support"},
    {"ompi_info", "exit 3", "Open MPI", "", -1, "ompi_info: exit status 3"},
    {"ompi_info", "/bin/sleep 60", "Open MPI", "", -1, "ompi_info: no answer within 1 seconds"},
    {"ompi_info", "/bin/sleep 60 & exit 0", "Open MPI", "", -1,
     "ompi_info: no answer within 1 seconds"},
    {"ompi_info",
     "test \"${CUDA_VISIBLE_DEVICES-unset}\" = '' && echo x_built_with_cuda_support:value:true",
     "Open MPI", "", 1, "ompi_info --parsable --all: : built_with_cuda_support: true"},
    {"mpichversion", "echo 'MPICH Version:    \t4.0.2'; echo 'MPICH configure: --with-cuda=/x'",
     "MPICH", "4.0.2", 1, "mpichversion: 4.0.2: configured with --with-cuda"},
    {"mpichversion", "echo 'MPICH Version: 4.0.2'; echo 'MPICH configure: --without-yaksa'",
     "MPICH", "4.0.2", 0, "mpichversion: 4.0.2: configured with --without-yaksa"},
    {"mpichversion",
     "echo 'MPICH Version: 4.2'; echo 'MPICH configure: --with-cuda=no --with-cuda-sm=80'", "MPICH",
     "4.2", 0, "mpichversion: 4.2: configured with --with-cuda=no"},
    {"mpichversion",
     "echo 'MPICH Version: 4.2'; echo 'MPICH configure: --with-cuda-sm=80 --without-cuda'", "MPICH",
     "4.2", 0, "mpichversion: 4.2: configured with --without-cuda"},
    {"mpichversion", "echo 'MPICH Version: 4.3'; echo 'MPICH configure: --with-cuda-p2p'", "MPICH",
     "4.3", -1, "mpichversion: 4.3: configured with neither --with-cuda nor --without-cuda"},
    {"mpichversion",
     "echo 'MPICH Version: 4.3'; echo \"MPICH configure: '--x' '--with-cuda=/n/no'\"", "MPICH",
     "4.3", 1, "mpichversion: 4.3: configured with --with-cuda"},
    {"mpichversion", "echo 'MPICH Version: 4.3'; echo 'MPICH configure: --x'", "MPICH", "4.3", -1,
     "mpichversion: 4.3: configured with neither --with-cuda nor --without-cuda"},
};

static void asks_mpi(void)
{
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        const struct doctor_mpi *mpi = &facts.mpis[0];

        remove_tools();
        write_tool(answers[i].tool, answers[i].script);
        ask_mpi(strstr(answers[i].evidence, "within 1 seconds") ? 1 : 20);
        if (!tap_ok(facts.nmpis == 1 && mpi->cuda == answers[i].cuda &&
                        strcmp(mpi->name, answers[i].name) == 0 &&
                        strcmp(mpi->version, answers[i].version) == 0 &&
                        strcmp(mpi->evidence, answers[i].evidence) == 0,
                    "%s", answers[i].evidence))
            tap_diag("%d MPIs, cuda %d, version '%s': %s", facts.nmpis, mpi->cuda, mpi->version,
                     mpi->evidence);
    }
    write_tool("ompi_info", "exec /bin/cat /dev/zero");
    ask_mpi(3);
    tap_ok(facts.nmpis == 2 && facts.mpis[0].cuda == -1, "an endless answer, and a second MPI");
    remove_tools();
    ask_mpi(20);
    tap_is_int(facts.nmpis, 0, "no MPI in PATH");
}

/* ---- NVML */

static void asks_nvml(void)
{
    unsetenv("NVML_FAULT");
    doctor_facts_init(&facts);
    doctor_facts_gpu(&facts, "0000:0f:00.0");
    doctor_facts_gpu(&facts, "0000:10:00.0")->minor = 7;
    doctor_ask_nvml(20, &facts);
    tap_is_int(facts.nvml, DOCTOR_NVML_ANSWERED, "NVML answers");
    tap_diag("%s", facts.nvml_why);
    tap_is_int(facts.ngpus, 3, "it adds the GPU that no file listed");
    tap_ok(!facts.gpus[0].in_driver && facts.gpus[0].persistence == -1,
           "of the GPU that it does not know nothing is known");
    tap_ok(facts.gpus[1].minor == 7 && facts.gpus[2].minor == 1, "files come first");
    tap_is(facts.gpus[2].uuid, "GPU-sim-1", "UUID");
    tap_ok(facts.gpus[1].persistence == 1 && facts.gpus[2].persistence == 0, "persistence mode");
    tap_ok(facts.gpus[1].compute_mode == 0 && facts.gpus[2].compute_mode == 3, "compute mode");
    tap_ok(facts.gpus[1].mig == 0 && facts.gpus[2].mig == 1 && facts.gpus[2].instances == 0, "MIG");
    tap_ok(facts.gpus[1].ecc_errors == 5 && facts.gpus[2].ecc_errors == -1, "memory errors");
    tap_ok(facts.peer[1][2] == 1 && facts.peer[2][1] == 1 && facts.peer[0][1] == -1,
           "peer access, by place in the list");
    tap_ok(facts.gpus[1].memory_bytes == 80LL << 30 && facts.gpus[0].memory_bytes == -1, "memory");
    tap_ok(facts.gpus[1].clock_limits == -1 && facts.gpus[2].clock_limits == 0x48, "clocks");
    tap_ok(facts.gpus[1].links_up == -1 && facts.gpus[2].links_up == 4 &&
               facts.gpus[2].links_down == 2,
           "NVLinks up and down");
    tap_ok(facts.gpus[1].fabric == 1 && facts.gpus[2].fabric == 3 &&
               facts.gpus[2].fabric_status == 999,
           "the fabric");
    tap_ok(facts.nvlink[1][2] == 0 && facts.nvlink[0][1] == -1, "NVLink");
}

static void nvml_fails(const char *how, int seconds, const char *why, bool mismatch)
{
    setenv("NVML_FAULT", how, 1);
    doctor_facts_init(&facts);
    doctor_ask_nvml(seconds, &facts);
    tap_ok(facts.nvml == DOCTOR_NVML_FAILED && facts.nvml_mismatch == mismatch, "NVML fails: %s",
           how);
    tap_is(facts.nvml_why, why, "which is said");
    unsetenv("NVML_FAULT");
}

/* The loader reads LD_LIBRARY_PATH when a program starts, so this one starts again with
 * the module in it. */
static int start_again(const char *self)
{
    const char *top = getenv("top_builddir");
    char module[PATH_MAX], real[PATH_MAX], link[64];

    snprintf(module, sizeof module, "%s/tests/nvml/.libs/libnvmlfaulty.so", top ? top : ".");
    snprintf(link, sizeof link, "%s/libnvidia-ml.so.1", folder);
    if (!mkdtemp(folder) || !realpath(module, real))
        return printf("Bail out! %s: %s\n", module, strerror(errno)), 1;
    snprintf(link, sizeof link, "%s/libnvidia-ml.so.1", folder);
    if (symlink(real, link) < 0)
        return printf("Bail out! %s: %s\n", link, strerror(errno)), 1;
    snprintf(link, sizeof link, "%s/env", folder);
    if (symlink("/usr/bin/env", link) < 0)
        return printf("Bail out! %s: %s\n", link, strerror(errno)), 1;
    setenv("LD_LIBRARY_PATH", folder, 1);
    execl("/proc/self/exe", self, folder, (char *)NULL);
    return printf("Bail out! %s: %s\n", self, strerror(errno)), 1;
}

int main(int argc, char **argv)
{
    char command[64];

    if (argc < 2)
        return start_again(argv[0]);
    snprintf(folder, sizeof folder, "%s", argv[1]);
    alarm(240);
    runs_children();
    asks_mpi();
    asks_nvml();
    nvml_fails("mismatch", 20, "nvmlInit: driver and library versions differ (18)", true);
    nvml_fails("unloaded", 20, "nvmlInit: the driver is not loaded (9)", false);
    nvml_fails("dies", 20, "ended by signal 9", false);
    nvml_fails("hangs", 1, "no answer within 1 seconds", false);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 ? tap_done() : 1;
}
