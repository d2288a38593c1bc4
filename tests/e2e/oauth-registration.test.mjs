// Dynamic client registration.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { authorizeUrl, newVerifier, OauthServer, register, signIn } from './lib/oauth.mjs';

let server;
before(async () => (server = await OauthServer.start()));
after(() => server.stop());

const refused = (metadata, headers) => register(server, metadata, headers).then(
  () => assert.fail('it was registered'),
  (failure) => ({ status: failure.answer.status, ...failure.body }),
);

// As they were seen to be sent.
const CLIENTS = {
  bare: { redirect_uris: ['http://127.0.0.1:9999/callback'], client_name: undefined },
  sdk: {
    client_name: 'ts-test', redirect_uris: ['http://127.0.0.1:9999/callback'], grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'], token_endpoint_auth_method: 'none', application_type: 'native', scope: 'sandbox offline_access',
  },
  mcpRemote: {
    client_name: 'MCP CLI Proxy', client_uri: 'https://github.com/modelcontextprotocol/mcp-cli', software_id: '2e6dc280-x',
    redirect_uris: ['http://localhost:47779/oauth/callback'], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
    token_endpoint_auth_method: 'none',
  },
  claude: {
    client_name: 'Claude', redirect_uris: ['https://claude.ai/api/mcp/auth_callback'], grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'], token_endpoint_auth_method: 'client_secret_post', scope: 'claudeai',
  },
  claudeCode: {
    client_name: 'Claude Code (berth)', redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'], application_type: 'native',
    token_endpoint_auth_method: 'none',
  },
  openCode: { client_name: 'OpenCode', redirect_uris: ['http://127.0.0.1:19876/mcp/oauth/callback'], token_endpoint_auth_method: 'none' },
  cursor: {
    client_name: 'Cursor', redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback', 'https://www.cursor.com/agents/mcp/oauth/callback',
      'http://localhost:8787/callback'],
  },
  openid: { redirect_uris: ['https://app.example/cb'], scope: 'openid email profile', token_endpoint_auth_method: 'client_secret_basic' },
  jwtBearer: {
    redirect_uris: ['https://app.example/cb'], grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
    jwks: { keys: [] }, contacts: ['a@b.c'], logo_uri: 'https://x/y.png',
  },
};

for (const [name, metadata] of Object.entries(CLIENTS))
  test(`registers ${name}`, async () => {
    const client = await register(server, metadata);
    assert.match(client.client_id, /^[0-9a-z]{32,64}$/);
    assert.deepEqual(client.redirect_uris, metadata.redirect_uris);
    assert.equal(client.token_endpoint_auth_method, 'none');
    assert.deepEqual(client.grant_types, ['authorization_code', 'refresh_token']);
    assert.deepEqual(client.response_types, ['code']);
    assert.equal(typeof client.client_id_issued_at, 'number');
    assert.equal(client.client_secret, undefined);
    assert.equal(client.application_type, metadata.application_type);
    for (const value of Object.values(client)) assert.ok(value !== null && value !== '');
  });

test('one forbidden redirect URI among good ones is dropped', async () => {
  const client = await register(server, { redirect_uris: [...CLIENTS.cursor.redirect_uris, 'http://evil.example/cb'] });
  assert.deepEqual(client.redirect_uris, CLIENTS.cursor.redirect_uris);
});

test('the same again costs no row', async () => {
  const first = await register(server, { client_name: 'Again' });
  const { clients } = await server.counts();
  const ids = new Set();
  for (let port = 1000; port < 1020; port++)
    ids.add((await register(server, { client_name: 'Again', redirect_uris: [`http://127.0.0.1:${port}/callback`] })).client_id);
  assert.deepEqual([...ids], [first.client_id]);
  assert.equal((await server.counts()).clients, clients);
});

test('refused redirect URIs', async () => {
  for (const redirect_uris of [undefined, [], 'https://a/b', [7], Array(11).fill('https://a/b'),
    ['javascript:alert(1)'], ['JaVaScRiPt://x'], ['data:text/html,x'], ['file:///etc'], ['http://evil.example/'], ['http://localhost.evil/'],
    ['http://127.0.0.1@evil/'], ['https://a#f'], ['https://a/ b'], ['https://a/\r\nx: y'], ['https://a/\\b'], [`https://a/${'x'.repeat(2048)}`]]) {
    const answer = await refused({ redirect_uris });
    assert.equal(answer.status, 400);
    assert.equal(answer.error, 'invalid_redirect_uri', JSON.stringify(redirect_uris));
  }
});

