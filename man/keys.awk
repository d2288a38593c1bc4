# Puts the list of keys, as conf_print_example() prints it (first file), into the manual page (second).
#
#   [section]
#   # what it means
#   #key = default
FNR == 1 { file++ }
file == 1 && /^\[/ { keys = keys ".SS " $0 "\n"; next }
file == 1 && /^# / { text = substr($0, 3); next }
file == 1 && /^#/ {
	name = value = substr($0, 2)
	sub(/ = .*/, "", name)
	sub(/^[^=]*= ?/, "", value)
	gsub(/-/, "\\-", name)
	keys = keys ".TP\n.B " name "\n" text ".\nDefault: " (value == "" ? "none" : value) ".\n"
	next
}
file == 1 { next }
$0 == "@KEYS@" { printf "%s", keys; next }
{ print }
