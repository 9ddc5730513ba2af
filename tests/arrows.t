#!/bin/sh
# Includes only point down: bin -> host, gpu -> core; bench -> mpi, host, gpu -> core; the core is
# libc alone.
. "${top_srcdir:-$(dirname "$0")/..}/tests/lib.sh"

# What each of the library's folders may name, from below: itself and those before.
shm="mpi/shm/* mpi/gpubind* gpu/* core/*"
base="mpi/base/* $shm"
core="mpi/core/* $base"
datatype="mpi/datatype/* $core"
stream="mpi/stream/* $core"
transport="mpi/transport/* $datatype"
p2p="mpi/p2p/* mpi/stream/* $transport"
message="mpi/message/* $p2p"
persistent="mpi/persistent/* $message"
# The folders of libgpubind-aware.
aware_memory="aware/memory/* aware/base/* mpi/datatype/* gpu/copy/* gpu/core/* gpu/kernel_table.h core/*"
aware_reduce="aware/reduce/* gpu/reduce/* $aware_memory"
aware_message="aware/message/* $aware_memory"
aware_request="aware/request/* $aware_message"
# The benchmark's.
lib="bench/lib/* mpi/gpubind* gpu/* core/*"
output="bench/output/* $lib"

# folder | what its "..." may name | what its <...> may name beside libc
layers="
src/core/base   | core/base/* |
src/core/msg    | core/msg/* core/base/* |
src/core/trace  | core/trace/* core/base/* |
src/core/topo   | core/topo/* core/base/* |
src/core/plan   | core/plan/* core/topo/* core/base/* |
src/core/report | core/report/* core/plan/* core/topo/* core/base/* |
src/core/env    | core/env/* core/plan/* core/topo/* core/base/* |
src/core/doctor | core/doctor/* core/env/* core/plan/* core/topo/* core/base/* |
src/host/sys      | host/sys/* core/* |
src/host/pmix     | host/pmix/* host/sys/* core/* |
src/host/discover | host/discover/* host/sys/* core/* | hwloc.h hwloc/*
src/host/launch   | host/launch/* host/discover/* host/sys/* core/* |
src/host/mps      | host/mps/* host/launch/* host/discover/* host/sys/* core/* |
src/host/doctor   | host/* core/* |
src/gpu/core     | gpu/core/* core/* |
src/gpu/copy     | gpu/copy/* gpu/core/* core/* |
src/gpu/exchange | gpu/exchange/* gpu/copy/* gpu/core/* core/* |
src/gpu/reduce   | gpu/reduce/* gpu/core/* core/* |
src/gpu          | gpu/* core/* |
src/mpi/shm        | $shm | mpi.h
src/mpi/base       | $base | mpi.h
src/mpi/core       | $core | mpi.h
src/mpi/datatype   | $datatype | mpi.h
src/mpi/stream     | $stream | mpi.h
src/mpi/transport  | $transport | mpi.h
src/mpi/p2p        | $p2p | mpi.h
src/mpi/message    | $message | mpi.h
src/mpi/persistent | $persistent | mpi.h
src/mpi/rma        | mpi/rma/* $p2p | mpi.h
src/mpi/halo       | mpi/halo/* $persistent | mpi.h
src/mpi/api        | mpi/* gpu/* core/* | mpi.h
src/mpi/fortran    | mpi/* gpu/* core/* | mpi.h ISO_Fortran_binding.h
src/aware/base     | aware/base/* mpi/base/*_part.h gpu/core/* core/* | mpi.h mpi-ext.h
src/aware/memory   | $aware_memory | mpi.h
src/aware/reduce   | $aware_reduce | mpi.h
src/aware/message  | $aware_message | mpi.h
src/aware/request  | $aware_request | mpi.h
src/aware/coll     | aware/coll/* $aware_reduce $aware_request | mpi.h
src/aware/io       | aware/io/* $aware_request | mpi.h
src/aware/rma      | aware/rma/* aware/coll/* $aware_reduce $aware_request | mpi.h
src/aware/api      | aware/* mpi/datatype/* gpu/reduce/* gpu/copy/* gpu/core/* core/* | mpi.h mpi-ext.h
plugin   | plugin/* host/* core/*      | hwloc.h pmix_server.h src/* slurm/*
bin      | bin/* host/* gpu/* core/* | hwloc.h hwloc/*
bench/lib    | $lib | mpi.h
bench/output | $output | mpi.h
bench/pt2pt  | bench/pt2pt/* $output | mpi.h
bench/coll   | bench/coll/* $output | mpi.h
bench/stream | bench/stream/* $output | mpi.h
bench/cases  | bench/cases/* $output | mpi.h
bench/main   | bench/main/* bench/cases/* bench/coll/* bench/pt2pt/* bench/stream/* host/* $output | mpi.h
examples |                            | mpi.h cuda*.h nccl.h gpubind* cstd*
"
# The only files of the core that may look at hwloc.
hwloc_in_core='src/core/topo/node_from_hwloc*.[ch] src/core/topo/hwloc_versions.h'

# A <...> that is not here is somebody's library, or an arrow up.
libc='assert.h ctype.h dirent.h dlfcn.h elf.h errno.h fcntl.h getopt.h inttypes.h limits.h link.h
locale.h math.h poll.h pthread.h pwd.h sched.h semaphore.h signal.h stdarg.h
stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h stdnoreturn.h string.h
strings.h syscall.h time.h unistd.h wchar.h sys/* linux/* netinet/* arpa/*'

# allowed FILE HEADER QUOTED ANGLED: HEADER, with its <> or "", fits the patterns.
allowed() {
    case $2 in
    *..*)   return 1 ;;
    \"*/*)  patterns=$3 ;;
    \"*)    case $1 in bin/* | examples/*) return 0 ;; *) return 1 ;; esac ;; # bin: its own folder
    *)      patterns="$libc $4" ;;
    esac
    for pattern in $hwloc_in_core; do
        # shellcheck disable=SC2254 # a pattern is meant
        case $1 in $pattern) patterns="$patterns hwloc.h" ;; esac
    done
    header=${2#?}
    header=${header%?}
    for pattern in $patterns; do
        # shellcheck disable=SC2254
        case $header in $pattern) return 0 ;; esac
    done
    return 1
}

