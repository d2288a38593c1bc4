// How long containers and files live: what is promised to stay stays, what goes is said.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readlinkSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';
import { eventually, Program } from './lib/programs.mjs';

const first = (text) => text.split('\n')[0];
const body = (text) => text.split('\n').filter((line) => !/^\[(sandbox|note)/.test(line)).join('\n');
const keyOf = ({ text }) => text.match(/^\[sandbox ([^\]]+)\]/)[1];
/** Every property of every file, in one text. */
const INVENTORY = "find . -printf '%p %y %u %g %m %s %b %T@ %l %n\\n' | sort; find . -type f -exec sha256sum {} + | sort";
const MAKE_FILES = [
  'mkdir -p d/e', 'echo a >d/a', 'chmod 640 d/a', 'chown 1000:100 d/a', 'ln -s a d/link', 'ln d/a d/hard',
  'install -m 4755 /bin/true d/setuid', 'mkdir -m 1777 d/sticky', 'mkfifo d/fifo', ": >'d/odd\nname'", 'chown 65534:65534 d/e', 'truncate -s 30M d/sparse',
].join(' && ');

/** Status of the sandbox of this key. */
const status = (berth, key) => JSON.parse(berth.admin('status', '--json')).sandboxes.find((sandbox) => sandbox.key === key);

