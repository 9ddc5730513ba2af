#!/bin/sh
# The plugin in the real libpmix without a launcher: equal plans on every recorded
# machine, jobs that come and go, wrong job data, no memory.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/plugin.sh"
TMPDIR=$tmp # the server's own files
export TMPDIR
# What libpmix leaks is not ours to report.
[ -z "$SANITIZED" ] || export ASAN_OPTIONS=detect_leaks=0
machine=$machines/demo-2p4g.xml
node=$(hostname)

# serve [OPTION...]: the script on stdin.
serve() { status=0; plugged "$top_builddir/tests/plugin/server" "$@" - >"$tmp/out" 2>"$tmp/err" || status=$?; }
value() { sed -n "s/^$1: $2=//p" "$tmp/out"; }

# ---- every recorded machine, 1 to 8 ranks, four ways to bind them

# cpusets WAY RANKS FIRST-CPU LAST-CPU: one set a rank, with ; between.
cpusets() {
    awk -v way="$1" -v n="$2" -v first="$3" -v last="$4" 'BEGIN {
        cpus = last - first + 1
        for (r = 0; r < n; r++) {
            set = "-"
            if (way == "cores") set = first + r % cpus
            if (way == "reversed") set = last - r % cpus
            if (way == "halves") {
                middle = first + int(cpus / 2)
                set = (r % 2) ? middle "-" last : first "-" middle - 1
            }
            printf "%s%s", r ? ";" : "", set
        }
    }'
}

# ranks_file SETS: the same for --plan.
ranks_file() {
    echo "$1" | tr ';' '\n' | awk -v node="$node" '{ print "rank " NR - 1 "=" node ($1 == "-" ? "" : " slot=" $1) }'
}

