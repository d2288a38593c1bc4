// run_command and job on real containers: what users of other servers reported as broken must work.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';
import { request, send } from './lib/mcp.mjs';
import { eventually } from './lib/programs.mjs';

const first = (text) => text.split('\n')[0];
const body = (text) => text.split('\n').filter((line) => !/^\[(sandbox|note)/.test(line)).join('\n');

describe('run_command', { skip: withoutBerth }, () => {
  let berth;
  before(async () => {
    berth = await Berth.start({ pool: { slots: 24 }, sandbox: { memory: '256M', processes: 64 } });
    await berth.sh('true');
  });
  after(() => berth?.stop());

  describe('the status line', () => {
    for (const [command, status] of [
      ['true', '[exit 0]'],
      ['exit 3', '[exit 3]'],
      ['kill -9 $$', '[exit 137: killed by SIGKILL]'],
      ['kill -TERM $$', '[exit 143: killed by SIGTERM]'],
      ['kill -SEGV $$', '[exit 139: killed by SIGSEGV]'],
      ['nosuchprogram', '[exit 127]'],
    ]) {
      it(command, async () => {
        const { text, isError } = await berth.sh(command);
        assert.ok(first(text).endsWith(status), text);
        assert.equal(isError, false);
      });
    }

    it('names the sandbox by its normalised label', async () => {
      const one = await berth.sh('true', { label: 'Amber Otter' });
      const two = await berth.sh('true', { label: 'amber-otter' });
      assert.match(one.text, /^\[sandbox amber-otter-[0-9a-f]{6}\] \[new\] \[exit 0\]/);
      assert.equal(first(two.text), first(one.text).replace(' [new]', ''));
    });
  });

  describe('children left behind do not hold the call', () => {
    for (const command of [
      'sleep 600 & echo done',
      "sh -c 'sleep 300 &'; echo done",
      'setsid python3 -m http.server 8000 >/dev/null 2>&1 & disown; echo done',
      "(trap '' TERM HUP; sleep 500) & echo done",
    ]) {
      it(command, async () => {
        const { text } = await berth.sh(command);
        assert.match(first(text), /\[exit 0\]$/);
        assert.match(body(text), /done/);
      });
    }

    it('and go on: a web server answers the next call', async () => {
      await berth.sh('echo hi >/tmp/index.txt; cd /tmp; python3 -m http.server 9001 >/dev/null 2>&1 &');
      const { text } = await berth.sh('for i in $(seq 50); do curl -sf 127.0.0.1:9001/index.txt && break; sleep 0.1; done');
      assert.match(body(text), /hi/);
    });
  });

  describe('stdin', () => {
    for (const command of ['cat', 'read x; echo "got:$x"', "python3 -c 'input()'"]) {
      it(`is empty: ${command}`, async () => {
        assert.match(first((await berth.sh(command)).text), /\[exit [01]\]$/);
      });
    }
    it('takes the text that was given', async () => {
      assert.match(body((await berth.sh('wc -c', { stdin: 'hello' })).text), /^5$/m);
    });
    it('here documents come through as written', async () => {
      assert.match(body((await berth.sh("cat <<'EOF'\n  $x\n\ty\nEOF")).text), /^ {2}\$x\n\ty$/m);
    });
    it('an interactive bash without a terminal does not hang', async () => {
      assert.match(body((await berth.sh("bash -ic 'echo hi' 2>/dev/null")).text), /hi/);
    });
  });

  describe('text is passed on as it is', () => {
    for (const [name, command, pattern] of [
      ['an exclamation mark', `echo '{"a":1}' | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["a"] != 2)'; echo 'wow!'`, /^True\nwow!$/m],
      ['a here document with template literals', "cat <<'EOF' >a.js\nconst s=`${i+1}`;\nEOF\ncat a.js", /^const s=`\$\{i\+1\}`;$/m],
      ['a bar in an argument', "printf 'a\nb\n' >f; grep -c 'a\\|b' f; echo 'http://x/?a=1|2'", /^2\nhttp:\/\/x\/\?a=1\|2$/m],
      ['NUL bytes in a pipe', 'env -0 | tr "\\0" "\\n" | grep -c ^PATH=', /^1$/m],
      ['characters beyond ASCII', `locale | grep -c 'LC_ALL=\\|LANG=C.UTF-8'; python3 -c 'print("─│é漢")'`, /^2\n─│é漢$/m],
      ['the server is no process that pkill could see', "pkill -f '[b]erth'; pkill -f '[s]erver'; echo alive", /^alive$/m],
      ['pkill does not find the command that runs it', 'pkill -f server; kill $(pgrep -f server); echo "alive, $# [$c]"', /^alive, 0 \[\]$/m],
    ]) {
      it(name, async () => assert.match(body((await berth.sh(command)).text), pattern));
    }
    for (const bytes of [40000, 61000, 64000, 65537, 131073, 300000]) {
      it(`a command of ${bytes} bytes`, async () => {
        const rest = 'echo "$LANG" whole; # ';
        assert.match(body((await berth.sh(rest + 'x'.repeat(bytes - rest.length))).text), /^C\.UTF-8 whole$/m);
      });
    }
  });

  describe('where a command finds itself', () => {
    it('nobody is at a terminal: no pager, no editor, no questions', async () => {
      const { text } = await berth.sh('echo $DEBIAN_FRONTEND $PAGER $GIT_PAGER $GIT_EDITOR $TERM $HOME $LANG $(whoami); [ -t 0 ] || [ -t 1 ] || echo none');
      assert.match(body(text), /^noninteractive cat cat true dumb \/root C\.UTF-8 root\nnone$/m);
    });
    it('the same TMPDIR, clock and terminal in each call', async () => {
      const look = async () => body((await berth.sh('echo "<$TMPDIR>"; date +%z; tput -T "$TERM" cols >/dev/null && tput bold | wc -c >/dev/null && echo fine')).text);
      const text = await look();
      assert.match(text, /^<.*>\n\+0000\nfine$/m);
      assert.equal(await look(), text);
    });
    it('a fresh environment and folder: nothing of another call, not even of one beside it', async () => {
      const values = ['aaa', 'bbb', 'ccc'];
      const results = await Promise.all(values.map((value) => berth.sh(`export T=${value}; cd /tmp; sleep 0.2; echo $T`)));
      results.forEach(({ text }, i) => assert.match(body(text), new RegExp(`^${values[i]}$`, 'm')));
      assert.match(body((await berth.sh('echo "<$T>"; pwd')).text), /^<>\n\/workspace$/m);
    });
    it('/bin/sh, and it is said, where bash is gone', async () => {
      await berth.sh('mv /bin/bash /bin/bash.away', { label: 'no-bash' });
      for (const command of ['echo by $0', `echo by $0 # ${'x'.repeat(200000)}`])
        assert.match(body((await berth.sh(command, { label: 'no-bash' })).text), /there is no bash: \/bin\/sh runs this\n|by \/bin\/sh/);
      const { text } = await berth.sh('echo by $0; exit 4', { label: 'no-bash' });
      assert.match(text, /\[exit 4\]\n(.*\n)*\[note\] there is no bash: \/bin\/sh runs this\nby \/bin\/sh$/m);
    });
  });

  describe('output', () => {
    it('bytes that are no UTF-8 become U+FFFD', async () => {
      assert.match(body((await berth.sh(String.raw`printf 'ok \xfe\xff end\n'`)).text), /^ok \uFFFD\uFFFD end$/m);
    });
    it('NUL is shown, terminal sequences are not', async () => {
      assert.match(body((await berth.sh(String.raw`printf 'a\0b\033[31mred\033[0m\n'`)).text), /^a\u2400bred$/m);
    });
    it('stdout and stderr come in order', async () => {
      const { text } = await berth.sh('for i in 1 2 3; do echo o$i; echo e$i >&2; done');
      assert.match(body(text), /o1\ne1\no2\ne2\no3\ne3/);
    });
    it('a long one is cut in the middle and kept whole', async () => {
      const { text } = await berth.sh('seq 1 100000');
      assert.match(text, /\n1\n2\n/);
      assert.match(text, /\n100000\n?$/);
      const [, path] = text.match(/the whole output: (\S+)/);
      assert.match(body((await berth.sh(`wc -l <${path}`)).text), /^100000$/m);
    });
    it('600 MB neither stop the server nor fill it', async () => {
      const { text } = await berth.sh('head -c 600000000 /dev/zero', { timeout_seconds: 60 });
      assert.ok(text.length < 200000);
      assert.match(first((await berth.sh('echo alive')).text), /\[exit 0\]$/);
    });
    it('a failure within a moment keeps its last words', async () => {
      const { text } = await berth.sh("python3 -c 'import nope'");
      assert.match(first(text), /\[exit 1\]$/);
      assert.match(text, /ModuleNotFoundError/);
    });
    it('50 at once: none is empty, none is another one\'s', async () => {
      const texts = await Promise.all(Array.from({ length: 50 }, async (_, i) => {
        for (;;) {
          const { text, isError } = await berth.sh(`echo out-${i}-`, { label: `o${i % 5}` });
          if (!isError) return text; // more calls at once than one may have
          assert.match(text, /under way|running in this sandbox already/);
        }
      }));
      texts.forEach((text, i) => assert.match(body(text), new RegExp(`^out-${i}-$`, 'm')));
    });
    it('links, colours and pictures of terminals leave their text only', async () => {
      const { text } = await berth.sh(String.raw`printf '\e]8;;http://x\e\\link\e]8;;\e\\ \e[31mred\e[0m \ePq#0\e\\done\n'`);
      assert.match(body(text), /^link red done$/m);
    });
    it('one very long line is cut by the one rule there is', async () => {
      const { text } = await berth.sh('head -c 300000 /dev/zero | tr "\\0" x; echo; echo end');
      assert.match(text, /^end$/m);
      const [, path] = text.match(/the whole output: (\S+)/);
      assert.match(body((await berth.sh(`wc -c <${path}`)).text), /^300005$/m);
    });
    it('a program that closes its output still ends', async () => {
      assert.match(first((await berth.sh('exec >&- 2>&-; sleep 0.2; exit 4')).text), /\[exit 4\]$/);
    });
  });

  describe('time', () => {
    let hasty;
    before(async () => {
      hasty = await Berth.start({ pool: { slots: 8 }, sandbox: { call_limit: 3 } });
      await hasty.sh('true');
    });
    after(() => hasty?.stop());
    /** The job's answer when it has ended, and what it said before. */
    const ended = async (server, job, sandbox = 'test') => {
      let said = '';
      for (;;) {
        const { text } = await server.call('job', { job, sandbox, wait_seconds: 3 });
        said += body(text);
        if (!/\[running/.test(first(text))) return { text, said };
      }
    };
    it('all output until a time-out is there, and everything it started ends', async () => {
      const { text } = await berth.sh('seq 1 1000; (sleep 100 & sleep 100); sleep 100', { timeout_seconds: 1 });
      assert.match(first(text), /\[timed out after 1 s\]/);
      assert.match(body(text), /^1000$/m);
      assert.doesNotMatch(body((await berth.sh('pgrep -fa "[s]leep 100" || true')).text), /sleep 100/);
    });
    it('a command that ignores TERM is killed', async () => {
      const { text } = await berth.call('run_command', { command: "trap '' TERM; while :; do sleep 1; done", timeout_seconds: 1, sandbox: 'stubborn', background: true });
      const [, job] = text.match(/job (\d+)/);
      assert.match(first((await ended(berth, job, 'stubborn')).text), /\[timed out after 1 s\] \[exit 137: killed by SIGKILL\]/);
    });
    it('after the call limit it goes on as a job', async () => {
      const { text } = await hasty.sh('echo begin; until [ -e go ]; do sleep 0.05; done; echo end; exit 5');
      assert.match(first(text), /\[running: job \d+, [3-9] s so far\]/);
      assert.match(body(text), /begin/);
      const [, job] = text.match(/job (\d+)/);
      await hasty.call('write_file', { path: 'go', content: '', sandbox: 'test' });
      const rest = await ended(hasty, job);
      assert.match(first(rest.text), /\[exit 5\]/);
      assert.match(rest.said, /^end$/m);
      assert.doesNotMatch(rest.said, /begin/);
    });
    it('a job takes input, and is stopped with all it started', async () => {
      const { text } = await berth.sh('cat; sleep 411 | sleep 412', { background: true });
      const [, job] = text.match(/job (\d+)/);
      let said = body((await berth.call('job', { job, action: 'stdin', stdin: 'hello\n', wait_seconds: 1, sandbox: 'test' })).text);
      await eventually(async () => /hello/.test(said) || (said += body((await berth.call('job', { job, wait_seconds: 1, sandbox: 'test' })).text)));
      await berth.call('job', { job, action: 'stdin', stdin: '\u0004', wait_seconds: 0, sandbox: 'test' });
      // What is being started just now may miss the TERM, and would have to wait for the KILL.
      assert.match((await berth.sh("until pgrep -f '[s]leep 412'; do sleep 0.1; done")).text, /^\d+$/m);
      const stopped = await berth.call('job', { job, action: 'stop', wait_seconds: 30, sandbox: 'test' });
      assert.match(first(stopped.text), /\[stopped\]/);
      assert.doesNotMatch(body((await berth.sh('pgrep -fa "[s]leep 41" || true')).text), /sleep 41/);
    });
    it('a job that has ended says so when it is asked again, or stopped', async () => {
      const { text } = await berth.sh('sleep 1.5; exit 0', { background: true });
      const [, job] = text.match(/job (\d+)/);
      assert.match(first((await ended(berth, job)).text), /\[exit 0\]$/);
      assert.match(first((await berth.call('job', { job, action: 'stop', sandbox: 'test' })).text), /\[exit 0\]$/);
      assert.match((await berth.call('job', { job: 4711, sandbox: 'test' })).text, /^\[job error\].*4711/);
    });
    it('what it said before the call returned is in the file of the whole too', async () => {
      for (const args of [{}, { background: true }]) {
        const { text } = await hasty.sh(`rm -f go; echo begin; until [ -e go ]; do sleep 0.05; done; seq 30000`, args);
        const [, job] = text.match(/job (\d+)/);
        assert.match(body(text), /^begin$/m);
        await hasty.call('write_file', { path: 'go', content: '', sandbox: 'test' });
        const [, path] = (await ended(hasty, job)).said.match(/the whole output: (\S+)/);
        assert.match(body((await hasty.sh(`sed -n '1p;$p' ${path}; wc -l <${path}`)).text), /^begin\n30000\n30001$/m);
      }
    });
    it('a job that ran for long is remembered from its end on, whatever ran meanwhile', async () => {
      const { text } = await berth.sh('echo $$ >pid; until [ -e go ]; do sleep 0.05; done; echo the result', { background: true, label: 'long' });
      const [, job] = text.match(/job (\d+)/);
      for (let i = 0; i < 25; i++) await berth.sh('true', { label: 'long' });
      await berth.sh('touch go; while [ -e /proc/$(cat pid) ]; do sleep 0.05; done', { label: 'long' });
      const end = await ended(berth, job, 'long');
      assert.match(first(end.text), /\[exit 0\]$/);
      assert.match(end.said, /^the result$/m);
    });
    it('what is under way is told of each sandbox', async () => {
      for (const label of ['here', 'there']) await berth.sh('sleep 600', { label, background: true });
      const { text } = await berth.call('sandbox_info', { sandbox: 'here' });
      for (const label of ['here', 'there']) assert.match(text, new RegExp(`label ${label}: .*, other calls, jobs or transfers under way: 1\n`));
      for (const label of ['here', 'there']) await berth.call('reset_sandbox', { what: 'container', sandbox: label });
    });
    it('a client that leaves takes its command along', async () => {
      const poll = (pattern, want) =>
        berth.sh(`for i in $(seq 250); do pgrep -f '${pattern}' >/dev/null; [ $? = ${want} ] && echo seen && break; sleep 0.1; done`, { label: 'leaver' });
      const leave = new AbortController();
      const call = send(berth.url, {
        signal: leave.signal,
        headers: { ...berth.headers, 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'run_command' },
        body: request('tools/call', {
          name: 'run_command',
          arguments: { command: 'sleep 1000 & sleep 1000 | cat', sandbox: 'leaver' },
          _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} },
        }),
      });
      call.catch(() => {});
      assert.match((await poll('[s]leep 1000', 0)).text, /seen/);
      leave.abort();
      assert.match((await poll('[s]leep 1000', 1)).text, /seen/);
    });
  });

  describe('limits', () => {
    it('memory, by the kernel\'s count', async () => {
      const { text } = await berth.sh("python3 -c 'x = bytearray(1 << 30)'");
      assert.match(first(text), /\[out of memory: limit 256 MiB\]/);
      assert.match(first((await berth.sh('true')).text), /\[exit 0\]$/);
    });
    it('memory, also when the victim is a member of a pipeline that ends well', async () => {
      const { text } = await berth.sh("tail /dev/zero | cat", { label: 'pipeline' });
      assert.match(first(text), /\[exit 0\] \[out of memory: limit 256 MiB\]$/);
      // It is not the next one's fault, and a death by signal is not always want of memory.
      for (const [command, end] of [['false', '[exit 1]'], ['kill -9 $$', '[exit 137: killed by SIGKILL]']])
        assert.ok(first((await berth.sh(command, { label: 'pipeline' })).text).endsWith(end));
    });
    it('processes, by the kernel\'s count', async () => {
      const { text } = await berth.sh("python3 -c 'import os, time\nfor i in range(100): os.fork() or (time.sleep(5), os._exit(0))'", { label: 'forks' });
      assert.match(first(text), /\[process limit reached: 64\]/);
    });
    it('without a process left no tool says that there is nothing', async () => {
      await berth.sh(`echo pin >x; python3 -c 'import os, time
try:
  while os.fork() or time.sleep(9): pass
except OSError:
  open("full", "w").close()
  time.sleep(9)'`, { label: 'full', background: true });
      await eventually(async () => !(await berth.call('read_file', { path: 'full', sandbox: 'full' })).isError);
      for (const [name, args] of [['find_files', { text: 'pin' }], ['project_map', {}], ['project_map', { query: 'pin' }]]) {
        const { text } = await berth.call(name, { sandbox: 'full', ...args });
        assert.match(text, /^\[file error\] ripgrep did not come to its end: the sandbox may have no more processes/);
      }
    });
    it('300 orphans are reaped', async () => {
      // No more at a time than the limit allows.
      const orphans = 'for n in 1 2 3 4 5 6; do for i in $(seq 50); do (sleep 0.01 &); done; while pgrep -x sleep; do :; done; done';
      assert.match(first((await berth.sh(orphans, { label: 'orphans' })).text), /\[exit 0\]$/);
      await eventually(async () => /^0$/m.test(body((await berth.sh('ps -e -o stat= | grep -c ^Z || true', { label: 'orphans' })).text)));
    });
    it('PID 1 cannot be killed from inside', async () => {
      await berth.sh('kill -9 1; kill -9 -1', { label: 'suicide' });
      assert.match(first((await berth.sh('echo back', { label: 'suicide' })).text), /\[exit 0\]$/);
    });
  });

  describe('the command itself', () => {
    it('may have a megabyte', async () => {
      const { text } = await berth.sh(`echo ${'x'.repeat(900000)} | wc -c`);
      assert.match(body(text), /^900001$/m);
    });
    it('cwd is relative to /workspace, and must be there', async () => {
      await berth.sh('mkdir -p sub/dir');
      assert.match(body((await berth.sh('pwd', { cwd: 'sub/dir' })).text), /^\/workspace\/sub\/dir$/m);
      const { text, isError } = await berth.sh('touch /workspace/ran', { cwd: '/nowhere' });
      assert.ok(isError);
      assert.match(text, /^\[sandbox error\] nothing was run/);
      assert.match(first((await berth.sh('test ! -e ran')).text), /\[exit 0\]/);
    });
    for (const [why, args, pattern] of [
      ['no command', { command: '' }, /command/],
      ['a NUL in it', { command: 'echo a\u0000b' }, /NUL/i],
      ['a time-out of days', { command: 'true', timeout_seconds: 1000000 }, /timeout_seconds/],
      ['an unknown argument', { command: 'true', shell: 'zsh' }, /shell/],
      ['a label without a letter', { command: 'true', sandbox: '!!!' }, /label/],
      ['a label of 10,000 characters', { command: 'true', sandbox: 'x'.repeat(10000) }, /label/],
    ]) {
      it(`is refused with words: ${why}`, async () => {
        const { text, isError } = await berth.call('run_command', { sandbox: 'test', ...args });
        assert.ok(isError, text);
        assert.match(text, pattern);
      });
    }
    it('numbers as text and empty options are accepted', async () => {
      const { text } = await berth.sh('pwd', { timeout_seconds: '30', cwd: '', stdin: '' });
      assert.match(body(text), /^\/workspace$/m);
    });
  });

  it('what is kept is whole, however little is shown', async () => {
    const modest = await Berth.start({ sandbox: { output_chars: 1000 } });
    try {
      const { text } = await modest.sh(`python3 -c 'import os; os.write(1, b"".join(b"%d\\n" % i for i in range(10000)))'`);
      const [, path] = text.match(/the whole output: (\S+)/);
      assert.match(first((await modest.sh(`seq 0 9999 | cmp - ${path}`)).text), /\[exit 0\]$/);
    } finally {
      await modest.stop();
    }
  });

  it('30 calls at once keep their exit statuses', async () => {
    const codes = Array.from({ length: 30 }, (_, i) => i + 1);
    const results = await Promise.all(codes.map((code) => berth.sh(`sleep 0.05; exit ${code}`, { label: `p${code % 3}` })));
    results.forEach(({ text }, i) => assert.match(first(text), new RegExp(`\\[exit ${codes[i]}\\]$`)));
  });
});
