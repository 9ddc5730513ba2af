# Sourced after lib.sh by tests that run jobs over several pretended nodes.
# shellcheck shell=sh disable=SC2034,SC2154

launch_dir=$top_srcdir/tests/launch
gpubind=$top_builddir/bin/gpubind # nodes have a PATH of their own
machine=$top_srcdir/tests/machines/thesis-6c4g.xml

# What each rank says of itself: "seen NODE RANK LOCAL ROLE PCI CPUS".
# shellcheck disable=SC2016 # the ranks expand it
seen='echo "seen $(hostname) ${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$SLURM_PROCID}}" \
    "$GPUBIND_LOCAL_RANK $GPUBIND_ROLE ${GPUBIND_GPU_PCI:--} $GPUBIND_CPUS"'

# plan_rows: of a --plan table on stdin, in the same words.
plan_rows() {
    awk '/^node/ { node = $2; sub(":", "", node); next }
        $1 ~ /^[0-9]/ { print "seen", node, $1, $2, $3, $5, $7 }' | sort
}

# The rows of tables on stdin without layout; with 1, also without the neighbours, which
# only --plan knows.
bare_rows() {
    awk '/^ / { sub(" +north +south$", ""); if ($1 ~ /^[0-9]/ && cut) { $(NF - 1) = ""; $NF = "" }
        $1 = $1; sub(" +$", ""); print }' cut="$1" | sort
}

# whole_tables FILE: each table's rows follow its first line, none comes between.
whole_tables() {
    awk '/^node/ { if (left) bad = 1; left = $3 + 1; next }
        left { if ($0 !~ /^ /) bad = 1; left--; next }
        /^ / { bad = 1 }
        END { exit bad || left }' "$1"
}

# as_planned DESCRIPTION NODES PLAN-OPTION...: the job that was run last (with --report,
# and $seen as its program) did what gpubind --plan says.
as_planned() {
    title=$1 nodes=$2
    shift 2
    # What mpirun itself has to say stands between lines of dashes.
    sed -i '/^-\{20\}/,/^-\{20\}/d' "$tmp/err"
    bounded "$gpubind" --quiet --plan --topology "$machine" "$@" > "$tmp/plan"
    is "$title: every rank got what is planned" \
        "$status
$(grep '^seen' "$tmp/out" | sort)" "0
$(plan_rows < "$tmp/plan")"
    is "$title: a report for each node" "$(grep -c '^node' "$tmp/err")" "$nodes"
    check "$title: reports do not mix" whole_tables "$tmp/err"
    is "$title: reports show what is planned" "$(bare_rows '' < "$tmp/err")" "$(bare_rows 1 < "$tmp/plan")"
}
