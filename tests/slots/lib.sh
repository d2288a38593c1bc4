# shellcheck shell=bash
# What the root tests of berth-slots share. Each script runs in mount and network namespaces of its
# own, so that nothing of it is left on the host, and says "ok NAME" or "not ok NAME".
#
# Use: BERTH_SLOTS=path; . lib.sh; begin "$@"
set -uo pipefail

failures=0

ok() { echo "ok $1"; }
not_ok() {
	echo "not ok $1${2:+: $2}"
	failures=$((failures + 1))
}

# check NAME COMMAND..: the command must succeed
check() {
	local name=$1
	shift
	if "$@" >"$work/out" 2>&1; then ok "$name"; else not_ok "$name" "$(tail -n 3 "$work/out")"; fi
}

# equal NAME WANT GOT
equal() {
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "want \"$2\", got \"$3\""; fi
}

# contains NAME PATTERN TEXT
contains() {
	if grep -qE -- "$2" <<<"$3"; then ok "$1"; else not_ok "$1" "no \"$2\" in \"$3\""; fi
}

# Runs the script again in namespaces of its own, as root; makes $work and $state.
begin() {
	if [ "$(id -u)" != 0 ]; then
		echo "needs root"
		exit 77
	fi
	if [ -z "${BERTH_TEST_INSIDE:-}" ]; then
		BERTH_TEST_INSIDE=1 exec unshare --mount --net --propagation private -- "$0" "$@"
	fi
	program=$1
	work=$(mktemp -d /tmp/berth-slots-test.XXXXXX)
	state=$work/state
	trap finish EXIT
	ip link set lo up
	export BERTH_SERVER_USER=nobody
	chmod 755 "$work"
	mkdir -p "$state/image/v1/rootfs/"{bin,etc,proc}
	echo hello >"$state/image/v1/rootfs/etc/hello"
	ln -s v1 "$state/image/current"
}

# slots ARGUMENT..
slots() { "$program" --state "$state" "$@"; }

# together NAME N: two runs at once make N slots
together() {
	"$program" --state "$state" --slots "$2" >"$work/out" 2>&1 &
	check "$1" slots --slots "$2"
	if wait $!; then ok "$1, and the other one too"; else not_ok "$1, and the other one too" "$(tail -n 3 "$work/out")"; fi
}

# interrupted NAME N: killed at any moment of making N slots, again and again, then run to its end
interrupted() {
	local pid i
	for i in 1 2 3 4 5 6 7 8 9 10; do
		"$program" --state "$state" --slots "$2" >"$work/out" 2>&1 &
		pid=$!
		sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
		kill -9 "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	check "$1" slots --slots "$2"
}

finish() {
	local status=$?
	trap - EXIT
	slots --remove >/dev/null 2>&1
	rm -rf --one-file-system "$work"
	if [ "$status" != 0 ] && [ "$failures" = 0 ]; then failures=1; fi
	exit $((failures > 0))
}
