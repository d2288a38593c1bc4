// Attempts to get into somebody else's sandbox, and what a run leaves behind.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { authorizeUrl, CALLBACK, exchange, newVerifier, OauthServer, openPage, press, pressed, refresh, register, signIn, token, whoami } from './lib/oauth.mjs';

let server;
before(async () => (server = await OauthServer.start()));
after(() => server.stop());

/** A victim with a working sandbox, to be checked after the attempt. */
async function victim() {
  const me = await signIn(server);
  const who = await whoami(server, me.access_token);
  return { ...me, who, stillFine: async () => assert.equal(await whoami(server, me.access_token), who) };
}

test('every sign-in is another principal, whatever is the same', async () => {
  const client = await register(server);
  const { verifier, challenge } = newVerifier();
  const seen = new Set();
  let cookie;
  for (let i = 0; i < 5; i++) {
    const page = await openPage(server, authorizeUrl(server, client, { code_challenge: challenge, state: `s${i}` }), cookie ? { cookie } : {});
    cookie = page.cookie;
    const { code } = await press(server, page);
    seen.add(await whoami(server, (await exchange(server, client, code, verifier)).body.access_token));
  }
  assert.equal(seen.size, 5);
});

test('the victim’s page in the attacker’s hands', async () => {
  // The attacker saw the page's source (a proxy, a screenshot, an extension), but not the cookie.
  const client = await register(server);
  const { challenge } = newVerifier();
  const page = await openPage(server, authorizeUrl(server, client, { code_challenge: challenge }));
  const mine = await openPage(server, authorizeUrl(server, client, { code_challenge: challenge }));
  for (const cookie of [mine.cookie, null, `${mine.cookie}; ${mine.cookie}`, 'berth='])
    assert.equal((await press(server, page, {}, { cookie })).status, 403);
  // A cookie that is planted before the real one is the one that counts, and it does not fit.
  assert.equal((await press(server, page, {}, { cookie: `${mine.cookie}; ${page.cookie}` })).status, 403);
});

test('a page opened with a planted cookie leads the attacker nowhere', async () => {
  // The attacker fixes the victim's cookie, lets the victim press, and then replays the press.
  const planted = `berth=${randomBytes(32).toString('hex')}`;
  const client = await register(server);
  const { verifier, challenge } = newVerifier();
  const theirs = await openPage(server, authorizeUrl(server, client, { code_challenge: challenge }), { cookie: planted });
  assert.equal(theirs.cookie, planted);
  const { code } = await press(server, theirs);
  // What the attacker opens himself has another challenge, and so is another press.
  const own = newVerifier();
  const page = await openPage(server, authorizeUrl(server, client, { code_challenge: own.challenge }), { cookie: planted });
  const answer = await press(server, page);
  assert.notEqual(answer.code, code);
  const a = await exchange(server, client, code, verifier);
  const b = await exchange(server, client, answer.code, own.verifier);
  assert.notEqual(await whoami(server, a.body.access_token), await whoami(server, b.body.access_token));
  // The victim's code without the victim's verifier is worth nothing.
  const stolen = await pressed(server);
  assert.equal((await exchange(server, stolen.client, stolen.code, own.verifier)).body.error, 'invalid_grant');
});

test('a stolen code at another client, or swapped into another flow', async () => {
  const at = await pressed(server);
  const thief = await register(server, { client_name: 'Thief', redirect_uris: [CALLBACK, 'https://thief.example/cb'] });
  const own = newVerifier();
  for (const [client, verifier, more] of [
    [thief, at.verifier, {}], [thief, own.verifier, {}], [at.client, own.verifier, {}],
    [at.client, at.verifier, { redirect_uri: 'https://thief.example/cb' }],
    [at.client, '', { code_challenge: 'x' }],
  ])
    assert.equal((await exchange(server, client, at.code, verifier, more)).status, 400);
  assert.equal((await exchange(server, at.client, at.code, at.verifier)).status, 200);
});

test('downgrading PKCE', async () => {
  const client = await register(server);
  for (const parameters of [{ code_challenge_method: 'plain', code_challenge: 'x'.repeat(43) }, { code_challenge: null, code_challenge_method: null },
    { code_challenge: 'x'.repeat(43), code_challenge_method: null }, { code_challenge: '', code_challenge_method: 'S256' }]) {
    const answer = await fetch(authorizeUrl(server, client, parameters), { redirect: 'manual' });
    assert.equal(answer.status, 303);
    assert.equal(new URL(answer.headers.get('location')).searchParams.get('error'), 'invalid_request');
  }
  // The challenge itself as verifier.
  const at = await pressed(server);
  const challenge = createHash('sha256').update(at.verifier).digest('base64url');
  assert.equal((await exchange(server, at.client, at.code, challenge)).status, 400);
});

