// A public server with few slots: who waits, in which order, and that nothing of one visitor ever
// reaches the next.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';
import { callTool, modern, post, request, send } from './lib/mcp.mjs';
import { eventually, Program } from './lib/programs.mjs';

const SLOTS = 3;
const first = (text) => text.split('\n')[0];
const keyOf = (text) => text.match(/^\[sandbox ([^\]]+)\]/)[1];
const isQueued = (text) => text.startsWith('[queue] position ');

/** A visitor: its own token, its own sandbox. */
class Visitor {
  constructor(berth, name) {
    this.berth = berth;
    this.name = name;
    this.headers = { Authorization: `Bearer ${berth.admin('token', 'create', '--name', name, '--owner', name).trim()}` };
  }

  async sh(command) {
    const result = await callTool(this.berth.url, 'run_command', { command }, { headers: this.headers });
    const { text } = result.content[0];
    if (text.startsWith('[sandbox')) this.key = keyOf(text);
    return text;
  }

  /** Calls until it has its sandbox; the answer. */
  arrives(command = 'true', timeout = 20000) {
    return eventually(
      async () => {
        const text = await this.sh(command);
        return isQueued(text) ? undefined : text;
      },
      { timeout, every: 100 },
    );
  }

  leaves() {
    return this.berth.admin('empty', this.key);
  }
}

const server = (over = {}) => ({
  server: { profile: 'public' },
  auth: { methods: 'token' },
  pool: { slots: SLOTS, queue_hold: 0, ...over.pool },
  sandbox: { allow_unlimited: 'yes', idle: 3600, warm: 1, memory: '256M', processes: 64, min_free: 0, ...over.sandbox },
});

const health = async (berth) => (await fetch(`${berth.origin}/health`)).json();

