#!/bin/sh
# In a clean root of Debian, with what tests/packaging/packages has put into /test: the packages of
# gpubind are installed by apt or rpm, used from /usr, and removed. Arguments: deb or rpm, the version.
# shellcheck disable=SC1091,SC2034,SC2046,SC2086,SC2154 # of lib.sh; words
top_srcdir=/test top_builddir=/nowhere
. /test/tests/lib.sh
kind=$1 version=$2
demo=/usr/share/doc/gpubind/examples/demo-2p4g.xml
libraries=/usr/lib/$(dpkg --print-architecture | sed 's/amd64/x86_64/; s/arm64/aarch64/')-linux-gnu
cd "$tmp" || exit 1

apt() { DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends "$@"; }
compilers='gfortran libmpich-dev libopenmpi-dev make mpich openmpi-bin pkgconf'

# What differs: add FILE..., remove NAME..., listed prints all files of packages, known the packages.
# Rpm knows nothing of what apt has installed.
case $kind in
deb)
    examples=/usr/share/doc/libgpubind-dev/examples alone='gpubind libgpubind0'
    files_of() { for name; do echo "/test/packages/${name}_"*.deb; done; }
    add() { apt install "$@"; }
    remove() { apt purge "$@"; }
    known() { dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' '*gpubind*' 2>/dev/null | awk '$1 != "un" { print $2 }'; }
    listed() { dpkg -L $(known); }
    kinds=f,l,d # of files that are compared
    ;;
rpm)
    examples=/usr/share/doc/gpubind-devel/examples alone='gpubind gpubind-libs'
    files_of() { for name; do echo "/test/packages/$name-"[0-9]*.rpm; done; }
    add() { rpm -i --nodeps "$@"; }
    remove() { rpm -e --nodeps "$@"; }
    known() { rpm -qa --qf '%{name}\n' '*gpubind*'; }
    listed() { rpm -ql $(known); }
    kinds=f,l # who has /usr/share/licenses is left to distributions of RPM's
    check 'rpm, and what apt would have installed' apt install rpm python3 $compilers ;;
esac

# files: all that lie in the system, but for those of apt, dpkg and rpm and what is written as time
# goes by.
files() {
    find / -xdev \( -path /test -o -path /tmp -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/lib/rpm \
        -o -path /root -o -path /var/log -o -path /var/cache \) -prune -o \
        -type "$kinds" ! -path /etc/ld.so.cache -print | sort
}

# ---- the launcher alone

check 'gpubind is installed, and what it needs' add $(files_of $alone)
is 'nothing of NVIDIA is needed' "$(dpkg-query -W -f '${Package}\n' | grep -E 'nvidia|cuda|nccl')" ''
for program in gpubind gpubind-bench gpubind-plot; do
    run $program --version
    is "$program --version" "$status $(cat "$tmp/out")" "0 $program $version"
    check "$program has a manual page" test -s "$(echo /usr/share/man/man1/$program.1*)"
    check "bash completes $program" bash -c '. "$0" && complete -p "${0##*/}"' \
        "/usr/share/bash-completion/completions/$program"
done
check 'the documents' test -s /usr/share/doc/gpubind/docs/tutorial.md
run gpubind --plan --ranks 5 --master 0 --topology $demo
is 'a plan for a recorded machine' "$status $(awk '$3 == "gpu" { printf "%s %s ", $1, $5 }' "$tmp/out")" \
    '0 1 0000:17:00.0 2 0000:2a:00.0 3 0000:9a:00.0 4 0000:ab:00.0 '
run sh /usr/share/doc/gpubind/examples/plan.sh $demo
is 'the example plan.sh' "$status $(grep -c '^node ' "$tmp/out")" '0 8'
run gpubind --launcher none --topology $demo --visible all --gpu-aware=on true
refused 'without gpubind-aware, --gpu-aware=on says what is not there' "there is no $libraries/libgpubind-aware.so.0"
run gpubind --plugin-info
check 'without the plugin, --plugin-info says so' grep -q 'no such file\|not found\|not there' "$tmp/out"
check 'they are removed' remove $alone

# ---- all of them

check 'compilers and MPIs' apt install $compilers
files >/test/before
check 'all packages are installed' add /test/packages/*
is 'all libraries that they need are there' "$(listed |
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
run mpicc.mpich legacy_after.c -o after_mpich $(pkg-config --cflags --libs gpubind-mpich) -ldl
is 'one of MPICH, likewise' "$status" 0
run simulated mpirun.mpich 2 ./after_mpich
is '... and prints the same' "$status $(cat "$tmp/out")" "0 $(cat after.out)"
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

check 'all packages are removed' remove $(known)
files >/test/after
is 'nothing is left' "$(diff /test/before /test/after)" ''
is "... known to $kind" "$(known)" ''
is '... or to the linker' "$(ldconfig -p | grep gpubind)" ''
nothing_left 'nothing runs, and no temporary file'
done_testing
