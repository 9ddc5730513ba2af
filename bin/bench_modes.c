#include "bin/bench_modes.h"

const struct bench_mode bench_modes[MODES] = {
    [MODE_PT2PT] = {"pt2pt", "messages between two ranks, or between the ranks of several pairs",
                    "mpirun -np 2 gpubind-bench pt2pt [OPTION...]",
                    "Measure messages between the GPUs of two ranks.", bench_pt2pt},
    [MODE_P2P] = {"p2p", "copies between all GPUs of one process, with peer access and without",
                  "gpubind-bench p2p [OPTION...]",
                  "Measure copies between every two of the visible GPUs.", bench_p2p},
    [MODE_HOST] = {"host", "copies between GPUs and the memory of their host",
                   "[mpirun -np N] gpubind-bench host [OPTION...]",
                   "Measure copies between the GPU of each rank and the host's memory.",
                   bench_host},
    [MODE_HALO] = {"halo", "halo exchanges of grids that are spread over the ranks",
                   "mpirun -np N gpubind-bench halo [OPTION...]",
                   "Measure the exchange of ghost cells between the GPUs of all ranks.",
                   bench_halo},
    [MODE_REPORT] = {"report", "all of these, beside what the machine could do, as an HTML page",
                     "[mpirun -np N] gpubind-bench report [OPTION...]",
                     "Measure all that can be measured here, and write a page about it.",
                     bench_report},
};
