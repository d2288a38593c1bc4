// The syntax check that comes with a write or an edit, by the standard tool of each kind.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';

const output = (program, ...args) => execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();

/** Python's YAML, as this machine has it: the small image lacks it. */
function copyYaml(to) {
  const folder = output('python3', '-c', 'import os, yaml; print(os.path.dirname(yaml.__file__))');
  cpSync(folder, join(to, 'usr/lib/python3/dist-packages/yaml'), { recursive: true, filter: (path) => !/\.so$|__pycache__/.test(path) });
}

/** This machine's gcc with what it needs to parse C. */
function copyGcc(to) {
  const cc1 = output('gcc', '-print-prog-name=cc1');
  copyPrograms(to, ['/usr/bin/gcc', cc1, join(dirname(cc1), 'liblto_plugin.so')]);
}

/** Programs of this machine with their libraries. */
function copyPrograms(to, programs) {
  const libraries = programs.flatMap((path) => [...output('ldd', path).matchAll(/=> (\/\S+)/g)].map(([, library]) => library));
  for (const path of new Set([...programs, ...libraries])) {
    mkdirSync(dirname(join(to, path)), { recursive: true });
    copyFileSync(path, join(to, path));
  }
}

describe('syntax checks', { skip: withoutBerth }, () => {
  let berth;
  const call = async (name, args) => (await berth.call(name, { sandbox: 'syntax', ...args })).text;
  const sh = (command) => berth.sh(command, { label: 'syntax' });
  const works = async (command) => /\[exit 0\]/.test((await sh(command)).text);
  const firstLine = (text) => text.split('\n')[0];

  /** Brings programs of this machine into the sandbox; false where it lacks them itself. */
  async function bring(copy) {
    try {
      await berth.put('.programs', copy, { label: 'syntax' });
    } catch {
      return false;
    }
    return works('cd /workspace && tar -C .programs -c . | tar -C / -x --keep-directory-symlink --skip-old-files && rm -r .programs');
  }

  before(async () => {
    berth = await Berth.start();
    await sh('true');
  });
  after(() => berth?.stop());

  test('a compiler that does not work is no verdict', async (t) => {
    if (await works('gcc --version')) return t.skip('there is one that works');
    await sh("printf '#!/bin/sh\\necho gcc: fatal error: no input files\\nexit 1\\n' >/usr/local/bin/gcc; chmod +x /usr/local/bin/gcc");
    assert.match(firstLine(await call('write_file', { path: 'x.c', content: 'int f(\n' })), /^\[sandbox \S+\]$/);
    await sh('rm /usr/local/bin/gcc');
    return undefined;
  });

  const kinds = [
    { file: 'a.json', tool: 'python3 -V', good: '{"a": [1, 2]}\n', bad: '{"a": [1, 2}\n', says: /Expecting ',' delimiter: line 1/ },
    { file: 'a.yaml', tool: 'python3 -c "import yaml"', copy: copyYaml, good: 'a:\n  - b: 1\n', bad: 'a:\n  - b: [1\n', says: /expected ',' or '\]'/ },
    { file: 'a.toml', tool: 'python3 -c "import tomllib"', good: '[a]\nb = 1\n', bad: '[a\nb = 1\n', says: /at line 1/ },
    { file: 'a.py', tool: 'python3 -V', good: 'def f():\n    return 1\n', bad: 'def f(:\n    return 1\n', says: /line 1: invalid syntax/ },
    { file: 'a.sh', tool: 'bash --version', good: 'if true; then echo; fi\n', bad: 'if true; then echo\n', says: /unexpected end of file/ },
    { file: 'a.js', tool: 'node --version', copy: (to) => copyPrograms(to, ['/usr/bin/node']), good: 'export const a = 1;\nfunction f() {}\n', bad: 'export const a = 1;\nfunction f( {\n', says: /SyntaxError: / },
    { file: 'a.c', tool: 'gcc --version', copy: copyGcc, good: 'int f(void)\n{\n\treturn 1;\n}\n', bad: 'int f(void)\n{\n\treturn 1\n}\n', says: /a\.c:3:.* error: expected/ },
  ];
  for (const { file, tool, copy, good, bad, says } of kinds)
    test(file, async (t) => {
      if (!(await works(tool))) {
        // Without the tool nothing is claimed.
        assert.equal(firstLine(await call('write_file', { path: `without-${file}`, content: bad })), firstLine(await call('read_file', { path: `without-${file}` })));
        if (!copy || !(await bring(copy)) || !(await works(tool))) return t.skip(`neither the image nor this machine has ${tool}`);
      }
      const fine = await call('write_file', { path: file, content: good });
      assert.match(firstLine(fine), /\[syntax ok\]/, fine);
      const broken = await call('edit_file', { path: file, old_text: good, new_text: bad });
      assert.match(firstLine(broken), /\[syntax error\]/, broken);
      assert.match(broken, /The file does not parse now:\n/);
      assert.match(broken, says);
      assert.match(firstLine(await call('edit_file', { path: file, undo: 'last' })), /\[syntax ok\]/);
      return undefined;
    });

  test('scripts without a suffix are what their first line says', async () => {
    const rows = [
      ['py', '#!/usr/bin/env python3\ndef f(:\n', /\[syntax error\]/],
      ['sh', '#!/bin/sh\nif true; then\n', /\[syntax error\]/],
      ['ok', '#!/bin/bash\ntrue\n', /\[syntax ok\]/],
      ['zsh', '#!/bin/zsh\nif true; then\n', /^\[sandbox \S+\]$/],
      ['perl', '#!/usr/bin/perl\nif (\n', /^\[sandbox \S+\]$/],
      ['text', 'if true; then\n', /^\[sandbox \S+\]$/],
    ];
    for (const [path, content, want] of rows) assert.match(firstLine(await call('write_file', { path: `bin/${path}`, content })), want, path);
  });

  test('what is no mistake is not called one', async () => {
    const rows = [
      ['tsconfig.json', '{\n  // comments are allowed here\n  "a": 1\n}\n'],
      ['deep.json', '['.repeat(20000) + ']'.repeat(20000)],
      ['dir/json.py', 'import json\n'],
      ['dir/a.json', '{}\n'],
    ];
    for (const [path, content] of rows) assert.doesNotMatch(firstLine(await call('write_file', { path, content })), /error/, path);
  });

  test('JavaScript is a module or a script by what is in it', async (t) => {
    if (!(await works('node --version'))) return t.skip('no node in the sandbox');
    const rows = [
      ['script.js', 'const a = require("a");\nwith (a) {}\n', /\[syntax ok\]/],
      ['broken.js', 'const a = require("a");\nfunction f( {\n', /\[syntax error\]/],
      ['module.js', '#!/usr/bin/env node\nimport a from "nowhere";\nawait a;\n', /\[syntax ok\]/],
      ['lines.js', '/*\nimport things\n*/\nconst a = require("a");\nwith (a) {}\n', /^\[sandbox \S+\]$/],
      ['jsx.js', 'import React from "react";\nexport const a = <b>c</b>;\n', /^\[sandbox \S+\]$/],
      ['broken.mjs', 'export const a = 1;\nfunction f( {\n', /\[syntax error\]/],
    ];
    for (const [path, content, want] of rows) assert.match(firstLine(await call('write_file', { path: `js/${path}`, content })), want, path);
    return undefined;
  });

  test('a header that is not found is no verdict', async (t) => {
    if (!(await works('gcc --version'))) return t.skip('no gcc in the sandbox');
    const text = await call('write_file', { path: 'h.c', content: '#include "generated.h"\nint f(\n' });
    assert.match(firstLine(text), /^\[sandbox \S+\]$/);
    return undefined;
  });
});
