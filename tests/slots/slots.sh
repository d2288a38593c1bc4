#!/bin/bash
# Slots on plain directories: what is made, by whom it is owned, that a second run changes nothing,
# that growing and shrinking work, and that --remove leaves nothing.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
begin "$@"
export BERTH_POOL_STORAGE=dir BERTH_POOL_UID_BASE=1048576
echo 0 >/proc/sys/net/ipv4/ip_forward
echo 0 >/proc/sys/net/ipv6/conf/all/forwarding
# What the host is told for as long as there are slots.
host() { (cd /proc/sys/net && cat ipv4/ip_forward ipv6/conf/all/forwarding ipv6/conf/uplink/accept_ra) | xargs; }
ip link add uplink type veth peer name other
mkdir "$state/run" && chown nobody "$state/run"

mounts() { grep -c " $state" /proc/self/mountinfo; }
links() { ip -o link | grep -c ' bv'; }

check "4 slots are made" slots --slots 4
equal "image and two namespaces each, one private mount" 13 "$(mounts)"
equal "a link each" 4 "$(links)"
equal "workspace belongs to the slot's root" "1245184:1245184 755" "$(stat -c '%u:%g %a' "$state/slots/3/workspace")"
equal "layer belongs to it, and is closed" "1245184:1245184 700" "$(stat -c '%u:%g %a' "$state/slots/3/layer")"
equal "others on the host do not get at workspaces" "710" "$(stat -c %a "$state/slots")"
equal "the state directory stays root's" "0 755" "$(stat -c '%u %a' "$state")"
equal "the runtime directory is root's, and sticky" "0 1770" "$(stat -c '%u %a' "$state/run")"
equal "the image's owners are shifted" 1245184 "$(stat -c %u "$state/slots/3/lower/etc/hello")"
contains "the image is read-only, without devices" "ro,nodev" "$(grep "slots/3/lower" /proc/self/mountinfo)"
if touch "$state/slots/3/lower/x" 2>/dev/null; then not_ok "no writing to the image"; else ok "no writing to the image"; fi

inside() { nsenter --user="$state/run/slots/$1.user" --net="$state/run/slots/$1.net" -- "${@:2}"; }
equal "the map" "0 1245184 65536" "$(inside 3 cat /proc/self/uid_map | xargs)"
equal "setgroups is allowed (apt needs it)" allow "$(inside 3 cat /proc/self/setgroups)"
contains "loopback is up" "127.0.0.1" "$(inside 3 ip -o addr show lo)"
contains "an interface with an address" "inet 10\.213\." "$(inside 3 ip -o addr show eth0)"
equal "no connection outlives its end" "0 5 3" \
	"$(inside 3 sh -c 'cd /proc/sys/net/ipv4 && cat tcp_max_tw_buckets tcp_fin_timeout tcp_orphan_retries' | xargs)"
