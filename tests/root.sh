# A Debian 13 root: tests of Open MPI 5, PMIx 5 and Slurm 24.11 run in it on any Debian.
# Sourced; needs top_srcdir, and root. What fails says why in root13_why.
#
#     root13_make || skip_all "$root13_why"
#     root13_unpack gpubind-0.1.0.tar.gz || ...
#     root13_run sh -c "cd $root13_source && make check"
#
# shellcheck shell=sh disable=SC2154

root13=${ROOT13:-${top_builddir:-$PWD}/root13} # stays, for the next time
root13_why=
root13_source= # what root13_unpack built, seen from inside
root13_packages='gcc libc6-dev make pkgconf libhwloc-dev openmpi-bin libopenmpi-dev
    libpmix-dev libslurm-dev slurmctld slurmd slurm-client munge procps python3'

# root13_usable: no root can be made or entered where this fails.
root13_usable() {
    [ "$(id -u)" = 0 ] || root13_no 'a Debian 13 root takes root' || return
    for root13_tool in unshare setpriv flock chroot; do
        command -v "$root13_tool" >/dev/null || root13_no "no $root13_tool" || return
    done
    unshare --mount --pid --ipc --fork --mount-proc true 2>/dev/null ||
        root13_no 'no right to make mount and process namespaces'
}

# root13_make: the root is there, from an earlier time or new (a minute, 0.8 GB; output in
# $root13.log). Others wait meanwhile.
root13_make() {
    root13_usable || return
    mkdir -p "$(dirname "$root13")" || root13_no "cannot make the folder of $root13" || return
    exec 9>"$root13.lock"
    root13_status=0
    if ! flock -w 1500 9; then
        root13_no "another holds $root13.lock" || root13_status=1
    elif ! root13_complete; then
        root13_new || root13_status=1
    fi
    exec 9>&-
    return "$root13_status"
}

# root13_run COMMAND [ARG...]: in the root, as root, with a clean environment and an empty
# /tmp, for $root13_limit seconds (300) at most: 124 or 137 tells that it hung.
root13_run() { root13_apart inside_run "$@"; }

# root13_unpack TARBALL [CONFIGURE-ARG...]: builds it in the root, in $root13_source
# (output in $root13.build.log).
root13_unpack() {
    root13_tarball=$1
    shift
    rm -rf "$root13/src"
    mkdir "$root13/src"
    tar xf "$root13_tarball" -C "$root13/src" || root13_no "cannot unpack $root13_tarball" || return
    root13_source=/src/$(ls "$root13/src")
    # shellcheck disable=SC2016 # the inner shell's
    root13_run sh -c 'cd "$0" && ./configure "$@" && make -j2' "$root13_source" "$@" \
        >"$root13.build.log" 2>&1 ||
        root13_no "building in the Debian 13 root failed: $(tail -n 1 "$root13.build.log")"
}

# ---- the rest is for the above

# shellcheck disable=SC2034 # for tests
root13_no() { root13_why=$*; return 1; }

# The list of packages is the last thing that is written. A root without .packages is not
# ours to remove.
root13_complete() {
    # shellcheck disable=SC2086 # one line
    [ -f "$root13/.packages" ] && echo $root13_packages | cmp -s - "$root13/.packages"
}

root13_new() {
    command -v debootstrap >/dev/null || root13_no 'no debootstrap' || return
    [ -e /usr/share/debootstrap/scripts/trixie ] ||
        root13_no 'debootstrap does not know Debian 13' || return
    root13_from=$(root13_mirror) || root13_no 'no mirror that apt uses has Debian 13' || return
    if [ ! -f "$root13/.packages" ] && [ -d "$root13" ]; then
        rmdir "$root13" 2>/dev/null || root13_no "$root13 is something else" || return
    fi
    rm -rf "$root13"
    mkdir "$root13" && : >"$root13/.packages" || root13_no "cannot make $root13" || return
    # shellcheck disable=SC2086 # words
    root13_limit=1200 root13_apart inside_new "$root13_from" $root13_packages \
        >"$root13.log" 2>&1 ||
        root13_no "making the Debian 13 root failed: $(tail -n 1 "$root13.log")" || return
    # shellcheck disable=SC2086 # words
    echo $root13_packages >"$root13/.packages"
}

