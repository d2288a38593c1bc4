// `berth gc` judges alike on every file system that this machine has.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';
import { mounted, without } from './lib/filesystems.mjs';

const run = (program, ...args) => execFileSync(program, args, { stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' });
const keyOf = ({ text }) => text.match(/^\[sandbox ([^\]]+)\]/)[1];
const LONG_AGO = Math.floor(Date.now() / 1000) - 30 * 86400;

describe('berth gc', { skip: withoutBerth }, () => {
  for (const [type, storage] of [['ext4', 'dir'], ['xfs', 'dir'], ['btrfs', 'btrfs']])
    it(`on ${type}`, { skip: without(type) }, () => mounted(type, async (folder) => {
      const berth = await Berth.start({ pool: { slots: 4, storage }, sandbox: { workspace: '64M', layer: '64M' } }, { under: folder });
      try {
        const keys = {};
        for (const label of ['old', 'inside', 'used'])
          keys[label] = keyOf(await berth.call('write_file', { path: 'a/b/file', content: 'x', sandbox: label }));
        const slots = Object.fromEntries(JSON.parse(berth.admin('status', '--json')).sandboxes.map(({ key, slot }) => [key, slot]));
        const workspace = (label) => join(berth.dir, 'slots', String(slots[keys[label]]), 'workspace');
        await berth.halt();
        run('python3', '-c', 'import sqlite3, sys\nwith sqlite3.connect(sys.argv[1]) as db: db.executemany("UPDATE sandboxes SET last_used = ? WHERE key = ?", [(sys.argv[2], key) for key in sys.argv[3:]])',
          join(berth.dir, 'server/berth.db'), String(LONG_AGO), keys.old, keys.inside);
        for (const label of ['old', 'inside', 'used']) run('find', workspace(label), '-exec', 'touch', '-h', '-d', `@${LONG_AGO}`, '{}', '+');
        // The newest change counts, however deep it is, and whatever the folders above say.
        run('touch', join(workspace('inside'), 'a/b/file'));
        await berth.serve();
        const verdicts = (...args) => Object.fromEntries(JSON.parse(berth.admin('gc', '--json', ...args)).sandboxes.map(({ key, verdict, age_s: age }) => [key, { verdict, age }]));
        for (const [args, old] of [[[], 'would be deleted'], [['--delete'], 'deleted']]) {
          const all = verdicts(...args);
          assert.equal(all[keys.old].verdict, old);
          assert.ok(Math.abs(all[keys.old].age - 30 * 86400) < 600, JSON.stringify(all));
          assert.match(all[keys.inside].verdict, /^kept: touched since/);
          assert.match(all[keys.used].verdict, /^kept/);
        }
        for (const label of ['inside', 'used']) assert.match((await berth.call('read_file', { path: 'a/b/file', sandbox: label })).text, /1\tx/);
        assert.match((await berth.call('read_file', { path: 'a/b/file', sandbox: 'old' })).text, /does not exist/);
      } finally {
        await berth.stop();
      }
    }));
});
