// The real server with real containers, in a state of its own. Needs root, and the image that
// run-tests makes. Suites that only call tools can also be let loose on a server that is installed
// (tests/vm does): $BERTH_TEST_ORIGIN and $BERTH_TEST_TOKEN.
import { execFileSync } from 'node:child_process';
import {
  chmodSync, closeSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, readlinkSync, readSync, rmSync, statSync, symlinkSync, writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { callTool } from './mcp.mjs';
import { buildDir, eventually, freePort, Program } from './programs.mjs';

export const cache = process.env.BERTH_TEST_CACHE ?? '/var/cache/berth-test';
const image = join(cache, 'minimal');

/** "native", or "oci:crun": the suites run with either. */
const [engine, runtime = 'crun'] = (process.env.BERTH_TEST_ENGINE ?? 'native').split(':');

const { BERTH_TEST_ORIGIN: installed, BERTH_TEST_TOKEN } = process.env;

/** How much longer things take here than on a machine: for time limits that commands are given. */
export const slowness = Number(process.env.BERTH_TEST_SLOWNESS ?? 1);

/** For `{ skip: … }` of a suite. */
export const withoutBerth =
  installed ? false : process.getuid() !== 0 ? 'needs root' : existsSync(join(image, 'rootfs/bin/bash')) ? false : `needs the image in ${image}`;

function makeUser() {
  try {
    execFileSync('id', ['berth'], { stdio: 'ignore' });
  } catch {
    execFileSync('useradd', ['--system', '--no-create-home', '--home-dir', '/nonexistent', '--shell', '/usr/sbin/nologin', 'berth']);
  }
}

/** The server's user may not be able to enter the build folder. */
function copyPrograms(to) {
  mkdirSync(to, { mode: 0o755 });
  for (const name of readdirSync(join(buildDir, 'src'))) {
    const from = join(buildDir, 'src', name);
    if (!/^berth[a-z-]*$/.test(name) || !statSync(from).isFile()) continue;
    copyFileSync(from, join(to, name));
    // gVisor is a kernel of its own and reads what it runs.
    chmodSync(join(to, name), name === 'berth-init' && runtime !== 'runsc' ? 0o711 : 0o755);
  }
}

export function iniText(config) {
  return Object.entries(config)
    .map(([section, keys]) => `[${section}]\n${Object.entries(keys).map(([key, value]) => `${key} = ${value}\n`).join('')}`)
    .join('\n');
}

export function merge(base, over) {
  const all = structuredClone(base);
  for (const [section, keys] of Object.entries(over)) all[section] = { ...all[section], ...keys };
  return all;
}

export class Berth {
  /**
   * `config` is { section: { key: value } } over the defaults of tests: no network, four slots. With
   * `activated` the listening socket is systemd-socket-activate's. `under` is where its state goes.
   */
  static async start(config = {}, { activated = false, under = cache } = {}) {
    const berth = new this();
    berth.activated = activated;
    if (installed) return Object.assign(berth, { origin: installed, url: `${installed}/mcp`, token: BERTH_TEST_TOKEN });
    makeUser();
    mkdirSync(cache, { recursive: true });
    berth.dir = mkdtempSync(join(under, 'e2e-'));
    chmodSync(berth.dir, 0o755);
    berth.programs = join(berth.dir, 'programs');
    berth.configFile = join(berth.dir, 'berth.conf');
    copyPrograms(berth.programs);
    mkdirSync(join(berth.dir, 'image'));
    symlinkSync(image, join(berth.dir, 'image/current'));
    const defaults = {
      server: { state_dir: berth.dir, listen: '127.0.0.1:0' },
      pool: { slots: 4, storage: 'dir' },
      sandbox: { min_free: 0, max_running: 0, engine, runtime },
      network: { mode: 'none' },
    };
    berth.config = merge(defaults, config);
    writeFileSync(berth.configFile, iniText(berth.config));
    try {
      berth.run('berth-slots', '--config', berth.configFile);
      berth.token = berth.run('berth', 'token', 'create', '--config', berth.configFile).trim();
      await berth.serve();
    } catch (error) {
      await berth.stop();
      throw error;
    }
    return berth;
  }

  /** Runs one of berth's programs to its end; its output. Throws when it fails. */
  run(name, ...args) {
    return execFileSync(join(this.programs, name), args, { encoding: 'utf8', maxBuffer: 64 << 20, stdio: ['ignore', 'pipe', 'pipe'] });
  }

  /** `berth COMMAND` on this server. */
  admin(command, ...args) {
    return this.run('berth', command, '--config', this.configFile, ...args);
  }

  async serve() {
    const command = [join(this.programs, 'berth'), 'serve', '--config', this.configFile];
    if (this.activated) {
      const address = `127.0.0.1:${await freePort()}`;
      command.unshift('systemd-socket-activate', '--listen', address);
      this.config.server.listen = address;
      writeFileSync(this.configFile, iniText(this.config));
    }
    this.server = new Program(command[0], command.slice(1));
    // The first visitor starts it.
    if (this.activated) await eventually(() => fetch(`http://${this.config.server.listen}/health`).catch(() => undefined));
    const [, url] = await this.server.waitFor(/berthd: info: serving (\S+)\/mcp/, { from: 'stderr' });
    await this.server.waitFor(/the engine is ready/, { from: 'stderr' });
    this.origin = url;
    this.url = `${url}/mcp`;
    // The next start takes the same port, as a client would expect.
    const { listen } = this.config.server;
    if (listen.endsWith(':0')) this.config.server.listen = `127.0.0.1:${new URL(url).port}`;
    writeFileSync(this.configFile, iniText(this.config));
  }

  /** Everything that it said. */
  get log() {
    return this.server.stdout + this.server.stderr;
  }

  /** All that the server itself writes to disk, as one string of bytes. */
  diskText() {
    const files = ['.', 'server', 'run'].flatMap((folder) =>
      readdirSync(join(this.dir, folder), { withFileTypes: true }).filter((entry) => entry.isFile()).map(({ name }) => join(this.dir, folder, name)));
    return files.map((file) => readFileSync(file, 'latin1')).join('\n');
  }

  /** Kills the front door without a last word, and has it serve again. */
  async crash() {
    const before = this.server.stderr.length;
    this.kill('berthd');
    // `berth serve` would do it by itself, but waits longer from time to time.
    if (!this.activated) {
      await this.halt();
      return this.serve();
    }
    await eventually(() => /the engine is ready/.test(this.server.stderr.slice(before)));
  }

  /** Pids of its processes by program name, also of those that show another one in `ps`; the oldest first. */
  pids(name) {
    const path = join(this.programs, name);
    const runs = (pid) => {
      try {
        return readlinkSync(`/proc/${pid}/exe`) === path;
      } catch {
        return false; // it has just ended, or is no more than a zombie
      }
    };
    // Not by number: numbers begin again, and what it forked may have a smaller one.
    const begin = (pid) => {
      try {
        return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ')[19]);
      } catch {
        return Infinity;
      }
    };
    const started = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && runs(entry)).map((entry) => [Number(entry), begin(entry)]);
    return started.sort(([, one], [, other]) => one - other).map(([pid]) => pid);
  }

  /** Whether what `name` has in memory that it can write, without what is locked, holds this text. */
  remembers(name, text) {
    const needle = Buffer.from(text);
    return this.pids(name).some((pid) => {
      const memory = openSync(`/proc/${pid}/mem`, 'r');
      try {
        return readFileSync(`/proc/${pid}/smaps`, 'latin1').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m).some((area) => {
          const [, from, to] = area.match(/^([0-9a-f]+)-([0-9a-f]+) rw/) ?? [];
          if (!from || / lo\b/.test(area.match(/^VmFlags:.*$/m)?.[0])) return false;
          const start = parseInt(from, 16);
          const bytes = Buffer.alloc(parseInt(to, 16) - start);
          readSync(memory, bytes, 0, bytes.length, start);
          return bytes.includes(needle);
        });
      } finally {
        closeSync(memory);
      }
    });
  }

  /** Kills them, as a crash does; some take others with them before their turn comes. Returns how many. */
  kill(name) {
    const pids = this.pids(name);
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch (error) {
        if (error.code !== 'ESRCH') throw error;
      }
    }
    return pids.length;
  }

  get headers() {
    return { Authorization: `Bearer ${this.token}` };
  }

  /** One tools/call: { text, isError, content }. */
  async call(name, args = {}, { headers = {}, ...options } = {}) {
    const result = await callTool(this.url, name, args, { headers: { ...this.headers, ...headers }, ...options });
    return { text: result.content.find((part) => part.type === 'text').text, isError: result.isError === true, content: result.content };
  }

  /** run_command in a sandbox of this label. */
  sh(command, { label = 'test', ...args } = {}) {
    return this.call('run_command', { command, sandbox: label, ...args });
  }

  /** The folder on this machine that is /workspace of the sandbox. */
  async workspace(label = 'test') {
    const mark = `.mark-${Math.random()}`;
    const { text, isError } = await this.call('write_file', { path: mark, content: '', sandbox: label });
    if (isError) throw new Error(text);
    for (const slot of readdirSync(join(this.dir, 'slots'))) {
      const folder = join(this.dir, 'slots', slot, 'workspace');
      if (!existsSync(join(folder, mark))) continue;
      rmSync(join(folder, mark));
      return folder;
    }
    throw new Error(`no slot has the workspace of ${label}`);
  }

  /** Lets `fill(folder)` make files in a new folder of the sandbox's workspace, owned by its root. */
  async put(name, fill, { label = 'test' } = {}) {
    const workspace = await this.workspace(label);
    const folder = join(workspace, name);
    const { uid, gid } = statSync(workspace);
    mkdirSync(folder, { recursive: true });
    await fill(folder);
    execFileSync('chown', ['-hR', `${uid}:${gid}`, folder]);
  }

  async halt(signal = 'SIGTERM') {
    this.server?.child.kill(signal);
    await this.server?.exited;
  }

  async stop() {
    if (installed) return;
    await this.halt().catch(() => {});
    // A group of processes that has just been killed takes a moment to be gone.
    for (let tries = 0; ; tries++) {
      try {
        this.run('berth-slots', '--config', this.configFile, '--remove');
        break;
      } catch (error) {
        if (tries === 50) throw error;
        execFileSync('sleep', ['0.1']);
      }
    }
    // rm may cross into the subvolumes of btrfs, but into nothing that is still mounted.
    if (readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${this.dir}/`)) throw new Error(`mounts are left in ${this.dir}`);
    // Not Node's: trees may be deeper than any path is long.
    execFileSync('rm', ['-rf', this.dir]);
  }
}
