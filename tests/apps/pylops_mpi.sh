#!/bin/sh
# PyLops/pylops-mpi: Python, MPI_Sendrecv, MPI_Allreduce and MPI_Bcast with CuPy arrays: its own tests. Wants pylops,
# pyproximal, mpi4py, CuPy and pytest.
. "${0%/*}/apps.sh"

export TEST_CUPY_PYLOPS=1 PYLOPS_MPI_CUDA_AWARE=1 "PYTHONPATH=$out/source${PYTHONPATH:+:$PYTHONPATH}"
is_right() {
    grep -q ' passed' "$1" && ! grep -q ' failed\| error' "$1"
}
for n in $ranks; do
    timed "$n" aware 's/^=* *\([0-9]* passed.*\) in \(.*s\).*/\1, \2/p' python3 -m pytest -p no:cacheprovider -q \
        --color=no tests/test_halo.py tests/test_derivative.py tests/test_distributedarray.py
done
exit $failed
