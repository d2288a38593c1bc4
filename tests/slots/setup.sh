#!/bin/bash
# berth setup: the user, its ids, the configuration, the slots; a second run; proposals for package
# mirrors; the settings of an env file; the service units; --remove. On a copy of /etc.
# shellcheck source-path=SCRIPTDIR disable=SC2154
. "$(dirname "$0")/lib.sh"
begin "$@"
berth=$(dirname "$program")/berth
mkdir "$work/etc" "$work/bin"
trap 'umount -q /var/lib; umount /etc "$work/etc"; finish' EXIT
mount -t tmpfs none "$work/etc"
mkdir "$work/etc/"{upper,work}
if ! mount -t overlay -o "lowerdir=/etc,upperdir=$work/etc/upper,workdir=$work/etc/work" none /etc; then
	echo "needs overlayfs"
	exit 77
fi
unset BERTH_SERVER_USER
export BERTH_SERVER_USER=berth-test BERTH_POOL_UID_BASE=1900000000
sed -i '/^berth/d' /etc/passwd /etc/group /etc/subuid /etc/subgid

# The tools that know this host's mirrors, and what their names lead to.
cat >"$work/bin/apt-get" <<'S'
#!/bin/sh
[ "$1" = indextargets ] && printf '%s\n' http://mirror.test/debian http://mirror.test:8080/x http://public.test/debian
S
printf '#!/bin/sh\nexit 1\n' >"$work/bin/npm"
printf '#!/bin/sh\necho https://user:secret@index.test/simple\n' >"$work/bin/python3"
chmod +x "$work/bin/"*
printf '10.7.7.7 mirror.test\n1.2.3.4 public.test\n192.168.3.3 index.test\n' >>/etc/hosts
export PATH="$work/bin:$PATH"

setup() { "$berth" setup --state "$state" --storage dir "$@" </dev/null 2>&1; }
config=$state/berth.conf

mv "$state/image" "$work/image"
out=$(setup --slots 3)
contains "without an image it says what comes next" "Next: berth image build" "$out"
contains "it made the user" "made the system user berth-test" "$out"
equal "a system user without a shell" "/usr/sbin/nologin" "$(getent passwd berth-test | cut -d: -f7)"
equal "its ids are reserved" "berth-test:1900000000:196608 berth-test:1900000000:196608" \
	"$(grep -h berth-test /etc/subuid /etc/subgid | xargs)"
contains "it wrote the configuration" "slots = 3" "$(cat "$config")"
equal "the server writes to its own folder only" "berth-test 700" "$(stat -c '%U %a' "$state/server")"
contains "mirrors are proposed, not applied" "10.7.7.7:80, 10.7.7.7:8080, 192.168.3.3:443" "$out"
contains "not without --yes" "run it with --yes" "$out"
if grep -q '^allow_ranges' "$config"; then not_ok "no ranges yet"; else ok "no ranges yet"; fi
mv "$work/image" "$state/image"

out=$(setup --slots 5 --network internet --yes)
contains "the slots are ready" "5 slots are ready" "$out"
equal "more ids are reserved" "berth-test:1900000000:196608 berth-test:1900196608:131072" \
	"$(grep -h berth-test /etc/subuid | xargs)"
equal "the ranges are kept" "allow_ranges = 10.7.7.7:80, 10.7.7.7:8080, 192.168.3.3:443" "$(grep '^allow_ranges' "$config")"
contains "and in force" "10.7.7.7 .*8080 goto granted" "$(nft list ruleset)"
if grep -rq secret "$config" <<<"$out"; then not_ok "no password of a mirror is shown"; else ok "no password of a mirror is shown"; fi
equal "5 slots" 5 "$(find "$state/slots" -mindepth 1 -maxdepth 1 | wc -l)"

