// Sign-in over TLS, through Debian's nginx and Caddy with the public configurations of packaging/.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { withoutBerth } from './lib/berth.mjs';
import { authorizeUrl, exchange, newVerifier, openPage, press, refresh, register, signIn, Site, token } from './lib/oauth.mjs';
import { request } from './lib/mcp.mjs';
import { connect, KINDS } from './lib/oauth-clients.mjs';
import { Provider } from './lib/oauth-provider.mjs';
import { eventually, freePort } from './lib/programs.mjs';
import { certificate, PROXIES } from './lib/proxies.mjs';
import { bearer, keyOf, PublicBerth } from './lib/public-berth.mjs';

// The certificate is made for this run, and nobody vouches for it.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';

const toolsList = request('tools/list');

/** A request to the port for people without TLS. */
const plain = (socketPath, path, method = 'GET') => new Promise((done, fail) => {
  const req = http.request({ socketPath, path, method, headers: { Host: 'localhost' } }, (res) => done({ status: res.statusCode, headers: res.headers }));
  req.on('error', fail).end();
});

for (const { name, program, publicSite, start } of PROXIES)
  describe(`sign-in through ${name}`, { skip: withoutBerth || (existsSync(program) ? false : `needs ${program}`) }, () => {
    let berth, proxy, site, dir;
    before(async () => {
      const port = await freePort();
      const backend = `127.0.0.1:${await freePort()}`;
      berth = await PublicBerth.start({ server: { public_url: `https://localhost:${port}`, listen: backend }, abuse: { new_per_hour: 6 } });
      berth.origin = `http://${backend}`; // its own tools go by no proxy
      berth.url = `${berth.origin}/mcp`;
      dir = join(berth.dir, 'proxy');
      mkdirSync(dir);
      proxy = await start(dir, { site: publicSite, port, backend, ...certificate(dir) });
      site = new Site(`https://localhost:${port}`);
    });
    after(async () => {
      await proxy?.stop('SIGTERM');
      await berth?.stop();
    });
    const sh = async (client) => keyOf((await client.callTool({ name: 'run_command', arguments: { command: 'true' } })).content[0].text);
    let client, provider, key;

    it('an official client, over TLS, to its sandbox', async () => {
      provider = new Provider();
      client = await connect(KINDS['@modelcontextprotocol/client'], site.url, provider);
      key = await sh(client);
    });

    it('the page is for this host alone, and for TLS', async () => {
      const app = await register(site);
      const { verifier, challenge } = newVerifier();
      const page = await openPage(site, authorizeUrl(site, app, { code_challenge: challenge }));
      assert.equal(page.headers.get('strict-transport-security'), 'max-age=31536000');
      assert.match(page.headers.getSetCookie()[0], /^__Host-berth=[0-9a-f]{64}; .*; Secure$/);
      const answer = await press(site, page);
      assert.equal(answer.parameters.get('iss'), site.origin);
      assert.equal((await exchange(site, app, answer.code, verifier)).status, 200);
    });

    it('a page of any origin may call, with a token and nothing else', async () => {
      const Origin = 'https://inspector.example';
      const preflight = await fetch(`${site.url}`, {
        method: 'OPTIONS', headers: { Origin, 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'authorization, mcp-method, mcp-param-x' },
      });
      assert.equal(preflight.status, 204);
      assert.equal(preflight.headers.get('access-control-allow-origin'), '*');
      assert.equal(preflight.headers.get('access-control-allow-credentials'), null);
      assert.match(preflight.headers.get('access-control-allow-headers'), /mcp-param-x/);
      const call = (headers) => fetch(site.url, {
        method: 'POST', body: JSON.stringify(toolsList), headers: { Origin, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers },
      });
      const refused = await call({});
      assert.equal(refused.status, 401);
      assert.equal(refused.headers.get('access-control-allow-origin'), '*');
      assert.match(refused.headers.get('access-control-expose-headers'), /WWW-Authenticate/i);
      const answer = await call(bearer(provider.saved.tokens.access_token));
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('access-control-allow-origin'), '*');
    });

    it('while the server is away, clients are told to try again, and keep their sign-in', async () => {
      const me = await signIn(site);
      await berth.halt();
      const away = await token(site, { grant_type: 'refresh_token', refresh_token: me.refresh_token, client_id: me.client.client_id });
      assert.equal(away.status, 429);
      assert.equal(away.body.error, 'temporarily_unavailable');
      assert.ok(Number(away.headers.get('retry-after')) >= 1);
      assert.equal(away.headers.get('access-control-allow-origin'), '*');
      provider.events.length = 0;
      await assert.rejects(sh(client));
      assert.deepEqual(provider.events, []);
      await berth.serve();
      assert.equal(await sh(client), key);
      assert.equal((await refresh(site, me.client, me.refresh_token)).status, 200);
      await client.close();
    });

    it('who presses is counted by his own address, whatever he claims', async () => {
      const statuses = [];
      for (let i = 0; i < 7; i++) {
        const from = site.from(`10.${i}.0.1`);
        const page = await openPage(from, authorizeUrl(from, await register(site), { code_challenge: newVerifier().challenge }));
        statuses.push((await press(from, page)).status);
      }
      // The restart has forgotten earlier ones.
      assert.deepEqual(statuses, [...Array(6).fill(303), 429]);
    });

    it('the log has paths, no queries, and no signed links', async () => {
      await fetch(`${site.origin}/dl/1/secret-signature/x`);
      await fetch(`${site.origin}/mail/1/secret-signature/x`);
      const log = () => readFileSync(join(dir, 'access.log'), 'utf8');
      await eventually(() => /\/authorize/.test(log()) && /\/token/.test(log()));
      assert.doesNotMatch(log(), /secret-signature|code_challenge|state=|sb[ar]_|__Host-berth=[0-9a-f]/);
    });

    it('without TLS there is a way for people, and none for clients', async () => {
      const socket = join(dir, 'plain.sock');
      const home = await plain(socket, '/');
      assert.equal(home.status, 308);
      assert.equal(home.headers.location, 'https://localhost/');
      for (const path of ['/mcp', '/token', '/.well-known/oauth-authorization-server']) assert.equal((await plain(socket, path, 'POST')).status, 404, path);
    });
  });

