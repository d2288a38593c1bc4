// berth doctor on a real installation: right where all is right, and in words where it is not.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';

describe('doctor', { skip: withoutBerth }, () => {
  let berth;
  before(async () => (berth = await Berth.start({ sandbox: { disk_bandwidth: '64M' } })));
  after(() => berth?.stop());

  function doctor(...args) {
    const env = { ...process.env, http_proxy: 'http://127.0.0.1:9' }; // which does not lead to this machine
    const { stdout, status } = spawnSync(join(berth.programs, 'berth'), ['doctor', '--config', berth.configFile, ...args], { encoding: 'utf8', env });
    return { stdout, status };
  }
  function checks(...args) {
    const { stdout, status } = doctor('--json', ...args);
    const answer = JSON.parse(stdout);
    assert.equal(answer.ok, status === 0, stdout);
    return Object.fromEntries(answer.checks.map(({ check, ...rest }) => [check, rest]));
  }

  it('finds nothing required amiss on a server that runs', () => {
    const { stdout, status } = doctor();
    assert.equal(status, 0, stdout);
    assert.match(stdout, /\n0 failed, \d+ warnings/);
    assert.equal(checks()['/health'].verdict, 'ok');
    assert.match(checks().storage.found, /^dir: the size of the workspace and the layer is measured, not enforced by the kernel; sandboxes see the path of their workspace on this host$/);
  });

  it('the server itself is confined, and /health says so', async () => {
    const { enforced } = await (await fetch(`${berth.origin}/health`)).json();
    const [pid] = berth.pids('berthd');
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    assert.equal(enforced.server_filter, true);
    assert.match(status, /^Seccomp:\t2$/m);
    for (const name of ['berthd', 'berth-spawner']) {
      const own = readFileSync(`/proc/${berth.pids(name)[0]}/status`, 'utf8');
      assert.match(own, /^NoNewPrivs:\t1$/m);
      assert.match(own, /^CapBnd:\t0+$/m);
      assert.equal(statSync(`/proc/${berth.pids(name)[0]}/fd`).uid, 0, `${name} can be debugged by its own user`);
    }
    // For newuidmap, where a slot has no prepared namespace.
    assert.match(readFileSync(`/proc/${berth.pids('berth-spawner')[0]}/cmdline`, 'utf8'), /\0--uid-base\x001048576\0/);
    assert.match(checks().confinement.found, new RegExp(`Landlock version ${enforced.server_landlock} `));
  });

  it('a limit of disk bandwidth that cannot be enforced is said not to be', async () => {
    const { enforced } = await (await fetch(`${berth.origin}/health`)).json();
    const { text } = await berth.call('sandbox_info', { sandbox: 'test' });
    assert.match(text, /^ {2}disk, reading and writing each: 64 MiB\/s/m);
    assert.equal(/64 MiB\/s \(NOT enforced on this host\)$/m.test(text), !enforced.io);
    assert.match(checks('--set', 'sandbox.disk_bandwidth=0')['disk bandwidth'].found, /^no limit is asked for/);
    if (existsSync('/sys/fs/cgroup/cgroup.controllers')) return;
    const { verdict, found, fix } = checks()['disk bandwidth'];
    assert.deepEqual([enforced.io, verdict], [false, 'warning']);
    assert.match(found, /control groups of version 2/);
    assert.match(fix, /sandbox\.disk_bandwidth = 0/);
  });

  it('fewer processes on the host than all sandboxes may have are worth a warning', () => {
    assert.equal(checks('--set', 'pool.slots=1', '--set', 'sandbox.processes=16').processes.verdict, 'ok');
    const { verdict, found, fix } = checks('--set', 'pool.slots=5000', '--set', 'sandbox.processes=800').processes;
    assert.equal(verdict, 'warning', found);
    assert.match(fix, /^sysctl -w kernel\.(threads-max|pid_max)=4004096$/);
  });

  it('a program that others may write is a failure', () => {
    const init = join(berth.programs, 'berth-init');
    chmodSync(init, 0o733);
    const { programs } = checks();
    chmodSync(init, 0o711);
    assert.equal(programs.verdict, 'FAIL');
    assert.match(programs.found, /berth-init can be written by others/);
    assert.match(programs.fix, / chmod 0711 \S*berth-init$/);
  });

  it('more slots than prepared, another network, and a user that is not there', () => {
    const { slots, network, "server's user": user } = checks('--set', 'pool.slots=9', '--set', 'network.mode=internet', '--set', 'server.user=nosuchuser');
    assert.deepEqual([slots.verdict, network.verdict, user.verdict], ['FAIL', 'FAIL', 'FAIL']);
    for (const { fix } of [slots, network, user]) assert.equal(fix, 'berth setup (as root)');
  });

  it('a quota that setup has not applied: doctor says so, and the server does not begin', async () => {
    const { verdict, found, fix } = checks('--set', 'sandbox.workspace=3G').slots;
    assert.deepEqual([verdict, fix], ['FAIL', 'berth setup (as root)']);
    assert.match(found, /other settings/);
    await berth.halt();
    const { status, stderr } = spawnSync(join(berth.programs, 'berth'), ['serve', '--config', berth.configFile, '--set', 'sandbox.workspace=3G'], { encoding: 'utf8' });
    assert.equal(status, 1, stderr);
    assert.match(stderr, /the slots were not set up with the present configuration .*run berth setup/);
    await berth.serve();
  });

  it('without an installation it fails, and says what to do first', () => {
    const { image, slots } = checks('--state', '/nonexistent');
    assert.deepEqual([image.verdict, slots.verdict], ['FAIL', 'FAIL']);
    assert.match(image.fix, /berth image build/);
  });

  it('refuses what it does not take', () => assert.equal(doctor('more').status, 2));
});
