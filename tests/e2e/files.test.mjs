// The file tools in a real sandbox: what a model gets, and what commands in it see of the work.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';

describe('file tools', { skip: withoutBerth }, () => {
  let berth;
  let has;
  const call = (name, args) => berth.call(name, { sandbox: 'files', ...args });
  const sh = (command) => berth.sh(command, { label: 'files' });
  const ok = async (name, args) => {
    const { text, isError } = await call(name, args);
    assert.ok(!isError, text);
    return text;
  };
  const refused = async (name, args, why) => {
    const { text, isError } = await call(name, args);
    assert.ok(isError, text);
    assert.match(text, /^\[file error\] /);
    assert.match(text, why);
  };

  before(async () => {
    berth = await Berth.start();
    const { text } = await sh('command -v rg ctags python3');
    has = (program) => new RegExp(`/${program}\n`).test(text);
  });
  after(() => berth?.stop());

  test('write, read, edit and undo, as root of the sandbox sees it', async () => {
    assert.match(await ok('write_file', { path: 'a/b.txt', content: 'one\ntwo\n' }), /Wrote a\/b\.txt: 2 lines, 8 bytes, mode 0644/);
    assert.match((await sh('stat -c "%u %g %a" /workspace/a /workspace/a/b.txt')).text, /0 0 755\n0 0 644\n/);
    assert.match(await ok('edit_file', { path: '/workspace/a/b.txt', old_text: 'two', new_text: '2' }), /1 replacement/);
    assert.match((await sh('cat /workspace/a/b.txt')).text, /one\n2\n/);
    assert.match(await ok('edit_file', { path: 'a/b.txt', undo: true }), /Undid 1 edit/);
    assert.match(await ok('read_file', { path: 'a/b.txt', offset: '2', limit: '' }), /lines 2-2 of 2.*\n2\ttwo\n/);
    await refused('write_file', { path: 'a/b.txt', content: '' }, /exists already.*edit_file/);
  });

  test('new folders may be made by several at once', async () => {
    const paths = Array.from({ length: 12 }, (_, i) => `at/once/deep/${i % 3}/f${i}`);
    await Promise.all(paths.map((path) => ok('write_file', { path, content: `${path}\n` })));
    for (const path of paths) assert.match(await ok('read_file', { path }), new RegExp(`1\t${path}\n`));
  });

  test('a command that changes a file makes the model read it again', async () => {
    await ok('write_file', { path: 'c', content: 'x\n' });
    await sh('echo y > /workspace/c');
    await refused('edit_file', { path: 'c', old_text: 'y', new_text: 'z' }, /has changed since you read it/);
    await ok('read_file', { path: 'c' });
    await ok('edit_file', { path: 'c', old_text: 'y', new_text: 'z' });
    await sh('echo w > /workspace/c');
    await refused('edit_file', { path: 'c', undo: 'last' }, /cannot be undone safely/);
  });

  test('links out, pipes, devices and other places are refused', async () => {
    await sh('cd /workspace; ln -s /etc/passwd pw; ln -s / root; mkfifo pipe; ln -s /dev/zero zero; ln -s /workspace/a in');
    await refused('read_file', { path: 'pw' }, /outside \/workspace/);
    await refused('read_file', { path: 'root/etc/passwd' }, /outside \/workspace/);
    await refused('read_file', { path: 'zero' }, /outside \/workspace/);
    await refused('read_file', { path: 'pipe' }, /named pipe/);
    await refused('write_file', { path: 'root/tmp/x', content: '' }, /outside \/workspace/);
    await refused('read_file', { path: '/etc/passwd' }, /under \/workspace/);
    await refused('read_file', { path: '../etc/passwd' }, /outside \/workspace/);
    assert.match(await ok('read_file', { path: 'in/b.txt' }), /1\tone/);
  });

  test('names of any bytes are listed so that they can be used', async () => {
    await sh(`mkdir /workspace/n; cd /workspace/n; touch 'trail ' $'new\\nline' .env; ln -s /nope l`);
    const text = await ok('find_files', { path: 'n' });
    for (const part of ["$'n/new\\nline'", "$'n/trail '", '  n/.env\n', '  n/l -> /nope\n']) assert.ok(text.includes(part), text);
    assert.match(text, /n: 4 entries/);
    await sh(`printf 'here\\n' | tee '/workspace/n/trail ' $'/workspace/n/new\\nline'`);
    for (const path of ['n/trail ', 'n/new\nline']) assert.match(await ok('read_file', { path }), /\n1\there\n/);
    await ok('edit_file', { path: 'n/trail ', old_text: 'here', new_text: 'there' });
    assert.match((await sh("cat '/workspace/n/trail '")).text, /\nthere\n/);
  });

  test('many writes into one new folder at once all succeed', async () => {
    const paths = Array.from({ length: 12 }, (_, i) => `new/deep/er/${i}`);
    await Promise.all(paths.map((path) => ok('write_file', { path, content: `${path}\n` })));
    assert.match((await sh('cat /workspace/new/deep/er/* | wc -l')).text, /\n12\n/);
  });

  test('commands and tools work on the files and folders of each other', async () => {
    await sh('mkdir -p /workspace/mine; umask 077; mkdir /workspace/mine/private');
    await ok('write_file', { path: 'mine/private/x', content: 'a\n' });
    await ok('write_file', { path: 'theirs/x', content: 'a\n' });
    assert.match((await sh('cd /workspace; stat -c %a mine/private/x; echo b >>mine/private/x; rm mine/private/x theirs/x; rmdir mine/private theirs')).text, /\[exit 0\]\n644\n/);
  });

  test('CRLF, a byte order mark and curly quotes stay as they are', async () => {
    const bytes = async (path) => (await sh(`od -An -tx1 /workspace/${path} | tr -d ' \n'`)).text.split('\n')[1];
    await sh(`cd /workspace; printf '\\xef\\xbb\\xbffirst\\r\\nsecond “x” �\\r\\n' >crlf`);
    const before = await bytes('crlf');
    assert.match(await ok('read_file', { path: 'crlf' }), /UTF-8 with BOM, CRLF line ends\n1\tfirst\n2\tsecond “x” �\n/);
    await ok('edit_file', { path: 'crlf', old_text: 'first\nsecond', new_text: '1st\n2nd\n3rd' });
    assert.equal(await bytes('crlf'), Buffer.from('\ufeff1st\r\n2nd\r\n3rd “x” �\r\n').toString('hex'));
    await ok('edit_file', { path: 'crlf', undo: 'all' });
    assert.equal(await bytes('crlf'), before);
  });

  test('what is no text is named, however large, and never read whole', async () => {
    await sh('cd /workspace; printf "PK\\3\\4word/document.xml" >a.docx; truncate -s 3G hole; (seq 1 20000000; echo the end) >log');
    await refused('read_file', { path: 'a.docx' }, /a\.docx is not text: ZIP archive/);
    await refused('read_file', { path: 'hole' }, /hole is not text: .*3\.0 GiB/);
    assert.match(await ok('read_file', { path: 'log', offset: 5000, limit: 2 }), /of at least .*\n5000\t5000\n5001\t5001\n/);
    await refused('edit_file', { path: 'log', old_text: 'the end', new_text: 'x' }, /files over 32 MiB cannot be edited here/);
    await refused('read_file', { path: '/home/user/x' }, /must be under \/workspace/);
    // The hole stays one.
    assert.match((await sh('stat -c %b /workspace/hole; rm /workspace/hole /workspace/log')).text, /\n0\n/);
  });

  test('ten thousands of files are listed and counted, and go away', async () => {
    await sh('mkdir /workspace/many; cd /workspace/many; seq -f f%05g 60000 | xargs touch');
    assert.match(await ok('find_files', { path: 'many', name: 'f5*' }), /many: 10,000 of 60,000 entries match f5\*, the first 200 shown/);
    assert.match((await sh('rm -rf /workspace/many; ls /workspace | grep -c many')).text, /\n0\n/);
  });

  test('placeholders are pointed out', async () => {
    assert.match(await ok('write_file', { path: 'p.c', content: 'int a;\n// ... rest unchanged ...\n' }), /Warning: line 2 looks like a placeholder/);
  });

  test('text search with context, and its words when there is nothing', async (t) => {
    if (!has('rg')) {
      await refused('find_files', { text: 'x' }, /ripgrep is not installed/);
      return t.skip('no ripgrep in the image');
    }
    await sh('mkdir /workspace/t; cd /workspace/t; printf "a\\nneedle(1\\nb\\n" > f.c; echo needle > g.py');
    assert.match(await ok('find_files', { path: 't', text: 'needle', name: '*.c', context: 1 }), /1 matching line in 1 file\nt\/f\.c\n1- a\n2: needle\(1\n3- b\n/);
    assert.match(await ok('find_files', { path: 't', text: 'needle(' }), /plain text/);
    assert.match(await ok('find_files', { path: 't', text: 'zzz' }), /No match/);
    await refused('find_files', { path: 'nope', text: 'x' }, /nope does not exist/);
    await refused('find_files', { path: 't', text: 'needle', name: '*.{c' }, /nothing was searched: name is no valid glob/);
    await refused('find_files', { path: 't', text: 'needle\nb' }, /nothing was searched: text must be one line/);
    return undefined;
  });

  test('with a text as without one, a name is matched below the path', async (t) => {
    if (!has('rg')) return t.skip('no ripgrep in the image');
    await sh('mkdir -p "/workspace/proj [1]/src/deep" /workspace/src; cd "/workspace/proj [1]"; for f in src/a.c src/deep/b.c c.c src/a.h "!n.c" ../src/z.c; do echo pin >"$f"; done; ln -s "proj [1]" ../proj');
    for (const path of ['proj [1]', '/workspace/proj [1]/', './proj [1]/src/..', 'proj'])
      for (const [name, ...want] of [
        ['src/**/*.c', 'src/a.c', 'src/deep/b.c'], ['/c.c', 'c.c'], ['{src,no}/*.h', 'src/a.h'], ['a.?', 'src/a.c', 'src/a.h'],
        ['*.c', '!n.c', 'c.c', 'src/a.c', 'src/deep/b.c'], ['!n.c', '!n.c'], ['**/deep/*', 'src/deep/b.c'],
      ]) {
        const lines = (await ok('find_files', { path, name, text: 'pin' })).split('\n');
        const root = path.replace('/workspace/', '').replace(/^\.\//, '').replace(/\/$/, '');
        const shown = lines.filter((line) => line.includes(root)).map((line) => line.slice(line.indexOf(root) + root.length + 1).replace(/'$/, ''));
        assert.deepEqual(shown, want, `${path} ${name}: ${lines.join('\n')}`);
        if (path !== 'proj') continue;
        const listed = await ok('find_files', { path, name });
        for (const file of want) assert.ok(listed.includes(`proj/${file}`), `${name} lists ${file}: ${listed}`);
      }
    return undefined;
  });

  test('ignore rules, limits and order of a search', async (t) => {
    if (!has('rg')) return t.skip('no ripgrep in the image');
    await sh('mkdir -p /workspace/g/out /workspace/g/.git; cd /workspace/g; echo out/ >.gitignore; echo pin | tee out/x .git/x .env z.c; for i in $(seq 400); do echo pin; done >many');
    const text = await ok('find_files', { path: 'g', text: 'pin' });
    assert.match(text, /402 matching lines in 3 files, the first 150 shown; narrow it by path or name\ng\/\.env\n1: pin\ng\/many\n/);
    assert.doesNotMatch(text, /out\/x|\.git\/x/);
    // A folder that is named is searched.
    assert.match(await ok('find_files', { path: 'g/out', text: 'pin' }), /1 matching line in 1 file\ng\/out\/x\n/);
    assert.match(await ok('find_files', { path: 'g', name: '*' }), /\[not searched: 1 folders such as /);
    return undefined;
  });

  test('symbols as addresses, and the map', async (t) => {
    if (!has('ctags') || !has('rg')) {
      await refused('read_file', { path: 'p.c:main' }, /ctags did not run/);
      return t.skip('no ctags in the image');
    }
    await sh('mkdir -p /workspace/m/lib; cd /workspace/m; printf "#include \\"lib/x.h\\"\\n#include \\"gone.h\\"\\nint main(void)\\n{\\n\\treturn add(1);\\n}\\n\\nstatic int other(void)\\n{\\n\\treturn 0;\\n}\\n" > main.c; echo "int add(int);" > lib/x.h; printf "export function f(x) {\\n  return \\"}\\";\\n}\\n\\nconst y = 1;\\n" > a.ts');
    assert.match(await ok('read_file', { path: 'm/main.c:other' }), /lines 8-11 of 11.*\n8\tstatic int other/);
    assert.match(await ok('read_file', { path: 'm/a.ts:f' }), /1\t.*\n2\t.*\n3\t}\n\[more/);
    await ok('edit_file', { path: 'm/main.c:other', new_text: 'static int other(void)\n{\n\treturn 7;\n}' });
    assert.match((await sh('sed -n 10,11p /workspace/m/main.c')).text, /\treturn 7;\n}\n/);
    assert.match(await ok('edit_file', { path: 'm/main.c:other', undo: 'last' }), /Undid 1 edit/);
    await refused('edit_file', { path: 'm/nope.c:other', undo: 'last' }, /m\/nope\.c does not exist/);
    await refused('read_file', { path: 'm/main.c:nope' }, /no symbol nope in m\/main\.c; it has main, other/);
    for (const round of ['first', 'again']) {
      const map = await ok('project_map', { path: 'm' });
      for (const part of ['m: 3 files', 'Entry points: m/main.c', 'main, other', 'm/lib/x.h (imported by 1)', 'm/main.c -> "gone.h"'])
        assert.ok(map.includes(part), `${round}: ${part}\n${map}`);
    }
    assert.match(await ok('project_map', { path: 'm/main.c' }), /8-11 +function other\(void\)\nImports: "lib\/x\.h", "gone\.h"/);
    assert.match(await ok('project_map', { query: 'other' }), /Defined:\nm\/main\.c:other {2}line 8-11/);
    return undefined;
  });
});