test('redirects that look like the registered one', async () => {
  const client = await register(server, { redirect_uris: ['https://app.example/cb', 'http://localhost:1/cb'] });
  for (const redirect_uri of ['https://app.example/cb/../evil', 'https://app.example/cb%2f..', 'https://app.example.evil/cb', 'https://app.example@evil/cb',
    'https://app.example/cb?next=https://evil', 'https://app.example\\@evil/cb', 'https://APP.example/cb', '//app.example/cb',
    'http://localhost:1@evil/cb', 'http://localhost:1\\.evil/cb', 'http://localhost.evil:1/cb', 'http://localhost:1/cb\nhttps://evil',
    'http://localhost:99999/cb', 'http://127.0.0.1:1/cb', 'https://localhost:1/cb', 'https://app.example/cb\u0000', 'https://app.example/cb#']) {
    const page = await openPage(server, authorizeUrl(server, client, { code_challenge: newVerifier().challenge, redirect_uri }));
    assert.equal(page.status, 400, redirect_uri);
    assert.equal(page.headers.get('location'), null);
  }
});

test('response splitting', async () => {
  const client = await register(server);
  for (const state of ['x\r\nSet-Cookie: a=b', 'x\nLocation: https://evil', '\u0000', '\u2028', '%0d%0aSet-Cookie:%20a=b']) {
    const page = await openPage(server, authorizeUrl(server, client, { code_challenge: newVerifier().challenge, state }));
    if (page.status !== 200) {
      assert.equal(page.status, 400);
      continue;
    }
    const answer = await press(server, page);
    assert.equal(answer.headers.getSetCookie().length, 0);
    assert.ok(answer.location.startsWith(`${CALLBACK}?`));
    assert.equal(answer.parameters.get('state'), state);
  }
});

test('parameters twice: no reader may see another value than the one checked', async () => {
  const me = await victim();
  const thief = await register(server, { client_name: 'Thief' });
  const form = (pairs) => server.fetch('/token', {
    method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: pairs.map(([k, v]) => `${k}=${encodeURIComponent(v)}`).join('&'),
  });
  for (const pairs of [
    [['grant_type', 'refresh_token'], ['client_id', thief.client_id], ['client_id', me.client.client_id], ['refresh_token', me.refresh_token]],
    [['grant_type', 'refresh_token'], ['client_id', me.client.client_id], ['refresh_token', 'x'], ['refresh_token', me.refresh_token]],
    [['grant_type', 'authorization_code'], ['grant_type', 'refresh_token'], ['client_id', me.client.client_id], ['refresh_token', me.refresh_token]],
  ])
    assert.equal((await form(pairs)).status, 400);
  await me.stillFine();
});

test('what is known about a family does not help, and cannot end it', async () => {
  const me = await victim();
  const [, family, secret] = me.refresh_token.split('_');
  for (const guess of [randomBytes(32).toString('hex'), '0'.repeat(64), secret.split('').reverse().join(''), me.access_token.slice(4)])
    for (const client of [me.client, await register(server, { client_name: 'Thief' })]) {
      assert.equal((await refresh(server, client, `sbr_${family}_${guess}`)).body.error, 'invalid_grant');
      await server.post('/revoke', { token: `sbr_${family}_${guess}`, client_id: client.client_id });
    }
  // Access and refresh tokens are not each other, nor are the principal's name or hashes anything.
  for (const bearer of [me.refresh_token, me.who, secret, family, createHash('sha256').update(me.access_token).digest('hex'), me.client.client_id,
    me.code, me.access_token.slice(4), `sba_${secret}`, `sbt_${me.access_token.slice(4)}`])
    assert.equal(await whoami(server, bearer), 401, bearer);
  await me.stillFine();
  assert.equal((await refresh(server, me.client, me.refresh_token)).status, 200);
});

