// Files in and out of a full workspace, with limits that the kernel enforces: said in words everywhere,
// nothing is left half written, and what makes room again works. What commands see: disk.test.mjs.
import assert from 'node:assert/strict';
import { accessSync, constants, readFileSync } from 'node:fs';
import http from 'node:http';
import { after, before, describe, it } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';

const MiB = 1024 * 1024;
const first = (text) => text.split('\n')[0];
const body = (text) => text.split('\n').filter((line) => !/^\[(sandbox|note)/.test(line)).join('\n');

function withoutBtrfs() {
  try {
    accessSync('/sbin/mkfs.btrfs', constants.X_OK);
    accessSync('/dev/loop-control', constants.W_OK);
    return /\bbtrfs\n/.test(readFileSync('/proc/filesystems', 'utf8')) ? false : 'needs btrfs in the kernel';
  } catch (error) {
    return `needs btrfs and loop devices (${error.message})`;
  }
}

describe('files at a full quota', { skip: withoutBerth || withoutBtrfs() }, () => {
  let berth;
  let link;
  const sh = async (command) => body((await berth.sh(command)).text).trim();
  const names = () => sh('ls -A1 | sort');
  const put = async (name, data) => {
    const answer = await fetch(link + name, { method: 'PUT', body: data });
    return { status: answer.status, text: await answer.text() };
  };
  /** Until not even a page more goes in. */
  const fill = () => berth.sh('head -c 100M /dev/urandom >big; for i in {1..64}; do head -c 4K /dev/urandom >>rest || break; done; exit 1');

  before(async () => {
    berth = await Berth.start({ pool: { slots: 2, storage: 'btrfs' }, sandbox: { workspace: '16M', layer: '64M' } });
    assert.match(readFileSync(`${berth.dir}/slots.status`, 'utf8'), /workspace_bounded=yes/);
    await sh('echo kept >small; seq 100 >lines');
    const { text } = await berth.call('request_upload', { sandbox: 'test' });
    link = text.match(/http:\S+\/up\/\S+/)[0];
  });
  after(() => berth?.stop());

  it('the command that fills it is told so, and how much there is', async () => {
    const { text, isError } = await fill();
    assert.equal(isError, false);
    assert.match(first(text), /\[exit 1\] \[disk quota reached: 16\.0 of 16\.0 MiB\]$/);
    assert.match(text, /Disk quota exceeded/);
  });

  it('write_file says what to do, and leaves nothing', async () => {
    const before = await names();
    const { text, isError } = await berth.call('write_file', { path: 'new.txt', content: 'x'.repeat(MiB), sandbox: 'test' });
    assert.ok(isError, text);
    assert.match(text, /^\[file error\] write new\.txt: the disk quota is reached; delete something/);
    assert.equal(await names(), before);
  });

  it('edit_file changes the file or leaves it as it was', async () => {
    const before = await names();
    await berth.call('read_file', { path: 'lines', sandbox: 'test' });
    const { text, isError } = await berth.call('edit_file', { path: 'lines', old_text: '\n50\n', new_text: `\n${'y'.repeat(MiB)}\n`, sandbox: 'test' });
    assert.ok(isError, text);
    assert.match(text, /quota is reached/);
    assert.equal(await sh('seq 100 | cmp - lines && echo same'), 'same');
    assert.equal(await names(), before);
  });

  it('edit_file never calls a file damaged that it has not touched', async () => {
    await berth.call('read_file', { path: 'lines', sandbox: 'test' });
    const { text, isError } = await berth.call('edit_file', { path: 'lines', old_text: '\n50\n', new_text: '\n51\n', sandbox: 'test' });
    assert.doesNotMatch(text, /damaged/);
    assert.equal(await sh(`seq 100 ${isError ? '' : "| sed 's/^50$/51/'"} | cmp - lines && echo same`), 'same');
    if (!isError) await berth.call('edit_file', { path: 'lines', undo: 'last', sandbox: 'test' });
  });

  it('an upload is refused in words, and nothing of it stays', async () => {
    const before = await names();
    const { status, text } = await put('up', Buffer.alloc(MiB, 1));
    assert.equal(status, 507);
    assert.match(text, /^up: the sandbox's disk quota is reached; the file was not kept/);
    const form = new FormData();
    form.append('files', new Blob([Buffer.alloc(MiB, 1)]), 'form.bin');
    const answer = await fetch(link, { method: 'POST', body: form });
    assert.equal(answer.status, 422);
    assert.match(await answer.text(), /class="failed"><strong>form\.bin<\/strong> the sandbox&#39;s disk quota is reached/);
    assert.equal(await names(), before);
    assert.match(await (await fetch(link)).text(), /\d+ (bytes|KiB) of 16 MiB are free/);
  });

  it('long output is shown, with a word on what was not kept', async () => {
    const { text, isError } = await berth.sh('seq 1 200000');
    assert.equal(isError, false);
    assert.match(first(text), /\[exit 0\]$/);
    assert.match(text, /\n200000\n/);
    assert.match(text, /left out here/);
    assert.match(text, /disk quota is reached/);
  });

  it('files can be read, presented and downloaded', async () => {
    assert.match((await berth.call('read_file', { path: 'small', sandbox: 'test' })).text, /1\tkept/);
    const { text, isError } = await berth.call('present_file', { path: 'small', sandbox: 'test' });
    assert.equal(isError, false, text);
    const answer = await fetch(text.match(/http:\S+\/dl\/\S+/)[0]);
    assert.deepEqual([answer.status, await answer.text()], [200, 'kept\n']);
  });

  it('a new container starts, heredocs work, and rm makes room', async () => {
    await berth.call('reset_sandbox', { what: 'container', sandbox: 'test' });
    assert.equal(await sh('cat <<END\nhere\nEND'), 'here');
    const { text } = await berth.sh('rm -f big rest && echo done >again && cat again');
    assert.match(first(text), /\[exit 0\]$/);
    assert.match(text, /^done$/m);
    assert.equal((await put('up', Buffer.alloc(MiB, 1))).status, 201);
    assert.equal(await sh('stat -c %s up'), String(MiB));
  });

  it('an upload that fills it on the way leaves nothing', async () => {
    const before = await names();
    const { status, text } = await put('larger', Buffer.alloc(15.5 * MiB, 1));
    assert.equal(status, 507, text);
    assert.match(text, /quota is reached/);
    assert.equal(await names(), before);
    assert.equal((await put('fits', Buffer.alloc(10 * MiB, 1))).status, 201);
  });

  it('a full one can be emptied', async () => {
    await fill();
    const { text, isError } = await berth.call('reset_sandbox', { what: 'everything', sandbox: 'test' });
    assert.equal(isError, false, text);
    assert.equal(await names(), '');
  });

  /** All of the quota but a little is free. */
  const isFree = async () => {
    assert.equal(await sh('head -c 14M /dev/urandom >big && stat -c %s big'), String(14 * MiB));
    await sh('rm big');
  };
  const empty = async () => {
    const { text, isError } = await berth.call('reset_sandbox', { what: 'everything', sandbox: 'test' });
    assert.equal(isError, false, text);
  };

  it('a file that is being sent is not kept when its sandbox is emptied', async () => {
    await sh('head -c 14M /dev/urandom >sent');
    const { text } = await berth.call('present_file', { path: 'sent', sandbox: 'test' });
    const res = await new Promise((done, fail) => http.get(text.match(/http:\S+\/dl\/\S+/)[0], { agent: false }, done).on('error', fail));
    const closed = new Promise((done) => res.pause().on('error', () => {}).on('close', done));
    await empty();
    await isFree();
    res.resume();
    await closed;
    assert.equal(res.complete, false);
  });

  it('nor is one that is being received, which is said', async () => {
    const req = http.request(`${link}received`, { method: 'PUT', headers: { 'Content-Length': 15 * MiB }, agent: false });
    const answered = new Promise((done, fail) => req.on('response', done).on('error', fail));
    await new Promise((done) => req.write(Buffer.alloc(14 * MiB, 1), done));
    await empty();
    const answer = await answered;
    assert.equal(answer.statusCode, 503);
    assert.match(answer.headers['retry-after'], /^\d+$/);
    assert.match((await answer.toArray()).join(''), /sandbox was emptied meanwhile\. Try again/);
    req.destroy();
    await isFree();
    assert.equal(await names(), '');
    assert.equal((await put('received', Buffer.alloc(MiB))).status, 201);
  });
});