# Prints the first of apt's mirrors that has Debian 13. Apt reads its sources itself: they
# come in two formats.
root13_mirror() {
    # shellcheck disable=SC2016 # apt expands it
    for root13_uri in $(apt-get indextargets --format '$(COMPONENT) $(REPO_URI)' \
        'Created-By: Packages' 2>/dev/null | sed -n 's/^main \(http.*\)/\1/p' | sort -u); do
        if wget -q -T 20 -t 2 -O /dev/null "${root13_uri%/}/dists/trixie/InRelease"; then
            echo "${root13_uri%/}"
            return
        fi
    done
    return 1
}

# root13_apart INSIDE [ARG...]: that function of this file, in namespaces of its own. What
# it started or mounted ends with it, and it ends with the shell that called this.
root13_apart() {
    setpriv --pdeathsig TERM -- timeout -k 2 "${root13_limit:-300}" \
        env ROOT13="$root13" unshare --mount --pid --ipc --fork --kill-child -- \
        sh "$top_srcdir/tests/root.sh" "$@" </dev/null
}

# Not exec: as process 1 the shell reaps, and others can be killed by signals.
inside_run() {
    inside_furnish
    chroot "$root13" env -i HOME=/root USER=root LOGNAME=root SHELL=/bin/sh LC_ALL=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        ${TEST_MARK:+"TEST_MARK=$TEST_MARK"} "$@"
    exit
}

# inside_new MIRROR PACKAGE...: debootstrap makes the base alone, since it does not find
# what only an alternative or a virtual package satisfies.
inside_new() {
    mirror=$1
    shift
    proxy=$(apt-config shell http_proxy Acquire::http::Proxy)
    eval "$proxy"
    [ -z "${http_proxy-}" ] || export http_proxy
    mkdir -p "$root13/etc/dpkg/dpkg.cfg.d" "$root13/usr/sbin"
    # Nobody reads there, and nothing need survive a power cut.
    printf '%s\n' force-unsafe-io 'path-exclude=/usr/share/doc/*' 'path-exclude=/usr/share/man/*' \
        'path-exclude=/usr/share/info/*' 'path-exclude=/usr/share/locale/*' \
        >"$root13/etc/dpkg/dpkg.cfg.d/gpubind"
    case $mirror in https:*) base=--include=ca-certificates ;; *) base= ;; esac
    debootstrap --variant=minbase $base trixie "$root13" "$mirror" || exit
    inside_furnish
    printf '#!/bin/sh\nexit 101\n' >"$root13/usr/sbin/policy-rc.d" # daemons are for tests to start
    chmod 755 "$root13/usr/sbin/policy-rc.d"
    DEBIAN_FRONTEND=noninteractive chroot "$root13" \
        apt-get -q -y --no-install-recommends install "$@" || exit
    chroot "$root13" apt-get clean
    rm -rf "$root13"/var/lib/apt/lists/*
    echo '127.0.0.1 localhost' >"$root13/etc/hosts"
    : >"$root13/etc/resolv.conf" # names of pretended nodes are nobody's to look up
}

# What programs expect, mounted in this namespace alone. The root becomes a mount of its
# own: without, it has no namespaces within.
inside_furnish() {
    mount --bind "$root13" "$root13" && cd "$root13" &&
        mount -t proc proc proc && mount --bind /sys sys && mount -o remount,bind,ro sys &&
        mount -t tmpfs -o mode=755 tmpfs dev && mkdir dev/shm dev/pts &&
        mount -t tmpfs -o mode=1777 tmpfs dev/shm &&
        mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts &&
        mount -t tmpfs -o mode=755 tmpfs run &&
        mount -t tmpfs -o mode=1777 tmpfs tmp || exit 125
    ln -s pts/ptmx dev/ptmx
    ln -s /proc/self/fd dev/fd
    for device in null:3 zero:5 full:7 random:8 urandom:9; do
        mknod -m 666 "dev/${device%:*}" c 1 "${device#*:}" || exit 125
    done
    cd /
}

case ${0##*/} in root.sh) "$@" ;; esac
