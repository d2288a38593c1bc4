// Limits without accounts: address prefixes, rates, bounded tables, e-mail.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authorizeUrl, exchange, newVerifier, OauthServer, openPage, press, refresh, register, signIn, token, whoami } from './lib/oauth.mjs';

/** A server behind a proxy on loopback, and a function that makes the headers of a visitor. */
async function proxied(t, options) {
  const server = await OauthServer.start({ proxies: '127.0.0.0/8', ...options });
  t.after(() => server.stop());
  return server;
}
const from = (address) => ({ 'x-forwarded-for': address });

async function pressFrom(server, address, fields) {
  const client = await register(server);
  const { verifier, challenge } = newVerifier();
  const page = await openPage(server, authorizeUrl(server, client, { code_challenge: challenge }), from(address));
  return { ...(await press(server, page, fields, from(address))), client, verifier, page };
}

test('one network presses too often: it waits, others do not', async (t) => {
  const server = await proxied(t, { new_per_hour: 4 });
  for (let i = 0; i < 100; i++) {
    const { status, html, headers } = await pressFrom(server, `192.0.2.${i}`);
    assert.equal(status, i < 4 ? 303 : 429);
    if (i >= 4) {
      assert.match(html, /Enough new sandboxes for now/);
      assert.match(html, /again in \d+ minutes/);
      assert.ok(Number(headers.get('retry-after')) > 60);
    }
  }
  assert.equal((await pressFrom(server, '192.0.3.1')).status, 303);
  for (let i = 0; i < 6; i++)
    assert.equal((await pressFrom(server, `2001:db8:7:${i}::${i}`)).status, i < 4 ? 303 : 429);
  assert.equal((await pressFrom(server, '2001:db8:8::1')).status, 303);
  // A refused page still works when the time has come.
  const refused = await pressFrom(server, '192.0.2.9');
  await server.advance(450);
  assert.equal(refused.status, 429);
  await server.advance(460);
  assert.equal((await pressFrom(server, '192.0.2.9')).status, 303);
});

test('pressing twice counts once', async (t) => {
  const server = await proxied(t, { new_per_hour: 2 });
  const one = await pressFrom(server, '192.0.2.1');
  for (let i = 0; i < 5; i++) assert.equal((await press(server, one.page, {}, from('192.0.2.1'))).status, 303);
  assert.equal((await pressFrom(server, '192.0.2.1')).status, 303);
  assert.equal((await pressFrom(server, '192.0.2.1')).status, 429);
});

test('X-Forwarded-For counts from the proxy only', async (t) => {
  const server = await OauthServer.start({ new_per_hour: 2 });
  t.after(() => server.stop());
  assert.equal((await pressFrom(server, '192.0.2.1')).status, 303);
  assert.equal((await pressFrom(server, '192.0.3.1')).status, 303);
  assert.equal((await pressFrom(server, '192.0.4.1')).status, 429);
  // A visitor behind the proxy cannot add hops of his own.
  const behind = await proxied(t, { new_per_hour: 2 });
  for (let i = 0; i < 4; i++)
    assert.equal((await pressFrom(behind, `10.9.${i}.1, 203.0.113.7`)).status, i < 2 ? 303 : 429);
});

test('slots held by one network', async (t) => {
  const server = await proxied(t, { held_per_prefix: 2 });
  const people = [];
  for (let i = 0; i < 4; i++) {
    const one = await pressFrom(server, `192.0.2.${i}`);
    assert.equal(one.status, 303);
    const { body } = await exchange(server, one.client, one.code, one.verifier);
    people.push(await whoami(server, body.access_token));
  }
  // Signing in takes no slot: all of them may still ask for one.
  for (const who of people) assert.equal(await server.command(`may ${who}`), '1');
  await server.command(`hold ${people[0]}`);
  await server.command(`hold ${people[1]}`);
  // Nobody gets another one, by a label, say, not even who has one.
  assert.equal(await server.command(`may ${people[0]}`), '0');
  assert.equal(await server.command(`may ${people[2]}`), '0');
  const refused = await pressFrom(server, '192.0.2.200');
  assert.equal(refused.status, 429);
  assert.match(refused.html, /Your network has its share/);
  const elsewhere = await pressFrom(server, '198.51.100.1');
  assert.equal(elsewhere.status, 303);
  await server.command(`release ${people[1]}`);
  assert.equal(await server.command(`may ${people[2]}`), '1');
  assert.equal((await pressFrom(server, '192.0.2.201')).status, 303);
  assert.equal(await server.command('may owner-somebody'), '1');
});