test('a thief with an old refresh token cannot keep the sandbox', async () => {
  const me = await signIn(server);
  const mine = (await refresh(server, me.client, me.refresh_token)).body;
  await server.advance(121);
  // The owner has not used the new pair yet: to the server this is a lost answer.
  const thief = (await refresh(server, me.client, me.refresh_token)).body;
  assert.match(String(await whoami(server, thief.access_token)), /^guest-/);
  // The owner comes, and that ends it for both.
  assert.equal((await refresh(server, me.client, mine.refresh_token)).status, 400);
  assert.equal(await whoami(server, thief.access_token), 401);
  assert.equal((await refresh(server, me.client, thief.refresh_token)).status, 400);
});

test('names and headers that claim to be somebody', async () => {
  const me = await victim();
  const attacker = await signIn(server);
  for (const headers of [{ 'x-principal': me.who }, { 'mcp-session-id': me.who }, { 'x-test-principal': me.who }, { cookie: `berth=${me.who}` },
    { 'x-forwarded-user': me.who }, { 'x-real-ip': '127.0.0.1' }])
    assert.notEqual(await whoami(server, attacker.access_token, headers), me.who);
  const impostor = await register(server, { client_name: me.who });
  assert.notEqual(await whoami(server, (await signIn(server, { client: impostor })).access_token), me.who);
});

test('tokens of another server', async (t) => {
  const other = await OauthServer.start();
  t.after(() => other.stop());
  const me = await signIn(other);
  assert.equal(await whoami(server, me.access_token), 401);
  assert.equal((await token(server, { grant_type: 'refresh_token', refresh_token: me.refresh_token, client_id: me.client.client_id })).status >= 400, true);
  // A page sealed by another process is worth nothing either.
  const client = await register(server);
  const foreign = await register(other);
  const page = await openPage(other, authorizeUrl(other, foreign, { code_challenge: newVerifier().challenge }));
  assert.equal((await press(server, page, {}, { origin: server.issuer })).status, 400);
  assert.notEqual(client.client_id, foreign.client_id); // made from the issuer too
});

test('many sign-ins at once get what is theirs', async () => {
  const client = await register(server);
  const people = await Promise.all(Array.from({ length: 40 }, () => signIn(server, { client })));
  const names = await Promise.all(people.map(({ access_token: access }) => whoami(server, access)));
  assert.equal(new Set(names).size, 40);
  const renewed = await Promise.all(people.map(({ refresh_token: last }) => refresh(server, client, last)));
  assert.deepEqual(await Promise.all(renewed.map(({ body }) => whoami(server, body.access_token))), names);
});

test('neither disk nor log holds a secret of the whole run', async (t) => {
  const own = await OauthServer.start();
  t.after(() => own.stop());
  await own.command('mail on');
  const secrets = ['visitor.name@secret.example'];
  for (let i = 0; i < 3; i++) {
    const me = await signIn(own);
    const next = (await refresh(own, me.client, me.refresh_token)).body;
    await whoami(own, next.access_token);
    secrets.push(me.code, me.verifier, me.page.cookie.split('=')[1], me.page.request.slice(0, 60), me.access_token, me.refresh_token,
      me.refresh_token.slice(-64), next.access_token, next.refresh_token, next.refresh_token.slice(-64), me.client.client_id);
    await refresh(own, me.client, me.refresh_token.slice(0, -3));
    if (i === 1) await exchange(own, me.client, me.code, me.verifier);
  }
  const open = await openPage(own, authorizeUrl(own, await register(own), { code_challenge: newVerifier().challenge, state: 'the-secret-state' }));
  secrets.push('the-secret-state', (await press(own, open, { email: secrets[0] })).code);
  const fixed = await own.command('token laptop me');
  await whoami(own, fixed);
  secrets.push(fixed, fixed.slice(4));
  await own.crash();
  const log = own.program.stderr + own.log.split('\n').filter((line) => !line.startsWith('*') && !line.startsWith('sbt_')).join('\n');
  const disk = own.diskText();
  for (const secret of secrets) {
    assert.ok(!disk.includes(secret), `on disk: ${secret}`);
    assert.ok(!log.includes(secret), `in the log: ${secret}`);
    const bytes = /^[0-9a-f]+$/.test(secret) ? Buffer.from(secret, 'hex').toString('latin1') : undefined;
    if (bytes) assert.ok(!disk.includes(bytes), `on disk, as bytes: ${secret}`);
  }
  assert.doesNotMatch(log, /sb[ar]_[0-9a-f]{8}|code=|state=|127\.0\.0\.1:\d+\/callback/);
  for (const [name, mode] of own.diskModes()) assert.equal(mode & 0o077, 0, name);
});
