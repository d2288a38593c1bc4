#!/bin/bash
# What a sandbox reaches and what not, in each mode, over IPv4 and IPv6: in a network namespace that
# stands in for the host, with another behind it for the LAN, the metadata services and the internet.
# shellcheck source-path=SCRIPTDIR source=../slots/lib.sh disable=SC2154
here=$(dirname "$0")
. "$here/../slots/lib.sh"
begin "$@"
export BERTH_POOL_STORAGE=dir BERTH_NETWORK_IPV6_BLOCK=fd42:6265:7274::/48 BERTH_NETWORK_DNS=10.9.9.53
export BERTH_NETWORK_ALLOW_HOSTS=allowed.test

# ---- the host's world: one namespace that has all the addresses ----
unshare --net sleep 300 &
world=$!
sleep_until() { for _ in $(seq 1200); do "$@" >/dev/null 2>&1 && return; read -rt 0.05 <> <(:) || :; done; }
sleep_until test "$(readlink /proc/self/ns/net)" != "$(readlink "/proc/$world/ns/net")"
in_world() { nsenter --net="/proc/$world/ns/net" -- "$@"; }
ip link add up0 type veth peer name down0 netns "/proc/$world/ns/net"
ip addr add 10.9.0.2/24 dev up0
ip addr add 2a00:9::2/64 dev up0 nodad
ip link set up0 up
in_world ip link set lo up
in_world ip link set down0 up
in_world ip addr add 10.9.0.1/24 dev down0
in_world ip addr add 2a00:9::1/64 dev down0 nodad
for a in 1.2.3.4/32 8.8.8.8/32 10.9.9.53/32 192.168.50.1/32 172.16.5.5/32 100.100.100.200/32 169.254.169.254/32 \
	168.63.129.16/32 203.0.113.80/32 198.51.100.7/32 9.9.9.9/32; do
	in_world ip addr add "$a" dev lo
done
for a in 2606:4700::1/128 fd00:ec2::254/128 fd12::1/128 64:ff9b::a00:1/128 2001:db8::7/128 2620:fe::fe/128; do
	in_world ip -6 addr add "$a" dev lo nodad
done
ip route add default via 10.9.0.1
ip -6 route add default via 2a00:9::1
nsenter --net="/proc/$world/ns/net" -- python3 "$here/world.py" serve >"$work/world.out" &
server=$!
python3 "$here/world.py" serve >"$work/host.out" & # what the host itself has to offer
host=$!
trap 'kill $server $host $world 2>/dev/null; finish' EXIT
sleep_until grep -q ready "$work/world.out"
sleep_until grep -q ready "$work/host.out"
cp /etc/hosts "$work/hosts"
printf '9.9.9.9 allowed.test\n2620:fe::fe allowed.test\n10.1.1.1 allowed.test\n' >>"$work/hosts"
mount --bind "$work/hosts" /etc/hosts

inside() { nsenter --user="$state/run/slots/$1.user" --net="$state/run/slots/$1.net" -- "${@:2}"; }
address() { inside "$1" ip -o "-$2" addr show eth0 scope global | grep -oE 'inet6? [^/]+' | cut -d' ' -f2; }
# expect WANT NAME TARGET..: from slot 0
expect() {
	local want=$1 name=$2 got
	shift 2
	got=$(inside 0 python3 "$here/world.py" try "$@" | sort -u | xargs)
	equal "$mode: $name" "$want" "$got"
}

refused_always=("tcp 169.254.169.254 80" "tcp 100.100.100.200 80" "tcp 168.63.129.16 80" "tcp 198.51.100.7 80"
	"tcp 127.0.0.53 80" "tcp 64:ff9b::a00:1 80" "tcp fd00:ec2::254 80" "tcp 2001:db8::7 80")
lan=("tcp 192.168.50.1 80" "tcp 172.16.5.5 80" "tcp fd12::1 80" "tcp 10.9.0.1 80")

