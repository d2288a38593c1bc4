// Sign-in at the real server, and the real sandbox behind it.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { withoutBerth } from './lib/berth.mjs';
import { launchChromium, withoutChromium } from './lib/browser.mjs';
import { runConformance } from './lib/conformance.mjs';
import { callTool } from './lib/mcp.mjs';
import { node22, withoutNode22 } from './lib/node22.mjs';
import { authorizeUrl, callbackServer, drive, exchange, newVerifier, openPage, press, pressed, refresh, register, signIn } from './lib/oauth.mjs';
import { connect, insecure, KINDS, McpRemote, signInByOauth4webapi, signInByOpenidClient } from './lib/oauth-clients.mjs';
import { Provider } from './lib/oauth-provider.mjs';
import { e2eDir, eventually, Program } from './lib/programs.mjs';
import { bearer, keyOf, PublicBerth } from './lib/public-berth.mjs';

const SLOTS = 10;

let berth, site;
const serve = (over, options) => {
  before(async () => {
    berth = await PublicBerth.start(over, options);
    site = berth.site;
  });
  after(() => berth?.stop());
};

const sh = (token, command) => berth.runAs(token, command);
/** The same through an official client. */
const clientSh = async (client, command) => (await client.callTool({ name: 'run_command', arguments: { command } })).content[0].text;
const statusOf = (token) => berth.statusOf(token);
const slots = async () => (await berth.health()).slots;
const newcomer = () => berth.newcomer();

/** Works in a fresh sandbox: the marker comes back from where only its owner can see it. */
async function works(run) {
  const first = await run('cat /workspace/marker 2>&1; echo "mine" >/workspace/marker; id -u');
  assert.match(first, /No such file or directory[^]*\n0$/m);
  const second = await run('cat /workspace/marker');
  assert.match(second, /^mine$/m);
  assert.equal(keyOf(first), keyOf(second));
  return keyOf(first);
}

/** Makes every access token that was given so far expire, as an hour would. The server is restarted. */
async function expireAll() {
  await berth.halt();
  execFileSync('/usr/bin/python3', ['-c', 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute("UPDATE access_tokens SET expires = 1"); c.commit()',
    join(berth.dir, 'server/berth.db')]);
  await berth.serve();
}

