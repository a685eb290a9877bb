# harness.sh - what the system tests are made of; sourced by every test (see macros.at).
#
# One test runs at a time, in a guest that is thrown away: but each has a run directory, a database, network namespaces
# and devices of its own, and ends them all (h_cleanup) however it ends, so that no test sees what another has left.
#
# Environment:
#   VSWITCHD   the daemon under test (default: the one built here); may be the packaged one, which is the referee
#   WRAPPER    what it is started under: "valgrind" (its options are added here)
#
# Nothing here sleeps for a condition's sake: h_wait asks again until the condition holds, for a bounded time.
#
# Under User Mode Linux the time goes into processes (doc/testing.md): what every test does is done in few of them, and by
# small programs.

: "${VSWITCHD:=$abs_top_builddir/vswitchd/ovs-vswitchd}"
# The system's own programs first: wrappers that a user has before them (of python3, say) take seconds in a guest.  Before
# them the guest's modprobe, which knows where the modules of its kernel are.
PATH=/run/kernel/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH
export PATH
: "${WRAPPER=}"
h_schema=/usr/share/openvswitch/vswitch.ovsschema
h_patience=30
# True if the daemon under test was built with the address sanitizer (tests/system/run has looked, else we do).
: "${h_sanitized=$(grep -c __asan_init "$VSWITCHD")}"
h_is_sanitized() { test "$h_sanitized" != 0; }
case $WRAPPER in valgrind*) h_patience=120 ;; esac
! h_is_sanitized || h_patience=120
case ${SLUICE_GUEST-} in qemu) h_patience=$((h_patience * 2)) ;; esac