# A sandbox without a file is one too. Its row is what the server would have written.
"$berth" token create --config "$config" >/dev/null
/usr/bin/python3 - "$state/server/berth.db" <<'S'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    db.execute("INSERT INTO sandboxes VALUES ('otter-3f9a1c', 'owner-me', 3, 0, 1, 1)")
S
before=$(cat "$config")
contains "fewer slots than are occupied are refused" "slot 3 is occupied by sandbox otter-3f9a1c" "$(setup --slots 3 --yes)"
touch "$state/slots/4/workspace/file"
contains "nor may a slot with files go" "slot 4 has files" "$(setup --slots 4 --yes)"
equal "nothing was changed then" "$(sha256sum <<<"$before") 5" "$(sha256sum <"$config") $(find "$state/slots" -mindepth 1 -maxdepth 1 | wc -l)"
rm "$state/slots/4/workspace/file"
contains "those above may go" "4 slots are ready" "$(setup --slots 4 --yes)"
contains "and the configuration follows" "slots = 4" "$(cat "$config")"
contains "grown again" "5 slots are ready" "$(setup --slots 5 --yes)"

files() { sha256sum "$config" /etc/passwd /etc/subuid /etc/subgid; }
before=$(files)
out=$(setup --yes)
equal "a second run changes nothing" "$before" "$(files)"
contains "and keeps the number of slots" "5 slots are ready" "$out"

cat >"$work/env" <<'S'
# of mcp-linux-sandbox
export MCP_PUBLIC_BASE="https://box.test/mcp-x"
export MCP_SIGN_KEY=0123456789abcdef
SANDBOX_IDLE=420
SANDBOX_HOST=127.0.0.2
SANDBOX_PORT='9000'
SANDBOX_MAX=3
SANDBOX_MAX_TIMEOUT=800
SANDBOX_MIN_FREE=1048576
SANDBOX_LINK_TTL=300
SANDBOX_IMAGE_MAX=1000000
SANDBOX_IMAGE=localhost/mcpsb:latest
S
out=$(setup --env-file "$work/env" --yes)
equal "settings of an env file are kept" \
	"idle = 420|image_max = 1000000|listen = 127.0.0.2:9000|max_running = 3|max_timeout = 800|min_free = 1048576|public_url = https://box.test/mcp-x|ttl = 300" \
	"$(grep -hE '^(public_url|idle|image_max|listen|max_running|max_timeout|min_free|ttl) ' "$config" | sort | paste -sd'|')"
contains "its image is said not to be taken" "did not take SANDBOX_IMAGE = localhost/mcpsb:latest: podman save" "$out"
equal "its key signs links" "$(printf 0123456789abcdef | sha256sum | cut -d' ' -f1) berth-test 600" \
	"$(od -An -v -tx1 "$state/server/link.key" | tr -d ' \n') $(stat -c '%U %a' "$state/server/link.key")"
if grep -q 0123456789abcdef <<<"$out"; then not_ok "it is not shown"; else ok "it is not shown"; fi
if grep -q 0123456789abcdef "$config"; then not_ok "a key is not written into a file of settings"; else ok "a key is not written into a file of settings"; fi
echo SANDBOX_IDLE=900 >"$work/env"
setup --env-file "$work/env" --yes >"$work/out"
contains "a setting that is the default is one too" "^idle = 900" "$(cat "$config")"
setup --env-file "$work/env" --set sandbox.idle=901 --yes >"$work/out"
contains "an option goes before it" "^idle = 901" "$(cat "$config")"
echo 'MCP_PUBLIC_BASE=https://your-host.example.com' >"$work/env"
contains "a placeholder is refused" "still a placeholder" "$(setup --env-file "$work/env" --yes)"
contains "a bad value is refused" "pool.storage" "$("$berth" setup --state "$state" --storage floppy 2>&1)"
contains "a second of a kind: ids of another user" "set pool.uid_base" "$(echo other:1900000100:10 >>/etc/subuid && setup --yes)"
sed -i /^other/d /etc/subuid

