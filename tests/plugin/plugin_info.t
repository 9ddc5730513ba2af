#!/bin/sh
# --plugin-info: does the plugin work, where does PMIx look for it, and why not?
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

file=pmix_mca_pmdl_gpubind.so
built=$top_builddir/plugin/.libs/$file
version=$(gpubind --version | sed 's/gpubind //')
own=$tmp/home/.pmix/components # first a folder that is not there
good=$tmp/good
mkdir "$tmp/home" "$tmp/empty" "$good"
HOME=$tmp/home
export HOME

# verdict DESCRIPTION STATUS PATTERN: of what was run last, all of the first line.
verdict() {
    said=$(sed -n 's/^plugin: //p' "$tmp/out")
    if [ "$status" = "$2" ] && expr "X$said" : "X$3\$" >/dev/null; then
        ok "$1"
    else
        not_ok "$1"
        diag "status $status, not $2, or no verdict '$3':
$(cat "$tmp/out" "$tmp/err")"
    fi
}

# says DESCRIPTION LINE: what was run last said this line.
says() {
    if grep -qxF "$2" "$tmp/out"; then
        ok "$1"
    else
        not_ok "$1"
        diag "no line '$2':
$(cat "$tmp/out")"
    fi
}

says_not() {
    if grep -q "$2" "$tmp/out"; then not_ok "$1"; diag "$(cat "$tmp/out")"; else ok "$1"; fi
}

# ---- without a launcher

run bounded gpubind --plugin-info
is 'the first line is the verdict' "$(sed -n '1s/:.*//p' "$tmp/out")" plugin
is 'nothing on stderr' "$(cat "$tmp/err")" ''
verdict 'no plugin anywhere' 1 "not found: none of .* has $file"
says 'HOME is looked in' "looked in: $own: no such folder"
is 'the last line says to ask a daemon' "$(tail -n 1 "$tmp/out" | cut -c1-52)" \
    'ask a daemon: mpirun -np 1 gpubind --plugin-info, or'
run bounded env -u HOME gpubind --plugin-info
says 'without HOME it is the one of the user' \
    "looked in: $(getent passwd "$(id -u)" | cut -d: -f6)/.pmix/components: no such folder"
run bounded sh -c 'gpubind --plugin-info >/dev/full'
refused 'no room for the answer' 'cannot write'
run bounded gpubind --plugin-info true
refused 'no command goes with it' "'true'"
run bounded gpubind --plugin-info --check
refused 'nor another action' '--check'

mkdir "$tmp/none"
echo 'no library' >"$tmp/none/libpmix.so.2"
run bounded env LD_LIBRARY_PATH="$tmp/none" gpubind --plugin-info
verdict 'no PMIx at all' 1 "not found: none of the places that are known has $file"
check '... which is said' grep -q '^PMIx: none found from here (' "$tmp/out"
says '... and what it hides' "not known: the folder of PMIx's own components"

run bounded env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_LOCAL_RANK=0 \
    OMPI_COMM_WORLD_LOCAL_SIZE=1 gpubind --plugin-info
verdict 'a rank without PMIx' 1 'does not work: this rank was not started through PMIx (openmpi)'
if unshare --pid --fork true 2>/dev/null; then
    run bounded unshare --pid --fork env PMIX_NAMESPACE=x PMIX_RANK=0 gpubind --plugin-info
    verdict 'a rank of nobody' 1 'no plan of it for this rank; why cannot be seen: none of .*'
else
    skip 'a rank of nobody' 'no right to make a process namespace'
fi

run bounded gpubind --plugin-info
if [ ! -r "$built" ]; then
    says 'this gpubind has no plugin' 'installed: nothing: this gpubind was built without the plugin'
    skip 'what a plugin that was built does' 'no PMIx with the headers of its components'
    done_testing
    exit
fi
check 'where the plugin is installed' grep -q '^installed: /' "$tmp/out"

# ---- files, as they would be found from here

cp "$built" "$good"
pmix=$(LC_ALL=C sed -n 's/.*@gpubind-plugin [^ ]* for PMIx \([0-9.]*\).*/\1/p' "$built" | head -n 1)
check 'the plugin says for which PMIx it is' test -n "$pmix"

# here FOLDER:... [COMMAND...]: asks with these component folders.
here() {
    folders=$1
    shift
    run bounded env PMIX_MCA_mca_base_component_path="$folders" "$@" gpubind --plugin-info
}

