// A sandbox that fills its disk, where the kernel keeps quotas: the result says so, removing works
// at once, and neighbours do not notice.
import assert from 'node:assert/strict';
import { accessSync, constants, readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';
import { eventually } from './lib/programs.mjs';

const first = (text) => text.split('\n')[0];

function withoutBtrfs() {
  if (!/\bbtrfs\b/.test(readFileSync('/proc/filesystems', 'utf8'))) return 'needs btrfs';
  try {
    accessSync('/dev/loop-control', constants.W_OK);
    return false;
  } catch {
    return 'needs loop devices';
  }
}

describe('a full disk', { skip: withoutBerth || withoutBtrfs() }, () => {
  let berth;
  before(async () => {
    berth = await Berth.start({ pool: { storage: 'btrfs', slots: 2 }, sandbox: { workspace: '32M', layer: '64M' } });
  });
  after(() => berth?.stop());

  const sh = async (command, label = 'full') => (await berth.sh(command, { label })).text;

  it('is named by the kernel\'s word, not guessed', async () => {
    assert.match(first(await sh('false')), /\[exit 1\]$/);
    assert.match(first(await sh('head -c 100M /dev/urandom >big')), /\[exit 1\] \[disk quota reached: 32\.0 of 32\.0 MiB\]$/);
  });
  it('leaves room for nothing, and the tools for files say so too', async () => {
    assert.match(first(await sh('cat <<EOF >more\nsome text\nEOF\ncp big bigger')), /disk quota reached/);
    const { text, isError } = await berth.call('write_file', { path: 'x', content: 'x'.repeat(300000), sandbox: 'full' });
    assert.ok(isError);
    assert.match(text, /disk quota is reached; delete something in \/workspace first/);
  });
  it('is nothing to the neighbour', async () => {
    assert.match(first(await sh('head -c 8M /dev/urandom >mine', 'other')), /\[exit 0\]$/);
  });
  it('takes the whole output of a command no more, which is said', async () => {
    const text = await sh('seq 1 20000');
    assert.match(first(text), /\[exit 0\]$/);
    assert.match(text, /not kept|does not hold everything|disk quota/);
  });
  it('is one again after rm', async () => {
    assert.match(first(await sh('rm big more bigger; echo well >after; false')), /\[exit 1\]$/);
    assert.match(await sh('cat after'), /^well$/m);
  });
  it('is bounded outside /workspace too', async () => {
    const text = await sh('head -c 200M /dev/urandom >/var/big');
    assert.match(first(text), /\[exit 1\] \[disk quota reached: 64\.0 of 64\.0 MiB outside \/workspace\]$/);
    assert.match(first(await sh('rm /var/big; false')), /\[exit 1\]$/);
  });
  /** Until not even an empty file can be made; its folders are not empty. */
  const fill = (where) => sh(`cd ${where} && for d in $(seq 40); do mkdir -p d$d/e && echo $d >d$d/e/f; done; head -c 200M /dev/urandom >d1/big
    for i in $(seq 999); do head -c 4K /dev/urandom >d2/$i || break; done; for i in $(seq 999); do : >d2/empty$i || break; done; mkdir d3/x; exit 1`);
  const reset = async (what) => {
    const { text, isError } = await berth.call('reset_sandbox', { what, sandbox: 'full' });
    assert.equal(isError, false, text);
  };
  /** All of it but a little is free. */
  const isFree = async (where, mebibytes) => assert.match(await sh(`head -c ${mebibytes}M /dev/urandom >${where}/free && stat -c %s ${where}/free; rm ${where}/free`), new RegExp(`^${mebibytes * 1024 * 1024}$`, 'm'));

  it('is cured by a new container when it is the layer, and /workspace stays', async () => {
    await sh('echo well >after');
    assert.match(await fill('/var'), /Disk quota exceeded/);
    await reset('container');
    assert.match(await sh('ls /var; cat after'), /^well$/m);
    await isFree('/var', 56);
  });
  it('is cured when the container ended by itself', async () => {
    await fill('/var');
    assert.ok(berth.kill('berth-init'));
    assert.ok(await eventually(async () => /^well$/m.test(await sh('cat after'))));
    await isFree('/var', 56);
  });
  it('is cured when the server was killed meanwhile', async () => {
    await fill('/var');
    await berth.crash();
    assert.match(await sh('cat after'), /^well$/m);
    await isFree('/var', 56);
  });
  it('can be emptied when it is the layer', async () => {
    await fill('/var');
    await reset('everything');
    assert.match(await sh('ls -A; echo empty'), /^empty$/m);
    await isFree('/var', 56);
  });
  it('can be emptied when only folders with something in them are at its top', async () => {
    assert.match(await fill('/workspace'), /Disk quota exceeded/);
    await reset('everything');
    assert.doesNotMatch(await sh('ls -A'), /^d/m);
    await isFree('/workspace', 24);
  });
  it('is bounded in /tmp and /dev/shm, below the memory limit', async () => {
    assert.match(first(await sh('head -c 2G /dev/zero >/tmp/big; rm /tmp/big; head -c 2G /dev/zero >/dev/shm/big; rm /dev/shm/big')), /\[exit 0\]$/);
    assert.match(first(await sh('true')), /\[exit 0\]$/);
  });
});