# Without options: the system's configuration, or else that of the default state.
mkdir -p "$work/lib/berth"
mount --bind "$work/lib" /var/lib
rm -rf /etc/berth
effective() { "$berth" serve --check | grep -E '^(slots|profile) =' | xargs; }
equal "with no configuration: the defaults" "profile = personal slots = 100" "$(effective)"
printf '[server]\nprofile = public\n[pool]\nslots = 7\n' >/var/lib/berth/berth.conf
equal "that of the default state" "profile = public slots = 7" "$(effective)"
contains "is what a later setup changes" "changed /var/lib/berth/berth.conf" "$("$berth" setup --slots 8 --network none --yes 2>&1)"
equal "and nothing else" "profile = public slots = 8" "$(effective)"
mkdir -p /etc/berth
printf '[pool]\nslots = 9\n' >/etc/berth/berth.conf
equal "that of the system goes first" "profile = personal slots = 9" "$(effective)"
umount /var/lib

# The service units, with a systemctl that writes down what it is asked. They see no /tmp.
mount -t tmpfs none /run
mkdir -p /run/systemd/system /etc/systemd/system "$work/srv/programs" "$work/srv/one/image"
mount --bind "$work/srv" /srv
cp "$(dirname "$program")"/berth* /srv/programs/ 2>/dev/null
cp -r "$(dirname "$0")/../../packaging" /srv/programs/
cp -a "$state/image/." /srv/one/image/
printf '#!/bin/sh\necho "$@" >>%s/asked\n' "$work" >"$work/bin/systemctl"
chmod +x "$work/bin/systemctl"
units() { (cd /srv && programs/berth setup --storage dir --network none --yes "$@" </dev/null 2>&1); }
in_unit() { grep -h "$1" /etc/systemd/system/berth*.service; }

out=$(units --state /srv/one/ --config ./one.conf --slots 1 --systemd)
contains "the units are installed" "installed, enabled and started the service units" "$out"
contains "and started" "enable --quiet berthd.service" "$(cat "$work/asked")"
contains "with the whole path of the configuration" "berthd --config /srv/one.conf$" "$(in_unit ExecStart)"
contains "with the ids for newuidmap" "--state /srv/one --engine native --uid-base 1900000000" "$(in_unit ExecStart)"

before=$(sha256sum /etc/systemd/system/berth*)
: >"$work/asked"
contains "those of another server are not taken" "are those of the server on /srv/one:" "$(setup --systemd --yes)"
contains "a place that they cannot see is refused" "below /home, which the service units do not see" \
	"$(rm /etc/systemd/system/berth-slots.service && units --state /home/berth-test --systemd)"
equal "before anything is made there" 0 "$(find /home/berth-test 2>/dev/null | wc -l)"
units --state /srv/one --config one.conf --systemd >"$work/out"
: >"$work/asked"

/usr/bin/python3 - "$state/run/admin.sock" <<'S' &
import socket, sys, time
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
time.sleep(60)
S
listener=$!
until [ -S "$state/run/admin.sock" ]; do sleep 0.1; done
contains "not removed while a server runs" "a server runs on $state: stop it first" "$("$berth" setup --remove --state "$state" 2>&1)"
check "its mounts are there" mountpoint -q "$state/slots/0/lower"
kill $listener

out=$("$berth" setup --remove --state "$state")
contains "the units of another server stay" "left the service units alone: they are those of the server on /srv/one" "$out"
equal "all of them, and nothing was asked" "$before" "$(sha256sum /etc/systemd/system/berth*)$(cat "$work/asked")"
units --state /srv/one --config one.conf --remove >"$work/out"
equal "its own go" "disable --now berthd.service 0" \
	"$(grep berthd "$work/asked") $(find /etc/systemd/system -name 'berth*' | wc -l)"
contains "removed" "took off mounts" "$out"
equal "no mount, no link, no rule is left" "0 0 " "$(grep -c " $state" /proc/self/mountinfo) $(ip -o link | grep -c ' bv') $(nft list ruleset)"
contains "as somebody else: refused" "needs root" "$(setpriv --reuid nobody --clear-groups "$berth" setup --state /tmp/x 2>&1)"