describe('lifetimes', { skip: withoutBerth }, () => {
  let berth;
  before(async () => {
    berth = await Berth.start({ pool: { slots: 24 }, sandbox: { idle: 10, max_running: 2 } });
  });
  after(() => berth?.stop());
  /** Removes what a test made, so that the next begins with room. */
  const drop = (...labels) => Promise.all(labels.map((label) => berth.call('reset_sandbox', { what: 'everything', sandbox: label })));

  it('an idle container is recycled; its files stay as they were, and the answer says so', async () => {
    await berth.sh(`${MAKE_FILES}; touch /root/package; sleep 1000 >/dev/null 2>&1 &`, { label: 'idle' });
    const before = body((await berth.sh(INVENTORY, { label: 'idle' })).text);
    const key = keyOf(await berth.sh('true', { label: 'idle' }));
    assert.equal(status(berth, key).container, true);
    await eventually(() => !status(berth, key).container, { every: 500 });
    const again = await berth.sh(INVENTORY, { label: 'idle' });
    assert.match(first(again.text), /\[new\] \[exit 0\]$/);
    assert.match(again.text, /idle and was recycled.*packages and processes.*are gone; files in \/workspace are kept/);
    assert.equal(body(again.text), before);
    assert.match(before, /setuid f root root 4755/);
    const gone = await berth.sh('ls /root/package; pgrep -x sleep; true', { label: 'idle' });
    assert.doesNotMatch(first(gone.text), /\[new\]/);
    assert.match(gone.text, /No such file/);
    await drop('idle');
  });

  it('one with a job under way is not', async () => {
    const { text } = await berth.sh('sleep 14; echo finished', { label: 'job', background: true });
    const [, job] = text.match(/job (\d+)/);
    await eventually(async () => /finished/.test((await berth.call('job', { job: Number(job), wait_seconds: 1, sandbox: 'job' })).text), { every: 5000 });
    const after = await berth.sh('true', { label: 'job' });
    assert.doesNotMatch(first(after.text), /\[new\]/);
    await drop('job');
  });

  it('one into which a file is being uploaded is not, and one from which one is being sent', async () => {
    const labels = ['up', 'down'];
    const keys = await Promise.all(labels.map(async (label) => keyOf(await berth.sh('truncate -s 10G large', { label }))));
    const { text } = await berth.call('request_upload', { sandbox: 'up' });
    const upload = http.request(`${text.match(/http:\S+\/up\/\S+/)[0]}slow`, { method: 'PUT', headers: { 'Content-Length': 20 }, agent: false });
    const answered = new Promise((done, fail) => upload.on('response', done).on('error', fail));
    upload.write('0123456789');
    const presented = await berth.call('present_file', { path: 'large', sandbox: 'down' });
    const download = http.get(presented.text.match(/http:\S+\/dl\/\S+/)[0], { agent: false }, (res) => res.pause());
    download.on('error', () => {});
    await eventually(() => keys.every((key) => status(berth, key).container && status(berth, key).uses > 0));
    // The idle time is over, and the time between two looks for idle containers.
    await new Promise((done) => setTimeout(done, 13000));
    for (const key of keys) assert.equal(status(berth, key).container, true);
    upload.end('0123456789');
    assert.equal((await answered).statusCode, 201);
    download.destroy();
    assert.doesNotMatch(first((await berth.sh('true', { label: 'up' })).text), /\[new\]/);
    // And then they are idle like any other.
    await eventually(() => keys.every((key) => !status(berth, key).container), { every: 500 });
    await drop(...labels);
  });

  it('a third one takes the place of the least recently used idle one', async () => {
    const a = keyOf(await berth.sh('echo a >f', { label: 'a' }));
    const b = keyOf(await berth.sh('echo b >f', { label: 'b' }));
    await berth.sh('true', { label: 'a' });
    await berth.sh('true', { label: 'c' });
    assert.equal(status(berth, b).container, false);
    assert.equal(status(berth, a).container, true);
    const back = await berth.sh('cat f', { label: 'b' });
    assert.match(first(back.text), /\[new\] \[exit 0\]/);
    assert.match(back.text, /another sandbox needed its place.*files in \/workspace are kept/);
    assert.match(back.text, /^b$/m);
    await drop('a', 'b', 'c');
  });

  it('when all are busy a third is refused in words, and nothing of them ends', async () => {
    await berth.sh('sleep 1000', { label: 'a', background: true });
    await berth.sh('sleep 1000', { label: 'b', background: true });
    const { text, isError } = await berth.sh('true', { label: 'c' });
    assert.ok(isError, text);
    assert.match(text, /^\[sandbox error\].*2 sandboxes are running, which is the limit here.*stop a job/s);
    // Files need no container.
    assert.equal((await berth.call('write_file', { path: 'f', content: 'x', sandbox: 'c' })).isError, false);
    assert.doesNotMatch(first((await berth.sh('pgrep -x sleep', { label: 'a' })).text), /\[new\]/);
    await drop('a', 'b', 'c');
  });

  it('no container starts where the disk is nearly full, and that is said', async () => {
    const poor = await Berth.start({ pool: { slots: 2 }, sandbox: { min_free: '16T' } });
    try {
      const { text, isError } = await poor.sh('true');
      assert.ok(isError, text);
      assert.match(text, /^\[sandbox error\].*(free|disk)/);
      // Files need no container.
      assert.equal((await poor.call('write_file', { path: 'f', content: 'x', sandbox: 'test' })).isError, false);
    } finally {
      await poor.stop();
    }
  });

  describe('reset_sandbox', () => {
    it('container: files stay', async () => {
      await berth.sh(`${MAKE_FILES}; touch /opt/x`, { label: 'r' });
      const before = body((await berth.sh(INVENTORY, { label: 'r' })).text);
      const reset = await berth.call('reset_sandbox', { what: 'container', sandbox: 'r' });
      assert.match(reset.text, /\[reset\]|reset/);
      assert.match(reset.text, /files in \/workspace are kept/);
      const { text } = await berth.sh(INVENTORY, { label: 'r' });
      assert.match(first(text), /\[new\]/);
      assert.equal(body(text), before);
      assert.match((await berth.sh('ls /opt/x || true', { label: 'r' })).text, /No such file/);
    });

    it('everything: nothing stays, however it is protected', async () => {
      await berth.sh('mkdir -p deep/$(printf "%0200d/" 1 2 3 4 5 6 7 8); mkdir locked; touch locked/f; chmod 000 locked', { label: 'r' });
      const { text, isError } = await berth.call('reset_sandbox', { what: 'everything', sandbox: 'r' });
      assert.equal(isError, false, text);
      assert.equal(body((await berth.sh('ls -A', { label: 'r' })).text).trim(), '');
    });

    it('stops what runs', async () => {
      await berth.sh('sleep 1000', { label: 'r', background: true });
      await berth.call('reset_sandbox', { what: 'container', sandbox: 'r' });
      assert.match(body((await berth.sh('pgrep -x sleep || echo none', { label: 'r' })).text), /none/);
    });

    it('anything else is refused', async () => {
      const { text, isError } = await berth.call('reset_sandbox', { what: 'files', sandbox: 'r' });
      assert.ok(isError);
      assert.match(text, /container.*or everything/);
    });
  });

  describe('the operator', () => {
    it('berth recycle KEY', async () => {
      const key = keyOf(await berth.sh('echo x >f', { label: 'op' }));
      assert.match(berth.admin('recycle', key), /^begun: /);
      await eventually(() => !status(berth, key).container);
      const { text } = await berth.sh('cat f', { label: 'op' });
      assert.match(first(text), /\[new\]/);
      assert.match(text, /^x$/m);
    });

    it('berth empty KEY', async () => {
      const key = keyOf(await berth.sh('echo x >f', { label: 'op' }));
      assert.match(berth.admin('empty', key), /^begun: /);
      await eventually(() => !status(berth, key));
      const { text } = await berth.sh('cat f || true', { label: 'op' });
      assert.match(text, /No such file/);
    });

    it('a key that is not there', () => {
      for (const command of ['recycle', 'empty'])
        assert.throws(() => berth.admin(command, 'none-000000'), (error) => error.status === 1 && /no sandbox|not/.test(error.stderr));
    });

    it('berth status shows what is there', async () => {
      await berth.sh('head -c 3M /dev/urandom >three; head -c 2M /dev/urandom >/opt/two', { label: 'op' });
      const key = keyOf(await berth.sh('sleep 1000', { label: 'op', background: true }));
      const all = JSON.parse(berth.admin('status', '--json'));
      const one = all.sandboxes.find((sandbox) => sandbox.key === key);
      assert.equal(one.container, true);
      assert.ok(one.uses > 0, JSON.stringify(one));
      assert.equal(all.pool.slots, 24);
      assert.equal(one.jobs, 1);
      if (all.engine.memory_limited) assert.ok(one.memory_bytes > 100000, JSON.stringify(one));
      assert.ok(all.disk.free_bytes > 0 && all.disk.bytes > all.disk.free_bytes);
      assert.equal(one.workspace_bytes, undefined);
      assert.match(berth.admin('status'), new RegExp(`${key}.*in use.*jobs 1`));
      const measured = JSON.parse(berth.admin('status', '--disk', '--json')).sandboxes;
      assert.equal(measured.length, all.sandboxes.length);
      assert.ok(measured.every((sandbox) => sandbox.workspace_bytes >= 0 && sandbox.files >= 0), JSON.stringify(measured));
      const { workspace_bytes: workspace, layer_bytes: layer } = measured.find((sandbox) => sandbox.key === key);
      assert.ok(workspace >= 3 << 20 && workspace < 4 << 20 && layer >= 2 << 20 && layer < 3 << 20, `${workspace} ${layer}`);
      assert.match(berth.admin('status', '--disk'), new RegExp(`^disk .* free of .*$[^]*${key}.*workspace 3(\\.\\d)? MiB   outside 2`, 'm'));
      await drop('op');
    });

    const verdicts = (...args) => Object.fromEntries(JSON.parse(berth.admin('gc', '--json', ...args)).sandboxes.map(({ key, verdict }) => [key, verdict]));

    it('berth gc keeps what it cannot look at to the end, and what is in use', async () => {
      const deep = keyOf(await berth.sh("python3 -c 'import os\nfor i in range(4200): os.mkdir(\"d\"); os.chdir(\"d\")'", { label: 'deep' }));
      const busy = keyOf(await berth.sh('sleep 1000', { label: 'busy', background: true }));
      await eventually(() => status(berth, deep).idle_s > 0);
      const all = verdicts('--delete', '--age', '60');
      assert.match(all[busy], /^kept: in use/);
      assert.match(all[deep], /^kept/);
      await drop('busy', 'deep');
    });

    /** Of a server that does not run: its record of a sandbox, and the files of a slot, are of long ago. */
    const long_ago = Math.floor(Date.now() / 1000) - 30 * 86400;
    const age = (key) => execFileSync('python3', ['-c', 'import sqlite3, sys\nwith sqlite3.connect(sys.argv[1]) as db: db.execute("UPDATE sandboxes SET last_used = ? WHERE key = ?", (sys.argv[2], sys.argv[3]))',
      join(berth.dir, 'server/berth.db'), String(long_ago), key]);
    const touch = (slot) => execFileSync('find', [join(berth.dir, `slots/${slot}/workspace`), '-exec', 'touch', '-h', '-d', `@${long_ago}`, '{}', '+']);

    /** `work` with keepers that do not answer. */
    const withoutKeepers = async (work) => {
      const keepers = berth.pids('berth-keeper');
      assert.ok(keepers.length > 0);
      keepers.forEach((pid) => process.kill(pid, 'SIGSTOP'));
      try {
        return await work();
      } finally {
        keepers.forEach((pid) => process.kill(pid, 'SIGCONT'));
      }
    };
    /** Besides its standard streams. */
    const hasSocket = (pid) => readdirSync(`/proc/${pid}/fd`).some((fd) => fd > 2 && readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:'));

    it('berth gc keeps what came into use while it was looked at', async () => {
      const key = keyOf(await berth.call('write_file', { path: 'f', content: 'x', sandbox: 'back' }));
      const { slot } = status(berth, key);
      await berth.halt();
      age(key);
      touch(slot);
      await berth.serve();
      await berth.sh('true', { label: 'other' });
      assert.equal(verdicts()[key], 'would be deleted'); // and its keeper is there
      const gc = await withoutKeepers(async () => {
        const begun = new Program(join(berth.programs, 'berth'), ['gc', '--delete', '--json', '--config', berth.configFile]);
        await eventually(() => hasSocket(begun.child.pid));
        berth.admin('status'); // is answered when gc has begun
        await berth.sh('sleep 1000', { label: 'back', background: true });
        return begun;
      });
      await gc.exited;
      assert.deepEqual(JSON.parse(gc.stdout).sandboxes.find((one) => one.key === key), { key, verdict: 'kept: in use', age_s: null });
      assert.match((await berth.call('read_file', { path: 'f', sandbox: 'back' })).text, /x/);
      await drop('back', 'other');
    });

    it('berth gc keeps what was touched since, and takes no age that could be a slip', async () => {
      const key = keyOf(await berth.call('write_file', { path: 'f', content: 'x', sandbox: 'young' }));
      assert.match(verdicts()[key], /^kept/);
      assert.match(verdicts('--delete')[key], /^kept/);
      assert.throws(() => berth.admin('gc', '--age', '1'), (error) => /at least|from 60/.test(error.stderr));
      assert.match((await berth.call('read_file', { path: 'f', sandbox: 'young' })).text, /x/);
    });

    it('berth gc deletes what is old by the record and by its files, when it is told to', async () => {
      const old = keyOf(await berth.call('write_file', { path: 'f', content: 'x', sandbox: 'old' }));
      const changed = keyOf(await berth.call('write_file', { path: 'f', content: 'x', sandbox: 'changed' }));
      const used = keyOf(await berth.call('write_file', { path: 'f', content: 'x', sandbox: 'used' }));
      const slotOf = Object.fromEntries([old, changed, used].map((key) => [key, status(berth, key).slot]));
      await berth.halt();
      for (const key of [old, changed]) age(key);
      for (const key of [old, used]) touch(slotOf[key]);
      await berth.serve();
      assert.equal(verdicts()[old], 'would be deleted');
      assert.match(berth.admin('gc'), /^nothing was deleted; --delete would delete 1 of \d+$/m);
      const all = verdicts('--delete');
      assert.equal(all[old], 'deleted');
      for (const key of [changed, used]) assert.match(all[key] ?? 'kept', /^kept/);
      await eventually(() => !status(berth, old));
      for (const label of ['changed', 'used']) assert.match((await berth.call('read_file', { path: 'f', sandbox: label })).text, /x/);
      assert.match((await berth.call('read_file', { path: 'f', sandbox: 'old' })).text, /file error/);
    });
  });
});