# arrows ROOT: prints "FILE includes HEADER" for each include that is not allowed.
arrows() (
    cd "$1" || exit 1
    set -f
    find src plugin bin bench -name '*.[ch]' -o -name '*.cu' | while read -r file; do
        case $file in src/mpi/gpubind*) continue ;; esac # what is installed, and includes <mpi.h>
        echo "$layers" | grep -q "^${file%/*} *|" || echo "$file includes in a folder without a row"
    done
    echo "$layers" | while IFS='|' read -r folder quoted angled; do
        folder=${folder%% *}
        [ -d "$folder" ] || continue
        grep -rnE --include='*.[ch]' --include='*.cu' '^[[:space:]]*#[[:space:]]*include' "$folder" |
        sed -E 's/^([^:]*):[^<"]*([<"][^>"]*[>"]).*/\1 \2/' |
        while read -r file header; do
            allowed "$file" "$header" "$quoted" "$angled" || echo "$file includes $header"
        done
    done
)

# vendor ROOT: prints the lines outside src/gpu that name a type or a constant of the CUDA driver,
# or call it otherwise than gpu_calls.h does. gpubind-bench opens the driver itself, and calls it.
declared=$(grep -ohE '(CUDA_[A-Z_0-9]+|cuda_[a-z_0-9]+|CU[A-Za-z]+_st)' \
    "$top_srcdir/src/gpu/core/driver_api.h" | sort -u | paste -s -d '|' -)
vendor() (
    cd "$1" || exit 1
    {
        grep -rnwE --include='*.[ch]' \
            "$declared|cuda_driver|CU_[A-Z_0-9]+|CU(stream|event|context|deviceptr|result|device)" \
            src/core src/host src/mpi src/aware plugin bin bench
        grep -rnE --include='*.[ch]' -e '->cu[A-Z]' src/core src/host src/mpi src/aware plugin bin
    } 2>/dev/null | grep -v '^src/mpi/gpubind'
)

# plant FILE LINE WANTED: of a tree with nothing but LINE in FILE.
plant() {
    rm -rf "$tmp/tree"
    mkdir -p "$tmp/tree/src" "$tmp/tree/plugin" "$tmp/tree/bin" "$tmp/tree/bench" "$tmp/tree/$(dirname "$1")"
    printf '%s\n' "$2" >"$tmp/tree/$1"
    planted=$(arrows "$tmp/tree" | grep "^$1 ")
    is "$3: $1 with $2" "$([ -n "$planted" ] && echo found || echo allowed)" "$3"
}