# with_plugin NAME SED-SCRIPT: a copy, changed byte for byte, in the folder NAME.
with_plugin() {
    mkdir "$tmp/$1"
    LC_ALL=C sed "$2" "$good/$file" >"$tmp/$1/$file"
    cmp -s "$good/$file" "$tmp/$1/$file" && { not_ok "$1 is another file"; return; }
    check "$1 is as long" test "$(wc -c <"$good/$file")" = "$(wc -c <"$tmp/$1/$file")"
}
with_plugin other_pmix 's/\(@gpubind-plugin [^ ]* for PMIx \)[0-9]/\19/'
with_plugin other_gpubind 's/\(@gpubind-plugin \)[0-9]/\19/'
with_plugin no_mark 's/@gpubind-plugin \([^ ]* for\)/@gpubind_plugin \1/'
with_plugin missing_library 's/libhwloc\.so/libhwlok.so/g'
with_plugin other_machine '1s/^\(.ELF\)./\1\x03/'
mkdir "$tmp/no_elf" "$tmp/short" "$tmp/folder" "$tmp/folder/$file" "$tmp/link"
echo 'no library' >"$tmp/no_elf/$file"
head -c 10 "$good/$file" >"$tmp/short/$file"
ln -s "$tmp/nowhere" "$tmp/link/$file"

here "$good"
verdict 'would be found' 0 "would be found in $good"
says '... for which PMIx' "looked in: $good: gpubind $version for PMIx $pmix"
says '... by which setting' \
    "set: mca_base_component_path=$good (PMIX_MCA_mca_base_component_path in this environment)"
run sh -c 'cd "$0" && PMIX_MCA_mca_base_component_path=good gpubind --plugin-info' "$tmp"
verdict 'in a relative folder' 0 "would be found in $good"
here "$good" LD_LIBRARY_PATH="$tmp/none"
verdict 'a plugin, but no PMIx' 1 "found in $good, but no PMIx is found from here to load it"
here "$good" GPUBIND=off
verdict 'GPUBIND=off' 1 "would be found in $good, but GPUBIND=off is set"
here "$tmp/other_pmix"
verdict 'for another PMIx' 1 "would not work: built for PMIx 9${pmix#?}, the libpmix found from here is .*"
here "$tmp/other_gpubind"
verdict 'of another gpubind' 0 "would be found in $tmp/other_gpubind"
says '... which is said' "looked in: $tmp/other_gpubind: gpubind 9${version#?} for PMIx $pmix"
here "$tmp/missing_library"
verdict 'without a library that it needs' 1 'would not work: it cannot be loaded: libhwlok.*'
here "$tmp/no_mark"
verdict "not gpubind's" 1 "would not work: $tmp/no_mark/$file does not say that it is gpubind's plugin"
here "$tmp/other_machine"
verdict 'for another machine' 1 "would not work: $tmp/other_machine/$file is for another kind of machine"
for name in no_elf short; do
    here "$tmp/$name"
    verdict "no shared object: $name" 1 "would not work: $tmp/$name/$file is no shared object"
done
here "$tmp/folder"
verdict 'no file' 1 "would not work: $tmp/folder/$file cannot be read: no file"
here "$tmp/link"
verdict 'a link to nothing' 1 "not found: none of these places has $file"
says '... is nothing' "looked in: $tmp/link: not there"
here "$tmp/link::$tmp/nowhere:$good:$tmp/no_elf"
verdict 'the first file counts, if it is good' 0 "would be found in $good"
says '... and the others are shown' "looked in: $tmp/no_elf: $file is no shared object"
here "$tmp/no_elf:$good"
verdict '... and if it is not' 1 "would not work: $tmp/no_elf/$file is no shared object"
here "$(seq -s : -f "$tmp/%g" 40):$good"
verdict 'too many folders' 1 "not found: none of the places that are known has $file"
check '... are counted' grep -q '^not looked in: [0-9]* more$' "$tmp/out"

for list in '^gpubind' '^x,gpubind' x 'x,gpubind2'; do
    here "$good" PMIX_MCA_pmdl="$list"
    verdict "PMIX_MCA_pmdl=$list" 1 \
        "would not work: pmdl=.* leaves it out (PMIX_MCA_pmdl in this environment)"
done
for list in gpubind x,gpubind '^x' '^gpubind2' ''; do
    here "$good" PMIX_MCA_pmdl="$list"
    verdict "PMIX_MCA_pmdl='$list'" 0 "would be found in $good"
done
mkdir "$tmp/home/.pmix"
printf '# pmdl = x\n  pmdl\t=  ^gpubind \nmca_base_component_path = %s\n' "$good" \
    >"$tmp/home/.pmix/mca-params.conf"
run bounded gpubind --plugin-info
verdict "in the user's parameter file" 1 \
    "would not work: pmdl=^gpubind leaves it out ($tmp/home/.pmix/mca-params.conf)"