for machine in "$machines"/*.xml "$top_srcdir"/../shared/topologies/*.xml; do
    [ -r "$machine" ] || continue
    name=$(basename "$machine" .xml)
    # CPUs with numbers in a row, as far as they go.
    all=$(gpubind --quiet --plan --bind none --ranks 1 --json --topology "$machine" | sed -n 's/.*"cpus": *"\([^"]*\)".*/\1/p')
    first=${all%%[!0-9]*} last=${all%%,*} last=${last##*-}
    : >"$tmp/script"
    : >"$tmp/wanted"
    for n in 1 2 3 4 5 6 7 8; do
        for way in unbound cores reversed halves; do
            [ "$way$last" != "halves$first" ] || continue
            sets=$(cpusets $way $n "$first" "$last")
            echo "nspace $way$n size=$n cpusets=$sets
fork $way$n all
forget $way$n" >>"$tmp/script"
            ranks_file "$sets" >"$tmp/ranks"
            # The hash is of everything that ranks get.
            bounded gpubind --quiet --plan --bind none --topology "$machine" --ranks-file "$tmp/ranks" |
                sed -n "s/^node.* plan /$way$n /p" >>"$tmp/wanted"
        done
    done
    serve <"$tmp/script"
    sed -n 's/^\([a-z]*[0-9]*\) 0: GPUBIND_PLAN=/\1 /p' "$tmp/out" >"$tmp/got"
    is "$name: plans as the launcher does" "$status $(wc -l <"$tmp/got") $(cat "$tmp/got")" \
        "0 $(wc -l <"$tmp/wanted") $(cat "$tmp/wanted")"
done
machine=$machines/demo-2p4g.xml

# ---- what the server knows

serve <<'S'
nspace job size=4
fork job all null
S
is 'no environment at all' "$status $(grep -c ' CUDA_VISIBLE_DEVICES=GPU-' "$tmp/out")" '0 4'
serve <<'S'
nspace job size=2
fork job all
key job 0 PMIX_DEVICE_ID
key job 1 PMIX_DEVICE_ID by=0
nspace off size=1
fork off 0 GPUBIND=off
key off 0 PMIX_DEVICE_ID
S
is 'PMIX_DEVICE_ID is the GPU, to the rank and to others' \
    "$(value 'job 0 PMIX_DEVICE_ID' x; sed -n 's/^job . PMIX_DEVICE_ID: //p' "$tmp/out")" \
    "$(sed -n 's/^job .: GPUBIND_GPU_UUID=//p' "$tmp/out")"
is '... and empty where gpubind is off' "$(sed -n 's/ *$//; /^off/p' "$tmp/out")" 'off 0: -
off 0 PMIX_DEVICE_ID:'
for key in PMIX_LOCAL_RANK PMIX_NODE_RANK PMIX_HOSTNAME PMIX_APPNUM PMIX_CPUSET; do
    serve <<S
nspace job size=2 omit=$key
fork job all
S
    is "without $key there is a plan" "$status $(grep -c GPUBIND_PLAN= "$tmp/out")" '0 2'
done
serve <<'S'
nspace job size=2 omit=PMIX_PROC_MAP,PMIX_NODE_MAP,PMIX_LOCAL_PEERS,PMIX_JOB_SIZE,PMIX_LOCAL_SIZE
fork job 0
nspace more size=2 cpusets=x;9999999
fork more all
S
is 'what is no application is left alone; CPUs that are none are not heeded' \
    "$status $(grep -c '^job.*GPUBIND_PLAN' "$tmp/out") $(grep -c '^more.*GPUBIND_PLAN' "$tmp/out")" '0 0 2'

serve <<'S'
nspace job size=2
fork job all
nspace child size=2 noderank=2 parent=job:0
fork child all
nspace grandchild size=3 noderank=4 parent=child:1
fork grandchild all
nspace stranger size=2
fork stranger all
forget child
forget grandchild
nspace late size=1 noderank=2 parent=job:0
fork late all
S
gpus() { sed -n "s/^$1 .: GPUBIND_GPU_PCI=//p" "$tmp/out" | sort | tr '\n' ' '; }
is 'spawned ranks come after their parents' "$( (gpus job; gpus child) | tr ' ' '\n' | sort -u | grep -c .)" 4
is '... and then share' "$(gpus grandchild | tr ' ' '\n' | sort -u | grep -c .)" 3
is '... a job of its own does not heed them' "$(gpus stranger)" "$(gpus job)"
is '... what has ended is free again' "$(gpus late | tr ' ' '\n' | grep -c .) $( (gpus job; gpus late) | tr ' ' '\n' | sort -u | grep -c .)" '1 3'

cat >"$tmp/other.c" <<'C'
const char *PMIx_Get_version(void);
const char *PMIx_Get_version(void) { return "OpenPMIx 99.1.0 (not what anybody was built for)"; }
C
if [ -n "$SANITIZED" ]; then
    skip 'declines a PMIx that it was not built for' 'the sanitizers want to be loaded first'
elif $CC -shared -fPIC -o "$tmp/other.so" "$tmp/other.c" 2>"$tmp/err"; then
    LD_PRELOAD="$tmp/other.so" serve <<'S'
nspace job size=1
fork job all
S
    is 'declines a PMIx that it was not built for' "$status $(cat "$tmp/out")" '0 job 0: -'
else
    skip 'declines a PMIx that it was not built for' 'no compiler'
fi

serve <<'S'
nspace job size=4
fork job all GPUBIND_MASTER=3
nspace child size=2 noderank=4 parent=job:0
fork child all GPUBIND_MASTER=3
S
is "a parent's master that a spawned job has not" "$status $(grep -c '^child.*GPUBIND_PLAN' "$tmp/out")" '0 2'
serve <<'S'
nspace job size=1
fork job all GPUBIND_MASTER=0
nspace child size=2 noderank=1 parent=job:0
fork child all GPUBIND_MASTER=0
S
is "a parent's master is none of a spawned job's" \
    "$status $(sed -n 's/^\(job\|child\) .: GPUBIND_ROLE=/\1 /p' "$tmp/out" | sort | xargs)" '0 child gpu child gpu job master'
mkfifo "$tmp/pipe"
limit=20 serve <<S
nspace job size=1
fork job 0 GPUBIND_MAP=@$tmp/pipe
S
is 'a pipe is not waited for' "$(cut -d' ' -f 1-3 "$tmp/out") $(grep -c 'is no regular file' "$tmp/err")" 'job 0: error 1'

# ---- inside slurmstepd, as far as that is a name and an environment

# as_slurm LINES-OF-SLURM.CONF [NAME=VALUE...]: 1 when a rank of its own has a plan, else 0.
cp "$top_builddir/tests/plugin/server" "$tmp/slurmstepd"
as_slurm() {
    printf '%s\n' "$1" >"$tmp/slurm.conf"
    shift
    printf '%s\n' 'nspace job size=1' 'fork job 0 null child' >"$tmp/script"
    plugged SLURM_CONF="$tmp/slurm.conf" "$@" "$tmp/slurmstepd" "$tmp/script" >"$tmp/out" 2>"$tmp/err"
    grep -c GPUBIND_PLAN= "$tmp/out"
}
is 'Slurm deals out no GPUs' "$(as_slurm 'ClusterName=x
GresTypes=mps
#GresTypes=gpu')" 1
for conf in 'GresTypes=gpu' ' grestypes = mps, GPU # both' 'GresTypes="gpu,mps"' 'Include gone.conf'; do
    is "Slurm deals out GPUs: $conf" "$(as_slurm "$conf")" 0
done
is '... in a list that goes on in the next line' "$(as_slurm "$(printf 'GresTypes=mps,\\\ngpu')")" 0
echo GresTypes=gpu >"$tmp/more.conf"
is '... in a file that is included' "$(as_slurm 'include more.conf')" 0
is '... the relay tells which' \
    "$(as_slurm 'GresTypes=gpu' GPUBIND_RELAY=1 GPUBIND_RELAY_GPUS=2) $(grep -c 'GPU_PCI=0000:9a' "$tmp/out")" '1 1'
is '... or none' "$(as_slurm 'GresTypes=gpu' GPUBIND_RELAY=1) $(grep -c 'ROLE=idle' "$tmp/out")" '1 1'
is '... Slurm gives them to tasks' \
    "$(as_slurm 'GresTypes=gpu' GPUBIND_RELAY=1 GPUBIND_RELAY_GPUS=0,1 GPUBIND_RELAY_PER_TASK=1)" 0
is 'GPUBIND=off by the relay' "$(as_slurm '' GPUBIND_RELAY=1 GPUBIND_RELAY_ENV_GPUBIND=off)" 0
nics() { sed -n 's/^job .: UCX_NET_DEVICES=//p' "$tmp/out" | tr '\n' ' '; }
is 'a NIC that the user may have chosen is not replaced' \
    "$(as_slurm '' PMIX_MCA_pmdl_gpubind_nic=ucx) $(nics)" '1 '
is '... nor one that the user has' \
    "$(as_slurm '' GPUBIND_RELAY=1 PMIX_MCA_pmdl_gpubind_nic=ucx GPUBIND_RELAY_ENV_UCX_NET_DEVICES=all) $(nics)" '1 '
is '... but set where there is none' \
    "$(as_slurm '' GPUBIND_RELAY=1 PMIX_MCA_pmdl_gpubind_nic=ucx) $(nics)" '1 mlx5_0:1 '

# ---- for days

if [ -n "$SANITIZED" ]; then
    skip 'memory over 10,000 namespaces' 'the sanitizers have the allocator'
    skip 'failing allocations' 'the sanitizers have the allocator'
else
    # Beside some that stay. PMIx 4.2 itself keeps 32 bytes of each value that its server looks up.
    {
        printf '%s\n' 'repeat 20' 'nspace keep%i size=4' 'fork keep%i all' end
        for _ in 1 2 3 4 5 6 7 8 9 10; do
            cat <<'S'
repeat 1000
nspace job%i size=2 cpusets=0-1;-
fork job%i all GPUBIND_OVERFLOW=idle
forget job%i
end
memory
cpu
S
        done
        printf '%s\n' 'repeat 20' 'forget keep%i' end
    } >"$tmp/script"
    limit=300 serve --watch=pmdl_gpubind --timeout=280 --answer=60 <"$tmp/script"
    is '10,000 namespaces leave nothing behind' "$status $(sed -n 's/^memory: pmdl_gpubind //p' "$tmp/out" |
        sed 's/.*(/(/' | sed 1d | sort -u) $(sed -n 's/^held at the end: //p' "$tmp/out")" \
        '0 (+0 blocks, +0 bytes) 0 blocks, 0 bytes'
    sed -n 's/^cpu: \([0-9]*\) ms/\1/p' "$tmp/out" >"$tmp/cpu"
    # The least of some, as other processes' work counts, too.
    least() { sed -n "$1p" "$tmp/cpu" | sort -n | head -n 1; }
    check '... the last thousands take no longer than the first' \
        test "$(least '6,10')" -le $((2 * $(least '2,5') + 200))
    diag "CPU time of each thousand, ms: $(xargs <"$tmp/cpu")"
    # The library lies beside the plugin's own file.
    ln -sf "$(realpath "$plugin_file")" "$plugin_dir/"
    for keep in '' --keep-failing; do
        machine=$machines/small-4c2g.xml
        # shellcheck disable=SC2086 # nothing, or an option
        serve --fail-allocations=pmdl_gpubind $keep <<'S'
nspace job size=4 local=2 cpusets=0;-
fork job all
fork job 0 null
nspace more size=2 noderank=2 parent=job:0
fork more all
forget more
forget job
nspace aware size=2
fork aware all OMPI_COMM_WORLD_SIZE=2 GPUBIND_GPU_AWARE=auto LD_PRELOAD=libdl.so.2
forget aware
S
        is "no memory at any time, ${keep:-once}: ranks start, with all or nothing" \
            "$status $(tail -n 1 "$tmp/out" | grep -c ' 0 failed-to-start, 0 other output, 0 crashed, 0 hung') $(tail -n 1 "$tmp/out" | awk '{ print ($1 > 100) }')" '0 1 1'
    done
fi
nothing_left 'nothing is left behind'
done_testing
