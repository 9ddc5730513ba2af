#!/bin/sh
# helmholtz-analytics/heat: Python with PyTorch, nonblocking messages with types, MPI_Alltoallw, MPI_Ibcast and
# reductions: its own tests of communication. Wants torch, torchvision, scipy, mpi4py and pytest.
. "${0%/*}/apps.sh"

# Version 1.5 takes MV2_USE_CUDA=1 for it; later ones never pass GPU memory to Open MPI unless their flag is set from
# outside. A plugin of pytest sets the flag of every version, and takes it away for Heat's own staging.
cat >"$out/heat_flag.py" <<'END'
import os
from heat.core import communication

flags = [name for name in ("CUDA_AWARE_MPI", "GPU_AWARE_MPI") if hasattr(communication, name)]
assert flags, "Heat has another flag"
for name in flags:
    setattr(communication, name, os.environ["HEAT_WAY"] == "aware")
END
export HEAT_TEST_USE_DEVICE=gpu "PYTHONPATH=$out/source:$out${PYTHONPATH:+:$PYTHONPATH}"
tests=tests/core/test_communication.py # or, before 1.8, beside the sources
[ -e "$out/source/$tests" ] || tests=heat/core/tests/test_communication.py
is_right() {
    grep -q '[0-9] passed' "$1" && ! grep -q '[0-9] failed\|[0-9] error' "$1"
}
for n in $ranks; do
    for way in aware staged; do
        export HEAT_WAY=$way
        timed "$n" $way 's/^=* *\([0-9]* passed.*\) in \([0-9.]*s\).*/\1, \2/p' python3 -m pytest \
            -p no:cacheprovider -p heat_flag -q --color=no --disable-warnings "$tests"
    done
done
exit $failed