says '... which also names a folder' "looked in: $good: gpubind $version for PMIx $pmix"
run bounded env PMIX_MCA_pmdl= gpubind --plugin-info
verdict 'the environment wins over the file' 0 "would be found in $good"
mv "$tmp/home/.pmix/mca-params.conf" "$tmp/params"
run bounded env PMIX_MCA_mca_base_param_files="$tmp/nowhere,$tmp/params" gpubind --plugin-info
verdict 'in another file' 1 "would not work: pmdl=^gpubind leaves it out ($tmp/params)"
# The plugin's own parameters, whether it has them or not.
printf 'pmdl_gpubind_overflw = idle\npmdl_gpubind_gpus_per_rank=2\npmdl_gpubind_zzz =\n' >"$tmp/home/.pmix/mca-params.conf"
run bounded env PMIX_MCA_pmdl_gpubind_exclusive=1 gpubind --plugin-info
params=$tmp/home/.pmix/mca-params.conf
says 'a parameter of a variable' \
    'set: pmdl_gpubind_exclusive=1 (PMIX_MCA_pmdl_gpubind_exclusive in this environment)'
says '... of a file' "set: pmdl_gpubind_gpus_per_rank=2 ($params)"
says '... misspelt' "set: pmdl_gpubind_overflw=idle ($params), which is no parameter of the plugin; the nearest is \
pmdl_gpubind_overflow"
says '... that is like none' "set: pmdl_gpubind_zzz= ($params), which is no parameter of the plugin"
rm "$params"
mkdir "$own"
cp "$good/$file" "$own"
here "$tmp/no_elf"
verdict "the user's folder comes before the component path" 0 "would be found in $own"
rm -r "$own"

# ---- as a rank

[ -z "$SANITIZED" ] || { skip ranks 'no daemon can load a plugin with sanitizers'; done_testing; exit; }
case $("$MPIRUN" --version 2>&1) in
*'(Open MPI) '[45]*) ;;
*) skip 'ranks' 'mpirun is not of Open MPI 4 or 5'; done_testing; exit ;;
esac
HWLOC_XMLFILE=$top_srcdir/tests/machines/demo-2p4g.xml HWLOC_THISSYSTEM=1
export HWLOC_XMLFILE HWLOC_THISSYSTEM

# ask FOLDER:... [NAME=VALUE...] -- [MPIRUN-OPTION...] [COMMAND...]: COMMAND is put
# before gpubind in the rank.
ask() {
    with=$1
    shift
    while [ "$1" != -- ]; do
        with="$with $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # words
    run env PMIX_MCA_mca_base_component_path=$with $launch "$@" gpubind --plugin-info
}
launch="timeout -k 5 $((60 * TEST_PATIENCE)) $MPIRUN --oversubscribe --bind-to none -np 1"

ask "$good" --
verdict 'works' 0 "works: it made this rank's plan ([0-9a-f]\{16\})"
plan=$(sed -n '1s/.*(\(.*\))/\1/p' "$tmp/out")
# shellcheck disable=SC2016 # the rank expands it
is '... the plan that the rank has' "$plan" "$(PMIX_MCA_mca_base_component_path=$good \
    $launch sh -c 'echo "$GPUBIND_PLAN"' 2>/dev/null)"
says '... loaded from there' "loaded: $good/$file"
check '... by a daemon' grep -q '^daemon: [a-z.]*, pid [0-9]*$' "$tmp/out"
# shellcheck disable=SC2016 # likewise
running=$($launch sh -c 'echo "$PMIX_VERSION"' 2>/dev/null)
check '... with its PMIx' grep -q "^PMIx: $running (/.*/libpmix\.so[^ ]*)\$" "$tmp/out"
says '... by its setting' "set: mca_base_component_path=$good (PMIX_MCA_mca_base_component_path \
in the daemon's environment)"
is '... nothing is unknown' "$(grep '^not known' "$tmp/out")" ''
ask "$good" -- gpubind
verdict 'also below a gpubind that keeps the plan' 0 "works: it made this rank's plan ($plan)"
ask "$good" -- gpubind --quiet --overflow idle
verdict 'below a gpubind that plans anew' 1 'loaded, but a gpubind above this program planned anew'
# shellcheck disable=SC2086 # words
run env PMIX_MCA_mca_base_component_path="$good" gpubind --quiet $launch gpubind --plugin-info
verdict 'a gpubind above mpirun does not matter' 0 "works: .*"
ask "$good" GPUBIND=off --
verdict 'GPUBIND=off for a rank' 1 'found, but GPUBIND=off is set'
ask "$good" -- env GPUBIND=off
verdict 'GPUBIND=off after the plan was made' 0 "works: it made this rank's plan ($plan)"
says '... is said' 'set: GPUBIND=off'
ask "$good" -- env GPUBIND_MADE_FOR=other.0
verdict "another rank's plan" 1 'loaded, but .*'
says "... is said" "this rank: has another's plan of the plugin in its environment (other.0)"
ask "$tmp/empty" --
verdict 'not found by the daemon' 1 "not found: none of these places has $file"
says '... which looked there' "looked in: $tmp/empty: not there"
ask "$good" PMIX_MCA_pmdl=^gpubind --
verdict 'left out in the daemon' 1 \
    "does not work: pmdl=^gpubind leaves it out (PMIX_MCA_pmdl in the daemon's environment)"