describe('every client gets through to a sandbox of its own', { skip: withoutBerth }, () => {
  serve({ pool: { slots: SLOTS } });
  const keys = new Set();
  const note = (key) => {
    assert.ok(!keys.has(key), key);
    keys.add(key);
  };

  for (const [name, kind] of Object.entries(KINDS))
    it(name, async () => {
      const client = await connect(kind, berth.url, new Provider());
      note(await works((command) => clientSh(client, command)));
      await client.close();
    });

  it('oauth4webapi, and revocation by RFC 7009', async () => {
    const { as, client, tokens } = await signInByOauth4webapi(berth.url);
    note(await works((command) => sh(tokens.access_token, command)));
    const job = sh(tokens.access_token, 'echo begun >/workspace/begun; sleep 30').catch((error) => String(error));
    await eventually(async () => /begun/.test(await sh(tokens.access_token, 'cat /workspace/begun')));
    const { in_use: inUse } = await slots();
    await oauth.processRevocationResponse(await oauth.revocationRequest(as, client, oauth.None(), tokens.refresh_token, insecure));
    assert.equal(await statusOf(tokens.access_token), 401);
    // What ran there ended, and the slot is somebody else's.
    assert.doesNotMatch(await job, /\[exit 0\]/);
    await eventually(async () => (await slots()).in_use === inUse - 1);
    await assert.rejects(async () => oauth.processRefreshTokenResponse(as, client,
      await oauth.refreshTokenGrantRequest(as, client, oauth.None(), tokens.refresh_token, insecure)), ({ error }) => error === 'invalid_grant');
  });

  it('openid-client', async () => {
    const { config, tokens } = await signInByOpenidClient(berth.origin);
    note(await works((command) => sh(tokens.access_token, command)));
    const renewed = await openid.refreshTokenGrant(config, tokens.refresh_token);
    assert.match(await sh(renewed.access_token, 'cat /workspace/marker'), /mine/);
    await openid.tokenRevocation(config, renewed.refresh_token);
    assert.equal(await statusOf(renewed.access_token), 401);
  });

  it('mcp-remote', { timeout: 300000 }, async (t) => {
    const remote = await McpRemote.connect(t, berth.url);
    note(await works((command) => clientSh(remote, command)));
  });

  it('MCP Inspector, from the command line', { timeout: 300000, skip: withoutNode22 }, async (t) => {
    const home = mkdtempSync(join(tmpdir(), 'berth-inspector-'));
    t.after(() => rmSync(home, { recursive: true, force: true }));
    const launcher = join(e2eDir, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js');
    const args = ['--cli', berth.url, '--transport', 'http', '--method', 'tools/call', '--tool-name', 'run_command', '--tool-arg', 'command=id -u'];
    const inspector = new Program(node22, [launcher, ...args], {
      env: { PATH: process.env.PATH, HOME: home, MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'memory' },
    });
    const [, url] = await inspector.waitFor(/(http:\/\/127\.0\.0\.1:\d+\/authorize\?\S+)\s/, { from: 'stderr' });
    const location = await drive(url);
    await eventually(() => fetch(location).catch(() => undefined));
    const { code } = await inspector.exited;
    assert.equal(code, 0, inspector.stdout + inspector.stderr);
    const { content } = JSON.parse(inspector.stdout.slice(inspector.stdout.indexOf('{')));
    assert.match(content[0].text, /\[exit 0\][^]*^0$/m);
    note(keyOf(content[0].text));
  });

  it('Chromium, through the real page', { timeout: 300000, skip: withoutChromium }, async (t) => {
    const browser = await launchChromium();
    t.after(() => browser.close());
    const callback = await callbackServer(t);
    const client = await register(site, { redirect_uris: [callback.url], client_name: 'Browser' });
    const { verifier, challenge } = newVerifier();
    const page = await browser.newPage();
    await page.goto(authorizeUrl(site, client, { code_challenge: challenge }).href);
    // The words fit a public server: what is in it goes, and there is no e-mail field without mail.
    await page.getByText('everything in it is deleted').waitFor();
    assert.equal(await page.getByLabel('E-mail').count(), 0);
    await page.getByRole('button', { name: 'Create my sandbox' }).click();
    const { url } = await callback.arrived;
    const { body } = await exchange(site, client, url.searchParams.get('code'), verifier);
    note(await works((command) => sh(body.access_token, command)));
  });

  it('counts of it are in /metrics, and the operator sees the clients', async () => {
    const counts = await berth.metrics();
    assert.ok(counts.berth_presses_total >= 6);
    assert.ok(counts.berth_sign_ins >= 4);
    assert.ok(counts.berth_oauth_clients >= 4);
    assert.ok(counts.berth_registrations_total >= 4);
    assert.ok(counts.berth_refreshes_total >= 1);
    const clients = JSON.parse(berth.admin('clients', '--json'));
    assert.equal(clients.length, counts.berth_oauth_clients);
    const browser = clients.find(({ name }) => name === 'Browser');
    assert.ok(browser === undefined || browser.sign_ins === 1);
    const [head, ...rows] = berth.admin('clients').trimEnd().split('\n');
    assert.match(head, /^id +sign-ins +last used/);
    assert.equal(rows.length, clients.length);
    for (const { id, name } of clients) assert.ok(rows.some((row) => row.startsWith(`${id} `) && row.includes(JSON.stringify(name))), rows.join('\n'));
    // Not for visitors: neither through the proxy nor with a guest's token.
    const me = await signIn(newcomer());
    assert.equal((await site.from('192.0.2.1').fetch('/metrics')).status, 401);
    assert.equal((await site.from('192.0.2.1').fetch('/metrics', { headers: { ...bearer(me.access_token), 'x-forwarded-for': '192.0.2.1' } })).status, 403);
  });
});

describe('the conformance suite through a sign-in', { skip: withoutBerth || withoutNode22 }, () => {
  serve({ pool: { slots: 2 } });

  /** The suite cannot send a token: a proxy adds it, and leaves Host and Origin as they are. */
  async function withToken(t, token) {
    const proxy = createServer((req, res) => {
      const up = httpRequest(new URL(req.url, berth.origin), { method: req.method, headers: { ...req.headers, ...bearer(token) } }, (answer) => {
        res.writeHead(answer.statusCode, answer.headers);
        answer.pipe(res);
      });
      up.on('error', () => res.destroy());
      req.pipe(up);
    });
    await new Promise((done) => proxy.listen(0, '127.0.0.1', done));
    t.after(() => {
      proxy.closeAllConnections();
      proxy.close();
    });
    return `http://127.0.0.1:${proxy.address().port}/mcp`;
  }

  for (const revision of ['2026-07-28', '2025-11-25'])
    it(`server scenarios of ${revision}`, { timeout: 300000 }, async (t) => {
      const me = await signIn(newcomer());
      const { ok, output } = await runConformance(await withToken(t, me.access_token), revision, `product-${revision}.yml`);
      assert.ok(ok, output);
    });
});

describe('sign-ins that last', { skip: withoutBerth }, () => {
  serve({ pool: { slots: SLOTS } });

  it('signing in takes no slot, the first call does', async () => {
    const client = await register(site);
    const people = await Promise.all(Array.from({ length: 50 }, () => signIn(newcomer(), { client })));
    assert.equal((await slots()).free, SLOTS);
    assert.match(await sh(people[0].access_token, 'true'), /\[exit 0\]/);
    assert.equal((await slots()).occupied, 1);
  });

  for (const [name, kind] of Object.entries(KINDS))
    it(`${name}: four calls at once with one expired token all succeed`, async () => {
      const provider = new Provider();
      const client = await connect(kind, berth.url, provider);
      const key = keyOf(await clientSh(client, 'echo kept >/workspace/kept'));
      await expireAll();
      provider.events.length = 0;
      const answers = await Promise.all([1, 2, 3, 4].map(() => clientSh(client, 'cat /workspace/kept')));
      for (const text of answers) {
        assert.equal(keyOf(text), key);
        assert.match(text, /kept/);
      }
      assert.ok(!provider.events.some((event) => /redirect|invalidate/.test(event)), provider.events.join());
      await client.close();
    });

  it('a restart loses no sign-in, no sandbox and no file', async () => {
    const me = await signIn(newcomer());
    const key = keyOf(await sh(me.access_token, 'echo kept >/workspace/kept'));
    await berth.halt();
    await berth.serve();
    const text = await sh(me.access_token, 'cat /workspace/kept');
    assert.equal(keyOf(text), key);
    assert.match(text, /kept/);
    const next = await refresh(site, me.client, me.refresh_token);
    assert.equal(keyOf(await sh(next.body.access_token, 'true')), key);
  });

  it('killed at every step: what was answered holds, the rest can be done again', { timeout: 300000 }, async () => {
    const client = await register(site, { client_name: 'Steps' });
    await berth.crash();
    const { verifier, challenge } = newVerifier();
    const url = authorizeUrl(site, client, { code_challenge: challenge });
    const page = await openPage(site, url);
    assert.equal(page.status, 200);
    await berth.crash();
    assert.equal((await press(site, page)).status, 400);
    const again = await press(site, await openPage(site, url, { cookie: page.cookie }));
    assert.equal(again.status, 303);
    await berth.crash();
    assert.equal((await exchange(site, client, again.code, verifier)).body.error, 'invalid_grant');
    const me = await signIn(newcomer(), { client });
    await berth.crash();
    const key = keyOf(await sh(me.access_token, 'echo kept >/workspace/kept'));
    await berth.crash();
    assert.match(await sh(me.access_token, 'cat /workspace/kept'), /kept/);
    // Killed while a command runs: that call fails or says so, the next one finds the files.
    const job = sh(me.access_token, 'echo begun >/workspace/begun; sleep 30').catch((error) => String(error));
    await eventually(async () => /begun/.test(await sh(me.access_token, 'cat /workspace/begun')));
    await berth.crash();
    assert.doesNotMatch(await job, /\[exit 0\]/);
    assert.equal(keyOf(await sh(me.access_token, 'cat /workspace/begun')), key);
    // The answer of a refresh is lost: the old token works once more.
    await refresh(site, client, me.refresh_token);
    await berth.crash();
    const found = await refresh(site, client, me.refresh_token);
    assert.equal(found.status, 200);
    assert.equal(keyOf(await sh(found.body.access_token, 'true')), key);
    assert.equal((await site.post('/revoke', { token: found.body.refresh_token, client_id: client.client_id })).status, 200);
    await berth.crash();
    assert.equal(await statusOf(found.body.access_token), 401);
  });

  it('a token that this server refuses is called that', async () => {
    const { stdout, stderr } = spawnSync(join(berth.programs, 'berth'), ['token', 'create', '--name', 'mine', '--config', berth.configFile], { encoding: 'utf8' });
    assert.equal(await statusOf(stdout.trim()), 401);
    assert.match(stderr, /^berth token: this server refuses tokens until auth\.methods has token \(auth\.methods = oauth,token\)/);
  });

  it('berth revoke: a principal, a client, everybody; what they had is free again', async () => {
    const app = await register(site, { client_name: 'Revoked app' });
    const one = await signIn(newcomer());
    const two = await signIn(newcomer(), { client: app });
    const three = await signIn(newcomer());
    const before = berth.guests();
    await sh(one.access_token, 'true');
    const [principal] = berth.guests().filter((name) => !before.includes(name));
    assert.match(berth.admin('status'), new RegExp(`^  \\S+ +slot .* of ${principal}$`, 'm'));
    await Promise.all([two, three].map((me) => sh(me.access_token, 'true')));
    assert.throws(() => berth.admin('revoke', 'principal', 'guest-nobody'), /not found|there is no/);
    berth.admin('revoke', 'principal', principal);
    assert.equal(await statusOf(one.access_token), 401);
    assert.equal((await refresh(site, one.client, one.refresh_token)).body.error, 'invalid_grant');
    assert.equal(await statusOf(two.access_token), 200);
    const { id } = JSON.parse(berth.admin('clients', '--json')).find(({ name }) => name === 'Revoked app');
    berth.admin('revoke', 'client', id);
    assert.equal(await statusOf(two.access_token), 401);
    assert.equal((await refresh(site, two.client, two.refresh_token)).body.error, 'invalid_client');
    assert.equal(await statusOf(three.access_token), 200);
    berth.admin('revoke', 'all');
    assert.equal(await statusOf(three.access_token), 401);
    await eventually(async () => (await slots()).free === SLOTS);
    // With more clients than one answer has room for.
    const last = await signIn(newcomer());
    await berth.halt();
    execFileSync('/usr/bin/python3', ['-c', `import os, sqlite3, sys
uris = "\\n".join("https://app.example/" + str(i) * 1000 for i in range(10))
with sqlite3.connect(sys.argv[1]) as db:
    for _ in range(1000): db.execute("INSERT INTO clients VALUES (?, 'Many', ?, strftime('%s'), 0)", (os.urandom(32), uris))`,
    join(berth.dir, 'server/berth.db')]);
    await berth.serve();
    const { berth_oauth_clients: all } = await berth.metrics();
    assert.ok(all > 1000);
    const many = JSON.parse(berth.admin('clients', '--json'));
    assert.equal(many.length, 500);
    assert.notEqual(many[0].name, 'Many');
    assert.match(berth.admin('clients'), new RegExp(`^and ${all - 500} more`, 'm'));
    berth.admin('revoke', 'client', many[499].id);
    assert.equal((await berth.metrics()).berth_oauth_clients, all - 1);
    // Also while no server runs.
    await berth.halt();
    berth.admin('revoke', 'all');
    await berth.serve();
    assert.equal(await statusOf(last.access_token), 401);
  });
});

const withoutActivation = withoutBerth || (existsSync('/usr/bin/systemd-socket-activate') ? false : 'needs systemd-socket-activate');

describe('a socket that was passed', { skip: withoutActivation }, () => {
  serve({ pool: { slots: 4 } }, { activated: true });

  it('is kept while the server is away: who calls waits, nobody is refused', async () => {
    const me = await signIn(newcomer());
    const key = keyOf(await sh(me.access_token, 'echo kept >/workspace/kept'));
    for (let round = 0; round < 3; round++) {
      const restarted = berth.crash();
      const answers = await Promise.all(Array.from({ length: 10 }, () => statusOf(me.access_token)));
      assert.deepEqual(answers, Array(10).fill(200));
      await restarted;
    }
    assert.equal(keyOf(await sh(me.access_token, 'cat /workspace/kept')), key);
    assert.equal((await refresh(site, me.client, me.refresh_token)).status, 200);
  });
});

describe('sign-in and static tokens beside each other', { skip: withoutBerth }, () => {
  serve({ auth: { methods: 'oauth,token' }, pool: { slots: 4 } });

  it('each has its sandbox, and neither opens the other’s', async () => {
    const me = await signIn(newcomer());
    const mine = keyOf(await sh(me.access_token, 'echo guest >/workspace/who'));
    const theirs = keyOf(await sh(berth.token, 'echo owner >/workspace/who'));
    assert.notEqual(mine, theirs);
    assert.match(await sh(me.access_token, 'cat /workspace/who'), /guest/);
    assert.match(await sh(berth.token, 'cat /workspace/who'), /owner/);
    assert.equal(await statusOf(`${berth.token.slice(0, -1)}x`), 401);
    assert.equal((await site.from('192.0.2.1').fetch('/metrics', { headers: { ...bearer(berth.token), 'x-forwarded-for': '192.0.2.1' } })).status, 200);
    berth.admin('revoke', 'all');
    assert.equal(await statusOf(me.access_token), 401);
    assert.match(await sh(berth.token, 'cat /workspace/who'), /owner/);
    berth.admin('token', 'remove', 'default');
    assert.equal(await statusOf(berth.token), 401);
  });

  it('the challenge leads to sign-in, and one URL is issuer, resource and the start of links', async () => {
    const answer = await site.fetch('/mcp', { method: 'POST' });
    assert.equal(answer.status, 401);
    const [, where] = answer.headers.get('www-authenticate').match(/resource_metadata="([^"]+)"/);
    const resource = await (await fetch(where)).json();
    assert.equal(resource.resource, berth.url);
    assert.deepEqual(resource.authorization_servers, [berth.origin]);
    const me = await signIn(newcomer());
    await sh(me.access_token, 'echo x >/workspace/x.txt');
    const { content } = await callTool(berth.url, 'present_file', { path: 'x.txt' }, { headers: bearer(me.access_token) });
    assert.ok(JSON.stringify(content).includes(`${berth.origin}/dl/`));
  });

  it('the bare origin is not the endpoint, and says what is', async () => {
    const answer = await site.fetch('/', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
    assert.equal(answer.status, 404);
    assert.match((await answer.json()).error_description, new RegExp(`${berth.url} `));
    const client = KINDS['@modelcontextprotocol/client'].client();
    const transport = KINDS['@modelcontextprotocol/client'].transport(new URL(berth.origin), new Provider());
    await assert.rejects(client.connect(transport), /ends? with|\/mcp/);
  });
});
