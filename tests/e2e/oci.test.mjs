// The second engine: the same sandboxes, made by an OCI runtime.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';
import { eventually } from './lib/programs.mjs';

const missing = (runtime) => !['/usr/bin', '/usr/sbin'].some((dir) => existsSync(join(dir, runtime))) && `needs ${runtime}`;
const first = (text) => text.split('\n')[0];

for (const runtime of ['crun', 'runc']) {
  describe(`engine = oci, runtime = ${runtime}`, { skip: withoutBerth || missing(runtime) }, () => {
    let berth;
    before(async () => (berth = await Berth.start({ pool: { slots: 8 }, sandbox: { engine: 'oci', runtime, idle: 10, warm: 0 } })));
    after(() => berth?.stop());
    /** The runtimes that run for this server: each holds a container. */
    const runtimes = () => {
      const spawners = berth.pids('berth-spawner');
      return execFileSync('ps', ['-eo', 'ppid=,pid=,args='], { encoding: 'utf8' })
        .split('\n')
        .map((line) => line.trim().split(/\s+/))
        .filter(([parent, , name]) => name === runtime && spawners.includes(Number(parent)))
        .map(([, pid]) => Number(pid));
    };

    it('/health and berth doctor name it', async () => {
      const health = await (await fetch(`${berth.origin}/health`)).json();
      assert.equal(health.enforced.engine, `oci:${runtime}`);
      const { stdout, status } = spawnSync(join(berth.programs, 'berth'), ['doctor', '--config', berth.configFile], { encoding: 'utf8' });
      assert.equal(status, 0, stdout);
      assert.match(stdout, new RegExp(`ok +engine +oci: \\S+/${runtime}, ${runtime} version `));
    });

    it('runs commands as root of a container without a trace of the host', async () => {
      const { text } = await berth.sh('id -u; hostname; cat /proc/1/comm; echo $$ >/root/f; ls /run /.dockerenv 2>&1');
      assert.match(text, /\[exit 0\]|\[exit 2\]/);
      assert.match(text, /\n0\nsandbox\nberth-init\n/);
      const mounts = await berth.sh("grep -v ' /workspace ' /proc/self/mountinfo");
      assert.ok(!mounts.text.includes(berth.dir), mounts.text);
      assert.ok(!mounts.text.includes('berth-init'), mounts.text);
    });

    it('files go in and out, with and without a container', async () => {
      await berth.call('write_file', { path: 'a/b', content: 'one\n', sandbox: 'files' });
      assert.match((await berth.sh('cat a/b; echo two >>a/b', { label: 'files' })).text, /\none\n?/);
      assert.match((await berth.call('read_file', { path: 'a/b', sandbox: 'files' })).text, /one\n.*two/s);
    });

    it('a link serves what a command wrote', async () => {
      await berth.sh('echo linked >out.txt', { label: 'links' });
      const { text } = await berth.call('present_file', { path: 'out.txt', sandbox: 'links' });
      const [url] = text.match(/http:\S+\/dl\/\S+/);
      assert.equal(await (await fetch(url)).text(), 'linked\n');
    });

    it('a command that takes too long is ended, with everything it started', async () => {
      const { text } = await berth.sh('setsid sleep 1000 & sleep 1000', { label: 'time', timeout_seconds: 1 });
      assert.match(first(text), /timeout|time/);
      assert.match((await berth.sh('pgrep -x sleep || echo none', { label: 'time' })).text, /none/);
    });

    it('recycling takes the container and keeps the files', async () => {
      await berth.sh('echo kept >/workspace/kept; touch /root/gone', { label: 'idle' });
      await eventually(() => runtimes().length === 0, { every: 500 });
      const { text } = await berth.sh('cat /workspace/kept; ls /root/gone', { label: 'idle' });
      assert.match(first(text), /\[new\]/);
      assert.match(text, /kept\n.*No such file/s);
      assert.equal(runtimes().length, 1);
    });

    it('a runtime that is killed takes its container along, and the next one starts', async () => {
      await berth.sh('sleep 1000 >/dev/null 2>&1 &', { label: 'idle' });
      for (const pid of runtimes()) process.kill(pid, 'SIGKILL');
      await eventually(() => runtimes().length === 0);
      // A call of the same moment may still be told that the container has just ended.
      await eventually(async () => /^fresh$/m.test((await berth.sh('pgrep -x sleep || echo fresh', { label: 'idle' })).text));
    });

    it('nothing is left of it when the spawner is killed', async () => {
      berth.kill('berth-spawner');
      await eventually(async () => /\[exit 0\]/.test((await berth.sh('true', { label: 'idle' })).text));
      assert.equal(runtimes().length, 1);
      assert.deepEqual(readdirSync(join(berth.dir, 'run')).filter((name) => /crun|runc|state|box/.test(name)), []);
    });
  });
}

describe('engine = oci without its runtime', { skip: withoutBerth }, () => {
  it('a program that is no runtime: the call fails, the log has its words, the server goes on', async () => {
    const berth = await Berth.start({ sandbox: { engine: 'oci', runtime: '/usr/bin/env', warm: 0 } });
    try {
      const { text, isError } = await berth.sh('true');
      assert.ok(isError, text);
      assert.match(text, /its log says why/);
      assert.match(berth.server.stderr, /start the container: the OCI runtime: .*--help/);
      assert.equal((await berth.call('write_file', { path: 'f', content: 'x', sandbox: 'test' })).isError, false);
    } finally {
      await berth.stop();
    }
  });

  it('does not serve, and says why', async () => {
    await assert.rejects(Berth.start({ sandbox: { engine: 'oci', runtime: 'no-such-runtime' } }), (error) => {
      assert.match(String(error.message ?? error), /no-such-runtime/);
      return true;
    });
  });
});
