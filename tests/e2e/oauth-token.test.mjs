// The token endpoint and revocation.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { exchange, newVerifier, openPage, authorizeUrl, OauthServer, press, pressed, refresh, register, signIn, token, whoami } from './lib/oauth.mjs';

let server;
before(async () => (server = await OauthServer.start()));
after(() => server.stop());

async function refused(answer, error, status = 400) {
  const { status: got, body, headers } = await answer;
  assert.equal(got, status);
  assert.equal(body.error, error);
  assert.ok(body.error_description);
  assert.equal(headers.get('cache-control'), 'no-store');
}

test('the right exchange', async () => {
  const at = await pressed(server, { parameters: { scope: 'sandbox offline_access other' } });
  const { status, body, headers, text } = await exchange(server, at.client, at.code, at.verifier, { resource: `${server.issuer}/mcp` });
  assert.equal(status, 200);
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.equal(headers.get('content-type'), 'application/json');
  assert.equal(body.token_type, 'Bearer');
  assert.equal(body.expires_in, 3600);
  assert.equal(body.scope, 'sandbox offline_access');
  assert.match(body.access_token, /^sba_[0-9a-f]{64}$/);
  assert.match(body.refresh_token, /^sbr_[0-9a-f]{32}_[0-9a-f]{64}$/);
  assert.ok(!text.includes('null'));
  const plain = await signIn(server, { parameters: { scope: null } });
  assert.equal(plain.scope, 'sandbox');
});