common() {
	expect refused "metadata, reserved and embedded ranges" "${refused_always[@]}"
	expect ok "the resolver" "udp 10.9.9.53 53" "tcp 10.9.9.53 53"
	expect refused "DNS elsewhere" "udp 8.8.8.8 53" "tcp 8.8.8.8 53" "tcp 8.8.8.8 853"
	expect refused "the host's own addresses and services" "tcp 10.9.0.2 80" "tcp 2a00:9::2 80" "tcp $gateway 80" "udp $gateway 53"
	expect refused "another sandbox" "tcp $(address 1 4) 80" "tcp $(address 1 6) 80"
}

for mode in internet lan allow; do
	check "$mode: slots" env BERTH_NETWORK_MODE=$mode "$program" --state "$state" --slots 2
	gateway=$(inside 0 ip -o route show default | cut -d' ' -f3)
	common
	case $mode in
	internet)
		expect ok "the internet" "tcp 1.2.3.4 80" "tcp 2606:4700::1 80"
		expect refused "private ranges" "${lan[@]}"
		expect refused "the resolver's other ports" "tcp 10.9.9.53 80"
		expect refused "a mirror in a documentation range" "tcp 203.0.113.80 80"
		;;
	lan)
		expect ok "the internet" "tcp 1.2.3.4 80" "tcp 2606:4700::1 80"
		expect ok "private ranges" "${lan[@]}"
		;;
	allow)
		expect ok "an allowed host" "tcp 9.9.9.9 80" "tcp 2620:fe::fe 80"
		expect refused "the rest of the internet" "tcp 1.2.3.4 80" "tcp 2606:4700::1 80"
		expect refused "what an allowed name claims in a private range" "tcp 10.1.1.1 80"
		echo '1.2.3.4 allowed.test' >"$work/hosts"
		# With the capabilities that berth-refresh.service leaves it.
		check "$mode: renewed" env BERTH_NETWORK_MODE=$mode setpriv --no-new-privs --inh-caps=-all \
			--bounding-set=-all,+net_admin,+chown,+fowner,+dac_override "$program" --state "$state" --slots 2 --refresh
		expect ok "the host's new address" "tcp 1.2.3.4 80"
		;;
	esac
done

mode=ranges
check "ranges: slots" env BERTH_NETWORK_ALLOW_RANGES="203.0.113.80:80, [fd12::/64]:80" "$program" --state "$state" --slots 2
expect ok "an allowed address and port" "tcp 203.0.113.80 80" "tcp fd12::1 80"
expect refused "its other ports" "tcp 203.0.113.80 853" "tcp fd12::1 853"

mode=limits
check "limits: slots" env BERTH_NETWORK_CONNECTIONS=20 BERTH_NETWORK_BANDWIDTH_MBIT=8 "$program" --state "$state" --slots 2
equal "limits: connections of one sandbox" 20 "$(inside 0 python3 "$here/world.py" many 1.2.3.4 80 30)"
equal "limits: those of another are counted apart" 20 "$(inside 1 python3 "$here/world.py" many 1.2.3.4 80 30)"
# Open for half a minute after their sockets, and for longer if the far end likes: the next tenant's problem.
inside 1 python3 "$here/world.py" flood 1.2.3.4 9 100
inside 1 python3 "$here/world.py" many 1.2.3.4 80 30 >"$work/out"
equal "limits: no datagrams take TCP connections away" 20 "$(cat "$work/out")"
equal "limits: nor the resolver" ok "$(inside 1 python3 "$here/world.py" try "udp 10.9.9.53 53")"
equal "limits: questions" 20 "$(inside 0 python3 "$here/world.py" ask 10.9.9.53 30)"
contains "limits: the status says so" "connections_bounded=yes.bandwidth_bounded=yes" "$(tr '\n' . <"$state/slots.status")"
seconds=$(inside 0 python3 "$here/world.py" fetch 1.2.3.4 80)
# 4 MiB at 8 Mbit/s take 4 s less the first second's worth.
if awk "BEGIN { exit !($seconds > 2) }"; then ok "limits: bandwidth ($seconds s)"; else not_ok "limits: bandwidth" "$seconds s"; fi