/** berth_… of /metrics as { 'name{label}': number }. */
async function metrics(berth) {
  const text = await (await fetch(`${berth.origin}/metrics`)).text();
  const rows = text.split('\n').filter((line) => line && !line.startsWith('#'));
  return Object.fromEntries(rows.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
}

/** A server of its own, full of `SLOTS` owners, for one suite. */
function house(over) {
  const all = { visitors: 0 };
  before(async () => {
    all.berth = await Berth.start(server(over));
  });
  after(() => all.berth?.stop());
  all.visitor = () => new Visitor(all.berth, `v${++all.visitors}`);
  all.fill = async () => {
    const owners = Array.from({ length: SLOTS }, () => all.visitor());
    for (const owner of owners) assert.match(first(await owner.arrives('echo mine >marker')), /\[exit 0\]$/);
    return owners;
  };
  return all;
}

describe('the queue', { skip: withoutBerth }, () => {
  const all = house();
  let owners;
  let waiting;
  before(async () => {
    owners = await all.fill();
    waiting = Array.from({ length: 5 }, () => all.visitor());
  });

  const positions = async () => {
    const texts = [];
    for (const visitor of waiting) texts.push(first(await visitor.sh('true')));
    return texts;
  };
  const expected = () => waiting.map((_, i) => new RegExp(`^\\[queue\\] position ${i + 1} of ${waiting.length}, `));
  const inOrder = (texts) => texts.forEach((text, i) => assert.match(text, expected()[i]));

  it('initialize and tools/list take no slot', async () => {
    const { headers } = all.visitor();
    const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'tests', version: '1' } };
    assert.equal((await post(all.berth.url, request('initialize', hello), headers)).status, 200);
    assert.ok((await post(all.berth.url, request('tools/list'), headers)).json.result.tools.length > 5);
    const at = await health(all.berth);
    assert.equal(at.slots.occupied, SLOTS);
    assert.equal(at.queue.length, 0);
  });

  it('who comes when all slots are taken gets a place, in the order of arrival', async () => {
    for (const [i, visitor] of waiting.entries())
      assert.match(await visitor.sh('true'), new RegExp(`^\\[queue\\] position ${i + 1} of ${i + 1}, `));
    inOrder(await positions());
  });

  it('asking again, and in another order, changes nothing', async () => {
    for (const visitor of [...waiting].reverse()) await visitor.sh('true');
    inOrder(await positions());
  });

  it('/health, /metrics and berth status tell the same', async () => {
    const [at, rows, status] = [await health(all.berth), await metrics(all.berth), JSON.parse(all.berth.admin('status', '--json'))];
    assert.equal(at.status, 'full');
    assert.deepEqual([at.slots.total, at.slots.free, at.slots.occupied, at.queue.length], [SLOTS, 0, SLOTS, 5]);
    assert.equal(rows['berth_slots{state="free"}'], 0);
    assert.equal(rows['berth_slots{state="occupied"}'], SLOTS);
    assert.equal(rows.berth_queue_length, 5);
    assert.equal(rows['berth_grants_total{from="free"}'], SLOTS);
    assert.equal(rows.berth_containers, at.containers);
    assert.deepEqual([status.pool.held, status.pool.free, status.pool.queue], [SLOTS, 0, 5]);
    assert.deepEqual(status.sandboxes.map((s) => s.key).sort(), owners.map((o) => o.key).sort());
  });

  it('berth status --watch shows who has a slot and who waits, within the window', async (t) => {
    const command = `stty rows 13; exec ${all.berth.programs}/berth status --watch --config ${all.berth.configFile}`;
    const watch = new Program('script', ['--quiet', '--return', '--command', command, '/dev/null'], { env: { ...process.env, TERM: 'xterm' } });
    t.after(() => watch.stop('SIGKILL'));
    const frames = () => watch.stdout.split('\x1b[H\x1b[2J').slice(1);
    await watch.waitFor(/1\. waits {2}owner-v\d+ /);
    await watch.waitFor(/… and \d more/);
    assert.match(frames()[0], new RegExp(`^slots ${SLOTS}: held ${SLOTS} \\(in use 0\\), free 0 `, 'm'));
    assert.match(frames()[0], /^ {6}\[={40}\]\r?$/m);
    assert.match(frames()[0], /^queue 5 of \d+, a newcomer waits about \d+ \w+ {3}calls 0 /m);
    assert.match(frames()[0], /^ {2}sandbox-[0-9a-f]{12} .* idle \d+ s( {3}memory \d+ [KM]iB)? {3}of owner-v\d+\r?$/m);
    assert.ok(frames()[0].split('\n').length <= 13, frames()[0]);
    // It follows.
    const { headers } = owners[0];
    const call = callTool(all.berth.url, 'run_command', { command: 'sleep 4' }, { headers });
    await watch.waitFor(/\(in use 1\)[^]*calls 1 [^]* in use {3}jobs 1( .*)?\r?\n/);
    await call;
    all.berth.admin('drain');
    await watch.waitFor(/DRAINING/);
    all.berth.admin('resume');
    await all.berth.halt();
    await watch.waitFor(/no server is running/);
    await all.berth.serve();
    await watch.waitFor(/no server is running[^]*slots 3: held 3/);
  });

  it('survives a restart', async () => {
    await all.berth.halt();
    await all.berth.serve();
    inOrder(await positions());
    for (const owner of owners) assert.match(await owner.sh('cat marker'), /^mine$/m);
  });

  it('survives kill -9 of berthd', async () => {
    all.berth.kill('berthd');
    await eventually(() => health(all.berth).catch(() => false));
    inOrder(await positions());
    for (const owner of owners) assert.match(await owner.arrives('cat marker'), /^mine$/m);
  });

  it('a freed slot goes to the front, whose next answer says so once', async () => {
    const [owner] = owners.splice(0, 1);
    owner.leaves();
    const [lucky] = waiting.splice(0, 1);
    owners.push(lucky);
    const text = await lucky.arrives('ls -A /workspace; echo "files: $(ls -A /workspace | wc -l)"');
    assert.match(first(text), /^\[sandbox [^\]]+\] \[new\] \[exit 0\]$/);
    assert.match(text, /\[note\] Your sandbox is ready: the wait in the queue is over/);
    assert.match(text, /^files: 0$/m);
    assert.doesNotMatch(await lucky.sh('true'), /\[note\]/);
    inOrder(await positions());
  });

  it('he who left gets a place at the end', async () => {
    const again = all.visitor();
    waiting.push(again);
    assert.match(await again.sh('true'), new RegExp(`position ${waiting.length} of ${waiting.length}`));
  });

  it('drain: nobody new gets a slot, owners go on; resume serves the queue in order', async () => {
    all.berth.admin('drain');
    const [owner] = owners.splice(0, 1);
    owner.leaves();
    await eventually(async () => (await health(all.berth)).slots.free === 1);
    assert.equal((await health(all.berth)).status, 'draining');
    for (const visitor of waiting) assert.ok(isQueued(await visitor.sh('true')));
    assert.match(first(await owners[0].sh('true')), /\[exit 0\]$/);
    all.berth.admin('resume');
    const [lucky] = waiting.splice(0, 1);
    assert.match(first(await lucky.arrives()), /\[exit 0\]$/);
    owners.push(lucky);
    inOrder(await positions());
  });

  it('all places are served in the order of arrival', async () => {
    const served = [];
    while (waiting.length) {
      owners.shift().leaves();
      const text = await waiting[0].arrives();
      assert.match(first(text), /\[exit 0\]$/);
      served.push(waiting[0].name);
      owners.push(waiting.shift());
      inOrder(await positions());
    }
    const arrived = served.map((name) => Number(name.slice(1)));
    assert.deepEqual(arrived, [...arrived].sort((a, b) => a - b));
    assert.equal((await health(all.berth)).queue.length, 0);
  });
});

