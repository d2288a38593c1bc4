// What people really do in a sandbox: install and run servers, languages, debuggers and a browser
// with the distribution's packages, to prove that the walls around it break nothing of use. Slow:
// run-tests --all runs it as a stage of its own. Needs the package mirrors of this machine's apt.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import { after, before, describe, it } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';

/** The mirrors as network.allow_ranges, as `berth setup` proposes where they are in a refused range. */
async function mirrorRanges() {
  const sites = execFileSync('apt-get', ['indextargets', '--format', '$(SITE)'], { encoding: 'utf8' }).split('\n').filter(Boolean);
  const ranges = new Set();
  for (const site of new Set(sites)) {
    const { hostname, protocol, port } = new URL(site);
    for (const { address, family } of await lookup(hostname, { all: true }))
      ranges.add(`${family === 6 ? `[${address}]` : address}:${port || (protocol === 'https:' ? 443 : 80)}`);
  }
  return [...ranges].join(', ');
}

const slow = process.env.BERTH_TEST_WORKLOAD ? false : 'set BERTH_TEST_WORKLOAD=1: it installs gigabytes of packages';

// label: [packages, [name, command, what the output says]..]
const workloads = {
  services: [
    'postgresql redis-server openssh-server openssh-client git tmux strace gdb gcc libc6-dev procps',
    ['postgresql', `pg_ctlcluster 15 main start && runuser -u postgres -- psql -Atc "create table t(a int); insert into t select generate_series(1,1000); select sum(a) from t"`, /^500500$/m],
    ['redis', 'redis-server --daemonize yes --save "" >/dev/null && sleep 1 && redis-cli set k v && redis-cli get k', /^OK\nv$/m],
    ['openssh', `mkdir -p /run/sshd ~/.ssh && ssh-keygen -qt ed25519 -N "" -f ~/.ssh/id_ed25519 && cp ~/.ssh/id_ed25519.pub ~/.ssh/authorized_keys && /usr/sbin/sshd -p 2222 && ssh -p 2222 -o StrictHostKeyChecking=no localhost 'echo "$SSH_CONNECTION" | grep -c 2222; id -un'`, /^1\nroot$/m],
    ['git', 'rm -rf r c && git init -q r && cd r && git config user.email a@b.example && git config user.name a && echo x >f && git add f && git commit -qm first && cd .. && git clone -q r c && git -C c log --format=%s', /^first$/m],
    ['tmux', `tmux new-session -d -s w && tmux send-keys -t w 'echo $((6*7))' Enter && for i in $(seq 50); do tmux capture-pane -pt w | grep -qx 42 && break; read -rt 0.1 <> <(:); done; tmux capture-pane -pt w`, /^42$/m],
    ['strace', 'strace -f -e trace=execve sh -c "/bin/true; /bin/false" 2>&1 | grep -c "execve(\\"/bin"', /^2$/m],
    ['gdb', `printf 'int twice(int a) { return 2 * a; }\\nint main(void) { return twice(21); }\\n' >a.c && gcc -g a.c -o a && gdb -q -batch -ex 'break twice' -ex run -ex 'print a' -ex finish ./a 2>&1`, /\$1 = 21[^]*Value returned is \$2 = 42/],
    ['users', `useradd -m visitor && su visitor -c 'id -un; cd; pwd; touch f && ls -l f | cut -d" " -f3'`, /^visitor\n\/home\/visitor\nvisitor$/m],
    ['a web server', 'cd /srv && echo hello >index.html && (python3 -m http.server 8080 >/dev/null 2>&1 &) && for i in $(seq 50); do curl -sf localhost:8080/ && break; read -rt 0.1 <> <(:); done', /^hello$/m],
  ],
  languages: [
    'nodejs golang-go default-jdk-headless ruby rustc gcc g++ libc6-dev python3-venv make',
    ['node', `node -e 'const { Worker } = require("worker_threads"); const w = new Worker("require(\\"worker_threads\\").parentPort.postMessage(6*7)", { eval: true }); w.on("message", console.log)'`, /^42$/m],
    ['go', `mkdir -p g && cd g && printf 'package main\\nimport "fmt"\\nfunc main() { c := make(chan int); go func() { c <- 42 }(); fmt.Println(<-c) }\\n' >main.go && go run main.go`, /^42$/m],
    ['java', `printf 'class A { public static void main(String[] a) throws Exception { Thread t = new Thread(() -> System.out.println(6 * 7)); t.start(); t.join(); } }\\n' >A.java && javac A.java && java A`, /^42$/m],
    ['ruby', `ruby -e 'puts Thread.new { 6 * 7 }.value; puts IO.popen("echo 43").read'`, /^42\n43$/m],
    ['rust', `printf 'fn main() { println!("{}", std::thread::spawn(|| 6 * 7).join().unwrap()); }\\n' >m.rs && rustc m.rs && ./m`, /^42$/m],
    ['c++', `printf '#include <iostream>\\n#include <thread>\\nint main() { std::thread t([] { std::cout << 42 << std::endl; }); t.join(); }\\n' >m.cc && g++ -pthread m.cc -o mcc && ./mcc`, /^42$/m],
    ['python in a virtual environment', 'python3 -m venv v && v/bin/python -c "import multiprocessing as m; print(m.Pool(2).map(abs, [-6, -7]))"', /^\[6, 7\]$/m],
  ],
  browser: [
    'chromium fonts-dejavu-core',
    ['chromium', `printf '<p id=p></p><script>p.textContent = 6 * 7</script>' >p.html && chromium --headless --no-sandbox --disable-gpu --dump-dom "file://$PWD/p.html" 2>/dev/null`, />42</],
    ['a screenshot', `chromium --headless --no-sandbox --disable-gpu --screenshot=$PWD/p.png --window-size=400,300 "file://$PWD/p.html" >/dev/null 2>&1; head -c 4 p.png | od -An -c`, /211 {3}P {3}N {3}G/],
  ],
};

describe('workload', { skip: withoutBerth || slow }, () => {
  let berth, unreachable;
  before(async () => {
    const allow_ranges = await mirrorRanges();
    berth = await Berth.start({
      network: { mode: 'internet', allow_ranges },
      sandbox: { memory: '2G', processes: 512, command_timeout: 850, max_timeout: 900, call_limit: 900, min_free: '4G', idle: 3600 },
    });
    const { text } = await berth.sh('apt-get update -qq && echo reached', { label: 'services' });
    if (!/^reached$/m.test(text)) unreachable = `no package mirror is reached: ${text.trim().split('\n').at(-1)}`;
  });
  after(() => berth?.stop());

  for (const [label, [packages, ...programs]] of Object.entries(workloads)) {
    describe(label, () => {
      it(`installs ${packages}`, async (t) => {
        if (unreachable) return t.skip(unreachable);
        const { text } = await berth.sh(
          `apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends ${packages} >/tmp/apt.log 2>&1; code=$?; [ $code = 0 ] || tail -n 30 /tmp/apt.log; dpkg --audit; echo "ended with $code"`,
          { label },
        );
        assert.match(text, /^ended with 0$/m);
      });
      for (const [name, command, expected] of programs) {
        it(name, async (t) => {
          if (unreachable) return t.skip(unreachable);
          assert.match((await berth.sh(command, { label, timeout_seconds: 120 })).text, expected);
        });
      }
      after(() => berth.call('reset_sandbox', { what: 'everything', sandbox: label }));
    });
  }
});
