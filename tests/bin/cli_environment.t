#!/bin/sh
# The program's environment is the caller's, but for what gpubind(1) lists.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

demo=$top_srcdir/tests/machines/demo-2p4g.xml
documented='^\(GPUBIND_\(ROLE\|GPU_UUID\|GPU_PCI\|LOCAL_RANK\|CPUS\|NUMA\|NIC\|PLAN\|VERSION\|VISIBLE_DEVICES\|RECORDED\)\|CUDA_VISIBLE_DEVICES\|OMP_NUM_THREADS\|OMP_PLACES\)='

# unchanged DESCRIPTION COMMAND...: with COMMAND (env A=B ...) in front. Lines of a
# value have a mark, so that they are not taken for variables.
unchanged() {
    what=$1
    shift
    "$@" env -0 | tr '\n\0' '\001\n' | LC_ALL=C sort > "$tmp/before"
    "$@" timeout 60 gpubind --quiet --topology "$demo" env -0 | tr '\n\0' '\001\n' |
        grep -av "$documented" | LC_ALL=C sort > "$tmp/after"
    is "$what" "$(diff "$tmp/before" "$tmp/after")" ''
}

unchanged 'the environment of this test' env
unchanged 'no other variable at all' env -i "PATH=$PATH"
unchanged 'values with newlines, blanks, equals signs, and none' \
    env "A=one
two" 'B= x ' 'C=d=e' D= 'odd.name=1' "E=$(printf '\303\244\377')"
unchanged 'settings of hwloc' env HWLOC_PLUGINS_BLACKLIST=mine HWLOC_COMPONENTS=-opencl \
    HWLOC_HIDE_ERRORS=1 HWLOC_PLUGINS_VERBOSE=0
unchanged 'settings of gpubind' env GPUBIND_OVERFLOW=idle GPUBIND_TIMEOUT=5 GPUBIND_QUIET=1
unchanged 'settings of CUDA and NCCL' env CUDA_DEVICE_ORDER=FASTEST_FIRST CUDA_CACHE_DISABLE=1 \
    NCCL_IB_HCA=mlx5_3 NCCL_DEBUG=WARN
unchanged 'a large environment' env "LARGE=$(head -c 100000 /dev/zero | tr '\0' x)"

# hwloc's plugins that gpubind loads to look at this machine.
plugins() { env "$@" LD_DEBUG=files gpubind --plan 2>&1 | grep -o 'hwloc_pci[.]so' | sort -u; }
if [ -n "$SANITIZED" ] || [ -z "$(plugins A=b)" ]; then
    skip 'a plugin of hwloc that the user leaves out' 'hwloc has no plugin for PCI here'
else
    is 'a plugin of hwloc that the user leaves out is not loaded' \
        "$(plugins HWLOC_PLUGINS_BLACKLIST=hwloc_x.so,hwloc_pci.so)" ''
fi

# What a second gpubind would leave of the first.
is 'a nested gpubind replaces all that the outer one set' \
    "$(timeout 60 gpubind --quiet --topology "$demo" --visible all gpubind --quiet --topology \
        "$demo" --bind none --membind none env | grep "$documented" | grep -v ^OMP_ | cut -d= -f1 | sort)" \
    "$(timeout 60 gpubind --quiet --topology "$demo" --bind none --membind none env |
        grep "$documented" | cut -d= -f1 | sort)"
done_testing