describe('slots that are not to be had', { skip: withoutBerth }, () => {
  const all = house();

  it('berth setup takes none away from a running server, free or not', async () => {
    const config = readFileSync(all.berth.configFile, 'utf8');
    const refused = (why) => assert.throws(() => all.berth.admin('setup', '--slots', '1', '--yes'), ({ stderr }) => why.test(stderr));
    refused(/the server is running/);
    const owners = await all.fill();
    refused(/slot 2 is occupied by sandbox sandbox-/);
    for (const owner of owners) owner.leaves();
    assert.equal(readFileSync(all.berth.configFile, 'utf8'), config);
    await eventually(async () => (await health(all.berth)).slots.free === SLOTS);
  });

  it('one that cannot be emptied is set aside, given to nobody, tried again, and free once it is empty', async (t) => {
    const [one, two, three] = await all.fill();
    const key = one.key;
    const { slot } = JSON.parse(all.berth.admin('status', '--json')).sandboxes.find((sandbox) => sandbox.key === key);
    const stuck = join(all.berth.dir, 'slots', String(slot), 'workspace/marker');
    const immutable = (sign) => execFileSync('chattr', [`${sign}i`, stuck]);
    try {
      immutable('+');
    } catch {
      return t.skip('the file system knows no immutable files');
    }
    try {
      one.leaves();
      await eventually(async () => (await health(all.berth)).slots.set_aside === 1);
      assert.match(all.berth.server.stderr, new RegExp(`slot ${slot}: it could not be emptied: `));
      assert.equal((await metrics(all.berth))['berth_slots{state="set_aside"}'], 1);
      assert.match(all.berth.admin('status'), /set aside 1/);
      assert.match(await all.visitor().sh('true'), /^\[queue\] position 1 of 1, /);
      for (const owner of [two, three]) assert.match(first(await owner.sh('true')), /\[exit 0\]$/);
      // A restart tries it at once, and fails again.
      await all.berth.halt();
      await all.berth.serve();
      await eventually(async () => (await health(all.berth)).slots.set_aside === 1);
    } finally {
      immutable('-');
    }
    const { slots } = await eventually(
      async () => {
        const at = await health(all.berth);
        return at.slots.set_aside === 0 && at.slots.emptying === 0 ? at : undefined;
      },
      { every: 500 },
    );
    assert.equal(slots.occupied, SLOTS); // who waited has it
    assert.ok((await metrics(all.berth)).berth_empty_failures_total >= 1);
    assert.equal(existsSync(stuck), false);
  });
});

