// project_map on projects of six families of languages, and what becomes of the map as files change.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';
import { FAMILIES, makeProject } from './lib/projects.mjs';

describe('project_map', { skip: withoutBerth }, () => {
  let berth;
  let lacks;
  const sh = (command) => berth.sh(command, { label: 'map' });
  const map = async (args) => {
    const { text, isError } = await berth.call('project_map', { sandbox: 'map', ...args });
    assert.ok(!isError, text);
    return text;
  };
  const section = (text, title) => text.split(`\n${title}\n`)[1]?.split(/\n(?=[A-Z][^\n]*:)/)[0] ?? '';

  before(async () => {
    berth = await Berth.start();
    lacks = /\[exit 0\]/.test((await sh('command -v rg ctags')).text) ? false : 'no ripgrep or ctags in the image';
  });
  after(() => berth?.stop());

  for (const [family, { language, target, missing }] of Object.entries(FAMILIES))
    for (const n of [8, 1000])
      test(`${n} files of ${language}`, async (t) => {
        if (lacks) return t.skip(lacks);
        const name = `${family}-${n}`;
        let files;
        await berth.put(name, (folder) => { files = makeProject(folder, family, n); }, { label: 'map' });
        const text = await map({ path: name });
        assert.match(text, new RegExp(`^\\[sandbox .*\\n${name}: ${files} files, `), text);
        assert.match(text, new RegExp(`\nLanguages: .*${language} \\d+ files`), text);
        // Only what is not there is missed, and it is.
        assert.equal(section(text, 'Imports that resolve to nothing:').split('\nNext:')[0], `${name}/${missing}`.replaceAll('\\', ''), text);
        assert.match(text, new RegExp(`\n${name}/${target.replaceAll('.', '\\.')} \\(imported by ${n}\\)`), text);
        assert.ok(text.length < 12000, `${text.length} characters`);
        return undefined;
      });

  test('the map follows what changes', async (t) => {
    if (lacks) return t.skip(lacks);
    await berth.put('live', (folder) => makeProject(folder, 'c', 20), { label: 'map' });
    assert.match(await map({ path: 'live' }), /-> "not\/there\.h"/);
    await sh('mkdir -p /workspace/live/not; echo >/workspace/live/not/there.h');
    assert.doesNotMatch(await map({ path: 'live' }), /resolve to nothing/);
    await sh(`sed -i 's/common.h/uncommon.h/' /workspace/live/pkg0/file7.c; rm /workspace/live/pkg0/file19.c`);
    const text = await map({ path: 'live' });
    assert.match(text, /live: 21 files, /);
    assert.match(text, /common\.h \(imported by 18\)/);
    assert.match(text, /live\/pkg0\/file7\.c -> "uncommon\.h"/);
    return undefined;
  });

  test('maps made at the same time do not disturb each other', async (t) => {
    if (lacks) return t.skip(lacks);
    await berth.put('twin', (folder) => makeProject(folder, 'python', 300), { label: 'map' });
    const alone = await map({ path: 'twin' });
    const texts = await Promise.all(['twin', 'live', 'twin', '', 'twin'].map((path) => map({ path })));
    assert.equal(texts[0], alone);
    assert.equal(texts[2], alone);
    assert.equal(texts[4], alone);
    return undefined;
  });

  // The sandbox's root may put anything in the place of the programs that these tools run.
  describe('a program that is not what it says', () => {
    const fake = (label, name, script) =>
      berth.sh(`cat >/usr/local/bin/${name} && chmod +x /usr/local/bin/${name}; echo '#include "gone.h"' >/workspace/a.c`, { label, stdin: `#!/bin/sh\n${script}\n` });
    const rows = [
      ['floods without names', 'rg', 'exec yes', {}, /^\[file error\] ripgrep did not come to its end/],
      ['floods with names', 'rg', 'exec yes ./a.c | tr "\\n" "\\0"', {}, /: at least 1 files, /],
      ['never ends', 'rg', 'exec sleep 1000', {}, /^\[file error\] ripgrep took too long; name a smaller folder/],
      ['never ends when asked for imports', 'rg', 'case "$*" in *--files*) exec /usr/bin/rg "$@";; esac; exec sleep 1000', {},
        /: 1 files, [^]*\n\[stopped after 20 s: /, /gone\.h/],
      ['never ends', 'ctags', 'exec sleep 1000', {}, /^\[file error\] ctags took too long/],
      ['never ends', 'rg', 'exec sleep 1000', { text: 'gone' }, /^\[file error\] the search took more than 20 s/],
      ['never ends after a match', 'rg', 'printf "./a.c\\0001:here\\n"; exec sleep 1000', { text: 'gone' },
        /at least 1 matching line in 1 file\na\.c\n1: here\n\[stopped after 20 s; the rest was not searched\]/],
      ['floods', 'rg', 'exec yes', { text: 'gone' }, /at least 0 matching lines/],
      ['is killed', 'rg', 'kill -9 $$', {}, /^\[file error\] ripgrep did not come to its end: it cannot be run or was killed/],
      ['is killed when asked for imports', 'rg', 'case "$*" in *--files*) exec /usr/bin/rg "$@";; esac; kill -9 $$', {}, /^\[file error\] ripgrep did not come to its end/],
      ['is killed', 'sort', 'kill -9 $$', {}, /^\[file error\] ripgrep did not come to its end/],
      ['is killed', 'ctags', 'kill -9 $$', {}, /^\[file error\] ctags did not come to its end/],
      ['is killed', 'rg', 'kill -9 $$', { text: 'gone' }, /^\[file error\] ripgrep did not come to its end/],
      ['cannot be run', 'rg', 'exit 126', { query: 'gone' }, /^\[file error\] ripgrep did not come to its end/],
      ['cannot be run', 'rg', 'exit 126', { text: 'gone' }, /^\[file error\] ripgrep did not come to its end/],
    ];

    for (const [what, name, script, args, expected, unexpected = /\0/] of rows)
      test(`${name} ${what}: ${args.text ? 'find_files' : 'project_map'}`, async (t) => {
        if (lacks) return t.skip(lacks);
        await berth.call('reset_sandbox', { what: 'everything', sandbox: 'fake' });
        await fake('fake', name, script);
        const { text } = await berth.call(args.text ? 'find_files' : 'project_map', { sandbox: 'fake', ...args });
        assert.match(text, expected);
        assert.doesNotMatch(text, unexpected);
        return undefined;
      });
  });

  test('names of any bytes are in the map, and nothing of it outlives the sandbox', async (t) => {
    if (lacks) return t.skip(lacks);
    await berth.call('run_command', { command: String.raw`mkdir /workspace/odd; cd /workspace/odd; printf '#include "b c.h"\n#include "gone.h"\n' >$'new\nline.c'; touch 'b c.h' $'\xff.c' ./-n.c`, sandbox: 'odd' });
    const text = (await berth.call('project_map', { path: 'odd', sandbox: 'odd' })).text;
    assert.match(text, /odd: 4 files, .*\nLanguages: C 4 files/);
    assert.match(text, /odd\/b c\.h \(imported by 1\)/);
    assert.match(text, /\n\$'odd\/new\\nline\.c' -> "gone\.h"\n/);
    await berth.call('reset_sandbox', { what: 'everything', sandbox: 'odd' });
    assert.match((await berth.call('project_map', { sandbox: 'odd' })).text, /There are no files/);
    return undefined;
  });
});
