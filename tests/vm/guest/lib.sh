# shellcheck shell=bash
# What the scripts that run inside the VM share. Everything is emulated and slow: limits are generous.
set -uo pipefail
export LC_ALL=C.UTF-8
ENDPOINT=${ENDPOINT:-http://127.0.0.1:8000}
TOKEN_FILE=/root/token

# check NAME COMMAND..: one counted test.
check() {
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then
		echo "ok $name"
	else
		echo "not ok $name"
		tail -n 25 <<<"$out" | sed 's/^/    /'
	fi
}

# says PATTERN: whether the input does, without regard to case. Reads all of it, and shows it.
says() {
	local text
	text=$(cat)
	printf '%s\n' "$text" >&2
	grep -qiE -- "$1" <<<"$text"
}

# until_true SECONDS COMMAND..
until_true() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.5
	done
}

# call TOOL JSON-ARGUMENTS: one MCP call; prints the result's text, fails when there is none.
call() {
	curl -sS --max-time 300 "$ENDPOINT/mcp" -H "Authorization: Bearer $(cat $TOKEN_FILE)" \
		-H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
		-H 'MCP-Protocol-Version: 2025-06-18' \
		-d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"$1\",\"arguments\":$2}}" |
		python3 -c '
import json, sys
text = sys.stdin.read()
for line in text.splitlines():
    line = line.removeprefix("data: ")
    if not line.startswith("{"): continue
    message = json.loads(line)
    if message.get("id") != 1: continue
    if "error" in message: sys.exit("error: " + message["error"]["message"])
    print("\n".join(c.get("text", "") for c in message["result"]["content"]))
    sys.exit(0)
sys.exit("no answer: " + text[:500])'
}

# run LABEL COMMAND: run_command in the sandbox of that label.
run() {
	call run_command "$(python3 -c 'import json, sys; print(json.dumps({"sandbox": sys.argv[1], "command": sys.argv[2], "timeout_seconds": 280}))' "$1" "$2")"
}

answers() { curl -sf -o /dev/null --max-time 20 "$ENDPOINT/health"; }

# status NAME: a number of the pool's.
status() { berth status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["pool"][sys.argv[1]])' "$1"; }

# slot_of LABEL
slot_of() {
	berth status --json | python3 -c '
import json, sys
print(next(s["slot"] for s in json.load(sys.stdin)["sandboxes"] if s["label"] == sys.argv[1]))' "$1"
}

# empty LABEL: by the tool; fails unless the workspace is empty afterwards.
empty() {
	call reset_sandbox "{\"sandbox\":\"$1\",\"what\":\"everything\"}" && run "$1" 'ls -A /workspace | wc -l; stat -c "%u:%g %a" /workspace' |
		paste -sd' ' | says ' 0 0:0 755 *$'
}
