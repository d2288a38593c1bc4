// What a client can do wrong, or mean badly, at the real server: each has one bounded answer, the
// server's memory stays bounded, and the next call works.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { after, afterEach, before, describe, it } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';
import { ask, modern, post, request } from './lib/mcp.mjs';
import { eventually } from './lib/programs.mjs';

const MiB = 1024 * 1024;
const first = (text) => text.split('\n')[0];

describe('bad input and faults', { skip: withoutBerth }, () => {
  let berth;
  before(async () => {
    berth = await Berth.start({ pool: { slots: 16 }, sandbox: { memory: '256M', processes: 64 } });
    await berth.sh('true');
  });
  after(() => berth?.stop());
  afterEach(async () => assert.match(first((await run('echo next')).text), /\[exit 0\]$/));

  /** A command as a client with patience runs it: one that outlasts its call is waited for. The last answer, then those before. */
  async function run(command, { label = 'test', headers, ...args } = {}) {
    let answer = await berth.call('run_command', { command, sandbox: label, ...args }, { headers });
    let said = '';
    for (let running; (running = first(answer.text).match(/\[running: job (\d+)/)); ) {
      said += `\n${answer.text}`;
      answer = await berth.call('job', { job: Number(running[1]), wait_seconds: 1, sandbox: label }, { headers });
    }
    return { ...answer, text: answer.text + said };
  }

  /** Resident bytes of berthd. */
  function memory() {
    const [pid] = berth.pids('berthd');
    return Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/^VmRSS:\s+(\d+)/m)[1]) * 1024;
  }

  /** While `job` runs berthd never takes more than `most` bytes above what it had. */
  async function bounded(most, job) {
    const start = memory();
    let peak = start;
    const watch = setInterval(() => (peak = Math.max(peak, memory())), 20);
    try {
      return await job();
    } finally {
      clearInterval(watch);
      assert.ok(peak - start < most, `berthd grew by ${((peak - start) / MiB).toFixed(1)} MiB`);
    }
  }

  const headText = (more) => `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${berth.token}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n${more}\r\n`;
  const open = () => connect(new URL(berth.url).port, '127.0.0.1').on('error', () => {});
  const ended = (socket) => new Promise((done) => socket.on('close', done));

  describe('a body that makes no sense', () => {
    for (const [why, body, status, code] of [
      ['no JSON', '{"jsonrpc":', 400, -32700],
      ['invalid UTF-8', Buffer.from('{"jsonrpc":"2.0","id":1,"method":"p\xfe\xff"}', 'latin1'), 400, -32700],
      ['nested deeply', '['.repeat(100000), 400, -32700],
      ['a number', '7', 400, -32600],
      ['an id that is an object', { jsonrpc: '2.0', id: {}, method: 'ping' }, 400, -32600],
      ['params that are text', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: 'x' }, 400, -32600],
      ['a tool that is not there', request('tools/call', { name: 'rm_rf', arguments: {} }), 200, -32602],
      ['a method that is not there', request('sandbox/escape'), 200, -32601],
    ]) {
      it(why, async () => {
        const answer = await post(berth.url, body, berth.headers);
        assert.equal(answer.status, status, answer.text);
        assert.equal(answer.json.error.code, code, answer.text);
      });
    }
  });

  describe('arguments', () => {
    for (const [why, args, pattern] of [
      ['a command that is a list', { command: ['ls'] }, /command/],
      ['a time-out in words', { command: 'true', timeout_seconds: 'soon' }, /timeout_seconds/],
      ['a time-out of 0', { command: 'true', timeout_seconds: 0 }, /timeout_seconds/],
      ['background that is neither', { command: 'true', background: 'perhaps' }, /background/],
      ['a cwd with a NUL', { command: 'true', cwd: '/tmp\0/x' }, /cwd must not contain a NUL/],
      ['a cwd that is no folder', { command: 'true', cwd: '/etc/passwd' }, /cwd/],
      ['a cwd that is too long', { command: 'true', cwd: `/${'x'.repeat(5000)}` }, /cwd has \d+ bytes/],
      ['a command over a megabyte', { command: `: ${'x'.repeat(MiB)}` }, /command has \d+ bytes; at most 1048576/],
      ['a stdin over a megabyte', { command: 'cat', stdin: 'x'.repeat(MiB + 1) }, /stdin has \d+ bytes/],
      ['a label of symbols only', { command: 'true', sandbox: '🙂!' }, /label/],
      ['a label that is a number', { command: 'true', sandbox: 7 }, /sandbox/],
      ['no argument at all', undefined, /command/],
    ]) {
      it(`${why}: refused in words, nothing is run`, async () => {
        const wrong = { name: 'run_command', arguments: args && { sandbox: 'test', ...args } };
        for (const answer of [await post(berth.url, request('tools/call', wrong), berth.headers), await (async () => {
          const { body, headers } = modern('tools/call', wrong);
          return ask(berth.url, { body, headers: { ...headers, ...berth.headers } });
        })()]) {
          assert.equal(answer.status, 200, answer.text);
          assert.equal(answer.json.result?.isError, true, answer.text);
          assert.match(answer.json.result.content[0].text, pattern);
        }
      });
    }
    it('a command of exactly a megabyte runs', async () => {
      const rest = 'echo whole; # ';
      assert.match((await run(rest + 'x'.repeat(MiB - rest.length))).text, /^whole$/m);
    });
  });

  describe('commands that misbehave', () => {
    it('600 MB of output', () =>
      bounded(32 * MiB, async () => {
        const { text } = await run('head -c 600000000 /dev/zero | tr "\\0" "x"; exit 3', { timeout_seconds: 60 });
        assert.match(first(text), /\[exit 3\]$/);
        assert.ok(text.length < 1000000);
      }));
    it('endless output of a job that nobody reads', () =>
      bounded(32 * MiB, async () => {
        const { text } = await berth.sh('yes', { background: true });
        const [, job] = text.match(/job (\d+)/);
        await berth.sh('sleep 2');
        assert.match(first((await berth.call('job', { job, action: 'stop', wait_seconds: 30, sandbox: 'test' })).text), /\[stopped\]/);
      }));
    it('invalid UTF-8, a split character, one huge line', async () => {
      const { text } = await run("head -c 100000 /dev/urandom; python3 -c \"print('a' * 8191 + 'é'); print('😀' * 100000)\"");
      assert.match(first(text), /\[exit 0\]$/);
      assert.ok(!text.includes('\0') && text.isWellFormed());
      assert.doesNotMatch((await run("python3 -c \"print('a' * 8191 + 'é', '😀' * 30000)\"")).text, /\uFFFD/);
    });
    it('an exit in the middle of a line, and none at all', async () => {
      assert.match((await run("printf 'no newline'")).text, /\nno newline\s*$/);
      assert.match(first((await berth.sh('kill -STOP $$', { timeout_seconds: 1 })).text), /\[timed out after 1 s\]|\[running/);
    });
    it('all processes that there may be, from many forks: the next call gets in', async () => {
      const { text } = await run("python3 -c 'import os, time\nfor i in range(300):\n  try: os.fork() or (time.sleep(600), os._exit(0))\n  except OSError: pass'; true", { label: 'bomb' });
      assert.match(first(text), /\[exit 0\] \[process limit reached: 64\]$/);
      await eventually(async () => {
        const next = await berth.sh('echo in', { label: 'bomb' });
        return next.isError ? /no process could be started \(.*; the limit is 64 processes\)/.test(next.text) : true;
      });
      const { isError } = await berth.call('reset_sandbox', { what: 'container', sandbox: 'bomb' });
      assert.equal(isError, false);
      const { text: again } = await run('echo in', { label: 'bomb' });
      assert.match(first(again), /\[exit 0\]$/);
      assert.match(again, /^\[sandbox .*\] \[new\] /m);
    });
    it('threads count as well', async () => {
      const { text } = await run("python3 -c 'import threading, time\nfor i in range(200): threading.Thread(target=time.sleep, args=(2,)).start()'", { label: 'bomb' });
      assert.match(first(text), /\[process limit reached: 64\]$/);
    });
    it('a working directory that is gone', async () => {
      await run('mkdir -p gone; (cd gone; rmdir ../gone; sleep 600) & true');
      assert.match((await run('pwd')).text, /^\/workspace$/m);
    });
  });

  describe('connections that misbehave', () => {
    const body = JSON.stringify(request('tools/call', { name: 'run_command', arguments: { command: 'seq 1 20000', sandbox: 'deaf' } }));

    it('a client that never reads, many times', () =>
      bounded(48 * MiB, async () => {
        const sockets = Array.from({ length: 100 }, () => {
          const socket = open().pause();
          socket.write(headText(`Content-Length: ${body.length}\r\n`) + body);
          return socket;
        });
        await berth.sh('sleep 1');
        for (const socket of sockets) socket.destroy();
      }));
    it('a client that sends one byte a second does not hold anybody up', async (t) => {
      const socket = open();
      const text = headText(`Content-Length: ${body.length}\r\n`) + body;
      let at = 0;
      const drip = setInterval(() => socket.write(text[at++]), 1000);
      socket.on('close', () => clearInterval(drip));
      t.after(() => socket.destroy());
      const gone = ended(socket.resume());
      for (let i = 0; i < 20; i++) assert.match(first((await run('true')).text), /\[exit 0\]$/);
      // The head must be there within ten seconds.
      await gone;
      assert.ok(at >= 5 && at < 20, `ended after ${at} bytes`);
    });
    it('a body of 100 MB is refused, however it is sent', () =>
      bounded(16 * MiB, async () => {
        for (const head of [`Content-Length: ${100 * MiB}\r\n`, 'Transfer-Encoding: chunked\r\n']) {
          const socket = open();
          let answer = '';
          socket.setEncoding('latin1').on('data', (text) => (answer += text));
          socket.write(headText(head));
          const chunk = Buffer.alloc(MiB, 'x');
          for (let i = 0; i < 100 && !socket.destroyed; i++) {
            if (head.startsWith('Transfer')) socket.write('100000\r\n');
            if (!socket.write(chunk)) await Promise.race([new Promise((done) => socket.once('drain', done)), ended(socket)]);
            if (head.startsWith('Transfer')) socket.write('\r\n');
            if (/^HTTP/.test(answer)) break;
          }
          await eventually(() => /^HTTP\/1\.1 413 /.test(answer));
          socket.destroy();
        }
      }));
    it('a client that disconnects in the middle of the body, and of the answer', async () => {
      for (let i = 0; i < 50; i++) {
        const socket = open();
        socket.write(headText(`Content-Length: ${body.length}\r\n`) + body.slice(0, 20 + i));
        socket.once('connect', () => socket.resetAndDestroy());
        await ended(socket);
      }
      for (let i = 0; i < 20; i++) {
        const socket = open();
        socket.write(headText(`Content-Length: ${body.length}\r\n`) + body);
        await new Promise((done) => socket.once('data', done));
        socket.resetAndDestroy();
      }
    });
    it('200 clients at once: each gets its result or a word, and none another one\'s', () =>
      bounded(64 * MiB, async () => {
        const owners = Array.from({ length: 10 }, (_, i) => ({
          Authorization: `Bearer ${berth.admin('token', 'create', '--name', `crowd${i}`, '--owner', `crowd${i % 7}`).trim()}`,
        }));
        const answers = await Promise.all(Array.from({ length: 200 }, async (_, i) => {
          const { text, isError } = await run(`sleep 0.1; echo mine-${i}-; exit ${i % 100}`, { label: 'crowd', headers: owners[i % 10] });
          return { i, text, isError };
        }));
        let served = 0;
        for (const { i, text, isError } of answers) {
          const others = [...text.matchAll(/mine-(\d+)-/g)].filter(([, n]) => Number(n) !== i);
          assert.deepEqual(others, []);
          if (isError) assert.match(text, /^\[(call|sandbox) error\] .*(under way|running in this sandbox already|in use)/);
          else {
            assert.match(first(text), new RegExp(`\\[exit ${i % 100}\\]$`));
            assert.match(text, new RegExp(`^mine-${i}-$`, 'm'));
            served++;
          }
        }
        assert.ok(served >= 7 * 16, `${served} were served`);
      }));
  });
});