mode=neighbours
inside 0 python3 "$here/world.py" strangers 500
strangers=$(inside 0 ip -6 neigh show dev eth0 nud all | grep -c ^fe80::a:)
equal "neighbours: a tenant cannot fill the kernel's table of them" 0 "$strangers"
equal "neighbours: nor the host's part of it" 0 "$(ip -6 neigh show nud all | grep -c ^fe80::a:)"
expect ok "IPv6 goes on" "tcp 2606:4700::1 80"

mode=spoof
spoofed=$(inside 0 ip addr add 10.213.200.200/32 dev eth0 && inside 0 python3 - <<'P'
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(1)
s.bind(("10.213.200.200", 0))
s.sendto(b"hello", ("10.9.9.53", 53))
try:
    print(s.recv(10))
except OSError:
    print("nothing")
P
)
equal "spoof: a packet with a foreign source goes nowhere" nothing "$spoofed"

# Firewalls of others: what one table drops is lost, whatever ours says.
mode=others
setup_says() { slots --slots 2 2>&1; }
for iptables in iptables ip6tables; do
	for chain in INPUT FORWARD; do $iptables -P $chain DROP; done
done
expect silent "what Docker and ufw have iptables do" "tcp 1.2.3.4 80" "tcp 2606:4700::1 80"
contains "others: setup opens it" "another firewall .iptables. drops" "$(setup_says)"
expect ok "then packets pass" "tcp 1.2.3.4 80" "tcp 2606:4700::1 80" "udp 10.9.9.53 53"
expect refused "that our table lets pass" "tcp 169.254.169.254 80" "${lan[@]}" "tcp 10.9.0.2 80"
equal "others: told once" "" "$(setup_says | grep -E "firewall|lost")"
equal "others: by one rule each" "2 1" "$(iptables -S FORWARD | grep -c bv) $(ip6tables -S INPUT | grep -c bv)"
"$program" --state "$state" --slots 2 --remove
equal "others: and taken out again" "" "$(iptables -S | grep bv; ip6tables -S | grep bv)"
for iptables in iptables ip6tables; do
	for chain in INPUT FORWARD; do $iptables -P $chain ACCEPT; done
done
nft 'add table inet site; add chain inet site pass { type filter hook forward priority 0; policy drop; }'
contains "others: a table of the operator's own is named" "chain pass of table inet site drops" "$(setup_says)"
expect silent "until it is told" "tcp 1.2.3.4 80"
nft 'add rule inet site pass iifname "bv*" accept; add rule inet site pass oifname "bv*" accept'
equal "others: then all is well" "" "$(setup_says | grep -E "firewall|lost")"
expect ok "and packets pass" "tcp 1.2.3.4 80" "tcp 2606:4700::1 80"
nft 'flush ruleset'
check "others: slots again" "$program" --state "$state" --slots 2

mode=resolvers
refresh() { BERTH_NETWORK_DNS='' setpriv --no-new-privs --inh-caps=-all --bounding-set=-all,+net_admin,+chown,+fowner,+dac_override \
	"$program" --state "$state" --slots 2 --refresh 2>&1; }
printf 'nameserver 10.9.9.53\n' >"$work/resolv.conf"
mount --bind "$work/resolv.conf" /etc/resolv.conf
check "resolvers: slots" env BERTH_NETWORK_DNS= "$program" --state "$state" --slots 2
expect refused "another server" "tcp 8.8.8.8 53"
printf 'nameserver 8.8.8.8\nnameserver 10.9.9.53\n' >"$work/resolv.conf"
contains "resolvers: the host gets another" "other resolvers" "$(refresh)"
equal "resolvers: sandboxes are told" "nameserver 8.8.8.8" "$(head -1 "$state/run/resolv.conf")"
expect ok "and may ask it" "tcp 8.8.8.8 53" "udp 8.8.8.8 53" "udp 10.9.9.53 53"
equal "resolvers: nothing more to do" "" "$(refresh)"
: >"$work/resolv.conf"
equal "resolvers: a host without any for a while" "" "$(refresh)"
expect ok "takes none away" "udp 8.8.8.8 53"
# As when the host starts and its network is not yet there.
printf 'nameserver 127.0.0.53\n' >"$work/resolv.conf"
contains "resolvers: a stub with no server behind it is none" "no resolver that sandboxes could ask" "$(BERTH_NETWORK_DNS='' setup_says)"
equal "resolvers: so there is none" "" "$(cat "$state/run/resolv.conf")"
printf 'nameserver 10.9.9.53\n' >"$work/resolv.conf"
contains "resolvers: until there is one" "other resolvers" "$(refresh)"
expect ok "then it is asked" "udp 10.9.9.53 53"

