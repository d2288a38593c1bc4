// The listening socket outlives the server: while one ends and the next begins, who calls waits. And
// what a restart of the whole host leaves.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';
import { ask } from './lib/mcp.mjs';
import { e2eDir, FrontDoor, freePort, run } from './lib/programs.mjs';

const SIGKILL = 9;
const SIGTERM = 15;
const skip = existsSync('/usr/bin/systemd-socket-activate') ? false : 'needs systemd-socket-activate';

const knock = async (url) => (await ask(new URL('/health', url), { method: 'GET' })).status;

test('it is left with the manager once, and taken up again', async (t) => {
  const door = await FrontDoor.start({}, { wrap: ['/usr/bin/python3', join(e2eDir, 'lib/manager.py')] });
  t.after(async () => {
    door.program.child.stdin.end();
    await door.program.exited;
    await door.stop();
  });
  await door.program.waitFor(/^stored berth-listen\n/);
  for (const signal of [SIGKILL, SIGTERM, SIGKILL]) {
    const lives = door.program.stderr.split('serving ').length;
    door.program.child.stdin.write(`${signal}\n`);
    const started = Date.now();
    do {
      // Nobody is refused. (Without a spawner the health is 503.) Only a call that was under way when
      // the server was killed may break.
      const status = await knock(door.url).catch((error) => (signal === SIGKILL && error.code === 'ECONNRESET' ? 503 : Promise.reject(error)));
      assert.ok([200, 503].includes(status));
      assert.ok(Date.now() - started < 20000);
    } while (door.program.stderr.split('serving ').length === lives);
  }
  assert.equal(door.program.stdout, 'stored berth-listen\n');
});

/** A door whose socket at `port` was passed under a name, configured to listen at `listen`. */
async function passed(t, port, listen, name, more = []) {
  const wrap = ['systemd-socket-activate', '--listen', `127.0.0.1:${port}`, ...more, `--fdname=${name}`];
  const door = await FrontDoor.start({ 'server.listen': `127.0.0.1:${listen}` }, { wrap, visit: port });
  t.after(() => door.stop());
  return door;
}

test('one of a socket unit is used wherever it listens', { skip }, async (t) => {
  const port = await freePort();
  const door = await passed(t, port, await freePort(), 'berthd.socket');
  assert.equal(new URL(door.url).port, String(port));
  assert.equal(await knock(door.url), 503);
});

test('one that was left is used only where the configuration still says so', { skip }, async (t) => {
  const port = await freePort();
  assert.equal(new URL((await passed(t, port, port, 'berth-listen')).url).port, String(port));
  const [old, now] = [await freePort(), await freePort()];
  const door = await passed(t, old, now, 'berth-listen');
  assert.equal(new URL(door.url).port, String(now));
  assert.equal(await knock(door.url), 503);
  await assert.rejects(knock(`http://127.0.0.1:${old}`), /ECONNREFUSED/);
});

test('two are one too many, and said so', { skip }, async (t) => {
  const [one, two] = [await freePort(), await freePort()];
  await assert.rejects(passed(t, one, one, 'a:b', ['--listen', `127.0.0.1:${two}`]), /2 sockets were passed; only one can be used/);
});

test('after a restart of the host it serves when the slots were set up anew, and says so before', { skip: withoutBerth }, async (t) => {
  const berth = await Berth.start();
  t.after(() => berth.stop());
  await berth.sh('echo precious >kept');
  await berth.halt();
  // A restart takes the mounts and leaves the files.
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n').map((line) => line.split(' ')[4]);
  for (const path of mounts.filter((path) => path?.startsWith(`${berth.dir}/`)).reverse()) execFileSync('umount', [path]);
  const { code, stderr } = await run(join(berth.programs, 'berth'), ['serve', '--config', berth.configFile]);
  assert.equal(code, 1);
  assert.match(stderr, /are gone, as after a restart of the host: run berth setup \(as root\)/);
  berth.run('berth-slots', '--config', berth.configFile);
  await berth.serve();
  assert.match((await berth.sh('cat kept')).text, /^precious$/m);
});
