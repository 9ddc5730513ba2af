# Sourced after lib.sh by tests of mpi4py: its own test suite, with all arrays in GPU memory (simulated):
# point to point, requests, packing, files, collectives, neighbourhoods, intercommunicators. It and numpy come
# from PyPI. $aware is the library to be preloaded, $mpi_library the MPI of another name than mpi4py looks
# for, if it has one.
# shellcheck shell=sh disable=SC2154

[ -z "$SANITIZED" ] || skip_all 'Python has no sanitizers'
release=4.1.2
python=$tmp/venv/bin/python
sim=$top_builddir/tests/sim/.libs/libcudasim.so
for file in "$aware" "$sim"; do
    [ -e "$file" ] || skip_all "no ${file##*/}"
done

# The wheel of mpi4py has been built for all MPIs, and takes the one that it finds.
pip() { bounded "$python" -m pip -q --disable-pip-version-check --timeout 10 --retries 1 "$@"; }
python3 -m venv "$tmp/venv" >"$tmp/out" 2>&1 || skip_all 'no python3 with venv and pip'
bounded "$python" -m pip --version >"$tmp/out" 2>&1 || skip_all 'no pip'
run pip install --only-binary :all: numpy "mpi4py==$release"
[ "$status" = 0 ] || skip_all "pip cannot install numpy and mpi4py $release: $(tail -n 1 "$tmp/err")"
run pip download --no-deps --no-binary mpi4py -d "$tmp/source" "mpi4py==$release"
[ "$status" = 0 ] || skip_all "pip cannot get the source of mpi4py: $(tail -n 1 "$tmp/err")"
tar -xf "$tmp/source/mpi4py-$release.tar.gz" -C "$tmp" || skip_all 'no tar'

mkdir "$tmp/lib"
ln -s "$sim" "$tmp/lib/libcuda.so.1"
# Debian's name of MPICH is not that of its ABI. Of two MPIs mpi4py would take Open MPI.
if [ -n "${mpi_library-}" ]; then
    ln -s "$mpi_library" "$tmp/lib/libmpi.so.12"
    export "MPI4PY_LIBMPI=$tmp/lib/libmpi.so.12"
fi

messages='test_p2p_buf test_p2p_buf_matched test_request'
one_sided='test_rma test_rma_nb'
files='test_pack test_io' # on one rank: two of them take 70 s for these on two cores, with the library or not
collectives='test_cco_buf test_cco_vec test_cco_nb_buf test_cco_nb_vec test_cco_ngh_buf
    test_cco_buf_inter test_cco_vec_inter test_cco_pr_buf test_cco_pr_vec test_cco_pr_ngh_buf'
of_host='test_cco_buf test_cco_vec test_cco_nb_buf test_cco_ngh_buf test_cco_buf_inter'
limit=200 # for the suite

# suite N ARRAYS OUTCOME LIBRARY: these on N ranks.
suite() {
    modules="$messages $collectives"
    [ "$1" != 1 ] || modules="$modules $files"
    [ "$2" != gpu ] || [ "$1" = 1 ] || modules="$modules test_win test_rma_nb"
    [ "$2" != windows ] || modules=$one_sided
    [ "$2" != host ] || modules="$messages $of_host"
    # shellcheck disable=SC2086 # lists of words
    run mpi "$1" env "LD_LIBRARY_PATH=$tmp/lib" "GPUBIND_SIM_JOB=$tmp$1" "LD_PRELOAD=$4" \
        "$python" "$top_srcdir/tests/aware/mpi4py_gpu.py" "$2" "$tmp/mpi4py-$release/test" \
        "$tmp/$3" $modules
}

# on_gpus N...: the suite on so many ranks, with arrays of the GPU.
on_gpus() {
    for n in "$@"; do
        suite "$n" gpu "ranks$n" "$aware"
        if [ "$status" = 0 ] && [ "$(cat "$tmp/ranks$n".* | grep -c ' 0 failed$')" = "$n" ]; then
            ok "arrays of the GPU, $n ranks"
            diag "$(tail -n 1 "$tmp/ranks$n.0"); why it skips:
$(sed -n 's/^skipped .*: //p' "$tmp/ranks$n.0" | sort | uniq -c)"
        else
            not_ok "arrays of the GPU, $n ranks"
            diag "$(grep -E '^(ERROR|FAIL|AssertionError|[A-Za-z.]*Exception)' "$tmp/out" "$tmp/err" |
                sort | uniq -c | head -n 40)"
        fi
    done
}

# on_windows N...: one-sided communication with the windows' memory on the GPU, too. (With that of the host,
# MPI_Compare_and_swap ends Open MPI 4.1.4 with signal 11, whatever the buffers.)
on_windows() {
    for n in "$@"; do
        suite "$n" windows "windows$n" "$aware"
        is "windows of the GPU, $n ranks" "$status, $(sed 's/.* run, //' "$tmp/windows$n.0")" \
            '0, 0 skipped, 0 failed'
    done
}

# on_mirrors N...: the same where the ranks are out of each other's reach, and MPI has mirrors of the memory.
# (MPI_Compare_and_swap is then MPI's own: see on_windows.)
on_mirrors() {
    for n in "$@"; do
        GPUBIND_PATH=host suite "$n" windows "mirrors$n" "$aware"
        is "windows of the GPU out of reach, $n ranks" \
            "$status, $(sed 's/.* run, //' "$tmp/mirrors$n.0")" '0, 0 skipped, 0 failed'
    done
}

# on_host: with arrays of the host the library changes nothing.
on_host() {
    suite 2 host with "$aware"
    first=$status
    suite 2 host without ''
    is 'arrays of the host, 2 ranks: as without the library' "$first
$(cat "$tmp/with.0")" "$status
$(cat "$tmp/without.0")"
}

# example: it imports cupy, which is simulated here.
example() {
    ln -s "$top_srcdir/tests/aware/gpu_arrays.py" "$tmp/cupy.py"
    run mpi 3 env "LD_LIBRARY_PATH=$tmp/lib" "GPUBIND_SIM_JOB=${tmp}e" "LD_PRELOAD=$aware" \
        "PYTHONPATH=$tmp" "$python" -B "$top_srcdir/examples/gpu_aware.py"
    is 'examples/gpu_aware.py' "$status, $(cat "$tmp/out")" '0, 3 ranks: 0 numbers are wrong'
}