describe('connections to nginx', { skip: existsSync(PROXIES[0].program) ? false : `needs ${PROXIES[0].program}` }, () => {
  it('an IPv6 network of 64 bits counts as one, an IPv4 address for itself', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'berth-proxy-'));
    const held = new Map();
    const backend = http.createServer((req) => held.get(req.headers['x-number'])()).listen(0, '127.0.0.1');
    const port = await freePort();
    // Two instead of 500, and we say where we come from.
    const adapt = (text) => `set_real_ip_from 127.0.0.1;\nreal_ip_header X-From;\n${text.replace('limit_conn berth_clients 500', 'limit_conn berth_clients 2')}`;
    const proxy = await PROXIES[0].start(dir, { site: PROXIES[0].publicSite, port, backend: `127.0.0.1:${backend.address().port}`, ...certificate(dir), adapt });
    const agent = new https.Agent({ keepAlive: true });
    const from = (address) => new Promise((done, fail) => {
      const number = String(held.size);
      held.set(number, () => done('held'));
      https.request({ host: '127.0.0.1', port, agent, headers: { Host: 'localhost', 'X-From': address, 'X-Number': number } }, (res) => done(res.resume().statusCode))
        .on('error', fail).end();
    });
    try {
      for (const [address, outcome] of [
        ['2001:db8:0:1::1', 'held'], ['2001:db8:0:1::2', 'held'], ['2001:db8:0:1::3', 429], ['2001:db8:0:1:ffff::4', 429],
        ['2001:db8:0:2::1', 'held'],
        ['2001:db8:0:a::a0a', 'held'], ['2001:db8:0:a::a0b', 'held'], ['2001:db8:0:a:a00::a', 429], // bytes that are line ends
        ['192.0.2.1', 'held'], ['192.0.2.1', 'held'], ['192.0.2.1', 429], ['192.0.2.2', 'held'],
        ['::ffff:198.51.100.1', 'held'], ['::ffff:198.51.100.1', 'held'], ['::ffff:198.51.100.1', 429], ['::ffff:198.51.100.2', 'held'],
      ]) assert.equal(await from(address), outcome, address);
    } finally {
      agent.destroy();
      await proxy.stop('SIGTERM');
      backend.closeAllConnections();
      backend.close();
      rmSync(dir, { recursive: true });
    }
  });
});