# True if the daemon under test is the distribution's: what only Sluice does is then left out.
case $VSWITCHD in
    "$abs_top_builddir"/*) h_real=$VSWITCHD ;;
    *) h_real=$(readlink -f "$VSWITCHD") ;;
esac
h_is_peer() {
    case $h_real in
        /usr/lib/openvswitch* | /usr/sbin/*) return 0 ;;
    esac
    return 1
}

# The distribution's daemon, to be compared with.
h_peer() { ls /usr/lib/openvswitch-switch/ovs-vswitchd; }

# True where the tests cannot run.
h_cannot_run() {
    if test -z "${SLUICE_GUEST-}"; then
        echo "not in a guest: run these tests by 'make check-system'"
    elif test ! -d /sys/module/openvswitch; then
        echo "this kernel has no openvswitch module"
    elif test ! -x "$VSWITCHD"; then
        echo "no daemon at $VSWITCHD"
    else
        return 1
    fi
}

h_setup() {
    h_dir=/run/sluice/$at_group
    mkdir -p "$h_dir"
    OVS_RUNDIR=$h_dir OVS_DBDIR=$h_dir OVS_SYSCONFDIR=$h_dir OVS_LOGDIR=$PWD OVS_CTL_TIMEOUT=$h_patience
    ASAN_OPTIONS=log_path=$PWD/sanitizer:detect_leaks=1:abort_on_error=0
    UBSAN_OPTIONS=log_path=$PWD/sanitizer:print_stacktrace=1
    export OVS_RUNDIR OVS_DBDIR OVS_SYSCONFDIR OVS_LOGDIR OVS_CTL_TIMEOUT ASAN_OPTIONS UBSAN_OPTIONS
    h_small_programs
    # A machine that gives a thread no CPU for a second is none of ours.
    echo 'handler[0-9]* \(thread [0-9]*\) has been in one pass' >"$h_dir/allowed"
    # No router solicitations and listener reports from devices that are made from here on: each would be an upcall.
    test -e /proc/sys/net/ipv6 || modprobe -q ipv6
    test ! -e /proc/sys/net/ipv6 || echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
    # The packaged daemon complains of slow guests.
    ! h_is_peer || h_allow '\|timeval\|WARN\|'
}

# What is used most often, where there is one that needs no libraries.
h_small_programs() {
    test -x /bin/busybox || return 0
    if test ! -d /run/sluice/bin; then
        mkdir -p /run/sluice/bin
        for h_name in cat cp head mkdir mv rm sleep tail touch wc; do ln -s /bin/busybox /run/sluice/bin/$h_name; done
    fi
    PATH=/run/sluice/bin:$PATH
}

# h_wait CONDITION [SECONDS]: true as soon as the shell command CONDITION is, false if it is not within SECONDS.
h_wait() {
    h_clock
    h_until=$((h_now + ${2:-$h_patience}))
    until eval "$1" >/dev/null 2>&1; do
        h_clock
        if test "$h_now" -ge "$h_until"; then
            echo "still not true after ${2:-$h_patience} s: $1" >&2
            eval "$1" >&2
            return 1
        fi
        sleep 0.05
    done
}

# Sets h_now to the seconds since the guest's start, without a process; h_uptime prints them.
h_clock() {
    read -r h_now h_idle </proc/uptime
    h_now=${h_now%.*}
}

h_uptime() { h_clock && echo "$h_now"; }

h_alive() { # PID: true while it runs; a zombie does not.
    read -r h_stat 2>/dev/null <"/proc/$1/stat" || return 1
    case ${h_stat##*) } in Z*) return 1 ;; esac
}

h_gone() { ! h_alive "$1"; }

# h_old=PID of NAME, which has written $h_dir/NAME.pid.
h_read_pid() { read -r h_old <"$h_dir/$1.pid"; }
h_pid() { h_read_pid ovs-vswitchd && echo "$h_old"; }

h_app() { ovs-appctl -t ovs-vswitchd "$@"; }

# h_look_on NAME ARG...: an ovs-ofctl (monitor, snoop) that runs on, in the background; it prints into the file NAME.  It has
# no OVS_CTL_TIMEOUT, since a test may outlast that.
h_look_on() {
    h_name=$1
    shift
    env -u OVS_CTL_TIMEOUT ovs-ofctl "$@" --detach --no-chdir --pidfile="$h_dir/$h_name.pid" \
        --unixctl="$h_dir/$h_name.ctl" >"$h_name" 2>&1
}
h_look_away() { ovs-appctl -t "$h_dir/$1.ctl" exit; }

# Autotest shows by cat what each step has said: a process each, though it is mostly nothing.
cat() {
    case ${1-} in "${at_stdout-}" | "${at_stderr-}") test -s "$1" || return 0 ;; esac
    command cat "$@"
}

# --- Database server and daemon -------------------------------------------------------------------------------------

h_start_db() {
    if test ! -s "$h_dir/conf.db"; then
        if test ! -s /run/sluice/empty.db; then
            ovsdb-tool create /run/sluice/empty.db "$h_schema" &&
                ovsdb-tool transact /run/sluice/empty.db \
                    '["Open_vSwitch", {"op": "insert", "table": "Open_vSwitch", "row": {}}]' || return 1
        fi
        cp /run/sluice/empty.db "$h_dir/conf.db"
    fi
    ovsdb-server --detach --no-chdir --pidfile --log-file -vconsole:off \
        --remote="punix:$h_dir/db.sock" "$h_dir/conf.db"
}

h_start_daemon() {
    : >"$h_dir/clean"
    if h_is_peer; then
        # It counts no CPU and serves no upcall when started right after boot.
        h_wait 'test "$(h_uptime)" -ge 11'
    fi
    h_wrapper=$WRAPPER
    case $h_wrapper in
        # "Possibly lost" is what threads that the libraries made still hold at the end.
        valgrind*) h_wrapper="$WRAPPER -q --leak-check=full --show-possibly-lost=no --errors-for-leak-kinds=definite
            --num-callers=20 --suppressions=$abs_top_srcdir/tests/system/valgrind.supp --log-file=$PWD/valgrind.%p" ;;
    esac
    timeout $h_patience $h_wrapper "$VSWITCHD" --detach --no-chdir --pidfile --log-file -vconsole:off "$@"
}

# h_start [COLUMN=VALUE...]: starts both, with these settings in the Open_vSwitch row.
h_start() {
    h_start_db && { test $# -eq 0 || ovs-vsctl --no-wait set Open_vSwitch . "$@"; } && h_start_daemon
}

h_kill_daemon() { # SIGNAL
    h_read_pid ovs-vswitchd && kill "-$1" "$h_old" && h_wait "h_gone $h_old"
}

h_kill_db() { # SIGNAL
    h_read_pid ovsdb-server && kill "-$1" "$h_old" && h_wait "h_gone $h_old"
}

# h_allow PATTERN: lines of level WARN and above that match (grep -E) are expected in the log.
h_allow() { printf '%s\n' "$1" >>"$h_dir/allowed"; }

# Fails, and shows why, if the daemon's log or a checking tool's log says that something went wrong.
h_check_logs() {
    h_bad=0
    if test -f ovs-vswitchd.log &&
        grep -E '\|(WARN|ERR|EMER)\|' ovs-vswitchd.log >log.warn && grep -Ev -f "$h_dir/allowed" log.warn >log.bad; then
        echo 'unexpected in ovs-vswitchd.log:' && cat log.bad
        h_bad=1
    fi
    for h_file in sanitizer.* valgrind.*; do
        if test -s "$h_file"; then
            echo "$h_file:" && cat "$h_file"
            h_bad=1
        fi
    done
    return $h_bad
}

# Asks the daemon to leave nothing, and checks that it does.
h_stop_daemon() {
    h_read_pid ovs-vswitchd || return 1
    h_app exit --cleanup || return 1
    h_wait "h_gone $h_old" || return 1
    if test -e "$h_dir/ovs-vswitchd.pid"; then
        echo 'the pidfile is still there' && return 1
    fi
    if test -n "$(ovs-dpctl dump-dps)"; then
        echo 'a datapath is left:' && ovs-dpctl show && return 1
    fi
    echo yes >"$h_dir/clean"
}

h_stop() {
    h_stop_daemon || return 1
    h_kill_db TERM
    h_check_logs
}

# h_batch LIST COMMAND: has one ip carry COMMAND out for each line of the file.
h_batch() {
    h_lines=
    while read -r h_line; do
        h_lines="$h_lines$2$h_line
"
    done <"$h_dir/$1"
    test -z "$h_lines" || ip -force -batch - <<END
$h_lines
END
}

# The end of every test, whatever happened.  Says nothing: the test's verdict is already made.
h_cleanup() {
    for h_file in "$h_dir"/*.pid; do
        test ! -s "$h_file" || { read -r h_read <"$h_file" && kill -KILL "$h_read"; }
    done
    # What runs in the namespaces ends; then they go, and the links.
    h_pids=$(h_batch namespaces 'netns pids ')
    test -z "$h_pids" || kill -KILL $h_pids
    h_batch namespaces 'netns del '
    h_batch links 'link del '
    test -s "$h_dir/clean" || for h_dp in $(ovs-dpctl dump-dps); do ovs-dpctl del-dp "$h_dp"; done
    rm -rf "$h_dir"
} >/dev/null 2>&1

# --- Topology -------------------------------------------------------------------------------------------------------

# h_ns NAME...: network namespaces, with loopback up.
h_ns() {
    printf '%s\n' "$@" >>"$h_dir/namespaces"
    ip -batch - <<END || return 1
$(printf 'netns add %s\n' "$@")
END
    for h_name; do
        ip -n "$h_name" link set lo up || return 1
        test ! -e /proc/sys/net/ipv6 ||
            h_within "$h_name" /bin/sh -c 'for f in all default; do echo 1 >/proc/sys/net/ipv6/conf/$f/disable_ipv6; done' || return 1
    done
}

# h_link PORT NS [ADDRESS]: a veth pair, PORT here and PORT in NS, both up.
h_link() {
    echo "$1" >>"$h_dir/links"
    ip -batch - <<END && ip -n "$2" -batch - <<END2 || return 1
link add $1 type veth peer name $1 netns $2
link set $1 up
END
${3:+addr add $3 dev $1}
link set $1 up
END2
    # A link just made has no carrier for some milliseconds.  That of the end that came up last, NS's, is seen to first.
    h_wait "read -r h_state </sys/class/net/$1/operstate && test \$h_state = up"
}

# h_veth PORT NS BRIDGE [ADDRESS [VSCTL-ARGUMENT...]]: such a pair, PORT being a port of BRIDGE.
h_veth() {
    h_link "$1" "$2" "${4-}" || return 1
    h_port=$1 h_bridge=$3
    shift 3
    test $# -eq 0 || shift
    ovs-vsctl add-port "$h_bridge" "$h_port" "$@"
}

# h_idle NS BRIDGE COUNT: ports idle1... of BRIDGE, at which nothing happens, in one transaction.
h_idle() {
    h_args=
    for h_i in $(seq "$3"); do
        echo "idle$h_i" >>"$h_dir/links"
        ip link add "idle$h_i" type veth peer name "idle$h_i" netns "$1" || return 1
        h_args="$h_args -- add-port $2 idle$h_i"
    done
    ovs-vsctl $h_args
}

h_in() { ip netns exec "$@"; } # NS COMMAND...

# NS PROGRAM ARGUMENT...: for one that looks at no file of /sys, which must not be mounted anew then: that costs half.
h_within() {
    h_where=$1
    shift
    if test -x /bin/busybox; then
        /bin/busybox nsenter --net="/run/netns/$h_where" "$@"
    else
        h_in "$h_where" "$@"
    fi
}

h_ping_in() { # NS ARGUMENT...
    h_where=$1
    shift
    h_within "$h_where" /bin/ping "$@"
}

# h_neighbours NS PORT ADDRESS NS PORT ADDRESS: two stations that know each other's Ethernet address for good, and never
# ask again: a question in the background, five seconds after the last answer, is a miss that no test has counted on.
h_neighbours() {
    ip -n "$1" neigh replace "$6" lladdr "$(h_mac "$4" "$5")" dev "$2" nud permanent &&
        ip -n "$4" neigh replace "$3" lladdr "$(h_mac "$1" "$2")" dev "$5" nud permanent
}

# NS PORT
h_mac() {
    h_line=$(ip -n "$1" -br link show "$2") && set -- $h_line && echo "$3"
}

# h_ping NS ADDRESS [COUNT [OPTION...]]: no packet may be lost.  The first goes alone: it is the one that climbs, and ping waits, once it has had
# an answer, for others only twice as long as that one took.
h_ping() {
    h_from=$1 h_to=$2 h_count=${3:-1}
    shift 2
    test $# -eq 0 || shift
    for h_n in 1 $((h_count - 1)); do
        test "$h_n" -gt 0 || continue
        h_ping_in "$h_from" -n -i 0.1 -W "$h_patience" -c "$h_n" "$@" "$h_to" >ping.out 2>&1 || { cat ping.out; return 1; }
        h_says ' 0% packet loss' ping.out || { cat ping.out; return 1; }
    done
}

# h_says TEXT FILE: grep -F without a process, for short files.
h_says() {
    while read -r h_line; do
        case $h_line in *"$1"*) return 0 ;; esac
    done <"$2"
    return 1
}

# h_no_ping NS ADDRESS: nothing may come back.
h_no_ping() {
    if h_ping_in "$1" -n -c 2 -i 0.1 -W 1 "$2" >ping.out 2>&1; then
        cat ping.out
        return 1
    fi
    # Who pings again is not to be told that the question of before found nobody.
    ip -n "$1" neigh flush to "$2" >/dev/null 2>&1
    grep '100% packet loss' ping.out
}

# h_misses NS DEVICE COUNT SET: that many ARP questions, 50 ms apart, each from a station that nobody has seen (SET, 0 to 255,
# says of which set), so that each is a miss whatever the flows in the datapath match.
h_misses() {
    h_in "$1" python3 -c '
import socket, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
for i in range(int(sys.argv[2])):
    mac = bytes((2, 0, 94, int(sys.argv[3]), i >> 8, i & 255))
    s.send(b"\xff" * 6 + mac + b"\x08\x06\0\1\x08\0\6\4\0\1" + mac + bytes((10, 0, 0, 1)) + b"\0" * 6 +
           bytes((10, 0, 0, 99)) + b"\0" * 18)
    time.sleep(0.05)
' "$2" "$3" "${4-0}"
}

# --- What the daemon and the kernel say -----------------------------------------------------------------------------

# The number behind WORD: in the kernel's statistics of the datapath (hit, missed, lost).
h_lookups() { ovs-dpctl show | sed -n "s/.*lookups:.* *$1:\([0-9]*\).*/\1/p"; }

