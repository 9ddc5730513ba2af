#!/bin/sh
# mpirun's default binding is nobody's wish and is replaced; what the user asked for is
# kept to.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
"${MPIRUN:-false}" --version 2>&1 | grep -q 'Open MPI\|OpenRTE' || skip_all 'no mpirun of Open MPI'
version=$("$MPIRUN" --version | sed -n 's/.* \([0-9]*\)[.].*/\1/p' | sed 1q)
[ "$version" = 4 ] || skip_all "the default binding of Open MPI $version is not told from the user's"
[ "$(lscpu -p=CORE | grep -v '#' | sort -u | wc -l)" -gt 1 ] || skip_all 'one core only'
cpus=$(sed -n 's/^Cpus_allowed_list:[^0-9]*//p' /proc/self/status)
case $cpus in *[-,]*) ;; *) skip_all 'one CPU only' ;; esac
export HOME="$tmp" # no parameter file of the user's

# A rank's CPUs. gpubind --bind package takes all that it may have on its package, so that
# what limits it is mpirun or the user.
mask='sed -n "s/^Cpus_allowed_list:[^0-9]*//p" /proc/self/status'
plain() { bounded "$MPIRUN" -np 1 "$@" sh -c "$mask"; }
placed() { bounded "$MPIRUN" -np 1 "$@" gpubind --quiet --bind package sh -c "$mask"; }
first=${cpus%%[,-]*} last=${cpus##*[,-]}

one=$(plain)
all=$(bounded gpubind --quiet --bind package sh -c "$mask")
check 'mpirun binds by default: something to replace' test "$one" != "$all"
is 'the default binding is replaced' "$(placed)" "$all"
is "... of the second rank, whose first is another program's" \
    "$(bounded "$MPIRUN" -np 1 true : -np 1 gpubind --quiet --bind package sh -c "$mask" 2>/dev/null)" "$all"
is 'asked for: --bind-to core' "$(placed --bind-to core)" "$one"
is 'asked for: -bind-to core' "$(placed -bind-to core)" "$one"
is 'asked for: --bind-to none' "$(placed --bind-to none)" "$all"
is 'asked for: --mca hwloc_base_binding_policy core' \
    "$(placed --mca hwloc_base_binding_policy core)" "$one"
is 'asked for: OMPI_MCA_hwloc_base_binding_policy' \
    "$(OMPI_MCA_hwloc_base_binding_policy=core placed)" "$one"
mkdir "$tmp/.openmpi"
echo 'hwloc_base_binding_policy = core' > "$tmp/.openmpi/mca-params.conf"
is 'asked for: the parameter file in HOME' "$(placed)" "$one"
echo '# hwloc_base_binding_policy = core' > "$tmp/.openmpi/mca-params.conf"
is 'a parameter file that says nothing' "$(placed)" "$all"
rm -r "$tmp/.openmpi"
echo "rank 0=localhost slot=$last" > "$tmp/ranks"
is 'asked for: a rankfile' "$(placed --rankfile "$tmp/ranks" 2>/dev/null)" \
    "$(plain --rankfile "$tmp/ranks" 2>/dev/null)"
is 'asked for: --cpu-set' "$(placed --cpu-set "$last" --bind-to cpu-list 2>/dev/null)" \
    "$(plain --cpu-set "$last" --bind-to cpu-list 2>/dev/null)"
for cpu in "$first" "$last"; do
    is "taskset around mpirun: CPU $cpu" \
        "$(bounded taskset -c "$cpu" "$MPIRUN" -np 1 gpubind --quiet --bind package sh -c "$mask")" "$cpu"
    is "taskset around gpubind: CPU $cpu" \
        "$(bounded taskset -c "$cpu" gpubind --quiet --bind package sh -c "$mask")" "$cpu"
    is "taskset between the two, asked for: CPU $cpu" \
        "$(bounded "$MPIRUN" -np 1 --bind-to none taskset -c "$cpu" gpubind --quiet --bind package sh -c "$mask")" "$cpu"
done
# Not asked for, but no default of mpirun's either: something between bound the ranks.
is "taskset between the two, not asked for: CPU $last" \
    "$(bounded "$MPIRUN" -np 1 taskset -c "$last" gpubind --quiet --bind package sh -c "$mask")" "$last"
is "taskset between the two, two ranks on CPU $first" \
    "$(bounded "$MPIRUN" -np 2 taskset -c "$first" gpubind --quiet sh -c "$mask" | sort -u)" "$first"
is '--bind none leaves what is asked for' \
    "$(bounded "$MPIRUN" -np 1 --bind-to core gpubind --quiet --bind none sh -c "$mask")" "$one"
run bounded "$MPIRUN" -np 2 gpubind --quiet --bind core sh -c "$mask"
check 'two ranks have two cores' test "$(sort -u "$tmp/out" | wc -l)" = 2
run bounded "$MPIRUN" -np 2 --bind-to core gpubind --quiet sh -c "$mask"
is 'two ranks stay where they were bound' "$(sort "$tmp/out")" \
    "$(bounded "$MPIRUN" -np 2 --bind-to core sh -c "$mask" | sort)"
done_testing