test('the vector of RFC 7636, and verifiers of every shape', async () => {
  const at = await pressed(server, { parameters: { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM' } });
  assert.equal((await exchange(server, at.client, at.code, 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk')).status, 200);
  const { createHash } = await import('node:crypto');
  for (const verifier of ['~'.repeat(43), `${'a-._~'.repeat(25)}xyz`]) {
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const one = await pressed(server, { parameters: { code_challenge: challenge } });
    const body = new URLSearchParams({ grant_type: 'authorization_code', code: one.code, client_id: one.client.client_id,
      redirect_uri: one.client.redirect_uris[0] });
    const answer = await server.fetch('/token', {
      method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' },
      body: `${body}&code_verifier=${verifier.replaceAll('~', '%7E')}`,
    });
    assert.equal(answer.status, 200, verifier);
  }
});

test('a code used twice takes back what it gave', async () => {
  const me = await signIn(server);
  assert.match(String(await whoami(server, me.access_token)), /^guest-/);
  await refused(exchange(server, me.client, me.code, me.verifier), 'invalid_grant');
  assert.equal(await whoami(server, me.access_token), 401);
  await refused(refresh(server, me.client, me.refresh_token), 'invalid_grant');
  assert.ok(server.events.some((event) => event.startsWith('ended guest-')));
});

test('a code lives one minute', async () => {
  const at = await pressed(server);
  await server.advance(61);
  await refused(exchange(server, at.client, at.code, at.verifier), 'invalid_grant');
  const other = await pressed(server);
  await server.advance(58);
  assert.equal((await exchange(server, other.client, other.code, other.verifier)).status, 200);
});

test('what is wrong does not consume the code', async () => {
  const at = await pressed(server);
  const other = await register(server, { client_name: 'Other' });
  await refused(exchange(server, other, at.code, at.verifier), 'invalid_grant');
  await refused(exchange(server, at.client, at.code, at.verifier, { redirect_uri: 'http://127.0.0.1:9998/callback' }), 'invalid_grant');
  await refused(exchange(server, at.client, at.code, at.verifier, { redirect_uri: '' }), 'invalid_grant');
  await refused(exchange(server, at.client, at.code, at.verifier, { resource: 'https://evil.example' }), 'invalid_target');
  await refused(exchange(server, at.client, at.code, ''), 'invalid_request');
  await refused(exchange(server, at.client, 'x'.repeat(64), at.verifier), 'invalid_grant');
  assert.equal((await exchange(server, at.client, at.code, at.verifier)).status, 200);
});

test('five wrong verifiers kill the code', async () => {
  const at = await pressed(server);
  for (const verifier of [newVerifier().verifier, 'x'.repeat(42), 'x'.repeat(129), `${at.verifier}x`])
    await refused(exchange(server, at.client, at.code, verifier), 'invalid_grant');
  await refused(exchange(server, at.client, at.code, newVerifier().verifier), 'invalid_grant');
  await refused(exchange(server, at.client, at.code, at.verifier), 'invalid_grant');
});

test('fifty exchanges at once: one is answered', async () => {
  const at = await pressed(server);
  const answers = await Promise.all(Array.from({ length: 50 }, () => exchange(server, at.client, at.code, at.verifier)));
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  for (const { status, body } of answers) if (status !== 200) assert.equal(body.error, 'invalid_grant');
});

test('forms that are none', async () => {
  const at = await pressed(server);
  const form = { grant_type: 'authorization_code', code: at.code, code_verifier: at.verifier, client_id: at.client.client_id,
    redirect_uri: at.client.redirect_uris[0] };
  const raw = (body, type = 'application/x-www-form-urlencoded', query = '') =>
    server.fetch(`/token${query}`, { method: 'POST', body, headers: { 'content-type': type } });
  for (const answer of [
    await raw(JSON.stringify(form), 'application/json'),
    await raw(`${new URLSearchParams(form)}`, 'text/plain'),
    await raw(`${new URLSearchParams(form)}&code=x`),
    await raw(`${new URLSearchParams(form)}&c%6fde=x`),
    await raw('grant_type=%zz'), await raw('grant_type=%00'), await raw(Buffer.from('grant_type=\xff', 'latin1')),
  ]) {
    assert.equal(answer.status, 400);
    assert.equal((await answer.json()).error, 'invalid_request');
  }
  const inQuery = await raw('', undefined, `?${new URLSearchParams(form)}`);
  assert.equal(inQuery.status, 401);
  assert.equal((await raw('x'.repeat(9000))).status, 413);
  assert.equal((await exchange(server, at.client, at.code, at.verifier, { resource: `${server.issuer}/mcp` })).status, 200);
});

test('who calls', async () => {
  const me = await signIn(server);
  const basic = (user, secret = '') => ({ authorization: `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}` });
  const id = me.client.client_id;
  const again = (form, headers) => token(server, { grant_type: 'refresh_token', refresh_token: me.refresh_token, ...form }, headers);
  assert.equal((await again({}, basic(id))).status, 200);
  assert.equal((await again({}, basic(id, 'any secret'))).status, 200);
  assert.equal((await again({ client_id: id }, basic(id))).status, 200);
  assert.equal((await again({ client_id: id, client_secret: 'x' })).status, 200);
  await refused(again({ client_id: 'sbcx' }, basic(id)), 'invalid_request');

  const unknown = await again({ client_id: 'sbc0000000000000000000000000000000000000000' });
  await refused(unknown, 'invalid_client', 401);
  assert.equal(unknown.headers.get('www-authenticate'), null);
  const unknownBasic = await again({}, basic('nobody'));
  await refused(unknownBasic, 'invalid_client', 401);
  assert.match(unknownBasic.headers.get('www-authenticate'), /^Basic/);
  await refused(again({}), 'invalid_client', 401);
  await refused(again({}, { authorization: 'Basic !!!' }), 'invalid_client', 401);
  await refused(again({}, { authorization: 'Bearer x' }), 'invalid_client', 401);
});

test('grants that are not given', async () => {
  const { client } = await pressed(server);
  for (const grant_type of ['client_credentials', 'password', 'urn:ietf:params:oauth:grant-type:jwt-bearer', 'implicit'])
    await refused(token(server, { grant_type, client_id: client.client_id }), 'unsupported_grant_type');
  await refused(token(server, { grant_type: '', client_id: client.client_id }), 'invalid_request');
  await refused(token(server, { client_id: client.client_id }), 'invalid_request');
  await refused(token(server, { grant_type: 'refresh_token', client_id: client.client_id }), 'invalid_request');
});

test('revocation', async () => {
  const revoke = (form) => server.post('/revoke', form);
  const me = await signIn(server);
  const other = await register(server, { client_name: 'Other' });
  const id = me.client.client_id;
  // Not with somebody else's client, and with no hint of whether it exists.
  assert.equal((await revoke({ token: me.refresh_token, client_id: other.client_id })).status, 200);
  assert.equal((await revoke({ token: me.access_token, client_id: other.client_id })).status, 200);
  assert.equal((await revoke({ token: 'sba_none', client_id: id })).status, 200);
  assert.equal((await revoke({ token: `${me.refresh_token.slice(0, 37)}${'0'.repeat(64)}`, client_id: id })).status, 200);
  assert.match(String(await whoami(server, me.access_token)), /^guest-/);
  assert.equal((await revoke({ token: 'x', client_id: 'nobody' })).status, 401);
  assert.equal((await revoke({ client_id: id })).status, 400);
  // An access token only ends itself.
  assert.equal((await revoke({ token: me.access_token, client_id: id, token_type_hint: 'refresh_token' })).status, 200);
  assert.equal(await whoami(server, me.access_token), 401);
  const next = await refresh(server, me.client, me.refresh_token);
  assert.equal(next.status, 200);
  assert.match(String(await whoami(server, next.body.access_token)), /^guest-/);
  // A refresh token ends the sign-in; twice does no harm.
  for (let i = 0; i < 2; i++) assert.equal((await revoke({ token: next.body.refresh_token, client_id: id })).status, 200);
  assert.equal(await whoami(server, next.body.access_token), 401);
  await refused(refresh(server, me.client, next.body.refresh_token), 'invalid_grant');
});

test('whatever is sent to /token, the answer is JSON and never a 5xx', async () => {
  const me = await signIn(server);
  const pieces = ['grant_type', 'refresh_token', 'authorization_code', 'code', 'client_id', me.client.client_id, me.refresh_token, '=', '&', '&',
    '%00', '%', '+', '%7E', 'resource', 'https://x', '\n', 'ü', '"', 'sbr_', me.refresh_token.slice(0, 40)];
  for (let round = 0; round < 100; round++)
    await Promise.all(Array.from({ length: 100 }, async () => {
      const body = Array.from(randomBytes(1 + (round % 20)), (byte) => pieces[byte % pieces.length]).join('');
      const answer = await server.fetch('/token', { method: 'POST', body, headers: { 'content-type': 'application/x-www-form-urlencoded' } });
      assert.ok(answer.status < 500, body);
      assert.ok(JSON.parse(await answer.text()), body);
    }));
});