# Datapath flows, as the daemon prints them, with port names, without statistics, sorted.
h_flows() {
    h_app dpctl/dump-flows --names "$@" |
        sed 's/, packets:[0-9]*, bytes:[0-9]*, used:[^,]*,\( flags:[^,]*,\)*/,/; s/recirc_id(0),//' | sort
}

# The flows between two stations, without the groups' and the broadcasts', and without what a daemon may or may not add to
# the bridge's decision (the packaged one matches the Ethernet type and what goes with it, Sluice only what it looked at).
h_talk() {
    h_flows | grep -v 'dst=\(ff\|33\|01\):' |
        sed 's/,eth_type(0x0800),ipv4(frag=no)//; s/,eth_type(0x0806)\(,arp([^)]*)\)\{0,1\}//; s/,encap()//' | sort -u
}

# The identities of these flows.
h_ufids() {
    h_app dpctl/dump-flows -m | grep -v 'dst=\(ff\|33\|01\):' | grep -v 0x0806 | sed -n 's/.*ufid:\([^,]*\),.*/\1/p' | sort
}

h_n_flows() { ovs-dpctl show | sed -n 's/^  flows: //p'; }

# Times that a handler was put to sleep and woken, all handlers together.
h_switches() { cat /proc/$(h_pid)/task/*/status | awk '
    /^Name:/ { handler = $2 ~ /^handler/ }
    /^voluntary_ctxt_switches:/ && handler { sum += $2 }
    END { print sum + 0 }'; }

h_n_handlers() { cat /proc/$(h_pid)/task/*/comm | grep -c '^handler'; }
h_n_threads() { ls /proc/$(h_pid)/task | wc -l; }
h_n_fds() { ls /proc/$(h_pid)/fd | wc -l; }
# Of these, netlink sockets, and what handlers sleep on: not the connections of whoever has just asked something.
h_n_dispatch_fds() {
    ls -l /proc/$(h_pid)/fd | sed -n 's/.* -> //p' | awk '
        NR == FNR { netlink["socket:[" $10 "]"] = 1; next }
        $1 in netlink || /eventpoll|eventfd/ { n++ }
        END { print n + 0 }' /proc/net/netlink -
}
h_rss() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' /proc/$(h_pid)/status; }
