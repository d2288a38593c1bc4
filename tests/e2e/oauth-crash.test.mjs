// Killed at every step: what was answered holds, what was not can be done again.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { authorizeUrl, exchange, newVerifier, OauthServer, openPage, press, pressed, refresh, register, signIn, whoami } from './lib/oauth.mjs';

let server;
before(async () => (server = await OauthServer.start()));
after(() => server.stop());

test('after registration: the client is known', async () => {
  const client = await register(server);
  await server.crash();
  assert.equal((await openPage(server, authorizeUrl(server, client, { code_challenge: newVerifier().challenge }))).status, 200);
  assert.equal((await register(server)).client_id, client.client_id);
});

test('after the page: the person is told to start again, and can', async () => {
  const client = await register(server);
  const { verifier, challenge } = newVerifier();
  const url = authorizeUrl(server, client, { code_challenge: challenge });
  const page = await openPage(server, url);
  await server.crash();
  const stale = await press(server, page);
  assert.equal(stale.status, 400);
  assert.match(stale.html, /start again/);
  // The same link works, in the same browser.
  const again = await press(server, await openPage(server, url, { cookie: page.cookie }));
  assert.equal((await exchange(server, client, again.code, verifier)).status, 200);
});

test('after the press: the code is gone, no sandbox was promised', async () => {
  const at = await pressed(server);
  await server.crash();
  const { status, body } = await exchange(server, at.client, at.code, at.verifier);
  assert.equal(status, 400);
  assert.equal(body.error, 'invalid_grant');
  assert.equal((await signIn(server, { client: at.client })).token_type, 'Bearer');
});

test('after the tokens: the sign-in holds', async () => {
  const me = await signIn(server);
  const who = await whoami(server, me.access_token);
  for (let i = 0; i < 3; i++) {
    await server.crash();
    assert.equal(await whoami(server, me.access_token), who);
  }
  // A replayed code of an earlier life is unknown, and does no harm.
  assert.equal((await exchange(server, me.client, me.code, me.verifier)).status, 400);
  assert.equal(await whoami(server, me.access_token), who);
});

test('after a refresh whose answer was lost: the old token works once more', async () => {
  const me = await signIn(server);
  const who = await whoami(server, me.access_token);
  const lost = (await refresh(server, me.client, me.refresh_token)).body;
  await server.crash();
  const found = await refresh(server, me.client, me.refresh_token);
  assert.equal(found.status, 200);
  assert.equal(await whoami(server, found.body.access_token), who);
  // And again, to everybody who asks within the window.
  assert.equal((await refresh(server, me.client, me.refresh_token)).body.refresh_token, found.body.refresh_token);
  assert.equal(await whoami(server, lost.access_token), 401);
});

test('after a refresh that arrived: the late twin is asked to wait, and nothing is lost', async () => {
  const me = await signIn(server);
  const who = await whoami(server, me.access_token);
  const next = (await refresh(server, me.client, me.refresh_token)).body;
  await whoami(server, next.access_token);
  await server.crash();
  const late = await refresh(server, me.client, me.refresh_token);
  assert.equal(late.status, 429);
  assert.ok(Number(late.headers.get('retry-after')) >= 1);
  assert.equal(await whoami(server, next.access_token), who);
  assert.equal((await refresh(server, me.client, next.refresh_token)).status, 200);
});

test('after a revocation: it stays revoked', async () => {
  const me = await signIn(server);
  assert.equal((await server.post('/revoke', { token: me.refresh_token, client_id: me.client.client_id })).status, 200);
  await server.crash();
  assert.equal(await whoami(server, me.access_token), 401);
  assert.equal((await refresh(server, me.client, me.refresh_token)).status, 400);
});

test('killed in the middle of many refreshes: every sign-in goes on', async () => {
  const client = await register(server);
  const people = await Promise.all(Array.from({ length: 20 }, () => signIn(server, { client })));
  const names = await Promise.all(people.map(({ access_token: access }) => whoami(server, access)));
  const answers = people.map(({ refresh_token: last }) => refresh(server, client, last).catch(() => undefined));
  await Promise.race(answers);
  await server.crash();
  const arrived = await Promise.all(answers);
  for (const [i, answer] of arrived.entries()) {
    const last = answer ? answer.body.refresh_token : people[i].refresh_token;
    const { status, body } = await refresh(server, client, last);
    assert.equal(status, 200);
    assert.equal(await whoami(server, body.access_token), names[i]);
  }
});

test('a second server on the same state refuses to start', async () => {
  const { Program, program } = await import('./lib/programs.mjs');
  const second = new Program(program('tests/servers/oauth_server'), [`${server.dir}/state.db`]);
  const { code } = await second.exited;
  assert.equal(code, 1);
  assert.match(second.stderr, /another server is running/);
});

test('a full disk costs nobody a sign-in', async (t) => {
  const { Program, program } = await import('./lib/programs.mjs');
  const own = await OauthServer.start();
  t.after(() => own.stop());
  const me = await signIn(own);
  const who = await whoami(own, me.access_token);
  await own.end('SIGKILL');
  // Files of this process may not grow over 64 KiB: soon every write fails, as on a full disk.
  own.program = new Program('/bin/sh', ['-c', "trap '' XFSZ; ulimit -f 128; exec \"$@\"", 'sh', program('tests/servers/oauth_server'),
    `${own.dir}/state.db`, `port=${own.port}`]);
  await own.program.waitFor(/listening/);
  let last = me;
  let answer;
  for (let i = 0; i < 50; i++) {
    answer = await refresh(own, me.client, last.refresh_token);
    if (answer.status !== 200) break;
    last = answer.body;
  }
  assert.equal(answer.status, 429);
  assert.equal(answer.body.error, 'temporarily_unavailable');
  assert.ok(Number(answer.headers.get('retry-after')) >= 1);
  assert.equal(await whoami(own, last.access_token), who);
  await own.crash();
  const { status, body } = await refresh(own, me.client, last.refresh_token);
  assert.equal(status, 200);
  assert.equal(await whoami(own, body.access_token), who);
});
