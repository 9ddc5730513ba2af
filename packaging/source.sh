# What packaging/deb and packaging/rpm know of a source tarball. Sourced.
# shellcheck shell=sh disable=SC2034

umask 022 # else the modes of files in source packages are those of who makes them

die() { printf 'packaging/%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# source_unpack TARBALL FOLDER: the sources in FOLDER/gpubind-VERSION, and nothing else there. Sets
# tarball, out, tree; version, as in configure.ac; newest, the time of a version without a date;
# upstream, the version of packages; by, who makes them.
source_unpack() {
    tarball=$1 out=$2
    [ -f "$tarball" ] || die "there is no $tarball"
    others=$(find "$out" -mindepth 1 -maxdepth 1 ! \( -type f \( -name 'gpubind*' -o -name 'libgpubind*' \) \) 2>/dev/null)
    # What a run leaves that failed, or was stopped, is not looked at.
    [ -z "$others" ] || [ -e "$out/gpubind.unpacked" ] ||
        die "$out holds what is no package of gpubind; name another folder"
    [ "$(cd "$(dirname "$tarball")" && pwd -P)" != "$(cd "$out" 2>/dev/null && pwd -P)" ] ||
        die "$tarball lies in $out, which is made anew; name another folder"
    version=$(tar tf "$tarball" 2>/dev/null | sed -n 's|^gpubind-\([^/]*\)/packaging/source\.sh$|\1|p')
    [ -n "$version" ] || die "$tarball is no source of gpubind"
    rm -rf "$out" && mkdir -p "$out" && out=$(cd "$out" && pwd) && : >"$out/gpubind.unpacked" || exit 1
    tar xf "$tarball" -C "$out" || die "cannot unpack $tarball"
    tree=$out/gpubind-$version
    newest=${SOURCE_DATE_EPOCH:-$(newest)}
    upstream=$(upstream_version) || exit 1
    by=$(sed -n 's/^Maintainer: //p' "$tree/packaging/debian/control")
    [ -z "${DEBEMAIL-}" ] || by="${DEBFULLNAME:-The gpubind authors} <$DEBEMAIL>"
}

# newest: when the newest file was changed that autoreconf does not write, in seconds since 1970.
newest() {
    find "$tree" -type d \( -name build-aux -o -name m4 \) -prune -o -type f ! -name configure \
        ! -name aclocal.m4 ! -name Makefile.in -printf '%T@\n' | sort -n | tail -n 1 | cut -d . -f 1
}

# upstream_version: that of the tarball; one that is unreleased counts its seconds, so that later
# packages supersede earlier ones, and the next release all of them.
upstream_version() {
    case $(sed -n 's/^## *//p' "$tree/CHANGELOG.md" | head -n 1) in
    Unreleased*) echo "$version+$(date -u -d "@$newest" +%Y%m%d.%H%M%S)" ;;
    "$version "*) echo "$version" ;;
    *) die "CHANGELOG.md does not begin with $version, nor with what is unreleased" ;;
    esac
}

# changelog deb|rpm REVISION [SUITE]: CHANGELOG.md as that has it, in lines of 78 columns.
changelog() {
    LC_ALL=C awk -v style="$1" -v revision="$2" -v suite="${3-}" -v first="$upstream" -v newest="$newest" \
        -v by="$by" '
        function when(format,  said, command) {
            command = "date -u " format " -d " date
            command | getline said
            close(command) # or a second version of that day would read on
            return said
        }
        function end_item(  words, n, i, line) {
            gsub(/`|\]\([^)]*\)|\[/, "", item)
            if (style == "rpm") gsub(/%/, "%%", item) # else a macro
            n = split(item, words)
            line = style == "deb" ? "  *" : "-"
            for (i = 1; i <= n; i++) {
                if (length(line " " words[i]) > 78) { print line; line = style == "deb" ? "   " : " " }
                line = line " " words[i]
            }
            if (n) print line
            item = ""
        }
        function end_version() {
            end_item()
            if (date && style == "deb") print "\n -- " by "  " when("-R")
        }
        $1 == "##" {
            end_version()
            if (date) print ""
            date = $4 ? $4 : "@" newest
            version = (first ? first : $2) "-" revision
            first = ""
            if (style == "deb") print "gpubind (" version ") " suite "; urgency=medium"
            else print "* " when("+\"%a %b %d %Y\"") " " by " - " version
        }
        $1 == "###" { end_item(); if (style == "deb") print "\n  [ " substr($0, 5) " ]" }
        /^- / { end_item(); item = substr($0, 3) }
        /^  / { item = item " " $0 }
        END { end_version() }' "$tree/CHANGELOG.md"
}
