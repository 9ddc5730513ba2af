#!/bin/sh
# In a clean root of Debian, with what tests/packaging/deb has put into /test: the packages of
# gpubind are installed by apt, used from /usr, and removed. The version is the argument.
# shellcheck disable=SC1091,SC2034,SC2046,SC2086,SC2154 # of lib.sh; words
top_srcdir=/test top_builddir=/nowhere
. /test/tests/lib.sh
version=$1
examples=/usr/share/doc/libgpubind-dev/examples
demo=/usr/share/doc/gpubind/examples/demo-2p4g.xml
libraries=/usr/lib/$(dpkg --print-architecture | sed 's/amd64/x86_64/; s/arm64/aarch64/')-linux-gnu
cd "$tmp" || exit 1

apt() { DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends "$@"; }

# debs NAME...: their files.
debs() { for name; do echo "/test/debs/${name}_"*.deb; done; }

# files: all that lie in the system, but for apt's and dpkg's own and what is written as time goes by.
files() {
    find / -xdev \( -path /test -o -path /tmp -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/log \
        -o -path /var/cache \) -prune -o -path /etc/ld.so.cache -o -print | sort
}

# ---- the launcher alone

check 'apt installs gpubind, and what it needs' apt install $(debs gpubind libgpubind0)
is 'nothing of NVIDIA is needed' "$(dpkg-query -W -f '${Package}\n' | grep -E 'nvidia|cuda|nccl')" ''
for program in gpubind gpubind-bench gpubind-plot; do
    run $program --version
    is "$program --version" "$status $(cat "$tmp/out")" "0 $program $version"
    check "$program has a manual page" gzip -t "/usr/share/man/man1/$program.1.gz"
    check "bash completes $program" bash -c '. "$0" && complete -p "${0##*/}"' \
        "/usr/share/bash-completion/completions/$program"
done
run gpubind --plan --ranks 5 --master 0 --topology $demo
is 'a plan for a recorded machine' "$status $(awk '$3 == "gpu" { printf "%s %s ", $1, $5 }' "$tmp/out")" \
    '0 1 0000:17:00.0 2 0000:2a:00.0 3 0000:9a:00.0 4 0000:ab:00.0 '
run sh /usr/share/doc/gpubind/examples/plan.sh $demo
is 'the example plan.sh' "$status $(grep -c '^node ' "$tmp/out")" '0 8'
run gpubind --launcher none --topology $demo --visible all --gpu-aware=on true
refused 'without gpubind-aware, --gpu-aware=on says what is not there' "there is no $libraries/libgpubind-aware.so.0"
run gpubind --plugin-info
check 'without the plugin, --plugin-info says so' grep -q 'no such file\|not found\|not there' "$tmp/out"
check 'apt removes them' apt purge gpubind libgpubind0

# ---- all of them

check 'compilers and MPIs' apt install gfortran libmpich-dev libopenmpi-dev make mpich openmpi-bin pkgconf
files >/test/before
check 'apt installs all packages' apt install $(debs '*')
is 'all libraries that they need are there' "$(dpkg -L $(dpkg-query -W -f '${Package} ' '*gpubind*') |
    grep -E '/usr/bin/gpubind(-bench)?$|\.so$' | xargs ldd | grep 'not found')" ''
is 'links among manual pages lead to pages' "$(find /usr/share/man -name '*gpubind*' -xtype l)" ''
check 'symbols for debuggers' test -d /usr/lib/debug/.build-id

# The simulated driver, which no package has. The plugin, which sees no GPU on this machine, does
# not hide those of the driver.
export GPUBIND_SIM_JOB="${tmp##*.}" GPUBIND=off
# simulated MPIRUN N COMMAND...
simulated() {
    MPIRUN=$1
    shift
    LD_LIBRARY_PATH=/test/cuda mpi "$@"
}

cp -r $examples/* .
run mpicc.openmpi legacy_after.c -o after $(pkg-config --cflags --libs gpubind) -ldl
is 'a program of the library is compiled' "$status" 0
run simulated mpirun.openmpi 2 ./after
is '... and runs' "$status" 0
cp "$tmp/out" after.out
run mpicc.openmpi legacy_after.c -o after_static $libraries/libgpubind.a -lpthread -ldl
is 'a program with the static library is compiled' "$status" 0
run simulated mpirun.openmpi 2 ./after_static
is '... and prints the same' "$status $(cat "$tmp/out")" "0 $(cat after.out)"
run mpifort.openmpi device.f90 legacy_after.f90 -o after_f -lgpubind
is 'a program in Fortran finds the module by itself' "$status" 0
run simulated mpirun.openmpi 2 ./after_f
is '... and runs' "$status" 0
run make -C jacobi MPICC=mpicc.openmpi
is "the examples' Makefile" "$status" 0

cp /usr/share/doc/gpubind-aware/examples/gpu_aware.c .
for mpi in openmpi mpich; do
    run mpicc.$mpi gpu_aware.c -o aware_$mpi -ldl
    is "a program for a CUDA-aware $mpi, which knows nothing of gpubind" "$status" 0
    run simulated mpirun.$mpi 2 ./aware_$mpi
    # Hydra's status may be 0 all the same.
    check '... does not run by itself' test "$(grep -c 'results are wrong' "$tmp/out")" = 0
    run simulated mpirun.$mpi 2 gpubind --topology $demo --visible all --gpu-aware=on ./aware_$mpi
    is '... but with gpubind --gpu-aware' "$status $(cat "$tmp/out")" '0 2 ranks: 0 results are wrong'
    run mpicc.$mpi gpu_aware.c -o linked_$mpi -Wl,--no-as-needed \
        -lgpubind-aware$([ $mpi = openmpi ] || echo -$mpi) -ldl
    is "... or linked" "$status" 0
    run simulated mpirun.$mpi 2 ./linked_$mpi
    is "... it runs by itself" "$status $(cat "$tmp/out")" '0 2 ranks: 0 results are wrong'
done

# The plugin, in the daemon of Open MPI.
unset GPUBIND
MPIRUN=mpirun.openmpi
run mpi 1 gpubind --plugin-info
is 'PMIx finds the plugin' "$status $(grep -c "$libraries/pmix2/lib/pmix/pmix_mca_pmdl_gpubind.so" "$tmp/out")" '0 1'
# shellcheck disable=SC2016 # the ranks expand it
said='echo "$GPUBIND_MADE_BY $GPUBIND_GPU_PCI"'
export HWLOC_XMLFILE=$demo HWLOC_THISSYSTEM=1
run mpi 2 sh -c "$said"
is 'ranks have GPUs of their own with nothing on the command line' \
    "$status $(sort -u "$tmp/out" | grep -c '^plugin 0000:')" '0 2'
run mpi 2 -x GPUBIND=off sh -c "$said"
is '... and not with GPUBIND=off' "$status $(sort -u "$tmp/out" | xargs)" '0 '
unset HWLOC_XMLFILE HWLOC_THISSYSTEM
check 'the relay for Slurm' test -s "$libraries/gpubind/spank_gpubind.so"

# ---- removed

check 'apt removes all packages' apt purge $(dpkg-query -W -f '${Package} ' '*gpubind*')
files >/test/after
is 'nothing is left' "$(diff /test/before /test/after)" ''
is '... known to dpkg' "$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' '*gpubind*' 2>/dev/null | grep -v '^un')" ''
is '... or to the linker' "$(ldconfig -p | grep gpubind)" ''
nothing_left 'nothing runs, and no temporary file'
done_testing
