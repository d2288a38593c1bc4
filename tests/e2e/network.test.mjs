// What people ask a model to do first, in a sandbox with a network: install packages, make a Python
// environment, use git, run a web server. The packages come from this machine's own mirrors, which a
// sandbox reaches as setup would let it; where there are none, or they cannot be reached, the tests
// that need them are skipped.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';

const INSTALL_S = 240;
const first = (text) => text.split('\n')[0];

const output = (program, ...args) => {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return '';
  }
};

/** URLs of this machine's package registries, as its own tools know them. */
const registries = {
  apt: output('apt-get', 'indextargets', '--format', '$(SITE)').split('\n').filter(Boolean),
  pip: [output('python3', '-m', 'pip', 'config', 'get', 'global.index-url') || 'https://pypi.org/simple'],
};

function answers(address, port) {
  return new Promise((done) => {
    const socket = connect({ host: address, port, timeout: 3000 });
    const end = (good) => {
      socket.destroy();
      done(good);
    };
    socket.on('connect', () => end(true)).on('timeout', () => end(false)).on('error', () => end(false));
  });
}

/** "address:port" of each, or why it cannot be used. */
async function reach(urls) {
  const ranges = new Set();
  for (const url of urls.map((text) => new URL(text))) {
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
    try {
      const { address } = await lookup(url.hostname, { family: 4 });
      if (!(await answers(address, port))) return { why: 'the registry does not answer' };
      ranges.add(`${address}:${port}`);
    } catch {
      return { why: 'the registry has no address here' };
    }
  }
  return ranges.size ? { ranges: [...ranges] } : { why: 'no registry is configured here' };
}

describe('in a sandbox with a network', { skip: withoutBerth }, () => {
  let berth;
  let apt;
  let pip;
  before(async () => {
    [apt, pip] = await Promise.all([reach(registries.apt), reach(registries.pip)]);
    berth = await Berth.start({
      network: { mode: 'internet', allow_ranges: [...(apt.ranges ?? []), ...(pip.ranges ?? [])].join(', ') },
      sandbox: { call_limit: 45, warm: 0 },
    });
  });
  after(() => berth?.stop());

  /** A command to its end, however many calls that takes. */
  async function sh(command) {
    let { text } = await berth.sh(command, { timeout_seconds: INSTALL_S });
    let all = text;
    for (let job; (job = first(text).match(/\[running: job (\d+)/)); all += text)
      ({ text } = await berth.call('job', { job: job[1], wait_seconds: 45, sandbox: 'test' }));
    return { status: first(text), text: all };
  }

  it('apt-get update && apt-get install -y sl', async (t) => {
    if (apt.why) return t.skip(apt.why);
    const { status, text } = await sh('apt-get update && apt-get install -y sl && dpkg -s sl | grep Status && ls -l /usr/games/sl');
    assert.match(status, /\[exit 0\]/, text.slice(-2000));
    assert.match(text, /Status: install ok installed/);
    assert.doesNotMatch(text, /debconf: .*(Dialog|unable to initialize)/);
  });

  it('a package that asks questions is installed without any', async (t) => {
    if (apt.why) return t.skip(apt.why);
    const { status, text } = await sh('apt-get update -qq && apt-get install -y tzdata >/dev/null && date +%Z && TZ=Asia/Shanghai date +%z');
    assert.match(status, /\[exit 0\]/, text.slice(-2000));
    assert.match(text, /^UTC\n\+0800$/m);
  });

  it('pip in a venv, from a folder', async (t) => {
    if (apt.why && /\[exit 1\]/.test(first((await berth.sh('python3 -m ensurepip --version')).text))) return t.skip(`no venv in the image, and ${apt.why}`);
    const { status, text } = await sh(`python3 -m ensurepip --version >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y python3-venv >/dev/null; }
      mkdir -p pkg && cd pkg && echo 'def answer(): return 42' >deep.py
      echo 'from setuptools import setup; setup(name="deep", version="1", py_modules=["deep"])' >setup.py
      python3 -m venv --system-site-packages v && v/bin/pip install -q --no-index --no-build-isolation . && cd / && /workspace/pkg/v/bin/python -c 'import deep; print(deep.answer())'`);
    assert.match(status, /\[exit 0\]/, text.slice(-2000));
    assert.match(text, /^42$/m);
  });

  it('pip in a venv, from the registry', async (t) => {
    if (apt.why || pip.why) return t.skip(pip.why ?? apt.why);
    const { status, text } = await sh(`python3 -m ensurepip --version >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y python3-venv >/dev/null; }
      python3 -m venv v && v/bin/pip install -q -i ${registries.pip[0]} six && v/bin/python -c 'import six; print("six", six.__version__)'`);
    assert.match(status, /\[exit 0\]/, text.slice(-2000));
    assert.match(text, /^six \d/m);
  });

  it('git: commits, amends, merges and a clone, and no editor or pager waits', async () => {
    const { status, text } = await sh(`set -e; git init -q -b main repo && cd repo
      git config user.name me && git config user.email me@example.org
      echo 1 >a && git add a && git commit -qm one && git commit -q --amend && git checkout -q -b side
      echo 2 >b && git add b && git commit -qm two && git checkout -q main && git merge -q --no-ff side
      git log --oneline --graph && cd .. && git clone -q repo copy && git -C copy status --short --branch && git -C copy blame a`);
    assert.match(status, /\[exit 0\]/, text);
    assert.match(text, /Merge branch 'side'/);
  });

  it('a web server in the background is reached by curl, from the next call too, and ends with its job', async () => {
    await berth.sh('mkdir -p www; echo hello from inside >www/index.html');
    const { text } = await berth.sh('python3 -m http.server 8080 --directory www', { background: true });
    const [, job] = text.match(/job (\d+)/);
    const got = await berth.sh('curl -sS --retry 20 --retry-connrefused --retry-delay 1 http://127.0.0.1:8080/; curl -sS http://localhost:8080/ -o /dev/null -w "%{http_code}\\n"');
    assert.match(got.text, /^hello from inside\n200$/m);
    await berth.call('job', { job, action: 'stop', wait_seconds: 10, sandbox: 'test' });
    assert.match((await berth.sh('curl -sS http://127.0.0.1:8080/; echo $?')).text, /^7$/m);
  });

  it('what it may not reach is refused at once, not after a minute', async () => {
    const { text } = await berth.sh('for to in 169.254.169.254 10.0.0.1 192.168.1.1; do timeout 5 curl -sS http://$to/ 2>&1; echo "$to: $?"; done');
    // 7: connection refused. 124 would be the time-out.
    for (const to of ['169.254.169.254', '10.0.0.1', '192.168.1.1']) assert.match(text, new RegExp(`^${to.replaceAll('.', '\\.')}: 7$`, 'm'));
  });
});
