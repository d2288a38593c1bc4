#!/bin/bash
# The btrfs image: made where nothing else has quotas; limits that bite and still let files be
# removed; growth; that it comes back after it was taken off.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
begin "$@"
if ! command -v mkfs.btrfs >/dev/null || ! grep -qw btrfs /proc/filesystems || [ ! -w /dev/loop-control ]; then
	echo "needs btrfs and loop devices"
	exit 77
fi
export BERTH_POOL_STORAGE=btrfs BERTH_SANDBOX_WORKSPACE=16M BERTH_SANDBOX_LAYER=64M BERTH_SANDBOX_MIN_FREE=64M
export BERTH_NETWORK_MODE=none BERTH_POOL_UID_BASE=1048576

# as_slot N PYTHON: as the root of slot N would, seen from the host
as_slot() {
	python3 - "$state/slots/$1" "$((1048576 + $1 * 65536))" <<E2
import errno, os, sys
os.chdir(sys.argv[1])
os.setgroups([])
os.setegid(int(sys.argv[2]))
os.seteuid(int(sys.argv[2]))
def fill(path, mib):
    done = 0
    try:
        with open(path, 'wb', 0) as f:
            for _ in range(mib):
                done += f.write(os.urandom(1 << 20))
            os.fsync(f.fileno())
        return 'full size'
    except OSError as e:
        return errno.errorcode[e.errno] + (' early' if done < 8 << 20 else '')
$2
E2
}

check "slots in an image file" slots --slots 4
contains "the status says so" "storage=btrfs-image" "$(cat "$state/slots.status")"
contains "and that the kernel bounds them" "workspace_bounded=yes" "$(cat "$state/slots.status")"
contains "mounted without set-id and devices" "nosuid,nodev,noatime" "$(grep " $state/slots " /proc/self/mountinfo)"
equal "a workspace is full at its limit" "EDQUOT" "$(as_slot 1 "print(fill('workspace/big', 40))")"
equal "and files can be removed then" "gone" "$(as_slot 1 "os.unlink('workspace/big'); print('gone')")"
equal "a layer is bounded as well" "EDQUOT" "$(as_slot 1 "print(fill('layer/upper/big', 100))")"
equal "a neighbour is not affected" "full size" "$(as_slot 2 "print(fill('workspace/small', 10))")"
echo kept >"$state/slots/3/workspace/file"

image_disk() { cat "/sys/block/$(basename "$(losetup -nO NAME -j "$state/pool.btrfs")")/dev"; }
equal "the disk to limit is the image file's" "$(image_disk)" "$(cat "$state/run/slots/disks")"
echo 9:9 >"$state/run/slots/disks"
check "made ready again" slots --slots 4
equal "it is found anew" "$(image_disk)" "$(cat "$state/run/slots/disks")"

check "taken off" slots --remove
equal "the disk is forgotten" "" "$(find "$state/run" -name disks)"
equal "no mount is left" 0 "$(grep -c " $state" /proc/self/mountinfo)"
equal "no loop device is left" "" "$(losetup -j "$state/pool.btrfs")"
check "and brought back" slots --slots 4
equal "with what was in it" kept "$(cat "$state/slots/3/workspace/file")"

was=$(stat -c %s "$state/pool.btrfs")
check "grown" slots --slots 60
if [ "$(stat -c %s "$state/pool.btrfs")" -gt "$was" ]; then ok "the file grew"; else not_ok "the file grew"; fi
if [ "$(stat -f -c %b "$state/slots")" -gt $((was / 4096)) ]; then ok "the file system too"; else not_ok "the file system too"; fi
contains "an occupied slot is not removed" "slot 2 has files" "$(slots --slots 2 2>&1)"
equal "nor any other then" 60 "$(find "$state/slots" -mindepth 1 -maxdepth 1 | wc -l)"
rm "$state/slots/3/workspace/file"
as_slot 2 "os.unlink('workspace/small')"
check "shrunk" slots --slots 2
equal "only the wanted slots are left" 2 "$(find "$state/slots" -mindepth 1 -maxdepth 1 | wc -l)"
contains "another storage is refused" "not moved by themselves" "$(BERTH_POOL_STORAGE=dir slots --slots 2 2>&1)"

interrupted "killed ten times while 60 slots are made, then run to its end" 60
subvolumes() { btrfs subvolume list "$state/slots" | wc -l; }
equal "each has its two subvolumes" 120 "$(subvolumes)"
# Groups of subvolumes that are gone may be listed as well.
limited() { btrfs qgroup show -re --raw "$state/slots" | awk '$4 == 16777216 || $4 == 67108864 { print $1 }' | sort; }
equal "with their limits" 120 "$(comm -12 <(limited) <(btrfs subvolume list "$state/slots" | awk '{ print "0/" $2 }' | sort) | wc -l)"

slots --remove
rm -f "$state/pool.btrfs" "$state/slots.status"
truncate -s 1M "$state/pool.btrfs.new"
check "an interrupted creation is done again" slots --slots 2