# What a reload of the host's own rules does to ours.
mode=flush
BERTH_NETWORK_DNS='' setup_says >/dev/null
nft flush ruleset
iptables -P FORWARD DROP
contains "flush: doctor misses them" "FAIL +nft +the rules for sandboxes are gone" "$("${program%-slots}" doctor --state "$state")"
contains "flush: noticed" "rules of sandboxes were gone" "$(refresh)"
expect refused "the host's own addresses and services" "tcp 10.9.0.2 80" "tcp 2a00:9::2 80"
expect refused "private ranges" "${lan[@]}"
expect ok "the internet, past the others' rules too" "tcp 1.2.3.4 80" "tcp 2606:4700::1 80"
contains "flush: so does doctor" "ok +nft" "$("${program%-slots}" doctor --state "$state")"
equal "flush: nothing more to do" "" "$(refresh)"
"$program" --state "$state" --slots 2 --remove
equal "flush: nothing to put back where nothing is set up" "" "$(refresh; nft list tables | grep berth)"
iptables -P FORWARD ACCEPT
nft flush ruleset
check "flush: slots again" "$program" --state "$state" --slots 2

mode=loopback
printf 'nameserver 127.0.0.1\n' >"$work/resolv.conf"
check "loopback: slots" env BERTH_NETWORK_DNS= "$program" --state "$state" --slots 2
gateway=$(inside 0 ip -o -4 route show default | cut -d' ' -f3)
equal "loopback: sandboxes ask the gateway" "nameserver $gateway" "$(cat "$state/run/resolv.conf")"
expect ok "the host's resolver on loopback" "udp $gateway 53" "tcp $gateway 53"
expect refused "nothing else on the host's loopback" "tcp $gateway 80"
printf 'nameserver 10.9.9.53\n' >"$work/resolv.conf"
contains "loopback: a host that has another one meanwhile has to be set up" "run berth setup" "$(refresh)"
equal "loopback: until then it stays" "nameserver $gateway" "$(cat "$state/run/resolv.conf")"
printf 'nameserver 127.0.0.1\n' >"$work/resolv.conf"
check "loopback: slots, with a limit" env BERTH_NETWORK_CONNECTIONS=20 BERTH_NETWORK_DNS= "$program" --state "$state" --slots 2
equal "loopback: questions are connections too" 20 "$(inside 1 python3 "$here/world.py" ask "$gateway" 30)"

mode=none
check "none: slots" env BERTH_NETWORK_MODE=none "$program" --state "$state" --slots 2
equal "none: loopback only" "1" "$(inside 0 ip -o link | wc -l)"
equal "none: no rules" "" "$(nft list ruleset)"

mode=two
check "two servers with the same block" "$program" --state "$state" --slots 20
cp -a "$state/image" "$work/image2"
mkdir -m 755 "$work/state2"
mv "$work/image2" "$work/state2/image"
check "two: the other's slots" "$program" --state "$work/state2" --slots 20
one=$(address 0 4)
two=$(nsenter --net="$work/state2/run/slots/0.net" ip -o -4 addr show eth0 | grep -oE 'inet [^/]+' | cut -d' ' -f2)
if [ "$one" != "$two" ]; then ok "two: different addresses"; else not_ok "two: different addresses"; fi
expect refused "no way from one server's sandboxes to the other's" "tcp $two 80"
check "two: the other removed" "$program" --state "$work/state2" --slots 20 --remove
equal "two: the first still forwards" 1 "$(cat /proc/sys/net/ipv4/ip_forward)"
