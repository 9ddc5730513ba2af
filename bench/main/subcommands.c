#include "bench/main/subcommands.h"

#include "bench/cases/cases.h"
#include "bench/coll/coll.h"
#include "bench/lib/options.h"
#include "bench/pt2pt/pt2pt.h"
#include "bench/stream/stream.h"

const struct subcommand subcommands[SUBCOMMANDS] = {
    [SUBCOMMAND_PT2PT] = {"pt2pt",
                          "messages between two ranks, or between the ranks of several pairs",
                          "mpirun -np 2 gpubind gpubind-bench pt2pt [OPTION...]",
                          "Measure messages between the GPUs of two ranks.", &pt2pt_benchmark,
                          pt2pt_main},
    [SUBCOMMAND_STREAM] = {"stream", "messages queued on streams, beside NCCL's and bare copies",
                           "mpirun -np 2 gpubind gpubind-bench stream [OPTION...]",
                           "Measure messages that two ranks queue on streams of their GPUs.",
                           &stream_benchmark, NULL},
    [SUBCOMMAND_COLL] = {"coll", "MPI's collectives on GPU memory, beside NCCL's",
                         "mpirun -np N gpubind --gpu-aware gpubind-bench coll [OPTION...]",
                         "Measure MPI's collectives on the memory of all ranks' GPUs.",
                         &coll_benchmark, NULL},
    [SUBCOMMAND_P2P] = {"p2p",
                        "copies between all GPUs of one process, with peer access and without",
                        "gpubind-bench p2p [OPTION...]",
                        "Measure copies between every two of the visible GPUs.", &p2p_benchmark,
                        NULL},
    [SUBCOMMAND_HOST] = {"host", "copies between GPUs and the memory of their host",
                         "[mpirun -np N gpubind] gpubind-bench host [OPTION...]",
                         "Measure copies between the GPU of each rank and the host's memory.",
                         &host_benchmark, NULL},
    [SUBCOMMAND_HALO] = {"halo", "halo exchanges of grids that are spread over the ranks",
                         "mpirun -np N gpubind gpubind-bench halo [OPTION...]",
                         "Measure the exchange of ghost cells between the GPUs of all ranks.",
                         &halo_benchmark, NULL},
    [SUBCOMMAND_PUT] = {"put",
                        "kernels that put to, and get from, another rank's window, and signal",
                        "mpirun -np 2 gpubind gpubind-bench put [OPTION...]",
                        "Measure gpubind_put and the other calls for kernels between two ranks.",
                        &put_benchmark, NULL},
    [SUBCOMMAND_PEER_KERNEL] =
        {"peer-kernel", "a kernel that works in another GPU's memory, and in its own",
         "gpubind-bench peer-kernel [OPTION...]",
         "Measure loads and stores of a kernel in every visible GPU's memory.",
         &peer_kernel_benchmark, NULL},
    [SUBCOMMAND_REPORT] = {"report", "all of these, beside what the machine could do",
                           "[mpirun -np N] gpubind-bench report [OPTION...]",
                           "Measure all that can be measured here, beside what is possible.", NULL,
                           bench_report},
};

/* ---- --help */

void bench_options_help(enum subcommand_id subcommand, struct text *text)
{
    text_add(text, "Usage: %s\n%s\n", subcommands[subcommand].synopsis,
             subcommands[subcommand].about);
    bench_options_describe(subcommand, text);
    text_add(text, "\nSee gpubind-bench(1).\n");
}