describe('a call that is held', { skip: withoutBerth }, () => {
  const all = house({ pool: { queue_hold: 30 } });
  let owners;
  before(async () => {
    owners = await all.fill();
  });

  /** A modern call that asks for progress: its Answer, whose stream grows. */
  const held = (visitor, name = 'run_command', args = { command: 'echo granted; ls -A /workspace' }) => {
    const { body, headers } = modern('tools/call', { name, arguments: args }, { meta: { progressToken: 'p' } });
    return send(all.berth.url, { body, headers: { ...headers, ...visitor.headers } });
  };

  it('gets its position as progress, and its sandbox when a slot is free', async () => {
    const answer = await held(all.visitor());
    await answer.until(/waiting for a sandbox: position 1 of 1/);
    owners.shift().leaves();
    await answer.ended;
    const { text } = answer.messages.at(-1).result.content[0];
    assert.match(first(text), /\[new\] \[exit 0\]$/);
    assert.match(text, /^granted$/m);
    assert.doesNotMatch(text, /marker/);
  });

  it('hears of each step; the place of one who left the call stays his', async () => {
    const [one, two] = [all.visitor(), all.visitor()];
    const call = await held(one);
    await call.until(/position 1 of 1/);
    const behind = await held(two);
    await behind.until(/position 2 of 2/);
    await call.leave();
    owners.shift().leaves();
    await behind.until(/position 1 of 1/);
    owners.shift().leaves();
    await behind.ended;
    assert.match(behind.messages.at(-1).result.content[0].text, /^granted$/m);
    assert.match(await one.sh('true'), /the wait in the queue is over/);
  });

  it('is granted across calls of the same visitor', async () => {
    const visitor = all.visitor();
    const calls = await Promise.all([held(visitor), held(visitor), held(visitor)]);
    for (const call of calls) await call.until(/position 1 of 1/);
    const status = JSON.parse(all.berth.admin('status', '--json'));
    all.berth.admin('empty', status.sandboxes[0].key);
    const texts = await Promise.all(calls.map(async (call) => (await call.ended, call.messages.at(-1).result.content[0].text)));
    for (const text of texts) assert.match(text, /^granted$/m);
    assert.equal(texts.filter((text) => /\[note\]/.test(text)).length, 1);
  });
});

describe('a sandbox that nobody uses', { skip: withoutBerth }, () => {
  const all = house({ sandbox: { idle: 10 } });

  it('is emptied, its slot goes on clean, and its owner is told', async () => {
    const owners = await all.fill();
    const [left] = owners;
    await left.sh('echo secret >secret; echo secret >/root/secret; echo secret >/tmp/secret; sleep 4711 >/dev/null 2>&1 &');
    const next = all.visitor();
    assert.match(await next.sh('true'), /^\[queue\] position 1 of 1, /);
    // The other owners stay, so that it is the same slot that is handed on.
    const stay = setInterval(() => owners.slice(1).forEach((owner) => owner.sh('true').catch(() => {})), 2000);
    try {
      const text = await next.arrives('cat /workspace/* /root/secret /tmp/secret; ls -A /workspace | wc -l; pgrep -f "[s]leep 4711"; true', 30000);
      assert.match(first(text), /\[new\] \[exit 0\]$/);
      assert.match(text, /^0$/m);
      assert.doesNotMatch(text, /^secret$/m);
      const gone = /^\[queue\] position 1 of 1, .*\n\[note\] Your earlier sandbox was idle for too long and was emptied/;
      assert.match(await left.sh('true'), gone);
      assert.doesNotMatch(await left.sh('true'), /was emptied/);
      const back = await left.arrives('ls -A', 40000);
      assert.match(back, /the wait in the queue is over/);
    } finally {
      clearInterval(stay);
    }
    assert.ok((await metrics(all.berth)).berth_idle_emptied_total >= 1);
  });
});
