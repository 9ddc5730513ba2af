#!/bin/sh
# Other users can take the name under which a node's launcher processes meet, and can
# knock there. It costs them, not us.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/ranks.sh"

[ "$(id -u)" = 0 ] || skip_all 'to be another user takes root'
perl -MSocket -e 1 2>/dev/null || skip_all 'no perl to play the stranger'

# The names that this job will use.
rank 0 2
soon leads 0
name=$(place 0 | sed 's/^@//; s/[.]0$//')
killed 0
wait $starters

# stranger PERL: as user nobody, with S a socket and address(TURN) the place's.
stranger() {
    rm -f "$tmp/there"
    # shellcheck disable=SC2016 # perl's variables
    perl -MSocket -e 'my ($name, $file, $code) = @ARGV;
        sub address { return pack("S a*", AF_UNIX, "\0$name.$_[0]") }
        open(F, ">", $file); $) = $( = "65534 65534"; $> = $< = 65534;
        sub another { socket(my $s, AF_UNIX, SOCK_SEQPACKET, 0) or die; push @kept, $s; return $s }
        eval $code; die $@ if $@;
        syswrite(F, "there\n"); sleep 600' "$name" "$tmp/there" "$1" &
    stranger=$!
    soon test -s "$tmp/there" || diag 'the stranger did not come'
}
gone() { kill -KILL "$stranger"; wait "$stranger" 2>/dev/null; }

# held DESCRIPTION PERL: with the stranger in our place, three ranks still meet.
held() {
    stranger "$2"
    for local in 0 1 2; do rank $local 3 --timeout 10; done
    ended "$1" 0 0 1 2
    is '... and share nothing but the node' "$(gpus 0 1 2) $(sentences 0 1 2)" '3 '
    gone
}
held 'a stranger listens in our place, and says nothing' \
    '$s = another; bind($s, address(0)) or die; listen($s, 100)'
held 'in the first three places' \
    'for $i (0..2) { $s = another; bind($s, address($i)) or die; listen($s, 100) }'
held 'the stranger lets only one in' \
    '$s = another; bind($s, address(0)) or die; listen($s, 0)'
held 'the stranger holds the name, and does not listen' \
    '$s = another; bind($s, address(0)) or die'

stranger 'for $i (0..9) { $s = another; bind($s, address($i)) or die; listen($s, 100) }'
for local in 0 1; do rank $local 2 --timeout 1; done
ended 'strangers everywhere: refused, not hung' 125 0 1
check 'in words that say why' grep -q 'another user' "$tmp/0.err"
gone

rank 0 3
soon leads 0
stranger 'for $i (1..50) { $s = another; connect($s, address(0)) or die; send($s, "x" x 5000, 0) }'
rank 1 3
rank 2 3
ended 'a stranger that knocks is not listened to' 0 0 1 2
is '... and has no say' "$(gpus 0 1 2) $(sentences 0 1 2)" '3 '
gone
nothing_left 'nothing is left behind'
done_testing
