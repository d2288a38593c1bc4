#!/bin/bash
# The zfs back end against a stand-in for the zfs program: what is asked of it and in which order,
# that an interrupted creation goes on, and that a second run asks little. The real one is tested in
# the test machine (tests/vm).
# shellcheck source-path=SCRIPTDIR disable=SC2154
. "$(dirname "$0")/lib.sh"
begin "$@"
export BERTH_POOL_STORAGE=zfs BERTH_POOL_ZFS_DATASET=tank/berth BERTH_NETWORK_MODE=none BERTH_SANDBOX_WORKSPACE=64M
export BERTH_POOL_UID_BASE=1048576
mkdir "$work/bin" "$work/zfs"
cat >"$work/bin/zfs" <<'S'
#!/bin/bash
# Datasets are files in $FAKE that hold their mount point; mounted ones are tmpfs.
echo "$*" >>"$FAKE.log"
file() { echo "$FAKE/${1//\//%}"; }
for last; do :; done
case $1 in
list)
	case "$*" in
	*snapshot*) for f in "$FAKE"/*@*; do [ -e "$f" ] && basename "$f" | tr % /; done; exit 0 ;;
	*"-d 1"*) for f in "$FAKE"/*; do [[ $f = *@* ]] || basename "$f" | tr % /; done ;;
	*) [ -e "$(file "$last")" ] || { echo "cannot open '$last': dataset does not exist" >&2; exit 1; } ;;
	esac ;;
get) cat "$FAKE.given" 2>/dev/null || echo - ;;
set) [[ $2 = berth:given=* ]] && echo "${2#*=}" >"$FAKE.given" ;;
create)
	where=$(grep -o 'mountpoint=[^ ]*' <<<"$*" | cut -d= -f2)
	echo "$where" >"$(file "$last")"
	[ "$where" = none ] || { mkdir -p "$where" && mount -t tmpfs "$last" "$where"; } ;;
mount) where=$(cat "$(file "$last")") && mkdir -p "$where" && mount -t tmpfs "$last" "$where" ;;
snapshot)
	[ ! -e "$FAKE.fail" ] || exit 1
	where=$(cat "$(file "${last%@*}")") && stat -c %u:%a "$where" >"$(file "$last")" ;;
destroy) [[ $last = *@* ]] && rm "$(file "$last")" && exit 0
	umount "$(cat "$(file "$last")")" && rm "$(file "$last")" "$(file "$last")@empty" ;;
esac
exit 0
S
chmod +x "$work/bin/zfs"
export PATH="$work/bin:$PATH" FAKE=$work/zfs
log() { cat "$FAKE.log"; }

# Somebody made the parent before; what it has or lacks must not matter to the slots.
zfs create -o mountpoint=none tank/berth
check "3 datasets" slots --slots 3
fixed='com.sun:auto-snapshot=false setuid=off devices=off atime=off'
contains "with a quota, a mount point, and what the parent may lack" \
	"create -o quota=67108864 -o mountpoint=$state/slots/2/workspace -o ${fixed// / -o } tank/berth/2" "$(log)"
contains "the user may roll back" "allow -u nobody rollback,mount tank/berth" "$(log)"
equal "the snapshot has the right owner" "1179648:755" "$(cat "$FAKE/tank%berth%2@empty")"
equal "the status says what is bounded" "storage=zfs|workspace_bounded=yes" "$(grep -E '^(storage|workspace)' "$state/slots.status" | paste -sd'|')"

: >"$FAKE.log"
check "a second run" slots --slots 3
equal "asks four questions, whatever the number of slots" 4 "$(log | wc -l)"
: >"$FAKE.log"
BERTH_SANDBOX_WORKSPACE=128M check "a new quota" slots --slots 3
equal "is given to all" 3 "$(log | grep -c "^set quota=134217728 $fixed tank/berth/")"
: >"$FAKE.log"
rm "$FAKE.given" # as an older version left it
BERTH_SANDBOX_WORKSPACE=128M check "slots of an older version" slots --slots 3
equal "are given the properties too" 3 "$(log | grep -c "^set quota=134217728 $fixed tank/berth/")"

touch "$FAKE.fail"
contains "a failure in the middle is reported" "slot 3: zfs snapshot" "$(BERTH_SANDBOX_WORKSPACE=128M slots --slots 5 2>&1)"
rm "$FAKE.fail"
check "and gone on from" env BERTH_SANDBOX_WORKSPACE=128M "$program" --state "$state" --slots 5
equal "all are complete" 5 "$(find "$FAKE" -name '*@empty' | wc -l)"
touch "$state/slots/4/workspace/file"
contains "an occupied one stays" "slot 4 has files" "$(BERTH_SANDBOX_WORKSPACE=128M slots --slots 2 2>&1)"
rm "$state/slots/4/workspace/file"
check "shrunk" env BERTH_SANDBOX_WORKSPACE=128M "$program" --state "$state" --slots 2
equal "the others are destroyed" 2 "$(find "$FAKE" -name '*@empty' | wc -l)"
check "taken off" slots --remove
equal "no mount is left" 0 "$(grep -c " $state" /proc/self/mountinfo)"
check "mounted again" env BERTH_SANDBOX_WORKSPACE=128M "$program" --state "$state" --slots 2
chown 1179647 "$state/slots/1/workspace" && touch "$state/slots/1/workspace/file"
: >"$FAKE.log"
check "a tenant's own choice of the owner" env BERTH_SANDBOX_WORKSPACE=128M "$program" --state "$state" --slots 2
equal "is no reason for a new snapshot" 0 "$(log | grep -c '@empty$')"
contains "other ids, with files of the old ones: refused" "set pool.uid_base back" \
	"$(BERTH_SANDBOX_WORKSPACE=128M BERTH_POOL_UID_BASE=200000000 slots --slots 2 2>&1)"
rm "$state/slots/1/workspace/file"
check "other ids, and nothing in the slots" \
	env BERTH_SANDBOX_WORKSPACE=128M BERTH_POOL_UID_BASE=200000000 "$program" --state "$state" --slots 2
equal "the snapshot goes back to the new owner" "200065536:755" "$(cat "$FAKE/tank%berth%1@empty")"
slots --remove
contains "without a data set the reason is said" "pool.zfs_dataset is not set" "$(rm "$state/slots.status"; BERTH_POOL_ZFS_DATASET='' slots --slots 2 2>&1)"
