// A full public server: 500 slots, 2,000 visitors who arrive at random, on plain directories and on
// btrfs; then 1,000 changes of hands with programs killed at random. Needs root and the image that
// run-tests makes; takes minutes. Prints what it measures, and a line "ok NAME" for each thing that
// holds.
//
//   node tests/load/pool-500.mjs [slots] [visitors] [changes]
import assert from 'node:assert/strict';
import http from 'node:http';
import { Berth, withoutBerth } from '../e2e/lib/berth.mjs';
import { eventually } from '../e2e/lib/programs.mjs';
import { ageSeconds, cpuSeconds, descendants, proportional, usedByMachine } from './measure.mjs';
import { admin, each, shuffled, Visitor } from './visitors.mjs';

const SLOTS = Number(process.argv[2] ?? 500);
const VISITORS = Number(process.argv[3] ?? 2000);
const CHANGES = Number(process.argv[4] ?? 1000);
const CPU_SECONDS = 10;

const health = async (berth) => (await fetch(`${berth.origin}/health`)).json();
const seconds = (since) => ((Date.now() - since) / 1000).toFixed(1);
const pick = (items) => items[Math.floor(Math.random() * items.length)];

const server = (pool, sandbox = {}) => ({
  server: { profile: 'public', max_connections: 4096 },
  auth: { methods: 'oauth' },
  pool: { queue_hold: 0, queue_max: 5000, ...pool },
  sandbox: {
    allow_unlimited: 'yes', idle: 36000, warm: 0, memory: '128M', processes: 32, workspace: '64M', layer: '64M', ...sandbox,
  },
});

async function stage(berth, name, run) {
  try {
    await run();
    console.log(`ok ${name}`);
  } catch (error) {
    console.log(`not ok ${name}\n${error.stack}\n${berth.server.stderr.split('\n').slice(-20).join('\n')}`);
    process.exitCode = 1;
  }
}

/** Takes `count` random ones out. */
const takeRandom = (items, count) =>
  Array.from({ length: count }, () => items.splice(Math.floor(Math.random() * items.length), 1)[0]);

// ---- all slots taken ----

async function idles(berth, label) {
  const [daemon] = berth.pids('berthd');
  const was = cpuSeconds(daemon);
  await new Promise((done) => setTimeout(done, CPU_SECONDS * 1000));
  const percent = ((cpuSeconds(daemon) - was) / CPU_SECONDS) * 100;
  console.log(`# berthd, ${label}: ${percent.toFixed(1)} % of a core`);
  assert.ok(percent < 3, `${percent} %`);
}

/** Microseconds of berthd's CPU for one GET of `path`, over kept connections. */
async function cost(berth, path, requests = 3000) {
  const [daemon] = berth.pids('berthd');
  const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
  const get = () => new Promise((done, fail) =>
    http.get(`${berth.origin}${path}`, { agent }, (res) => res.resume().on('end', done)).on('error', fail));
  const was = cpuSeconds(daemon);
  await each(Array.from({ length: requests }), get, 8);
  agent.destroy();
  return ((cpuSeconds(daemon) - was) / requests) * 1e6;
}

/** Some leave; exactly those who are first in the queue follow, into empty sandboxes. */
async function handOver(berth, holders, queue, count) {
  const gone = takeRandom(holders, count);
  const next = queue.splice(0, count);
  await each(gone, (visitor) => visitor.leave());
  await each(next, async (visitor) => {
    const at = await eventually(async () => {
      const answer = await visitor.call();
      if (answer.key) return answer;
      assert.ok(answer.position <= count, `${visitor.name} is at ${answer.position}`);
      return undefined;
    }, { timeout: 60000 });
    assert.deepEqual(at.found, [], `${visitor.name} found what others left`);
  });
  holders.push(...next);
  if (queue.length) assert.deepEqual(await queue[0].call(), { position: 1, length: queue.length });
  if (queue.length) assert.deepEqual(await queue.at(-1).call(), { position: queue.length, length: queue.length });
}

