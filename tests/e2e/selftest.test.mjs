// `berth selftest` directly, through Debian's nginx and Caddy with the configurations of packaging/,
// and through proxies that spoil something: it must notice.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';
import { eventually, freePort, run } from './lib/programs.mjs';
import { certificate, PROXIES } from './lib/proxies.mjs';

/** { code, failed: { check: message }, n } of a run. */
async function selftest(berth, url, ...args) {
  const { code, stdout, stderr } = await run(join(berth.programs, 'berth'), ['selftest', '--url', url, '--json', ...args], {
    timeout: 180000,
    env: { ...process.env, BERTH_TOKEN: berth.token },
  });
  const checks = stdout.startsWith('[') ? JSON.parse(stdout) : assert.fail(stdout + stderr);
  assert.equal(checks.every(({ ok }) => ok), code === 0);
  const failed = Object.fromEntries(checks.filter(({ ok }) => !ok).map(({ check, message }) => [check, message]));
  return { code, failed, n: checks.length };
}

/** A proxy in front of `berth` whose `spoil(request, response of berth, response)` ends each answer. */
async function spoiler(berth, spoil) {
  const server = http.createServer((req, res) => {
    const up = http.request(new URL(req.url, berth.origin), { method: req.method, headers: req.headers }, (answer) => spoil(req, answer, res));
    up.on('error', () => res.destroy());
    req.pipe(up);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${server.address().port}/mcp`, close: () => server.close() };
}

describe('selftest', { skip: withoutBerth }, () => {
  let berth;
  before(async () => {
    berth = await Berth.start();
  });
  after(() => berth?.stop());

  it('passes on a server that is well, one line a check', async () => {
    const { code, stdout, stderr } = await run(join(berth.programs, 'berth'), ['selftest', '--url', berth.url, '--token', berth.token], {
      timeout: 180000,
      env: { ...process.env, http_proxy: 'http://127.0.0.1:9' }, // which does not lead to this machine
    });
    assert.equal(code, 0, stdout);
    const lines = stdout.trim().split('\n');
    assert.equal(lines.length, 13);
    assert.ok(lines.every((line) => line.startsWith('ok ')), stdout);
    const [, ...keys] = stderr.match(/^The sandboxes (\S+) and (\S+) are empty now; each keeps its slot until berth empty KEY\.$/m);
    assert.deepEqual(keys.sort(), JSON.parse(berth.admin('status', '--json')).sandboxes.map(({ key }) => key).sort());
  });

  it('takes no more slots the second time, and leaves nothing', async () => {
    const { code, failed } = await selftest(berth, berth.url);
    assert.equal(code, 0, JSON.stringify(failed));
    assert.equal(JSON.parse(berth.admin('status', '--json')).sandboxes.length, 2);
    assert.match((await berth.sh('ls -A | wc -l', { label: 'selftest-one' })).text, /^0$/m);
  });

  it('says when the token is wrong', async () => {
    const { code, failed } = await selftest(berth, berth.url, '--token', 'wrong');
    assert.equal(code, 1);
    assert.match(failed['tools are listed'], /401/);
    assert.match(failed['tools are listed'], /^status 401 \(give a valid token with --token\)/);
  });

  it('claims nothing about the sign-in when it was given no token', async () => {
    const env = { ...process.env };
    delete env.BERTH_TOKEN;
    const { code, stdout } = await run(join(berth.programs, 'berth'), ['selftest', '--url', berth.url], { timeout: 180000, env });
    assert.equal(code, 1);
    assert.match(stdout, /^-- {3}no entry without the token: not looked at: no token was given$/m);
  });

  it('says when the address is not the endpoint', async () => {
    const { code, failed } = await selftest(berth, `${berth.origin}/`);
    assert.equal(code, 1);
    assert.match(failed['tools are listed'], /^status 404 \(URL is the endpoint, with \/mcp at the end\)/);
  });

  it('says when nobody answers', async () => {
    const { code, failed, n } = await selftest(berth, `http://127.0.0.1:${await freePort()}/mcp`);
    assert.equal(code, 1);
    assert.equal(Object.keys(failed).length, n);
    assert.match(failed['tools are listed'], /connect/i);
  });

  it('notices a proxy that holds answers back', async () => {
    const proxy = await spoiler(berth, async (req, answer, res) => {
      const chunks = await answer.toArray();
      res.writeHead(answer.statusCode, answer.headers);
      res.end(Buffer.concat(chunks));
    });
    try {
      const { code, failed } = await selftest(berth, proxy.url);
      assert.equal(code, 1);
      assert.deepEqual(Object.keys(failed), ['nothing buffers long calls'], JSON.stringify(failed));
    } finally {
      proxy.close();
    }
  });

  it('leaves the files alone where there are no labels', async () => {
    const alone = await Berth.start({ pool: { sandboxes_per_principal: 1 } });
    try {
      await alone.call('run_command', { command: 'echo mine >mine' });
      const env = { ...process.env, BERTH_TOKEN: alone.token };
      const { code, stdout, stderr } = await run(join(alone.programs, 'berth'), ['selftest', '--url', alone.url], { timeout: 180000, env });
      assert.equal(code, 0, stdout);
      assert.match(stdout, /^-- {3}another label, another container: not looked at: there are no labels here$/m);
      assert.equal(stderr, '');
      assert.match((await alone.call('run_command', { command: 'ls -A' })).text, /^mine$/m);
    } finally {
      await alone.stop();
    }
  });

  it('refuses wrong usage', async () => {
    assert.equal((await run(join(berth.programs, 'berth'), ['selftest'])).code, 2);
    assert.equal((await run(join(berth.programs, 'berth'), ['selftest', '--url', berth.url, 'more'])).code, 2);
  });
});

