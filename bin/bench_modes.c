#include "bin/bench_modes.h"

const struct bench_mode bench_modes[MODES] = {
    [MODE_PT2PT] = {"pt2pt", "messages between two ranks, or between the ranks of several pairs",
                    "mpirun -np 2 gpubind-bench pt2pt [OPTION...]",
                    "Measure messages between the GPUs of two ranks.", bench_pt2pt},
    [MODE_P2P] = {"p2p", "copies between all GPUs of one process, with peer access and without",
                  "gpubind-bench p2p [OPTION...]",
                  "Measure copies between every two of the visible GPUs.", bench_p2p},
    [MODE_PUT] = {"put", "kernels that put to, and get from, another rank's window, and signal",
                  "mpirun -np 2 gpubind-bench put [OPTION...]",
                  "Measure gpubind_put and the other calls for kernels between two ranks.",
                  bench_put},
    [MODE_PEER] = {"peer-kernel", "a kernel that works in another GPU's memory, and in its own",
                   "gpubind-bench peer-kernel [OPTION...]",
                   "Measure loads and stores of a kernel in every visible GPU's memory.",
                   bench_peer},
};
