// Attempts from inside a sandbox to get out, to reach a neighbour, or to trick the server's own
// tools, and what must come of each.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { Berth, withoutBerth } from '../e2e/lib/berth.mjs';
import { groups } from './attempts.mjs';
import { leftovers } from './leftovers.mjs';
import { neighbours } from './neighbours.mjs';
import { tricks } from './tricks.mjs';

/** What set-up needs to part what sandboxes share: not every container that tests run in has it. */
const capabilities = BigInt(`0x${readFileSync('/proc/self/status', 'utf8').match(/^CapEff:\t(\w+)/m)[1]}`);
const lacks = (needs) => needs === 'CAP_SYS_RESOURCE' && !(capabilities & (1n << 24n)) && `root has no ${needs} here`;

const body = (text) => text.slice(text.indexOf('\n') + 1);

describe('hostile', { skip: withoutBerth }, () => {
  let berth;
  before(async () => {
    berth = await Berth.start({ pool: { slots: 6 } });
    const content = readFileSync(new URL('attempt.py', import.meta.url), 'utf8');
    const { isError, text } = await berth.call('write_file', { path: 'attempt.py', content, sandbox: 'test' });
    assert.equal(isError, false, text);
  });
  after(() => berth?.stop());

  /** The answers to all of these expressions, by number: one interpreter, a child for each. */
  async function tryAll(attempts) {
    const stdin = attempts.map(({ expression }) => `${expression}\n`).join('');
    const { text } = await berth.sh('python3 /workspace/attempt.py', { stdin });
    return new Map([...text.matchAll(/^(\d+) (.*)$/gm)].map(([, number, answer]) => [Number(number), answer]));
  }

  for (const [group, attempts] of Object.entries(groups)) {
    describe(group, () => {
      const expressions = attempts.filter(({ expression }) => expression);
      let answers;
      before(async () => (answers = await tryAll(expressions)));
      expressions.forEach(({ name, expected }, number) => it(name, () => assert.match(answers.get(number), expected)));
      for (const { name, command, expected } of attempts.filter((attempt) => attempt.command)) {
        it(name, async () => assert.match(body((await berth.sh(command)).text), expected));
      }
    });
  }

  describe('neighbours', () => {
    for (const { name, mine, theirs, expected, needs } of neighbours) {
      it(name, { skip: lacks(needs) }, async () => {
        await berth.sh(mine, { label: 'victim' });
        assert.match(body((await berth.sh(theirs, { label: 'thief' })).text), expected);
      });
    }
  });

  describe('the server\'s own tools', () => {
    before(() => berth.sh('mkdir -p /workspace/d; echo content >/workspace/file', { label: 'tools' }));
    for (const { name, prepare, tool, args, expected } of tricks) {
      it(name, async () => {
        if (prepare) await berth.sh(prepare, { label: 'tools' });
        const { text } = await berth.call(tool, { sandbox: 'tools', ...args });
        assert.match(text, expected);
        assert.doesNotMatch(text, /root:[x*]:0:0|content of the host/);
      });
    }
  });

  describe('what is left behind for the next start or for who empties it', () => {
    for (const [name, command] of leftovers) {
      it(name, async () => {
        await berth.sh(command, { label: 'leftovers' });
        for (const what of ['container', 'everything']) {
          const { text, isError } = await berth.call('reset_sandbox', { what, sandbox: 'leftovers' });
          assert.equal(isError, false, text);
          const { text: next } = await berth.sh('ls -A /workspace /etc/resolv.conf /tmp /dev/null; pwd', { label: 'leftovers' });
          assert.match(next, /\[exit 0\][^]*^\/workspace$/m);
          if (what === 'everything') assert.match(next, /^\/workspace:\n\n?\/workspace$/m);
        }
      });
    }
  });

  it('and the sandbox and the server are well afterwards', async () => {
    assert.match((await berth.sh('echo well')).text, /\[exit 0\]\n(.*\n)?well/);
    assert.equal((await fetch(`${berth.origin}/health`)).status, 200);
  });
});
