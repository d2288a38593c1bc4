// Rotation of refresh tokens: replays, lost answers, thieves, restarts.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { OauthServer, refresh, register, signIn, whoami } from './lib/oauth.mjs';

let server;
before(async () => (server = await OauthServer.start()));
after(() => server.stop());

const W = 120;

async function rotated(me, token = me.refresh_token, more) {
  const { status, body, text } = await refresh(server, me.client, token, more);
  assert.equal(status, 200, text);
  return body;
}

async function denied(me, token) {
  const { status, body } = await refresh(server, me.client, token);
  assert.equal(status, 400);
  assert.equal(body.error, 'invalid_grant');
}

test('a new pair; the old access token lives to its end', async () => {
  const me = await signIn(server);
  const who = await whoami(server, me.access_token);
  await server.advance(1800);
  const next = await rotated(me);
  assert.notEqual(next.refresh_token, me.refresh_token);
  assert.equal(await whoami(server, next.access_token), who);
  assert.equal(await whoami(server, me.access_token), who);
  await server.advance(1801);
  assert.equal(await whoami(server, me.access_token), 401);
  assert.equal(await whoami(server, next.access_token), who);
});

test('the same token at once: the same answer', async () => {
  const me = await signIn(server);
  const answers = await Promise.all(Array.from({ length: 5 }, () => rotated(me)));
  assert.equal(new Set(answers.map(({ access_token, refresh_token }) => access_token + refresh_token)).size, 1);
  await server.advance(W - 5);
  const late = await rotated(me);
  assert.equal(late.refresh_token, answers[0].refresh_token);
  assert.ok(late.expires_in <= 3600 - (W - 5));
  // Even after the new pair was used.
  const who = await whoami(server, late.access_token);
  assert.equal((await rotated(me)).access_token, late.access_token);
  assert.equal(await whoami(server, late.access_token), who);
});

test('a lost answer: once more, and the lost pair is dead', async () => {
  const me = await signIn(server);
  const lost = await rotated(me);
  await server.advance(W + 1);
  const found = await rotated(me);
  assert.notEqual(found.refresh_token, lost.refresh_token);
  assert.equal(await whoami(server, lost.access_token), 401);
  assert.match(String(await whoami(server, found.access_token)), /^guest-/);
  // Who comes with the lost one after all is a second holder: nobody keeps the sandbox.
  await denied(me, lost.refresh_token);
  await denied(me, found.refresh_token);
  assert.equal(await whoami(server, found.access_token), 401);
});

test('lost answers, three in a row at most', async () => {
  const me = await signIn(server);
  await rotated(me);
  for (let i = 0; i < 3; i++) {
    await server.advance(W + 1);
    await rotated(me);
  }
  await server.advance(W + 1);
  await denied(me, me.refresh_token);
});

for (const used of ['access token', 'refresh token'])
  test(`reuse after the ${used} of its successor was used ends the sign-in`, async () => {
    const me = await signIn(server);
    const next = await rotated(me);
    let last = next;
    if (used === 'access token') await whoami(server, next.access_token);
    else last = await rotated(me, next.refresh_token);
    await server.advance(W + 1);
    await denied(me, me.refresh_token);
    assert.equal(await whoami(server, last.access_token), 401);
    await denied(me, last.refresh_token);
  });

test('reuse=deny only refuses', async (t) => {
  const own = await OauthServer.start({ reuse: 1 });
  t.after(() => own.stop());
  const me = await signIn(own);
  const next = (await refresh(own, me.client, me.refresh_token)).body;
  const who = await whoami(own, next.access_token);
  await own.advance(W + 1);
  assert.equal((await refresh(own, me.client, me.refresh_token)).status, 400);
  assert.equal(await whoami(own, next.access_token), who);
  assert.equal((await refresh(own, me.client, next.refresh_token)).status, 200);
});

test('a token of two generations ago', async () => {
  const me = await signIn(server);
  const one = await rotated(me);
  const two = await rotated(me, one.refresh_token);
  await denied(me, me.refresh_token);
  await denied(me, two.refresh_token);
});

test('others cannot refresh or end it', async () => {
  const me = await signIn(server);
  const other = await register(server, { client_name: 'Other' });
  assert.equal((await refresh(server, other, me.refresh_token)).body.error, 'invalid_grant');
  const [, family] = me.refresh_token.split('_');
  for (const token of ['x', 'sbr_', `sbr_${family}`, `sbr_${family}_${'0'.repeat(64)}`, me.refresh_token.slice(0, -1),
    `${me.refresh_token}0`, me.refresh_token.toUpperCase(), me.access_token, `sbr_${'0'.repeat(32)}_${me.refresh_token.slice(-64)}`])
    await denied(me, token);
  assert.match(String(await whoami(server, me.access_token)), /^guest-/);
  await rotated(me);
});

test('scope and resource on refresh', async () => {
  const me = await signIn(server);
  const a = await rotated(me, me.refresh_token, { scope: 'sandbox offline_access everything' });
  assert.equal(a.scope, 'sandbox');
  const b = await rotated(me, a.refresh_token, { resource: `${server.issuer}/mcp` });
  assert.equal((await refresh(server, me.client, b.refresh_token, { resource: 'https://evil.example' })).body.error, 'invalid_target');
  await rotated(me, b.refresh_token);
});

test('thirty days, sliding', async () => {
  const me = await signIn(server);
  await server.advance(29 * 86400);
  const a = await rotated(me);
  await server.advance(29 * 86400);
  const b = await rotated(me, a.refresh_token);
  await server.advance(30 * 86400 + 1);
  await denied(me, b.refresh_token);
  await server.command('sweep');
  assert.equal((await server.counts()).families, 0);
});

test('who only refreshes and never calls ends after ninety days', async () => {
  const me = await signIn(server);
  let { refresh_token: last } = me;
  for (let day = 0; day < 88; day += 22) {
    await server.advance(22 * 86400);
    last = (await rotated(me, last)).refresh_token;
  }
  await server.advance(3 * 86400);
  await server.command('sweep');
  await denied(me, last);
});

test('a wall clock that jumps an hour ahead and back ends nobody’s sign-in, and revives none', async () => {
  const me = await signIn(server);
  const gone = await signIn(server);
  assert.equal((await server.post('/revoke', { token: gone.refresh_token, client_id: gone.client.client_id })).status, 200);
  const who = await whoami(server, me.access_token);
  let last = me;
  for (const seconds of [3600, -7200, 3600, 86400, -86400]) {
    await server.command(`jump ${seconds}`);
    await server.command('sweep');
    last = await rotated(me, last.refresh_token);
    assert.equal(await whoami(server, last.access_token), who, `${seconds}`);
    assert.equal(await whoami(server, gone.access_token), 401);
    await denied(gone, gone.refresh_token);
  }
});