ask "$good" -- env PMIX_MCA_pmdl=^gpubind
verdict 'left out after the daemon started' 0 'works: .*'
says '... is too late' 'set: PMIX_MCA_pmdl=^gpubind for this rank only: the daemon was started without'
# shellcheck disable=SC2086 # words
run $launch -x "PMIX_MCA_mca_base_component_path=$good" gpubind --plugin-info
verdict 'a folder by mpirun -x' 1 "not found: none of these places has $file"
says '... is too late, too' "set: PMIX_MCA_mca_base_component_path=$good for this rank only: \
the daemon was started without"
ask "$tmp/no_elf:$good" --
verdict 'no shared object for the daemon' 1 "does not work: $tmp/no_elf/$file is no shared object"
ask "$tmp/missing_library" --
verdict 'the daemon cannot load it' 1 'does not work: it cannot be loaded: libhwlok.*'
# The daemon has looked there before.
# shellcheck disable=SC2016 # the inner shell's
put='cp "$0" "$1" && shift && exec "$@"'
mkdir "$tmp/later"
ask "$tmp/later" -- sh -c "$put" "$tmp/other_pmix/$file" "$tmp/later"
verdict 'for another PMIx than the daemon' 1 \
    "does not work: built for PMIx 9${pmix#?}, this daemon runs ${running%%[a-z]*}[a-z0-9]*"
rm "$tmp/later/$file"
ask "$tmp/later" -- sh -c "$put" "$good/$file" "$tmp/later"
verdict 'put there after the daemon started' 1 'found, but this daemon did not load it'
# shellcheck disable=SC2086 # words
if env -u HOME $launch true >/dev/null 2>&1; then
    run env -u HOME $launch gpubind --plugin-info
    says 'a daemon without HOME' \
        "looked in: $(getent passwd "$(id -u)" | cut -d: -f6)/.pmix/components: no such folder"
else
    skip 'a daemon without HOME' 'this mpirun does not start without'
fi
mkdir "$own"
cp "$good/$file" "$own"
ask "$tmp/empty" -- env HOME="$tmp"
verdict "the daemon's HOME counts" 0 "works: it made this rank's plan ($plan)"
says '... which is shown' "looked in: $own: gpubind $version for PMIx $pmix"
rm -r "$own"

# ---- what cannot be seen

nobody="setpriv --reuid 65534 --clear-groups"
# shellcheck disable=SC2086 # words
if [ "$(id -u)" = 0 ] && $nobody gpubind --version >/dev/null 2>&1; then
    ask "$good" -- $nobody
    verdict 'works, though the daemon may not be looked at' 0 "works: it made this rank's plan ($plan)"
    says '... which is said' 'not known: what it has loaded: Permission denied'
    says_not '... and where it was loaded from is not guessed' '^loaded:'
    ask "$tmp/empty" -- $nobody
    verdict 'why not cannot be seen' 1 \
        'no plan of it for this rank; why cannot be seen: [a-z]* may not be looked at (Permission denied)'
    check '... but which PMIx it was' grep -q "^PMIx: $running (which file is not known" "$tmp/out"
    says "... nor the daemon's HOME" "not known: .pmix/components in the daemon's HOME"
    ask "$good" GPUBIND=off -- $nobody
    verdict '... but GPUBIND=off can' 1 'no plan of it for this rank; GPUBIND=off is set, .*'
else
    skip 'the daemon of another user' 'not root, or no setpriv, or others may not run this gpubind'
fi
if unshare --mount true 2>/dev/null; then
    # shellcheck disable=SC2016 # the inner shell's
    ask "$good" -- unshare --mount sh -c 'mount -t tmpfs none "$0" && exec "$@"' "$good"
    verdict 'in a container' 0 "works: it made this rank's plan ($plan)"
    check '... which is noticed' grep -q '^mounts: not those of this rank' "$tmp/out"
    says "... the daemon's files are shown" "looked in: $good: gpubind $version for PMIx $pmix"
else
    skip 'in a container' 'no right to make a mount namespace'
fi
nothing_left 'nothing is left behind'
done_testing
