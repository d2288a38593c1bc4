// What happens when a program of the server is killed: nothing of it stays, nothing promised is lost.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';
import { traces } from './lib/traces.mjs';

const first = (text) => text.split('\n')[0];

/** Polls: there is no event to wait for when a process that is not ours ends. */
async function until(what, condition, ms = 15000) {
  const end = Date.now() + ms;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

describe('faults', { skip: withoutBerth }, () => {
  let berth;
  let idle; // what it has on the host while no container runs
  before(async () => {
    berth = await Berth.start({ pool: { slots: 6 }, sandbox: { warm: 0 } });
    idle = traces(berth);
    assert.deepEqual(idle.groups, []);
    assert.ok(idle.mounts.length && idle.namespaces.length && idle.sockets.length);
  });
  after(() => berth?.stop());

  it('all sandboxes together may have any number of processes, or the log says what happens', () => {
    const [spawner] = berth.pids('berth-spawner');
    const isFree = spawnSync('prlimit', ['--nproc=unlimited', 'true']).status === 0; // not with a weaker root
    const { 1: limit } = readFileSync(`/proc/${spawner}/limits`, 'utf8').match(/^Max processes +(\S+)/m);
    assert.equal(limit === 'unlimited', isFree);
    assert.equal(berth.log.includes(`all sandboxes together may have ${limit} processes`), !isFree);
  });

  /** Works again, with the files of before. */
  async function works(label) {
    await until('a call works again', async () => {
      try {
        return /\[exit 0\]/.test(first((await berth.sh('true', { label })).text));
      } catch {
        return false;
      }
    });
    assert.match((await berth.sh('cat kept', { label })).text, /^precious$/m);
  }

  for (const name of ['berthd', 'berth-spawner', 'berth-keeper', 'berth-init']) {
    it(`kill -9 of ${name}`, async () => {
      const label = `k-${name}`;
      await berth.sh('echo precious >kept; sleep 4242 & sleep 4243 &', { label });
      const inits = () => execFileSync('sh', ['-c', 'pgrep -f "[s]leep 424[23]" || true'], { encoding: 'utf8' }).trim();
      assert.notEqual(inits(), '');
      assert.ok(berth.kill(name) > 0);
      // A keeper holds no processes; the others take their containers along.
      if (name !== 'berth-keeper') await until('its processes are gone', () => inits() === '');
      await works(label);
      assert.notDeepEqual(traces(berth).groups, []);
      await berth.call('reset_sandbox', { what: 'everything', sandbox: label });
      await until('its last keeper is gone', () => traces(berth).groups.length === 0);
      assert.deepEqual(traces(berth), idle);
    });
  }

  it('a command whose container was lost is never reported as one that ended well', async () => {
    for (const name of ['berth-init', 'berth-spawner']) {
      await berth.sh('rm -f begun', { label: 'lost' });
      const call = berth.sh('echo words; touch begun; sleep 4250', { label: 'lost' });
      await until('it runs', async () => /^begun$/m.test((await berth.sh('ls', { label: 'lost' })).text));
      berth.kill(name);
      const { text, isError } = await call;
      assert.ok(isError, text);
      assert.match(text, /^\[sandbox error\] the container ended while the command ran \([^)]+\): .*files in \/workspace are kept/);
      assert.match(text, /^words$/m);
      await until('a call works again', async () => /\[exit 0\]/.test(first((await berth.sh('ls begun', { label: 'lost' })).text)));
    }
  });

  it('a restart between two calls is invisible but for [new]', async () => {
    await berth.sh('echo precious >kept', { label: 'again' });
    await berth.halt();
    await berth.serve();
    const { text } = await berth.sh('cat kept', { label: 'again' });
    assert.match(first(text), /^\[sandbox again-[0-9a-f]{6}\] \[new\] \[exit 0\]$/);
    assert.match(text, /packages and processes of the earlier one are gone; files in \/workspace are kept/);
    assert.match(text, /^precious$/m);
  });

  it('a link survives a restart', async () => {
    await berth.sh('echo precious >kept', { label: 'again' });
    const { text } = await berth.call('present_file', { path: 'kept', sandbox: 'again' });
    const [link] = text.match(/http:\S+\/dl\/\S+/);
    await berth.halt();
    await berth.serve();
    assert.equal(await (await fetch(link)).text(), 'precious\n');
  });

  it('what a job has written so far survives a crash; the job itself is reported as gone', async () => {
    const started = await berth.sh('for i in {1..9000}; do echo "line $i"; done; sleep 4245', { label: 'again', background: true });
    const [, job] = started.text.match(/job (\d+)/);
    const file = await (async () => {
      let path;
      await until('the output is in a file', async () => {
        const { text } = await berth.sh('grep -l "^line 9000$" .berth/output/*.txt || true', { label: 'again' });
        path = text.match(/^\.berth\/output\/\S+$/m)?.[0];
        return path;
      });
      return path;
    })();
    berth.kill('berthd');
    await until('a call works again', async () => {
      try {
        return /\[exit 0\]/.test(first((await berth.sh('true', { label: 'again' })).text));
      } catch {
        return false;
      }
    });
    assert.match((await berth.sh(`wc -l <${file}; pgrep -x sleep || echo none`, { label: 'again' })).text, /^9000\nnone$/m);
    const { text, isError } = await berth.call('job', { job: Number(job), sandbox: 'again' });
    assert.ok(isError, text);
    assert.match(text, /no job|unknown|is gone|not known/i);
  });

  it('a second server on the same state is refused', () => {
    const { status, stderr } = (() => {
      try {
        berth.admin('serve');
        return { status: 0, stderr: '' };
      } catch (error) {
        return error;
      }
    })();
    assert.equal(status, 1);
    assert.match(stderr, /another server is running on this state/);
    assert.match(stderr, /^berth serve: berthd ended \(exit 1\)$/m);
  });

  it('when the supervisor is killed, nothing stays', async () => {
    await berth.sh('sleep 4244 &', { label: 'again' });
    await berth.halt('SIGKILL');
    await until('all processes are gone', () =>
      ['berthd', 'berth-spawner', 'berth-keeper', 'berth-init'].every((name) => berth.pids(name).length === 0) &&
      execFileSync('sh', ['-c', 'pgrep -f "[s]leep 4244" || true'], { encoding: 'utf8' }).trim() === '');
    await berth.serve();
    assert.deepEqual(traces(berth), idle);
  });

  it('when it ends by itself, only what setup made is there; without that, nothing', async () => {
    await berth.sh('sleep 4246 &', { label: 'again' });
    await berth.halt();
    assert.deepEqual(traces(berth), { ...idle, sockets: [] });
    berth.run('berth-slots', '--config', berth.configFile, '--remove');
    const { mounts, groups, namespaces } = traces(berth);
    assert.deepEqual({ mounts, groups, namespaces }, { mounts: [], groups: [], namespaces: [] });
    berth.run('berth-slots', '--config', berth.configFile);
    await berth.serve();
    assert.match((await berth.sh('cat kept', { label: 'again' })).text, /^precious$/m);
  });
});