async function full(storage) {
  let begun = Date.now();
  const berth = await Berth.start(server({ slots: SLOTS, storage }));
  console.log(`# ${storage}: ${SLOTS} slots were ready after ${seconds(begun)} s`);
  try {
    const visitors = shuffled(await Visitor.arrive(berth, VISITORS));
    // So that what sign-in left in the heap does not hide what comes.
    await berth.halt();
    await berth.serve();
    const [daemon] = berth.pids('berthd');
    const [spawner] = berth.pids('berth-spawner');
    const said = (await health(berth)).enforced;
    const holders = visitors.slice(0, SLOTS);
    const queue = [];

    await stage(berth, `${storage}: ${SLOTS} visitors get a sandbox at once`, async () => {
      if (storage === 'btrfs') assert.deepEqual([said.storage, said.workspace_quota, said.layer_quota], ['btrfs-image', true, true]);
      const [own, machine] = [proportional(daemon), usedByMachine()];
      begun = Date.now();
      await each(holders, async (visitor) => assert.deepEqual((await visitor.call()).found, []));
      console.log(`# ${storage}: granted, started and used, 16 at once: ${seconds(begun)} s`);
      assert.equal((await health(berth)).slots.occupied, SLOTS);
      const inside = descendants(spawner).reduce((sum, pid) => sum + proportional(pid), 0) / SLOTS;
      const outside = (proportional(daemon) - own) / SLOTS;
      const all = (usedByMachine() - machine) / SLOTS;
      console.log(`# ${storage}: per occupied idle slot ${inside.toFixed(0)} KiB in its processes, ${outside.toFixed(1)} KiB in berthd, ${all.toFixed(0)} KiB of the machine`);
      assert.ok(inside + outside < 2048);
    });

    await stage(berth, `${storage}: the others wait, one place each, in the order of arrival`, async () => {
      const own = proportional(daemon);
      const places = [];
      await each(visitors.slice(SLOTS), async (visitor) => {
        const { position, length } = await visitor.call();
        assert.ok(position <= length);
        places[position - 1] = visitor;
      });
      assert.equal(places.filter(Boolean).length, VISITORS - SLOTS); // so no two have the same
      queue.push(...places);
      console.log(`# ${storage}: per waiting visitor ${((proportional(daemon) - own) / queue.length).toFixed(2)} KiB in berthd`);
      await each(shuffled(queue.map((visitor, i) => [visitor, i + 1])), async ([visitor, position]) =>
        assert.deepEqual(await visitor.call(), { position, length: queue.length }));
    });

    await stage(berth, `${storage}: a full server that nobody calls needs next to no time`, () =>
      idles(berth, `${SLOTS} slots occupied, ${queue.length} visitors waiting, nobody calls`));

    await stage(berth, `${storage}: /health is cheap, whatever there is to tell`, async () => {
      const [told, nothing] = [await cost(berth, '/health'), await cost(berth, '/nothing')];
      console.log(`# ${storage}: a request of /health costs ${told.toFixed(0)} us of CPU, ${(told / nothing).toFixed(1)} times one that is answered 404; 1,000 a second take ${(told / 10).toFixed(0)} % of a core`);
      assert.ok(told < 4 * nothing && told < 500);
    });

    await stage(berth, `${storage}: they get what becomes free, in their order, clean`, async () => {
      begun = Date.now();
      const changes = queue.length;
      while (queue.length) await handOver(berth, holders, queue, Math.min(queue.length, SLOTS, 1 + Math.floor(Math.random() * 60)));
      console.log(`# ${storage}: ${changes} changes of hands: ${seconds(begun)} s`);
      const { slots, queue: line } = await health(berth);
      assert.deepEqual([slots.occupied, slots.set_aside, line.length], [SLOTS, 0, 0]);
    });
  } finally {
    await berth.stop();
  }
}

// ---- changes of hands under fire ----

const PLACES = 24;
const LEAVE = 8; // at once
const SHOTS = 3; // in a round
const RESTED = 4; // seconds: a program that dies sooner is started again later and later

