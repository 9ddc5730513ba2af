# Roots of other releases of Debian, in which tests run on any Debian: they are made, entered in
# namespaces of their own, and copied to be thrown away. Sourced; what fails says why in root_why.
#
#     root=FOLDER root_suite=trixie root_packages='gcc make'
#     . "$top_srcdir/tests/root.sh"
#     root_make || skip_all "$root_why"
#     root_unpack gpubind-0.1.0.tar.gz bin/gpubind || ...
#     root_run sh -c "cd $root_source && make check"
#
# $root stays, for the next time. What is to be installed in copies of it, which have no network, is
# downloaded at once: root_archives, packages, and root_build_dep, a folder with debian/control.
#
# shellcheck shell=sh disable=SC2154

root_why=
root_source= # what root_unpack built, seen from inside

# root_usable: no root can be made or entered where this fails.
root_usable() {
    [ "$(id -u)" = 0 ] || root_no 'a root of Debian takes root' || return
    for root_tool in unshare setpriv flock chroot; do
        command -v "$root_tool" >/dev/null || root_no "no $root_tool" || return
    done
    unshare --mount --pid --ipc --fork --mount-proc true 2>/dev/null ||
        root_no 'no right to make mount and process namespaces'
}

# root_make: the root is there, from an earlier time or new (a minute, about 0.8 GB; output in
# $root.log). Others wait meanwhile.
root_make() {
    root_usable || return
    mkdir -p "$(dirname "$root")" || root_no "cannot make the folder of $root" || return
    exec 9>"$root.lock"
    root_status=0
    if ! flock -w 1500 9; then
        root_no "another holds $root.lock" || root_status=1
    elif ! root_complete; then
        root_new || root_status=1
    fi
    exec 9>&-
    return "$root_status"
}

# root_run COMMAND [ARG...]: in the root, as root, with a clean environment and an empty
# /tmp, for $root_limit seconds (300) at most: 124 or 137 tells that it hung.
root_run() { root_apart inside_run "$@"; }

# root_copy NAME: from here on the root is a copy, $root-NAME, made anew, the caller's to remove.
root_copy() {
    rm -rf "$root-$1"
    cp -a "$root" "$root-$1" || root_no "cannot copy $root" || return
    root=$root-$1
}

# root_unpack TARBALL MAKE-ARGS [CONFIGURE-ARG...]: builds it in the root, in $root_source
# (output in $root.build.log).
root_unpack() {
    root_tarball=$1 root_make_args=$2
    shift 2
    rm -rf "$root/src"
    mkdir "$root/src"
    tar xf "$root_tarball" -C "$root/src" || root_no "cannot unpack $root_tarball" || return
    root_source=/src/$(ls "$root/src")
    # shellcheck disable=SC2016 # the inner shell's
    root_run sh -c 'make="make -j2 $1" && shift && cd "$0" && ./configure "$@" && $make' \
        "$root_source" "$root_make_args" "$@" \
        >"$root.build.log" 2>&1 ||
        root_no "building in the root of $root_suite failed: $(tail -n 1 "$root.build.log")"
}

# ---- the rest is for the above

# shellcheck disable=SC2034 # for tests
root_no() { root_why=$*; return 1; }

# All that a root is made of.
root_recipe() {
    # shellcheck disable=SC2086 # words
    echo $root_suite $root_packages / ${root_archives-}
    [ -z "${root_build_dep-}" ] || cat "$root_build_dep/debian/control"
}

# The recipe is the last thing that is written. A root without .recipe is not ours to remove.
root_complete() { [ -f "$root/.recipe" ] && root_recipe | cmp -s - "$root/.recipe"; }

root_new() {
    command -v debootstrap >/dev/null || root_no 'no debootstrap' || return
    [ -e "/usr/share/debootstrap/scripts/$root_suite" ] ||
        root_no "debootstrap does not know $root_suite" || return
    root_from=$(root_mirror) || root_no "no mirror that apt uses has $root_suite" || return
    if [ ! -f "$root/.recipe" ] && [ -d "$root" ]; then
        rmdir "$root" 2>/dev/null || root_no "$root is something else" || return
    fi
    rm -rf "$root"
    mkdir "$root" && : >"$root/.recipe" || root_no "cannot make $root" || return
    export root_suite root_packages root_archives root_build_dep
    root_limit=1200 root_apart inside_new "$root_from" >"$root.log" 2>&1 ||
        root_no "making the root of $root_suite failed: $(tail -n 1 "$root.log")" || return
    root_recipe >"$root/.recipe"
}