test('512 sign-ins of one network: which ones make room', async (t) => {
  const server = await proxied(t, { held_per_prefix: 2 });
  const client = await register(server);
  const from = server.from('192.0.2.1');
  const crowd = async (n) => {
    for (let i = 0; i < n; i += 10) await Promise.all(Array.from({ length: 10 }, () => signIn(from, { client })));
  };
  const used = await signIn(from, { client });
  const keeper = await signIn(from, { client });
  const holders = [await whoami(server, used.access_token), await whoami(server, keeper.access_token)];
  for (const who of holders) await server.command(`hold ${who}`);
  assert.match((await pressFrom(server, '192.0.2.9')).html, /Your network has its share/);
  for (const who of holders) await server.command(`release ${who}`);
  // None of them is old enough to go: the newcomer is told so, and others are not concerned.
  await crowd(510);
  const late = await pressFrom(server, '192.0.2.9');
  assert.equal(late.status, 429);
  assert.match(late.html, /Enough new sandboxes for now/);
  assert.equal((await server.counts()).families, 512);
  assert.equal((await pressFrom(server, '198.51.100.1')).status, 303);
  // An hour later those go that nobody ever used: neither the one with a slot nor the oldest, which works.
  await server.advance(3601);
  const renewed = await refresh(server, client, used.refresh_token);
  assert.equal(await whoami(server, renewed.body.access_token), holders[0]);
  await server.command(`hold ${holders[1]}`);
  await crowd(500);
  assert.equal((await server.counts()).families, 512);
  assert.equal(server.events.filter((event) => event.startsWith('ended')).length, 500);
  assert.equal(await whoami(server, renewed.body.access_token), holders[0]);
  // All are still looked at when slots are counted.
  await server.command(`hold ${holders[0]}`);
  assert.match((await pressFrom(server, '192.0.2.9')).html, /Your network has its share/);
  await server.command(`release ${holders[0]}`);
  await server.command(`release ${holders[1]}`);
  // Then those that were used, the longest unused first.
  await crowd(10);
  await signIn(from, { client });
  assert.equal((await refresh(server, client, keeper.refresh_token)).body.error, 'invalid_grant');
  assert.equal(await whoami(server, renewed.body.access_token), holders[0]);
});