inside 3 python3 -c '
import socket
listener = socket.create_server(("127.0.0.1", 0))
ours = socket.create_connection(listener.getsockname())
theirs = listener.accept()[0]
ours.close(); theirs.recv(1); theirs.close()'
# A second at most, where the kernel's default is a minute.
check "nothing is left for the next tenant to see" inside 3 timeout 20 sh -c 'while ss -Htan | grep .; do sleep 0.1; done'
owner=$(python3 -c '
import fcntl, struct, sys
fd = open(sys.argv[1])
print(struct.unpack("I", fcntl.ioctl(fd, 0xb704, b"\0" * 4))[0])' "$state/run/slots/3.user")
equal "the server's user owns the namespace" "$(id -u nobody)" "$owner"
check "the owner may enter without any privilege" setpriv --reuid nobody --regid nogroup --clear-groups \
	--no-new-privs --bounding-set=-all nsenter --user="$state/run/slots/3.user" true
if setpriv --reuid 1 --regid 1 --clear-groups --bounding-set=-all nsenter --user="$state/run/slots/3.user" true 2>/dev/null; then
	not_ok "nobody else may"
else
	ok "nobody else may"
fi

before=$(stat -L -c %i "$state"/run/slots/*.user; mounts; links)
check "a second run" slots --slots 4
equal "a second run changes nothing" "$before" "$(stat -L -c %i "$state"/run/slots/*.user; mounts; links)"

umount "$state/run/slots/2.net"
ip link delete "$(ip -o link | grep -o 'bv[0-9a-f]*-1')"
check "a run after damage" slots --slots 4
equal "the damage is repaired" "13 4" "$(mounts) $(links)"
contains "its network too" "inet 10\.213\." "$(inside 2 ip -o addr show eth0) $(inside 1 ip -o addr show eth0)"

cp -a "$state/image/v1" "$state/image/v2"
ln -sfn v2 "$state/image/current"
check "a run after a new image" slots --slots 4
equal "the slots have the new image" "$(stat -c %i "$state/image/v2/rootfs")" "$(stat -c %i "$state/slots/0/lower")"

started=$(date +%s%N)
check "grown to 50" slots --slots 50
echo "# 50 slots: $((($(date +%s%N) - started) / 1000000)) ms"
equal "all are there" "151 50" "$(mounts) $(links)"
touch "$state/slots/40/workspace/file" "$state/slots/45/layer/upper/file"
out=$(slots --slots 10 2>&1)
contains "an occupied slot is not removed" "slot 40 has files" "$out"
equal "nor any other then" 50 "$(find "$state/slots" -mindepth 1 -maxdepth 1 | wc -l)"
rm "$state/slots/40/workspace/file"
check "shrunk to 10" slots --slots 10
equal "the rest is gone" "31 10 10" "$(mounts) $(links) $(find "$state/slots" -mindepth 1 -maxdepth 1 | wc -l)"

touch "$state/slots/1/workspace/file"
chown 1115112:1115112 "$state/slots/1/workspace" && chmod 700 "$state/slots/1/workspace"
check "a run where a tenant gave its workspace to another of its users" slots --slots 10
equal "which stays so" "1115112:1115112 700" "$(stat -c '%u:%g %a' "$state/slots/1/workspace")"
rm "$state/slots/1/workspace/file"

touch "$state/slots/0/workspace/file"
chown 1048576:1048576 "$state/slots/0/workspace/file"
out=$(BERTH_POOL_UID_BASE=200000000 slots --slots 10 2>&1)
contains "other ids, with files of the old ones: refused" "set pool.uid_base back" "$out"
rm "$state/slots/0/workspace/file"
check "other ids, and nothing in the slots" env BERTH_POOL_UID_BASE=200000000 "$program" --state "$state" --slots 10
equal "the map follows" "0 200065536 65536" "$(inside 1 cat /proc/self/uid_map | xargs)"

export BERTH_POOL_UID_BASE=200000000
interrupted "killed ten times while 60 slots are made, then run to its end" 60
equal "each with its modes" "" "$(find "$state/slots/"*/workspace -maxdepth 0 ! -perm 755)"
equal "all are complete" "181 60 60" "$(mounts) $(links) $(find "$state/slots" -mindepth 1 -maxdepth 1 | wc -l)"
check "shrunk again" slots --slots 10
together "two runs at once" 60
equal "make each slot once" "181 60 60" "$(mounts) $(links) $(find "$state/slots" -mindepth 1 -maxdepth 1 | wc -l)"
equal "also the last" "0 $((200000000 + 59 * 65536)) 65536" "$(inside 59 cat /proc/self/uid_map | xargs)"
check "shrunk again" slots --slots 10

# Pieces of one block for several servers: a large one has half of it, small ones share the rest.
other() { "$program" --state "$work/other$1" --slots "$2" "${@:3}"; }
export BERTH_NETWORK_IPV4_BLOCK=10.214.0.0/26
for n in 0 1 2 3 4 5; do mkdir "$work/other$n" && cp -a "$state/image" "$work/other$n/"; done
check "a server with half of the block" other 0 28
large() { ip -o route | grep -oE '^10\.214\.[0-9.]* dev bv[0-9a-f]*-[0-9]*' | sort >"$work/routes"; comm -12 "$work/routes" "$work/large" | wc -l; }
large >/dev/null 2>&1
cp "$work/routes" "$work/large"
for n in 1 2 3 4; do check "server $n with an eighth" other "$n" 4; done
equal "the large one has its routes" 28 "$(large)"
contains "for one more nothing is left" "is in use on this host" "$(other 5 4 2>&1)"
for n in 0 1 2 3 4 5; do other "$n" 4 --remove >"$work/out" 2>&1; done
unset BERTH_NETWORK_IPV4_BLOCK

mv "$state/slots/1" "$state/slots/1.away"
ln -s /etc "$state/slots/1"
out=$(slots --slots 10 2>&1)
contains "a link in the place of a slot is not followed" "slot 1: open the directory" "$out"
rm "$state/slots/1"
mv "$state/slots/1.away" "$state/slots/1"
chmod 777 "$state"
contains "a state directory that others may write to is refused" "writable by nobody else" "$(slots --slots 10 2>&1)"
chmod 755 "$state"

groups() { find /sys/fs/cgroup -maxdepth 2 -name 'berth-*' -user "$(id -u nobody)" -newer "$state/image/current" 2>/dev/null | wc -l; }
check "removed" env BERTH_POOL_UID_BASE=200000000 "$program" --state "$state" --slots 10 --remove
equal "no mount, no link, no rule is left" "0 0 " "$(mounts) $(links) $(nft list ruleset)"
equal "nothing in the runtime directory" "" "$(ls "$state/run")"
equal "no control group" 0 "$(groups)"
equal "the host forwards no more" "0 0 1" "$(host)"
check "removing twice" slots --remove

export BERTH_NETWORK_IPV6_BLOCK=fd42:6265:7274::/48
check "made after all" slots --slots 2
equal "the host forwards, and listens to its routers" "1 1 2" "$(host)"
check "removed" slots --remove
equal "nothing of that stays" "0 0 1" "$(host)"
check "made again" slots --slots 2
sed -i '1s/^./x/' "$state/run/slots/"{forwarding4,forwarding6,accept_ra}
check "removed after a reboot, in which others had the host forward" slots --remove
equal "which it still does" "1 1 2" "$(host)"
