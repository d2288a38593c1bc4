#!/bin/bash
# As many slots as may be.
# shellcheck source-path=SCRIPTDIR disable=SC2154
. "$(dirname "$0")/lib.sh"
begin "$@"
export BERTH_POOL_STORAGE=dir BERTH_NETWORK_MODE=none
mounts() { grep -c " $state" /proc/self/mountinfo; }

check "5,000 slots" slots --slots 5000
equal "all are there" "15001 5000" "$(mounts) $(find "$state/slots" -mindepth 1 -maxdepth 1 | wc -l)"
started=$SECONDS
check "a second run" slots --slots 5000
echo "# a second run: $((SECONDS - started)) s"
contains "not one more" "5001 is outside 1 to 5000" "$(slots --slots 5001 2>&1)"
check "removed" slots --remove
equal "no mount is left" 0 "$(mounts)"