for folder in src/core src/host src/gpu src/mpi src/aware plugin bin bench; do
    check "$folder has sources to look at" \
        grep -rqE --include='*.[ch]' '^#include' "$top_srcdir/$folder"
done
is 'no include points up' "$(arrows "$top_srcdir")" ''
is "types and constants of the driver are src/gpu's alone" "$(vendor "$top_srcdir")" ''

plant src/core/env/planted.c '#include "host/discover/topology.h"' found
plant src/core/plan/planted.c '#include "../host/topology.h"' found
plant src/core/base/planted.h '  #  include <mpi.h>' found
plant src/core/topo/planted.c '#include <hwloc.h>' found
plant src/core/topo/node_from_hwloc.c '#include <cuda.h>' found
plant src/core/plan/planted.c '#include "plan.h"' found
plant src/core/topo/planted.c '#include "core/plan/plan.h"' found
plant src/host/sys/planted.c '#include "gpu/core/driver.h"' found
plant src/host/sys/planted.c '#include "host/launch/placement.h"' found
plant src/host/launch/planted.c '#include <pmix.h>' found
plant src/core/planted.c '#include "core/base/text.h"' found
plant src/gpu/core/planted.c '#include "host/discover/topology.h" // why' found
plant src/gpu/core/planted.c '#include <hwloc.h>' found
plant src/gpu/core/planted.c '#include "gpu/copy/copy_batch.h"' found
plant src/gpu/copy/planted.cu '#include "gpu/exchange/exchange_kernel.h"' found
plant src/gpu/core/planted.c '#include "gpu/kernel_table.h"' found
plant src/gpu/copy/planted.c '#include "gpu/reduce/reduce.h"' found
plant bin/planted.c '#include <pmix.h>' found
plant src/mpi/core/planted.c '#include "host/discover/topology.h"' found
plant src/mpi/core/planted.c '#include "mpi/p2p/recv.h"' found
plant src/mpi/base/planted.c '#include "mpi/core/domain.h"' found
plant src/mpi/p2p/planted.c '#include "mpi/message/message.h"' found
plant src/mpi/message/planted.c '#include "mpi/persistent/persistent.h"' found
plant src/mpi/rma/planted.c '#include "mpi/persistent/persistent.h"' found
plant src/gpu/core/planted.c '#include "mpi/core/comm.h"' found
plant plugin/planted.c '#include "gpu/core/driver.h"' found
plant plugin/planted.c '#include <cuda.h>' found
plant examples/planted.c '#include "core/plan/plan.h"' found
plant src/core/base/planted.c '#include <stdint.h>' allowed
plant src/core/topo/node_from_hwloc.h '#include <hwloc.h>' allowed
plant src/host/discover/planted.c '#include <hwloc/linux.h>' allowed
plant bench/lib/planted.c '#include "gpu/core/driver.h"' allowed
plant bench/lib/planted.c '#include "bench/output/table.h"' found
plant bench/output/planted.c '#include "bench/cases/p2p.h"' found
plant bin/planted.c '#include "bench/lib/gpu.h"' found

# planted_vendor FILE LINE WANTED
planted_vendor() {
    rm -rf "$tmp/tree"
    mkdir -p "$tmp/tree/$(dirname "$1")"
    printf '%s\n' "$2" >"$tmp/tree/$1"
    is "$3: $1 with $2" "$([ -n "$(vendor "$tmp/tree")" ] && echo found || echo allowed)" "$3"
}
planted_vendor src/mpi/core/planted.c 'struct CUstream_st *stream;' found
planted_vendor src/mpi/core/planted.h 'CUdeviceptr at;' found
planted_vendor src/mpi/rma/planted.c '    gpu_driver()->cuMemAlloc_v2(&at, 1);' found
planted_vendor bench/lib/planted.c '    if (status == CUDA_NOT_READY)' found
planted_vendor bench/lib/planted.c '    driver->cuMemAlloc_v2(&at, 1);' allowed
planted_vendor src/mpi/gpubind.h 'typedef struct CUstream_st *gpubind_stream;' allowed
planted_vendor src/gpu/core/planted.c 'struct CUstream_st *stream;' allowed
planted_vendor src/mpi/core/planted.c 'gpu_stream stream; /* getenv("CUDA_VISIBLE_DEVICES") */' allowed
done_testing