test('another site cannot use up what a network may do, through the browser of one visitor', async (t) => {
  const server = await proxied(t, { pages_per_minute: 5, presses_per_minute: 5 });
  const client = await register(server);
  const url = authorizeUrl(server, client, { code_challenge: newVerifier().challenge });
  const page = await openPage(server, url, from('192.0.2.1'));
  const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', ...from('192.0.2.1') };
  const get = async (path, headers) => (await server.fetch(path, { headers: { ...headers, ...from('192.0.2.1') } })).status;
  for (let i = 0; i < 10; i++) {
    const answer = await press(server, page, {}, foreign);
    assert.equal(answer.status, 403);
    assert.match(answer.html, /another site/i);
    for (const destination of ['image', 'iframe', 'empty'])
      assert.equal(await get(url, { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': destination }), 403);
    assert.equal(await get('/work.js', { 'sec-fetch-site': 'same-site', 'sec-fetch-dest': 'script' }), 403);
  }
  assert.equal((await press(server, page, {}, from('192.0.2.1'))).status, 303);
  // An app's site opens the page; the page has its own script.
  assert.equal(await get(url, { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document' }), 200);
  assert.equal(await get('/work.js', { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'script' }), 200);
  assert.equal(await get(url, {}), 200);
  assert.equal(await get(url, {}), 429);
});

test('every endpoint has a rate, and says so in its own way', async (t) => {
  const server = await OauthServer.start({ requests_per_minute: 5, pages_per_minute: 5, tokens_per_minute: 5 });
  t.after(() => server.stop());
  const client = await register(server);
  const calls = {
    json: [
      () => server.fetch('/.well-known/oauth-protected-resource'),
      () => server.fetch('/register', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }),
      () => server.post('/revoke', { token: 'x', client_id: client.client_id }),
      () => server.post('/token', { grant_type: 'x', client_id: client.client_id }),
    ],
    html: [() => server.fetch('/authorize')],
  };
  for (const [kind, list] of Object.entries(calls))
    for (const call of list) {
      let last;
      for (let i = 0; i < 7; i++) last = await call();
      assert.equal(last.status, 429);
      assert.ok(Number(last.headers.get('retry-after')) >= 1);
      const text = await last.text();
      if (kind === 'json') assert.equal(JSON.parse(text).error, 'temporarily_unavailable');
      else assert.match(text, /A little slower, please/);
    }
  await server.advance(60);
  assert.equal((await calls.json[0]()).status, 200);
});

test('guessing at /token is slowed down, honest clients are not', async (t) => {
  const server = await proxied(t, { token_failures_per_minute: 5 });
  const me = await signIn(server);
  for (let i = 0; i < 10; i++) {
    const { status } = await token(server, { grant_type: 'refresh_token', refresh_token: `x${i}`, client_id: me.client.client_id }, from('192.0.2.1'));
    assert.equal(status, i < 5 ? 400 : 429);
  }
  const { status } = await token(server, { grant_type: 'refresh_token', refresh_token: me.refresh_token, client_id: me.client.client_id },
    from('192.0.2.1'));
  assert.equal(status, 200);
});

test('no more sign-ins than there may be; unused ones make room, used ones stay', async (t) => {
  const server = await OauthServer.start({ max_families: 5 });
  t.after(() => server.stop());
  const used = await signIn(server);
  const who = await whoami(server, used.access_token);
  for (let i = 0; i < 4; i++) await signIn(server);
  const refused = await pressFrom(server, '127.0.0.1');
  assert.equal(refused.status, 429);
  assert.match(refused.html, /No more sign-ins just now/);
  // Refreshing never needs room.
  const next = await refresh(server, used.client, used.refresh_token);
  assert.equal(next.status, 200);
  await server.advance(3700);
  for (let i = 0; i < 4; i++) await signIn(server);
  assert.equal((await server.counts()).families, 5);
  const last = await refresh(server, used.client, next.body.refresh_token);
  assert.equal(await whoami(server, last.body.access_token), who);
});

test('e-mail: what is no plain address is refused', async (t) => {
  const server = await proxied(t);
  await server.command('mail on');
  for (const email of ['a@b', 'a', '@b.c', 'a@', 'a b@c.de', 'a@b,c@d.e', '<x@y.z>', '"x"@y.z', 'x@[1.2.3.4]', 'x@1.2.3.4', 'a@b.c\r\nBcc: x@y.z',
    'a@b.c%0d%0aBcc:x@y.z', '-a@b.c', '.a@b.cd', 'a..b@c.de', 'a%b@c.de', 'a!b@c.de', 'a|b@c.de', 'a/b@c.de', 'ü@b.cd', 'a@b.cd.', 'a@-b.cd',
    `${'a'.repeat(65)}@b.cd`, `a@${'b.'.repeat(130)}cd`, 'a@b@c.de', 'a@b.c;d@e.fg']) {
    const { status, html } = await pressFrom(server, '192.0.2.1', { email });
    assert.equal(status, 422, email);
    assert.match(html, /We cannot write to this address/);
    assert.match(html, /Create my sandbox/);
  }
  assert.deepEqual(server.events, []);
  assert.equal((await pressFrom(server, '192.0.2.1', { email: '' })).status, 303);
  assert.equal((await pressFrom(server, '192.0.2.1', { email: ' First.Last+tag@Sub.Example.org ' })).status, 303);
  assert.match(server.events[0], /^mail First\.Last\+tag@Sub\.Example\.org guest-[0-9a-f]{40}$/);
});

test('e-mail: one a day to an address, and nobody learns about the limits', async (t) => {
  const server = await proxied(t);
  await server.command('mail on');
  const leave = async (email, address) => {
    const { status } = await pressFrom(server, address, { email });
    assert.equal(status, 303);
    return server.events.filter((event) => event.startsWith('mail')).length;
  };
  assert.equal(await leave('a@example.org', '192.0.2.1'), 1);
  assert.equal(await leave('A@EXAMPLE.org', '192.0.3.1'), 1);
  assert.equal(await leave('b@example.org', '192.0.3.1'), 2);
  assert.equal(await leave('c@example.org', '192.0.3.1'), 2); // two a day from one network
  for (let i = 0; i < 30; i++) await leave(`n${i}@flood.example`, `198.51.${i}.1`);
  assert.equal(server.events.filter((event) => event.includes('flood')).length, 20);
  await server.command('mail off');
  const before = server.events.length;
  await leave('z@other.example', '203.0.113.1');
  assert.equal(server.events.length, before);
});

test('proof of work: none, wrong, too short, of another page, used again', async (t) => {
  const { createHash } = await import('node:crypto');
  const server = await OauthServer.start({ proof_of_work_bits: 10 });
  t.after(() => server.stop());
  const client = await register(server);
  const open = () => openPage(server, authorizeUrl(server, client, { code_challenge: newVerifier().challenge }));
  const solve = (page) => {
    for (let n = 0; ; n++) {
      const digest = createHash('sha256').update(`${page.request}.${n}`).digest();
      if (digest[0] === 0 && digest[1] < 64) return String(n);
    }
  };
  const one = await open();
  const two = await open();
  const work = solve(one);
  for (const fields of [{}, { work: '' }, { work: 'x' }, { work: '1'.repeat(30) }]) {
    const { status, html } = await press(server, one, fields);
    assert.equal(status, 403);
    assert.match(html, /small computation/);
  }
  if (solve(two) !== work) assert.equal((await press(server, two, { work })).status, 403);
  const first = await press(server, one, { work });
  assert.equal(first.status, 303);
  // Again it gives what it gave: one solution, one sandbox.
  assert.equal((await press(server, one, { work })).location, first.location);
});

test('500 sign-ins, no call: nobody holds anything', async (t) => {
  const server = await OauthServer.start();
  t.after(() => server.stop());
  const client = await register(server);
  for (let i = 0; i < 25; i++)
    await Promise.all(Array.from({ length: 20 }, () => signIn(server, { client })));
  assert.equal((await server.counts()).families, 500);
  assert.deepEqual(server.events, []);
});

test('static tokens beside sign-in', async (t) => {
  const server = await OauthServer.start();
  t.after(() => server.stop());
  const laptop = await server.command('token laptop me');
  const phone = await server.command('token phone me');
  assert.match(laptop, /^sbt_[0-9a-f]{64}$/);
  assert.match(await server.command('token laptop other'), /^error .*already/);
  assert.match(await server.command('token Bad! me'), /^error /);
  assert.equal(await whoami(server, laptop), 'owner-me');
  assert.equal(await whoami(server, phone), 'owner-me');
  assert.equal(await whoami(server, laptop.replace(/.$/, (c) => (c === '0' ? '1' : '0'))), 401);
  assert.match(String(await whoami(server, (await signIn(server)).access_token)), /^guest-/);
  assert.equal(JSON.parse(await server.command('tokens')).length, 2);
  assert.ok(!(await server.command('tokens')).includes(laptop));
  await server.command('untoken laptop');
  assert.equal(await whoami(server, laptop), 401);
  assert.equal(await whoami(server, phone), 'owner-me');
  await server.crash();
  assert.equal(await whoami(server, phone), 'owner-me');
  assert.ok(!server.diskText().includes(phone));
});

test('tokens only, or nobody at all', async (t) => {
  const tokens = await OauthServer.start({ modes: 2 });
  t.after(() => tokens.stop());
  assert.equal((await tokens.fetch('/.well-known/oauth-protected-resource')).status, 404);
  assert.equal((await tokens.fetch('/authorize')).status, 404);
  const answer = await tokens.fetch('/mcp', { method: 'POST' });
  assert.equal(answer.status, 401);
  assert.doesNotMatch(answer.headers.get('www-authenticate'), /resource_metadata/);
  assert.equal(await whoami(tokens, await tokens.command('token a b')), 'owner-b');

  const open = await OauthServer.start({ modes: 1 });
  t.after(() => open.stop());
  assert.equal(await whoami(open), 'local');
  assert.equal(await whoami(open, 'anything'), 'local');

  const both = await OauthServer.start({ modes: 3 });
  t.after(() => both.stop());
  assert.equal(await whoami(both), 'local');
  assert.equal(await whoami(both, 'wrong'), 401);
});

test('the limits of a public demo let one person through', async (t) => {
  const server = await OauthServer.start({}, { relaxed: false });
  t.after(() => server.stop());
  for (let i = 0; i < 4; i++) {
    const me = await signIn(server);
    assert.match(String(await whoami(server, me.access_token)), /^guest-/);
    assert.equal((await refresh(server, me.client, me.refresh_token)).status, 200);
  }
});
