// Finds the programs of the build and runs them.
import { spawn } from 'node:child_process';
import { chownSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = process.getuid() === 0;
const NOBODY = 65534;

export const e2eDir = resolve(dirname(fileURLToPath(import.meta.url)), '..');
export const repoDir = resolve(e2eDir, '../..');

/** The build folder: $BERTH_BUILD, else build/ in the repository. */
export const buildDir = resolve(process.env.BERTH_BUILD ?? join(repoDir, 'build'));

/** Path of a built program, for example program('src/berthd'). */
export function program(name) {
  const path = join(buildDir, name);
  if (!existsSync(path))
    throw new Error(`${path} is missing: build first (meson setup build && ninja -C build), or set BERTH_BUILD`);
  return path;
}

/** A TCP port of loopback that nobody listens on now. */
export function freePort() {
  return new Promise((done, fail) => {
    const probe = createServer();
    probe.on('error', fail);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
}

/** A running program. `stdout` and `stderr` grow; `exited` resolves to { code, signal }. */
export class Program {
  constructor(path, args = [], options = {}) {
    this.stdout = '';
    this.stderr = '';
    this.waiters = new Set();
    this.child = spawn(path, args, { stdio: ['pipe', 'pipe', 'pipe'], ...options });
    this.child.stdout.setEncoding('utf8').on('data', (text) => this.#grow('stdout', text));
    this.child.stderr.setEncoding('utf8').on('data', (text) => this.#grow('stderr', text));
    this.exited = new Promise((done, fail) => {
      this.child.on('error', fail);
      this.child.on('close', (code, signal) => {
        this.result = { code, signal };
        this.#wake();
        done(this.result);
      });
    });
    this.exited.catch(() => {});
  }

  #grow(name, text) {
    this[name] += text;
    this.#wake();
  }

  #wake() {
    for (const waiter of [...this.waiters]) waiter();
  }

  /** Resolves to the match of `pattern` in stdout (or `from`); fails when the program ends or is late. */
  waitFor(pattern, { from = 'stdout', timeout = 60000 } = {}) {
    return new Promise((done, fail) => {
      const end = (fn, value) => {
        clearTimeout(timer);
        this.waiters.delete(look);
        fn(value);
      };
      const look = () => {
        const match = this[from].match(pattern);
        if (match) end(done, match);
        else if (this.result)
          end(fail, new Error(`the program ended before ${pattern}:\n${this.stdout}${this.stderr}`));
      };
      const timer = setTimeout(
        () => end(fail, new Error(`no ${pattern} within ${timeout} ms:\n${this.stdout}${this.stderr}`)),
        timeout,
      );
      this.waiters.add(look);
      look();
    });
  }

  /** Ends it and waits for the end. */
  async stop(signal = 'SIGTERM') {
    if (!this.result) this.child.kill(signal);
    return this.exited;
  }
}

/** Runs a program to its end; kills it after `timeout` ms. Returns { code, signal, stdout, stderr }. */
export async function run(path, args = [], { timeout = 60000, input = '', ...options } = {}) {
  const child = new Program(path, args, options);
  child.child.stdin.on('error', () => {});
  child.child.stdin.end(input);
  const timer = setTimeout(() => child.child.kill('SIGKILL'), timeout);
  try {
    return { ...(await child.exited), stdout: child.stdout, stderr: child.stderr };
  } finally {
    clearTimeout(timer);
  }
}

/** Calls `probe` until it returns something truthy; for conditions that nobody announces. */
export async function eventually(probe, { timeout = 60000, every = 50 } = {}) {
  const end = Date.now() + timeout;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (Date.now() > end) throw new Error(`still not so after ${timeout} ms: ${probe}`);
    await new Promise((done) => setTimeout(done, every));
  }
}

/** Waits until GET <base>/health answers 200. */
export function waitForHealth(base, options) {
  return eventually(async () => {
    try {
      return (await fetch(new URL('/health', base))).ok;
    } catch {
      return false;
    }
  }, options);
}

/**
 * The MCP endpoint without sandboxes (tests/servers/mcp_server.c). Times are in milliseconds; 0 is
 * the server's own. It can be killed and started again on the same port.
 */
export class McpServer {
  constructor({ streamAfter = 0, keepalive = 0, cancelGrace = 0 } = {}) {
    this.times = [streamAfter, keepalive, cancelGrace].map(String);
    this.port = 0;
  }

  static async start(options) {
    const server = new McpServer(options);
    await server.start();
    return server;
  }

  async start() {
    this.program = new Program(program('tests/servers/mcp_server'), [String(this.port), ...this.times]);
    const [, port] = await this.program.waitFor(/listening on 127\.0\.0\.1:(\d+)/);
    this.port = Number(port);
    this.origin = `http://127.0.0.1:${port}`;
    this.url = `${this.origin}/mcp`;
  }

  stop(signal) {
    return this.program.stop(signal);
  }

  /** As after a crash: no last word to anybody. */
  async crash() {
    await this.stop('SIGKILL');
    await this.start();
  }
}

/**
 * The real front door alone: berthd on a made-up state, without spawner and slots. It answers
 * everything that needs no running sandbox, and anybody may call it. `wrap` is a command in front of
 * its own; one that waits for a first visitor at `visit` (a port) gets one.
 */
export class FrontDoor {
  static async start(settings = {}, { wrap = [], visit } = {}) {
    const door = new FrontDoor();
    door.dir = mkdtempSync(join(tmpdir(), 'berth-door-'));
    const all = {
      'server.state_dir': door.dir,
      'server.runtime_dir': join(door.dir, 'run'),
      'server.user': root ? 'nobody' : userInfo().username,
      'server.listen': `127.0.0.1:${await freePort()}`,
      'auth.methods': 'none',
      'pool.slots': 4,
      ...settings,
    };
    writeFileSync(join(door.dir, 'slots.status'), 'slots=4\nstorage=dir\n');
    for (const name of ['run', 'server']) mkdirSync(join(door.dir, name), { mode: 0o700 });
    // Where nobody may run it: the build may be in a private folder.
    copyFileSync(program('src/berthd'), join(door.dir, 'berthd'));
    for (const name of ['', 'run', 'server']) if (root) chownSync(join(door.dir, name), NOBODY, NOBODY);
    const command = [...wrap, join(door.dir, 'berthd'), ...Object.entries(all).flatMap(([name, value]) => ['--set', `${name}=${value}`])];
    door.program = new Program(command[0], command.slice(1), { cwd: '/', ...(root ? { uid: NOBODY, gid: NOBODY } : {}) });
    try {
      if (visit) await eventually(() => fetch(`http://127.0.0.1:${visit}`).then(() => true, () => door.program.stderr.includes('berthd:')));
      const [, url] = await door.program.waitFor(/serving (http:\S+)/, { from: 'stderr' });
      door.url = url;
    } catch (error) {
      await door.stop();
      throw error;
    }
    return door;
  }

  async stop(signal) {
    const result = await this.program.stop(signal);
    rmSync(this.dir, { recursive: true, force: true });
    return result;
  }
}