/** Kills a process of one of the programs, if there is one that is old enough. */
function shoot(berth, shots) {
  const name = pick(['berthd', 'berth-spawner', 'berth-keeper', 'berth-keeper', 'berth-init', 'berth-init']);
  const pid = pick(berth.pids(name));
  const isDaemon = name === 'berthd' || name === 'berth-spawner';
  try {
    if (!pid || (isDaemon && ageSeconds(pid) < RESTED)) return;
    process.kill(pid, 'SIGKILL');
    shots[name] = (shots[name] ?? 0) + 1;
  } catch (error) {
    if (error.code !== 'ESRCH' && error.code !== 'ENOENT') throw error;
  }
}

/** `run`, with shots at random moments of it. */
async function underFire(berth, shots, run) {
  const timers = Array.from({ length: SHOTS }, () => setTimeout(() => shoot(berth, shots), Math.random() * 500));
  await run();
  timers.forEach(clearTimeout);
}

/** Answers again, however often it has to be asked. */
const persist = (ask) => eventually(() => ask().catch(() => undefined), { timeout: 60000, every: 20 });

async function round(berth, holders, queue) {
  const leaving = takeRandom(holders, LEAVE);
  const next = queue.splice(0, LEAVE);
  await each(leaving, (visitor) => persist(async () => {
    const { sandboxes } = await admin(berth, 'status');
    if (sandboxes.some((sandbox) => sandbox.key === visitor.key)) await visitor.leave();
    return true;
  }));
  await each(next, async (visitor) => {
    const { found } = await persist(async () => {
      const answer = await visitor.call();
      if (answer.key) return answer;
      return answer.position <= LEAVE ? undefined : { found: [`position ${answer.position}`] };
    });
    assert.deepEqual(found, [], `${visitor.name} is out of turn, or found what others left`);
  });
  holders.push(...next);
  // Those who left come back, at the end.
  const places = [];
  await each(leaving, async (visitor) => {
    const answer = await persist(() => visitor.call());
    assert.ok(answer.position > queue.length, `${visitor.name} overtakes: ${JSON.stringify(answer)}`);
    places[answer.position - queue.length - 1] = visitor;
  });
  assert.equal(places.filter(Boolean).length, LEAVE);
  queue.push(...places);
}

async function changes() {
  const berth = await Berth.start(server({ slots: PLACES }, { warm: 2 }));
  const shots = {};
  try {
    const all = await Visitor.arrive(berth, 2 * PLACES);
    const holders = all.slice(0, PLACES);
    const queue = all.slice(PLACES);
    const begun = Date.now();
    await stage(berth, `${CHANGES} changes of hands with programs killed at random: in order, and clean`, async () => {
      await each(holders, async (visitor) => assert.ok((await visitor.call()).key));
      for (const visitor of queue) assert.ok((await visitor.call()).position);
      for (let done = 0; done < CHANGES; done += LEAVE) await underFire(berth, shots, () => round(berth, holders, queue));
    });
    console.log(`# killed in ${seconds(begun)} s: ${JSON.stringify(shots)}`);
    await stage(berth, 'no slot was lost, and the queue is whole', async () => {
      const at = await eventually(async () => {
        const now = await health(berth).catch(() => undefined);
        return now?.slots.occupied === PLACES ? now : undefined;
      });
      assert.deepEqual([at.slots.free, at.slots.emptying, at.slots.set_aside], [0, 0, 0]);
      for (const [i, visitor] of queue.entries())
        assert.deepEqual(await persist(() => visitor.call()), { position: i + 1, length: queue.length });
      for (const visitor of holders) assert.deepEqual((await persist(() => visitor.call())).found, []);
    });
  } finally {
    await berth.stop();
  }
}

if (withoutBerth) {
  console.log(`# skipped: ${withoutBerth}`);
} else {
  if (SLOTS > 0) for (const storage of ['dir', 'btrfs']) await full(storage);
  if (CHANGES > 0) await changes();
}