# Prints the first of apt's mirrors that has the suite. Apt reads its sources itself: they
# come in two formats.
root_mirror() {
    # shellcheck disable=SC2016 # apt expands it
    for root_uri in $(apt-get indextargets --format '$(COMPONENT) $(REPO_URI)' \
        'Created-By: Packages' 2>/dev/null | sed -n 's/^main \(http.*\)/\1/p' | sort -u); do
        if wget -q -T 20 -t 2 -O /dev/null "${root_uri%/}/dists/$root_suite/InRelease"; then
            echo "${root_uri%/}"
            return
        fi
    done
    return 1
}

# root_apart INSIDE [ARG...]: that function of this file, in namespaces of its own. What
# it started or mounted ends with it, and it ends with the shell that called this.
root_apart() {
    setpriv --pdeathsig TERM -- timeout -k 2 "${root_limit:-300}" \
        env root="$root" unshare --mount --pid --ipc --fork --kill-child -- \
        sh "$top_srcdir/tests/root.sh" "$@" </dev/null
}

# Not exec: as process 1 the shell reaps, and others can be killed by signals.
inside_run() {
    inside_furnish
    chroot "$root" env -i HOME=/root USER=root LOGNAME=root SHELL=/bin/sh LC_ALL=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin CONFIG_SHELL=/bin/sh \
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        ${TEST_MARK:+"TEST_MARK=$TEST_MARK"} "$@"
    exit
}

# inside_new MIRROR: debootstrap makes the base alone, since it does not find what only an
# alternative or a virtual package satisfies.
inside_new() {
    mirror=$1
    proxy=$(apt-config shell http_proxy Acquire::http::Proxy)
    eval "$proxy"
    [ -z "${http_proxy-}" ] || export http_proxy
    inside_base "$mirror" || exit
    cp -a "$base/." "$root" || exit
    # Nobody reads where nothing more is installed.
    [ -n "${root_archives-}" ] ||
        printf 'path-exclude=/usr/share/%s/*\n' doc man info locale >>"$root/etc/dpkg/dpkg.cfg.d/gpubind"
    inside_furnish
    chroot "$root" apt-get -q update # the base, which has lists, may be of last week
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # daemons are for tests to start
    chmod 755 "$root/usr/sbin/policy-rc.d"
    if [ -n "${root_archives-}" ]; then
        # shellcheck disable=SC2086 # words
        inside_apt -d install $root_packages $root_archives || exit
        cp -r "$root_build_dep/debian" "$root/tmp" && inside_apt -d build-dep /tmp || exit
    else
        # shellcheck disable=SC2086 # words
        inside_apt install $root_packages || exit
        chroot "$root" apt-get clean
        rm -rf "$root"/var/lib/apt/lists/*
    fi
    echo '127.0.0.1 localhost' >"$root/etc/hosts"
    : >"$root/etc/resolv.conf" # names of pretended nodes are nobody's to look up
}

# inside_base MIRROR: sets base, of which all roots of a release are copies, and makes it if it is not there.
# One with .unfinished in it is made anew.
inside_base() {
    base=$(dirname "$root")/base-$root_suite
    exec 8>"$base.lock"
    flock 8
    if [ ! -d "$base" ] || [ -f "$base/.unfinished" ]; then
        rm -rf "$base"
        mkdir -p "$base/etc/dpkg/dpkg.cfg.d" && : >"$base/.unfinished" || return
        # Nothing need survive a power cut.
        echo force-unsafe-io >"$base/etc/dpkg/dpkg.cfg.d/gpubind"
        case $1 in https:*) more=--include=ca-certificates ;; *) more= ;; esac
        # shellcheck disable=SC2086 # or none
        debootstrap --variant=minbase $more "$root_suite" "$base" "$1" && rm "$base/.unfinished" || return
    fi
    exec 8>&-
}

inside_apt() { DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get -q -y --no-install-recommends "$@"; }

# What programs expect, mounted in this namespace alone. The root becomes a mount of its
# own: without, it has no namespaces within.
inside_furnish() {
    mount --bind "$root" "$root" && cd "$root" &&
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
