// Berth beside bubblewrap, crun and podman, in one run on one machine: a fresh sandbox, and one more
// command in a running one. Each runs `bash -lc true` in the same root file system, without network.
// Prints the tables of bench/README.md.
//
//   sudo node bench/compare/run.mjs          under three minutes; needs root, a build (BERTH_BUILD)
//                                            and the image that run-tests makes
//
// Debian's packages bubblewrap, crun and podman are the peers; one that is missing or does not run
// here is named with its reason. On a busy machine look at the ratios.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Berth, withoutBerth } from '../../tests/e2e/lib/berth.mjs';
import { program } from '../../tests/e2e/lib/programs.mjs';

if (withoutBerth) {
  console.error(`cannot run: ${withoutBerth}`);
  process.exit(1);
}

const rootfs = join(process.env.BERTH_TEST_CACHE ?? '/var/cache/berth-test', 'minimal/rootfs');
const latency = program('bench/compare/latency');
const work = mkdtempSync(join(tmpdir(), 'berth-compare-'));
const COMMAND = ['bash', '-lc', 'true'];
const PASSES = 3;
const ROUNDS = 60;
const COLD = 30;

// ---- Berth ----

/** The whole HTTP request of `run_command true` in the sandbox of this label. */
function requestText(token, sandbox) {
  const body = JSON.stringify({
    jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'run_command', arguments: { command: 'true', sandbox } },
  });
  const head = [
    'POST /mcp HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${token}`, 'Content-Type: application/json',
    'Accept: application/json, text/event-stream', `Content-Length: ${body.length}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

/** Several owners, since one may not have so many calls under way. */
function tokens(berth, clients) {
  const owners = Array.from({ length: Math.ceil(clients / 10) }, (_, i) => `owner${i}`);
  return owners.map((name) => berth.admin('token', 'create', '--name', name, '--owner', name).trim());
}

function post(berth, rounds, clients, sandbox) {
  const { port } = new URL(berth.url);
  const input = tokens(berth, clients).map((token) => requestText(token, sandbox)).join('\0');
  const args = ['post', String(rounds), port, String(clients), '[exit 0]'];
  return JSON.parse(execFileSync(latency, args, { input, encoding: 'utf8' }));
}

/** In a running sandbox of each client; with no clients: the first command of a new one. */
async function measureBerth(clients, warm) {
  const berth = await Berth.start({
    // All slots are used: none is left in which more warm containers could be started meanwhile.
    pool: { slots: clients || COLD }, sandbox: { warm, memory: '256M', processes: 64, idle: 36000 },
  });
  try {
    return clients ? post(berth, ROUNDS * Math.min(clients, 10), clients, 'c-@CCCC') : post(berth, COLD, 1, 'n-@NNNN');
  } finally {
    await berth.stop();
  }
}

// ---- the others ----

/** Times a program; `before` and `after` are shell commands around it all, in the same namespace. */
function run(command, { before = ':', after = ':' } = {}) {
  // crun 1.8 refuses a host with both versions of control groups: a mount namespace hides the second.
  const hide = '! mountpoint -q /sys/fs/cgroup/unified || umount /sys/fs/cgroup/unified';
  const script = `${hide}; ${before} >&2; trap '${after} >&2' EXIT; "$0" "$@"`;
  const args = ['-m', '--propagation', 'private', 'sh', '-ec', script, latency, 'run', String(ROUNDS), ...command];
  return JSON.parse(execFileSync('unshare', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }));
}

function crun() {
  const bundle = mkdtempSync(join(work, 'bundle-'));
  execFileSync('crun', ['spec'], { cwd: bundle });
  const config = JSON.parse(readFileSync(join(bundle, 'config.json'), 'utf8'));
  config.root = { path: rootfs, readonly: true };
  config.process = { ...config.process, terminal: false, args: COMMAND, rlimits: undefined };
  config.linux.namespaces = config.linux.namespaces.filter(({ type }) => type !== 'cgroup');
  writeFileSync(join(bundle, 'config.json'), JSON.stringify(config));
  return run(['crun', `--root=${join(work, 'crun')}`, '--cgroup-manager=cgroupfs', 'run', '-b', bundle, 'berth-compare']);
}

// A separate --root alone would still share the state of all other containers of root.
const podman = ['podman', '--root', join(work, 'podman'), '--runroot', join(work, 'podman-run'), '--tmpdir', join(work, 'podman-tmp'),
  '--cgroup-manager=cgroupfs', '--events-backend=none', '--runtime', 'crun'];
// The limits that podman sets by itself may be above those of this machine.
const podmanRun = ['run', '--network', 'none', '--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=4096:4096'];
const podmanRoot = ['--rootfs', `${rootfs}:O`];
const podmanName = 'berth-compare';

const peers = {
  chroot: () => run(['chroot', rootfs, ...COMMAND]),
  bwrap: () => run(['bwrap', '--unshare-all', '--die-with-parent', '--ro-bind', rootfs, '/', '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', ...COMMAND]),
  crun,
  'podman run': () => run([...podman, ...podmanRun, '--rm', ...podmanRoot, ...COMMAND]),
  'podman exec': () => {
    const before = [...podman, ...podmanRun, '-d', '--name', podmanName, ...podmanRoot, 'sleep', '600'].join(' ');
    const after = [...podman, 'rm', '-f', '-t', '0', podmanName].join(' ');
    return run([...podman, 'exec', podmanName, ...COMMAND], { before, after });
  },
};

// ---- the tables ----

const ms = (usec) => (usec / 1000).toFixed(usec < 10000 ? 2 : 1);

const why = (error) =>
  error.code === 'ENOENT' ? 'not installed' : String(error.stderr || error.message).trim().split('\n').pop().slice(0, 100);

/** Measures each row in turn, PASSES times, and keeps its quietest pass: other work comes and goes. */
async function measure(rows) {
  const best = new Map();
  for (let pass = 0; pass < PASSES; pass++) {
    for (const [name, once] of rows) {
      if (best.get(name)?.why) continue;
      try {
        const result = await once();
        if (!best.has(name) || result.p50 < best.get(name).p50) best.set(name, result);
      } catch (error) {
        best.set(name, { why: why(error) });
      }
    }
  }
  return best;
}

function print(title, baseline, results) {
  const base = results.get(baseline)?.p50;
  console.log(`\n| ${title} | p50 | p95 | p99 | p50 of ${baseline} |\n| --- | ---: | ---: | ---: | ---: |`);
  for (const [name, { why: reason, p50, p95, p99 }] of results) {
    const cells = reason ? ['–', '', '', reason] : [ms(p50), ms(p95), ms(p99), base ? `${((p50 / base) * 100).toFixed(p50 < base / 10 ? 1 : 0)} %` : '–'];
    console.log(`| ${[name, ...cells].join(' | ')} |`);
  }
}

try {
  const load = () => loadavg()[0].toFixed(1);
  const begun = load();
  const cold = await measure([
    ['berth, from a warm slot', () => measureBerth(0, COLD)],
    ['berth, from nothing', () => measureBerth(0, 0)],
    ...['bwrap', 'crun', 'podman run'].map((name) => [name, peers[name]]),
  ]);
  const warm = await measure([
    ['chroot (no sandbox: the floor)', peers.chroot],
    ['berth, 1 client', () => measureBerth(1, 0)],
    ['berth, 16 clients at once', () => measureBerth(16, 0)],
    ['berth, 100 clients at once', () => measureBerth(100, 0)],
    ['podman exec', peers['podman exec']],
  ]);
  console.log(`${cpus().length} CPUs, load ${begun} to ${load()}; milliseconds of \`bash -lc true\`, the quietest of ${PASSES} passes`);
  print('a fresh sandbox and its first command', 'crun', cold);
  print('one more command, by MCP over HTTP', 'podman exec', warm);
} finally {
  rmSync(work, { recursive: true, force: true });
}
