#!/bin/sh
# What the recipes for Spack, Docker and Apptainer name is there: options of configure, packages that
# ./bootstrap knows, files. (None of the three runs here.)
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
packaging=$top_srcdir/packaging

# ---- Spack

spack=$packaging/spack/package.py
if command -v python3 >/dev/null; then
    check 'package.py is Python' python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$spack"
    # Its own configure_args, with made-up specs: what it passes for some of Spack's.
    cat >"$tmp/args.py" <<'PYTHON'
import sys
import types


class Anything:
    def __getattr__(self, name):
        return Anything()

    def __call__(self, *args, **words):
        return args[0] if args and callable(args[0]) else Anything()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        pass


class Spec:
    def __init__(self, *has):
        self.has = has

    def satisfies(self, what):
        return what in self.has

    def __getitem__(self, name):
        return types.SimpleNamespace(prefix=f"/{name}", mpicc="/mpi/mpicc", mpifc="/mpi/mpifort")


variants = []
names = {name: Anything() for name in "license version depends_on conflicts default_args run_after "
         "on_package_attributes Executable join_path".split()}
names["variant"] = lambda name, **words: variants.append(name)
text = "".join(line for line in open(sys.argv[1]) if not line.startswith("from "))
names["AutotoolsPackage"] = object
exec(text, names)
for has in [(), ("+mpi",), ("+mpi", "^mpich"), tuple("+" + name for name in variants)]:
    package = names["Gpubind"]()
    package.spec = Spec(*has)
    print(*package.configure_args())
PYTHON
    run python3 "$tmp/args.py" "$spack"
    is 'what configure is given' "$status
$(cat "$tmp/out")" '0
--with-mpich-cc=no --with-openmpi-cc=no --with-mpi-abi-cc=no --without-mpi --without-fortran --without-cuda --without-pmix --without-slurm
--with-mpich-cc=no --with-openmpi-cc=no --with-mpi-abi-cc=no MPICC=/mpi/mpicc --without-fortran --without-cuda --without-pmix --without-slurm
--with-mpich-cc=/mpi/mpicc --with-openmpi-cc=no --with-mpi-abi-cc=no MPICC=/mpi/mpicc --without-fortran --without-cuda --without-pmix --without-slurm
--with-mpich-cc=no --with-openmpi-cc=no --with-mpi-abi-cc=no MPICC=/mpi/mpicc MPIFORT=/mpi/mpifort --with-cuda=/cuda --with-pmix=/pmix --with-slurm=/slurm'
    is 'configure knows these' "$(tr ' ' '\n' <"$tmp/out" | grep -o '^--[a-z-]*' | sort -u |
        sed 's/^--with\(out\)\{0,1\}-//' | while read -r option; do
            grep -q "AC_ARG_WITH(\[$option\]" "$top_srcdir"/m4/gpubind_*.m4 || echo "$option"
        done)" ''
    is 'and these variables' "$(tr ' ' '\n' <"$tmp/out" | sed -n 's/^\([A-Z]*\)=.*/\1/p' | sort -u |
        while read -r variable; do
            grep -q "AC_ARG_VAR(\[$variable\]" "$top_srcdir"/m4/gpubind_*.m4 || echo "$variable"
        done)" ''
else
    skip 'the recipe for Spack' 'no python3'
fi

# ---- containers

# Continued lines joined, comments away.
joined() { sed -e '/^ *#/d' -e ':a' -e '/\\$/N; s/ *\\\n */ /; ta' "$1"; }
# packages_of FILE: what its apt-get install names.
packages_of() {
    joined "$1" | grep -o 'apt-get install [^&;]*' | tr ' ' '\n' | grep -vE '^(apt-get|install|-.*|)$' | sort -u
}
known=$(awk -F'|' '/^LIST$/ { exit } NF == 4 { gsub(/ /, "", $3); print $3 }' "$top_srcdir/bootstrap" | sort -u)
for file in Dockerfile gpubind.def; do
    check "$file installs packages" test "$(packages_of "$packaging/$file" | wc -l)" -gt 5
    # Those of programs that run, without headers, are Debian's and Ubuntu's names of the same sources.
    is "$file: ./bootstrap knows the packages, or they are for running" "$(packages_of "$packaging/$file" |
        grep -vxF -e "$known" -e libhwloc15 -e openmpi-bin -e mpich -e ca-certificates)" ''
    is "$file: configure knows the options" "$(joined "$packaging/$file" | grep -oE -- '--with(out)?-[a-z-]+' |
        sed -E 's/--with(out)?-//' | sort -u | while read -r option; do
            grep -q "AC_ARG_WITH(\[$option\]" "$top_srcdir"/m4/gpubind_*.m4 || echo "$option"
        done)" ''
done
is 'both install the same' "$(packages_of "$packaging/Dockerfile")" "$(packages_of "$packaging/gpubind.def")"
is 'what the Dockerfile copies is there' "$(joined "$packaging/Dockerfile" | sed -n 's/^COPY \([^-].*\)/\1/p' |
    awk '{ for (i = 1; i < NF; i++) print $i }' | while read -r path; do
        [ -e "$top_srcdir/$path" ] || echo "$path"
    done)" ''
is 'what gpubind.def copies is there' "$(sed -n '/^%files$/,/^%post/p' "$packaging/gpubind.def" |
    awk 'NF == 2 { print $1 }' | while read -r path; do
        [ -e "$top_srcdir/$path" ] || echo "$path"
    done)" ''
done_testing
