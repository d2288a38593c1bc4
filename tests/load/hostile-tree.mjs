// What the worst tenant leaves behind: a million files, ten thousand levels, names of any bytes,
// files of other users, closed folders, open files. It is emptied in the background while others
// work. Needs root and the image that run-tests makes.
//
//   node tests/load/hostile-tree.mjs [files] [levels]
import assert from 'node:assert/strict';
import { Berth, withoutBerth } from '../e2e/lib/berth.mjs';
import { callTool } from '../e2e/lib/mcp.mjs';
import { eventually } from '../e2e/lib/programs.mjs';
import { admin, Visitor } from './visitors.mjs';

const FILES = Number(process.argv[2] ?? 1000000);
const LEVELS = Number(process.argv[3] ?? 10000);

const SCRIPT = `
import fcntl, os, struct, subprocess
def deep(top, levels):
    os.chdir(top)
    for i in range(levels):
        os.mkdir('d' * 200)
        os.chdir('d' * 200)
    open('bottom', 'w').close()
    subprocess.Popen(['sleep', '86400'], stdout=open('held open', 'w'), stderr=subprocess.STDOUT, start_new_session=True)
deep('/workspace', ${LEVELS})
deep('/root', ${LEVELS})
os.makedirs('/workspace/many')
os.chdir('/workspace/many')
for i in range(${FILES}):
    if i % 10000 == 0:
        os.mkdir('/workspace/many/%d' % i)
        os.chdir('/workspace/many/%d' % i)
    os.mknod('%d' % i)
os.makedirs('/workspace/odd')
os.chdir('/workspace/odd')
for byte in range(1, 256):
    if byte != 47:
        open(bytes([byte]) + b'x', 'w').close()
for name in (b'-rf', b'\\n', b'\\xff\\xfe', b'\\xf0\\x9f', b'a' * 255):
    open(name, 'w').close()
for uid in (1, 1000, 65534):
    os.makedirs('of %d/below' % uid)
    open('of %d/below/file' % uid, 'w').close()
    for path in ('of %d/below/file' % uid, 'of %d/below' % uid, 'of %d' % uid):
        os.chown(path, uid, uid)
        os.chmod(path, 0)
os.makedirs('sticky')
os.chmod('sticky', 0o1000)
os.symlink('/etc', 'etc')
os.symlink('../../../../../../../../../../etc/passwd', 'passwd')
os.mkfifo('fifo')
with open('sparse', 'w') as f:
    f.truncate(1 << 42)
os.link('sparse', 'second name')
def attempt(what):
    try: what()
    except OSError as error: print(error)
SETFLAGS, IMMUTABLE, APPEND = 0x40086602, 0x10, 0x20
attempt(lambda: fcntl.ioctl(os.open('sparse', os.O_RDONLY), SETFLAGS, struct.pack('l', IMMUTABLE)))
attempt(lambda: fcntl.ioctl(os.open('sticky', os.O_RDONLY), SETFLAGS, struct.pack('l', APPEND)))
attempt(lambda: subprocess.run(['mount', '-t', 'tmpfs', 'none', 'sticky'], stderr=subprocess.DEVNULL))
attempt(lambda: subprocess.run(['mount', '--bind', '/etc', 'of 1'], stderr=subprocess.DEVNULL))
print('made', flush=True)
`;

const text = (result) => result.content[0].text;

/** Runs the script to its end, however long it takes. */
async function make(berth, tenant) {
  const { headers } = tenant;
  let answer = text(await callTool(berth.url, 'run_command', { command: 'python3 -', stdin: SCRIPT, timeout_seconds: 900 }, { headers }));
  tenant.key = answer.match(/^\[sandbox ([^\]]+)\]/)[1];
  for (let job; (job = answer.match(/\[running: job (\d+)/)); )
    answer = text(await callTool(berth.url, 'job', { job: Number(job[1]), action: 'wait', wait_seconds: 40 }, { headers }));
  assert.match(answer, /^made$/m);
}

/** Calls `probe` again and again until `over()`; the longest it took, in ms. */
async function slowest(probe, over) {
  let worst = 0;
  while (!over()) {
    const begun = Date.now();
    await probe();
    worst = Math.max(worst, Date.now() - begun);
    await new Promise((done) => setTimeout(done, 20));
  }
  return worst;
}

async function run() {
  const berth = await Berth.start({
    server: { profile: 'public' },
    auth: { methods: 'oauth' },
    // Where quotas are the kernel's: measured ones end a container long before it has made all this.
    pool: { slots: 2, queue_hold: 0, storage: 'btrfs' },
    sandbox: { allow_unlimited: 'yes', idle: 36000, warm: 0, memory: '1G', processes: 64, workspace: '8G', layer: '8G' },
  });
  try {
    const [tenant, neighbour, next] = await Visitor.arrive(berth, 3);
    await neighbour.call();
    let begun = Date.now();
    await make(berth, tenant);
    console.log(`# made in ${((Date.now() - begun) / 1000).toFixed(0)} s`);

    let free = false;
    begun = Date.now();
    await admin(berth, 'empty', { key: tenant.key });
    const health = async () => (await fetch(`${berth.origin}/health`)).json();
    const emptied = eventually(async () => (await health()).slots.free === 1, { timeout: 600000, every: 100 }).finally(() => (free = true));
    const [page, command] = await Promise.all([
      slowest(health, () => free),
      slowest(() => neighbour.call(), () => free),
      emptied,
    ]);
    const took = Date.now() - begun;
    console.log(`# ${FILES} files and two trees of ${LEVELS} levels were emptied in ${(took / 1000).toFixed(1)} s; meanwhile /health took ${page} ms at most, a neighbour's command ${command} ms`);
    console.log('ok the worst tree is emptied');
    assert.ok(page < Math.max(1000, took / 4), `/health took ${page} of ${took} ms`);
    console.log('ok nobody waits for it');

    assert.deepEqual((await next.call()).found, []);
    const left = text(await callTool(berth.url, 'run_command', { command: 'ls -A /workspace /root /tmp' }, { headers: next.headers }));
    assert.doesNotMatch(left, /^(many|odd|d{200})$/m);
    assert.equal((await health()).slots.set_aside, 0);
    console.log('ok the next one finds nothing of it');
  } catch (error) {
    console.log(`not ok a hostile tree\n${error.stack}\n${berth.server.stderr}`);
    process.exitCode = 1;
  } finally {
    await berth.stop();
  }
}

if (withoutBerth) {
  console.log(`# skipped: ${withoutBerth}`);
} else {
  await run();
}
