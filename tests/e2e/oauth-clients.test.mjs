// Sign-in by the clients that people use: the official TypeScript clients with their own OAuth code,
// oauth4webapi, openid-client, mcp-remote, and the conformance suite as a client.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { drive, OauthServer, register, whoami } from './lib/oauth.mjs';
import { connect, insecure, KINDS, McpRemote, signInByOauth4webapi, signInByOpenidClient } from './lib/oauth-clients.mjs';
import { Provider } from './lib/oauth-provider.mjs';
import { node22, withoutNode22 } from './lib/node22.mjs';
import { e2eDir, eventually, freePort, Program } from './lib/programs.mjs';

let server;
before(async () => (server = await OauthServer.start()));
after(() => server.stop());

const connected = (kind, provider) => connect(kind, server.url, provider);
const who = async (client) => (await client.callTool({ name: 'whoami', arguments: {} })).content[0].text;

for (const [name, kind] of Object.entries(KINDS)) {
  test(`${name}: from a bare URL to a tool call`, async () => {
    const provider = new Provider();
    const client = await connected(kind, provider);
    assert.match(await who(client), /^guest-[0-9a-f]{40}$/);
    assert.equal(provider.authorizationUrl.searchParams.get('resource'), server.url);
    assert.ok(provider.saved.tokens.refresh_token);
    await client.close();
  });

  test(`${name}: an expired access token is renewed without a person`, async () => {
    const provider = new Provider();
    const client = await connected(kind, provider);
    const me = await who(client);
    await server.advance(3601);
    provider.events.length = 0;
    assert.equal(await who(client), me);
    assert.deepEqual(provider.events, ['tokens']);
    await client.close();
  });

  test(`${name}: four calls at once with one expired token all succeed`, async () => {
    const provider = new Provider();
    const client = await connected(kind, provider);
    const me = await who(client);
    await server.advance(3601);
    provider.events.length = 0;
    assert.deepEqual(await Promise.all([1, 2, 3, 4].map(() => who(client))), [me, me, me, me]);
    assert.ok(!provider.events.some((event) => /redirect|invalidate/.test(event)), provider.events.join());
    await server.advance(3601);
    assert.deepEqual(await Promise.all([1, 2, 3, 4].map(() => who(client))), [me, me, me, me]);
    await client.close();
  });

  test(`${name}: a revoked sign-in leads to a new one, a removed client to a new registration`, async () => {
    const provider = new Provider();
    const client = await connected(kind, provider);
    const me = await who(client);
    assert.equal(await server.command(`revoke principal ${me}`), '1');
    provider.events.length = 0;
    await assert.rejects(who(client));
    assert.ok(provider.events.includes('redirect'), provider.events.join());
    await client.close();

    const second = new Provider('http://127.0.0.1:9999/callback/removed');
    second.clientMetadata.client_name = `Removed ${name}`;
    const other = await connected(kind, second);
    const row = JSON.parse(await server.command('clients')).find((one) => one.name === `Removed ${name}`);
    assert.equal(await server.command(`revoke client ${row.id}`), '1');
    second.events.length = 0;
    await assert.rejects(who(other));
    assert.ok(second.events.includes('client') && second.events.includes('redirect'), second.events.join());
    await other.close();
  });

  test(`${name}: trouble at /token does not cost the sign-in`, async (t) => {
    const strict = await OauthServer.start({ tokens_per_minute: 1 });
    t.after(() => strict.stop());
    const provider = new Provider();
    const saved = server;
    server = strict;
    try {
      const client = await connected(kind, provider);
      const me = await who(client);
      await strict.advance(3601);
      assert.equal(await who(client), me);
      await strict.advance(3601);
      provider.events.length = 0;
      // The bucket holds one request: two renewals in a row are one too many.
      assert.equal(await who(client), me);
      provider.saved.tokens = { ...provider.saved.tokens, access_token: 'sba_dead' };
      await assert.rejects(who(client));
      assert.ok(!provider.events.some((event) => /redirect|invalidate/.test(event)), provider.events.join());
      await strict.advance(61);
      assert.equal(await who(client), me);
      await client.close();
    } finally {
      server = saved;
    }
  });
}

test('oauth4webapi, the strictest reader', async () => {
  const mcp = new URL(server.url);
  const { as, client, tokens, additionalParameters } = await signInByOauth4webapi(server.url);
  assert.match(String(await whoami(server, tokens.access_token)), /^guest-/);
  const renewed = await oauth.processRefreshTokenResponse(as, client,
    await oauth.refreshTokenGrantRequest(as, client, oauth.None(), tokens.refresh_token, { additionalParameters, ...insecure }));
  assert.notEqual(renewed.refresh_token, tokens.refresh_token);
  await assert.rejects(
    async () => oauth.processRefreshTokenResponse(as, client, await oauth.refreshTokenGrantRequest(as, client, oauth.None(), 'bogus', insecure)),
    ({ name, error }) => name === 'ResponseBodyError' && error === 'invalid_grant');
  await oauth.processRevocationResponse(await oauth.revocationRequest(as, client, oauth.None(), renewed.refresh_token, insecure));
  assert.equal(await whoami(server, renewed.access_token), 401);
  await assert.rejects(oauth.protectedResourceRequest('bogus', 'POST', mcp, new Headers(), '{}', insecure), ({ name, cause }) => {
    assert.equal(name, 'WWWAuthenticateChallengeError');
    assert.equal(cause.length, 1);
    assert.equal(cause[0].scheme, 'bearer');
    assert.equal(cause[0].parameters.error, 'invalid_token');
    assert.match(cause[0].parameters.resource_metadata, /oauth-protected-resource\/mcp$/);
    return true;
  });
});

test('openid-client', async () => {
  const { config, tokens } = await signInByOpenidClient(server.issuer);
  assert.ok(tokens.expiresIn() > 3500);
  const renewed = await openid.refreshTokenGrant(config, tokens.refresh_token);
  assert.match(String(await whoami(server, renewed.access_token)), /^guest-/);
  await openid.tokenRevocation(config, renewed.refresh_token);
  assert.equal(await whoami(server, renewed.access_token), 401);
});

test('mcp-remote: stdio on one side, sign-in on the other', { timeout: 300000 }, async (t) => {
  const remote = await McpRemote.connect(t, server.url);
  assert.match(await who(remote), /^guest-[0-9a-f]{40}$/);
});

test('the conformance suite’s two authorization server scenarios', { skip: withoutNode22, timeout: 300000 }, async (t) => {
  const port = await freePort();
  const client = await register(server, { client_name: 'conformance', redirect_uris: [`http://127.0.0.1:${port}/callback`] });
  const out = mkdtempSync(join(tmpdir(), 'berth-conformance-'));
  const suite = new Program(node22, [join(e2eDir, 'node_modules/@modelcontextprotocol/conformance/dist/index.js'), 'authorization',
    '--url', server.issuer, '--client-id', client.client_id, '--resource', server.url, '-p', String(port), '-o', out]);
  t.after(async () => {
    await suite.stop('SIGKILL');
    rmSync(out, { recursive: true, force: true });
  });
  const [url] = await suite.waitFor(/http:\/\/127\.0\.0\.1:\d+\/authorize\?\S+(?=\s)/);
  const location = await drive(url);
  // It says where to go before it listens for the way back.
  await eventually(() => fetch(location).catch(() => undefined));
  const { code } = await suite.exited;
  assert.equal(code, 0, suite.stdout + suite.stderr);
  assert.match(suite.stdout, /2 passed/);
});