for (const { name, program, site, start, complaints } of PROXIES)
  describe(`selftest through ${name}`, { skip: withoutBerth || (existsSync(program) ? false : `needs ${program}`) }, () => {
    let berth;
    let proxy;
    let dir;
    let tls;
    let url;
    const secret = 'a5f3c1e2d4b60798';
    /** A request through the proxy exactly as written: { status, headers, body }. */
    const ask = (address, { method = 'GET', body } = {}) => new Promise((done, fail) => {
      const [, port, path] = address.match(/^https:\/\/localhost:(\d+)(.*)$/);
      const req = https.request({ host: '127.0.0.1', servername: 'localhost', port, path, method, ca: readFileSync(tls.cert), headers: { Host: `localhost:${port}` } }, async (res) => {
        done({ status: res.statusCode, headers: res.headers, body: Buffer.concat(await res.toArray()) });
      });
      req.on('error', fail).end(body);
    });
    before(async () => {
      const port = await freePort();
      const backend = `127.0.0.1:${await freePort()}`;
      berth = await Berth.start({
        server: { public_url: `https://localhost:${port}`, listen: backend },
        mail: { relay: 'smtp://127.0.0.1:25', from: 'berth@berth.example' },
      });
      berth.url = `http://${backend}/mcp`; // its own tools go by no proxy
      dir = join(berth.dir, 'proxy');
      mkdirSync(dir);
      tls = certificate(dir);
      url = `https://localhost:${port}/mcp/${secret}`;
      proxy = await start(dir, { site, port, backend, secret, ...tls });
    });
    after(async () => {
      await proxy?.stop('SIGTERM');
      await berth?.stop();
    });

    it('passes every kind of link on', async () => {
      for (const kind of ['dl', 'up', 'mail']) {
        const { status, body } = await ask(`https://localhost:${new URL(url).port}/${kind}/1/x/y/`);
        assert.equal(status, 404);
        assert.match(body.toString(), /This link is not valid/, kind);
      }
    });

    it('the page for uploads finds its script', async () => {
      const { text } = await berth.call('request_upload', { directory: 'a/deep folder', sandbox: 'proxy' });
      const link = text.match(/https:\S+/)[0];
      const page = await ask(link);
      assert.equal(page.status, 200);
      const script = await ask(new URL(page.body.toString().match(/<script src="([^"]+)"/)[1], link).href);
      assert.equal(script.status, 200);
      assert.match(script.headers['content-type'], /javascript/);
    });

    it('passes with TLS and a secret path', async () => {
      const { code, failed } = await selftest(berth, url, '--ca', tls.cert);
      assert.equal(code, 0, JSON.stringify(failed) + proxy.stderr + complaints(dir));
    });

    it('the bytes of a name survive', async () => {
      for (const file of ['a%2Fb.txt', '100%.txt', 'Pack #1.7z', '6licenses flat.pdf', 'a;b&c=d?e', "it's +1", '🤣.txt', '..%2f..', 'back\\slash', 'Ünï']) {
        await berth.call('run_command', { command: `printf '%s' "$NAME" >"$NAME"`.replaceAll('$NAME', file.replaceAll('\\', '\\\\')) , sandbox: 'proxy' });
        const { text, isError } = await berth.call('present_file', { path: file, sandbox: 'proxy' });
        assert.equal(isError, false, text);
        const answer = await ask(text.match(/https:\S+/)[0]);
        assert.deepEqual([answer.status, answer.body.toString()], [200, file]);
        assert.equal(decodeURIComponent(answer.headers['content-disposition'].match(/filename\*=UTF-8''(\S*)$/)[1]), file);
      }
    });

    it('large uploads pass', async () => {
      const { text } = await berth.call('request_upload', { sandbox: 'proxy' });
      const data = Buffer.alloc(20 * 1024 * 1024, 'x');
      const answer = await ask(`${text.match(/https:\S+/)[0]}large%20one`, { method: 'PUT', body: data });
      assert.equal(answer.status, 201, answer.body.toString());
      assert.match((await berth.call('run_command', { command: "stat -c %s 'large one'", sandbox: 'proxy' })).text, new RegExp(`^${data.length}$`, 'm'));
    });

    it('keeps links out of the access log', async () => {
      const log = () => readFileSync(join(dir, 'access.log'), 'utf8');
      await eventually(() => /\/mcp\//.test(log()));
      assert.doesNotMatch(log(), /\/(dl|up|mail)\//);
    });

    it('does not trust a certificate that nobody vouches for', async () => {
      const { code, failed } = await selftest(berth, url);
      assert.equal(code, 1);
      assert.match(failed['tools are listed'], /certificate|SSL/i);
    });

    it('finds nothing without the secret', async () => {
      const { code } = await selftest(berth, url.replace(`/${secret}`, ''), '--ca', tls.cert);
      assert.equal(code, 1);
    });
  });
