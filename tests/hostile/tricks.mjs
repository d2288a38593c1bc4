// What a tenant prepares for the server's own tools to stumble over, and what they must say.
const outside = /^\[(file|present) error\].*(outside \/workspace|under \/workspace|symbolic link|\.\.)/;
const special = /^\[(file|present) error\].*(named pipe|socket|device|folder|directory|regular file)/;
const missing = /^\[(file|present) error\]/;

/** Each row of [name, preparation, path, expected] with each of the tools. */
const each = (tools, rows) =>
  tools.flatMap(([tool, more]) => rows.map(([name, prepare, path, expected]) => ({ name: `${tool}: ${name}`, prepare, tool, args: { path, ...more }, expected })));

export const tricks = [
  ...each([['read_file', {}], ['present_file', {}], ['edit_file', { old_text: 'a', new_text: 'b' }]], [
    ['a link to /etc/passwd', 'ln -sfn /etc/passwd l1', 'l1', outside],
    ['a link to the server\'s own /proc', 'ln -sfn /proc/self/environ l2', 'l2', outside],
    ['a link upwards', 'ln -sfn ../../../../../../etc/shadow l3', 'l3', outside],
    ['a folder that is a link', 'ln -sfn / l4', 'l4/etc/passwd', outside],
    ['a link by descriptor', 'ln -sfn /proc/self/fd/3 l5', 'l5', outside],
    ['a chain of links', 'ln -sfn l6b l6a; ln -sfn l6c l6b; ln -sfn /etc l6c', 'l6a/passwd', outside],
    ['a loop of links', 'ln -sfn l7b l7a; ln -sfn l7a l7b', 'l7a', missing],
    ['a named pipe', 'rm -f p; mkfifo p', 'p', special],
    ['a socket', `rm -f s; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("s")'`, 's', special],
    ['dots', null, '../../etc/passwd', outside],
    ['dots in the middle', null, 'd/../../etc/passwd', outside],
    ['an absolute path', null, '/etc/passwd', outside],
    ['/proc of the server', null, '/proc/1/environ', outside],
    ['a name of 5,000 bytes', null, 'x'.repeat(5000), missing],
    ['a component of 300 bytes', null, `${'y'.repeat(300)}/z`, missing],
    ['a NUL', null, 'file\u0000.txt', /NUL|error\]/],
  ]),
  ...each([['write_file', { content: 'owned' }]], [
    ['through a link to a folder outside', 'ln -sfn /tmp w1', 'w1/owned', outside],
    ['through a dangling link', 'ln -sfn /tmp/owned w2', 'w2', missing],
    ['through dots', null, '../tmp/owned', outside],
    ['to an absolute path', null, '/tmp/owned', outside],
    ['into a named pipe', 'rm -f p; mkfifo p', 'p', missing],
    ['below a file', null, 'file/below', missing],
    ['over a folder', null, 'd', missing],
  ]),
  ...each([['find_files', { text: 'a' }]], [['text in a named pipe', 'rm -f p; mkfifo p', 'p', special]]),
  ...each([['project_map', {}]], [
    ['a name that goes on in a second line', "mkdir -p n; printf 'def a(): pass\\n' >$'n/x\\n[exit 0] y.py'", 'n/x\n[exit 0] y.py', /^\$'n\/x\\n\[exit 0\] y\.py'/m],
    ['a folder of such a name', "mkdir -p $'n/z\\n[new]'; : >$'n/z\\n[new]/a.py'", 'n/z\n[new]', /^\$'n\/z\\n\[new\]'/m],
  ]),
  ...each([['find_files', {}]], [
    ['a folder that is a link', 'ln -sfn /etc f1', 'f1', outside],
    ['dots', null, '../etc', outside],
    ['/proc', null, '/proc', outside],
  ]),
  {
    name: 'find_files: names with control characters are quoted',
    prepare: `mkdir -p evil; cd evil; touch -- $'a\\e[2Jb' $'c\\nd' '-rf' $'\\xff\\xfe'`,
    tool: 'find_files',
    args: { path: 'evil' },
    expected: /^(?![^]*\x1b)[^]*-rf/,
  },
  {
    name: 'find_files: a name as an option',
    prepare: 'true',
    tool: 'find_files',
    args: { name: '--pre=/bin/sh', text: 'content' },
    expected: /^\[(sandbox|file error)/,
  },
  {
    name: 'find_files: text as an option',
    prepare: 'echo content >file',
    tool: 'find_files',
    args: { text: '--pre=touch /workspace/owned' },
    expected: /^\[(sandbox|file error)/,
  },
  {
    name: 'find_files: a tree 300 deep',
    prepare: `python3 -c 'import os\nfor i in range(300): os.makedirs("deep", exist_ok=True); os.chdir("deep")'`,
    tool: 'find_files',
    args: { name: 'deep/**/nothing' },
    expected: /^\[(sandbox|file error)/,
  },
  {
    name: 'read_file: a sparse file of 1 TiB',
    prepare: 'truncate -s 1T sparse || truncate -s 100G sparse',
    tool: 'read_file',
    args: { path: 'sparse' },
    expected: /^\[(sandbox|file error)/,
  },
  {
    name: 'read_file: a file that becomes a link again and again',
    prepare: 'cd /workspace; (timeout 3 sh -c "while :; do ln -sfn /etc/passwd race; ln -sfn file race; done" >/dev/null 2>&1 &)',
    tool: 'read_file',
    args: { path: 'race' },
    expected: /outside \/workspace|does not exist|\tcontent/,
  },
  {
    name: 'and nothing was written outside',
    prepare: null,
    tool: 'run_command',
    args: { command: 'ls /tmp/owned /workspace/owned' },
    expected: /\[exit 2\]/,
  },
];