test('refused bodies', async () => {
  for (const [body, headers, status = 400] of [
    ['{}', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['{}', { 'content-type': 'text/plain' }],
    ['[', {}], ['[]', {}], ['"x"', {}], ['\ufeff{}', {}], ['['.repeat(10000), {}],
    ['{"client_name":"a","client_name":"b","redirect_uris":["https://a/b"]}', {}],
    [JSON.stringify({ redirect_uris: ['https://a/b'], grant_types: ['client_credentials'] }), {}],
    [JSON.stringify({ redirect_uris: ['https://a/b'], client_name: 'x'.repeat(17000) }), {}, 413],
    [' '.repeat(1 << 20), {}, 413],
  ]) {
    const answer = await server.fetch('/register', { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });
    assert.equal(answer.status, status, body.slice(0, 40));
    if (status === 400) assert.equal((await answer.json()).error, 'invalid_client_metadata');
  }
});

test('a flood of new clients is bounded, and used ones stay', async (t) => {
  const small = await OauthServer.start({ max_clients: 50 });
  t.after(() => small.stop());
  const mine = await signIn(small);
  await small.advance(3 * 3600);
  for (let i = 0; i < 49; i++) await register(small, { client_name: `flood ${i}` });
  // All others are too young to make room.
  await assert.rejects(register(small, { client_name: 'one too many' }), ({ answer, body }) => {
    assert.equal(answer.status, 429);
    assert.ok(Number(answer.headers.get('retry-after')) > 0);
    assert.equal(body.error, 'temporarily_unavailable');
    return true;
  });
  // A known one is welcome even then.
  await register(small, { client_name: 'flood 1' });
  await small.advance(2 * 3600);
  for (let i = 0; i < 200; i++) {
    await small.advance(i % 40 === 39 ? 3601 : 0);
    await register(small, { client_name: `second ${i}` }).catch(({ answer }) => assert.equal(answer.status, 429));
  }
  assert.ok((await small.counts()).clients <= 50);
  assert.ok((await register(small, mine.client)).client_id, mine.client.client_id);
  assert.equal(JSON.parse(await small.command('clients')).filter(({ sign_ins: n }) => n === 1).length, 1);
});

test('unused clients expire after a week, used ones are kept', async (t) => {
  const own = await OauthServer.start();
  t.after(() => own.stop());
  await register(own, { client_name: 'unused' });
  await signIn(own);
  await own.advance(6 * 86400);
  await own.command('sweep');
  assert.equal((await own.counts()).clients, 2);
  await own.advance(2 * 86400);
  await own.command('sweep');
  assert.equal((await own.counts()).clients, 1);
});

test('who registers the same again can rely on it, however old the first one is', async (t) => {
  const own = await OauthServer.start({ max_clients: 2 });
  t.after(() => own.stop());
  const { client_id: id } = await register(own, { client_name: 'again' });
  const known = async () => (await own.fetch(authorizeUrl(own, { client_id: id }, { code_challenge: newVerifier().challenge }))).status;
  await own.advance(7 * 86400 - 60);
  await register(own, { client_name: 'other' });
  assert.equal((await register(own, { client_name: 'again' })).client_id, id);
  await own.advance(3000);
  await own.command('sweep');
  assert.equal(await known(), 200);
  // Nor does it make room, though the other one was made a moment before.
  await own.advance(500);
  await assert.rejects(register(own, { client_name: 'third' }), ({ answer }) => answer.status === 429);
  assert.equal(await known(), 200);
});

test('no more old ones are renewed than new ones are made', async (t) => {
  const own = await OauthServer.start({ clients_per_hour: 2 });
  t.after(() => own.stop());
  const created = async () => Object.fromEntries(JSON.parse(await own.command('clients')).map((one) => [one.name, one.created]));
  for (const client_name of ['a', 'b']) await register(own, { client_name });
  const before = await created();
  await own.advance(3601);
  for (const client_name of ['c', 'a', 'b', 'b']) await register(own, { client_name });
  const after = await created();
  assert.ok(after.a >= before.a + 3600);
  assert.equal(after.b, before.b);
});

test('new registrations have a rate, known ones do not', async (t) => {
  const own = await OauthServer.start({ clients_per_hour: 3 });
  t.after(() => own.stop());
  for (let i = 0; i < 3; i++) await register(own, { client_name: `n${i}` });
  await assert.rejects(register(own, { client_name: 'n3' }), ({ answer }) => answer.status === 429);
  for (let i = 0; i < 30; i++) await register(own, { client_name: `n${i % 3}` });
  await own.advance(1300);
  await register(own, { client_name: 'n3' });
});
