// The authorization request and the button, without a browser.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { authorizeUrl, CALLBACK, exchange, newVerifier, openPage, OauthServer, press, pressed, register, whoami } from './lib/oauth.mjs';

let server, client;
before(async () => {
  server = await OauthServer.start();
  client = await register(server);
});
after(() => server.stop());

const good = (parameters) => authorizeUrl(server, client, { code_challenge: newVerifier().challenge, ...parameters });

/** Shown to the person, never redirected. */
async function shown(url, text) {
  const page = await openPage(server, url);
  assert.equal(page.status, 400);
  assert.match(page.headers.get('content-type'), /^text\/html/);
  assert.equal(page.headers.get('location'), null);
  assert.match(page.html, text);
}

/** Sent back to the app: the parameters. */
async function sentBack(url) {
  const answer = await fetch(url, { redirect: 'manual' });
  assert.equal(answer.status, 303);
  const location = new URL(answer.headers.get('location'));
  assert.ok(location.href.startsWith(`${CALLBACK}?`));
  assert.deepEqual(location.searchParams.getAll('iss'), [server.issuer]);
  assert.equal(location.searchParams.get('code'), null);
  return Object.fromEntries(location.searchParams);
}

test('the page: headers, and nothing of it may run or be framed', async () => {
  const page = await openPage(server, good());
  assert.equal(page.status, 200);
  const policy = page.headers.get('content-security-policy');
  assert.doesNotMatch(policy, /form-action|unsafe|script-src|connect-src/);
  for (const part of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"]) assert.ok(policy.includes(part));
  assert.equal(page.headers.get('x-frame-options'), 'DENY');
  assert.equal(page.headers.get('referrer-policy'), 'same-origin');
  assert.equal(page.headers.get('cache-control'), 'no-store');
  assert.equal(page.headers.get('x-content-type-options'), 'nosniff');
  assert.equal(page.headers.get('access-control-allow-origin'), null);
  assert.equal(page.headers.get('cross-origin-opener-policy'), null);
  assert.match(page.headers.getSetCookie()[0], /^berth=[0-9a-f]{64}; HttpOnly; Path=\/; SameSite=Lax; Max-Age=900$/);
  assert.match(page.html, /<button type="submit">Create my sandbox<\/button>/);
  assert.doesNotMatch(page.html, /<script|(src|href|action)=.https?:/);
});

test('https: the cookie is bound to the host', async (t) => {
  const own = await OauthServer.start({ issuer: 'https://berth.example' });
  t.after(() => own.stop());
  const app = await register(own);
  const page = await openPage(own, authorizeUrl(own, app, { code_challenge: newVerifier().challenge }));
  assert.match(page.headers.getSetCookie()[0], /^__Host-berth=[0-9a-f]{64}; HttpOnly; Path=\/; SameSite=Lax; Max-Age=900; Secure$/);
  const answer = await press(own, page);
  assert.equal(answer.status, 303);
  assert.equal(answer.parameters.get('iss'), 'https://berth.example');
});

test('phase 1: unknown apps and foreign redirects are shown, not followed', async () => {
  await shown(good({ client_id: 'sbc0000000000000000000000000000000000000000' }), /Remove the connector in your app and add it again/);
  await shown(good({ client_id: null }), /not known here/);
  await shown(good({ client_id: 'https://claude.ai/oauth/client' }), /not known here/);
  await shown(good({ client_id: '"><script>' }), /not known here/);
  for (const redirect_uri of [null, '', `${CALLBACK}/`, `${CALLBACK}?x=1`, 'http://127.0.0.1:9999/Callback', 'https://127.0.0.1:9999/callback',
    'http://localhost:9999/callback', 'http://evil.example/callback', `${CALLBACK}#x`, 'javascript:alert(1)',
    'http://127.0.0.1:9999@evil.example/callback', 'http://127.0.0.1:9999/callback\r\nx: y', 'http://127.0.0.1:9999/callback\n'])
    await shown(good({ redirect_uri }), /not what the app registered|broken/);
  for (const name of ['client_id', 'redirect_uri', 'state', 'code_challenge']) {
    const url = good();
    url.searchParams.append(name, url.searchParams.get(name));
    await shown(url, /broken/);
  }
  await shown(`${good()}&state2=%zz`, /broken/);
  await shown(`${good()}&state2=%00`, /broken/);
  await shown(`${good()}&state2=%ff`, /broken/);
});

test('the port of a loopback redirect does not matter, of others it does', async () => {
  assert.equal((await openPage(server, good({ redirect_uri: 'http://127.0.0.1:1/callback' }))).status, 200);
  assert.equal((await openPage(server, good({ redirect_uri: 'http://127.0.0.1/callback' }))).status, 200);
  const web = await register(server, { redirect_uris: ['https://app.example:1/cb'] });
  await shown(authorizeUrl(server, web, { code_challenge: newVerifier().challenge, redirect_uri: 'https://app.example:2/cb' }), /registered/);
  const app = await register(server, { redirect_uris: ['app-x://host:1/cb'] });
  await shown(authorizeUrl(server, app, { code_challenge: newVerifier().challenge, redirect_uri: 'app-x://host:2/cb' }), /registered/);
});

test('phase 2: errors go back to the app with state and iss', async () => {
  for (const [parameters, error] of [
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ response_type: null }, 'invalid_request'],
    [{ code_challenge: null }, 'invalid_request'],
    [{ code_challenge_method: null }, 'invalid_request'],
    [{ code_challenge_method: 'plain' }, 'invalid_request'],
    [{ code_challenge: 'x'.repeat(42) }, 'invalid_request'],
    [{ code_challenge: 'x'.repeat(44) }, 'invalid_request'],
    [{ code_challenge: '!'.repeat(43) }, 'invalid_request'],
    [{ prompt: 'none' }, 'interaction_required'],
    [{ resource: 'https://evil.example/mcp' }, 'invalid_target'],
    [{ resource: `${server.issuer}/mcp#x` }, 'invalid_target'],
    [{ resource: '/mcp' }, 'invalid_target'],
    [{ scope: 'x'.repeat(1001) }, 'invalid_scope'],
    [{ response_mode: 'fragment' }, 'invalid_request'],
  ]) {
    const back = await sentBack(good(parameters));
    assert.equal(back.error, error, JSON.stringify(parameters));
    assert.equal(back.state, 'a state');
    assert.ok(back.error_description);
  }
  assert.equal((await sentBack(good({ prompt: 'none', state: null }))).state, undefined);
});

test('what is let through', async () => {
  for (const parameters of [
    { prompt: 'consent' }, { scope: 'claudeai' }, { scope: 'openid email profile' }, { scope: '' }, { resource: null },
    { resource: server.issuer }, { resource: `${server.issuer}/` }, { resource: `${server.issuer}/mcp/` },
    { resource: server.issuer.toUpperCase().replace('HTTP', 'http') }, { nonce: 'x', audience: 'y', access_type: 'offline', display: 'z' },
    { response_mode: 'query' },
  ])
    assert.equal((await openPage(server, good(parameters))).status, 200, JSON.stringify(parameters));
});

test('the redirect keeps the query and returns state as it was', async () => {
  const app = await register(server, { redirect_uris: ['https://app.example/cb?a=1&b=%20'] });
  for (const state of ['&=+%#', 'ü ✓', 's'.repeat(2048), '<script>', null]) {
    const { location } = await pressed(server, { client: app, parameters: { state } });
    assert.ok(location.startsWith('https://app.example/cb?a=1&b=%20&code='));
    const { searchParams } = new URL(location);
    assert.equal(searchParams.get('state'), state);
    assert.deepEqual(searchParams.getAll('iss'), [server.issuer]);
    assert.equal(searchParams.getAll('code').length, 1);
  }
});

test('showing the page has no effect', async () => {
  const url = good();
  // Far fewer at once than connections: one that is closed to make room may just be in use again.
  for (let round = 0; round < 10; round++) await Promise.all(Array.from({ length: 100 }, () => openPage(server, url)));
  const counts = await server.counts();
  assert.equal((await server.counts()).presses, counts.presses);
  assert.equal(counts.families, 0);
});

test('names are shown escaped', async () => {
  const evil = await register(server, { client_name: '<script>alert(1)</script>"\'&', redirect_uris: ['https://app.example/<'.slice(0, -1)] });
  const page = await openPage(server, authorizeUrl(server, evil, { code_challenge: newVerifier().challenge, state: '"><img src=x>' }));
  assert.ok(page.html.includes('&lt;script&gt;alert(1)&lt;/script&gt;'));
  assert.doesNotMatch(page.html, /<script>|<img/);
});

test('the button needs its own page, cookie and form', async () => {
  const page = await openPage(server, good());
  const foreign = await openPage(server, good());
  const before = await server.counts();
  const refused = async (fields, headers, status, text) => {
    const answer = await press(server, page, fields, headers);
    assert.equal(answer.status, status);
    assert.equal(answer.location, null);
    assert.match(answer.html, text);
  };
  await refused({}, { cookie: null }, 403, /did not keep the cookie/);
  await refused({}, { cookie: 'berth=' }, 403, /did not keep the cookie/);
  await refused({}, { cookie: `berth=${'0'.repeat(64)}` }, 403, /did not keep the cookie/);
  await refused({}, { cookie: foreign.cookie }, 403, /did not keep the cookie/);
  await refused({ request: foreign.request }, {}, 403, /did not keep the cookie/);
  await refused({ request: '' }, {}, 400, /too old/);
  await refused({ request: page.request.slice(0, -4) }, {}, 400, /too old/);
  await refused({ request: page.request.replace(/.$/, (c) => (c === 'A' ? 'B' : 'A')) }, {}, 400, /too old/);
  await refused({}, { 'sec-fetch-site': 'cross-site' }, 403, /another site/i);
  await refused({}, { 'sec-fetch-site': 'same-site' }, 403, /another site/i);
  await refused({}, { 'sec-fetch-site': 'none' }, 403, /another site/i);
  await refused({}, { origin: 'https://evil.example' }, 403, /another site/i);
  await refused({}, { origin: 'null', 'sec-fetch-site': null }, 403, /another site/i);
  await refused({}, { origin: 'null', 'sec-fetch-site': 'cross-site' }, 403, /another site/i);
  await refused({}, { 'content-type': 'text/plain' }, 400, /broken/);
  const after = await server.counts();
  assert.equal(after.presses, before.presses);
  // The page still works, also where the browser hides the origin of its own form.
  assert.equal((await press(server, page, {}, { origin: 'null' })).status, 303);
});

test('an old page', async () => {
  const page = await openPage(server, good());
  await server.advance(599);
  const young = await openPage(server, good());
  await server.advance(2);
  const answer = await press(server, page);
  assert.equal(answer.status, 400);
  assert.match(answer.html, /too old/);
  assert.equal((await press(server, young)).status, 303);
});

test('pressed twice: the same answer, then "done", then too old', async () => {
  const { verifier, challenge } = newVerifier();
  const url = good({ code_challenge: challenge });
  const page = await openPage(server, url);
  const first = await press(server, page);
  assert.equal(first.status, 303);
  assert.equal(first.headers.get('cache-control'), 'no-store');
  assert.equal(first.headers.get('referrer-policy'), 'same-origin');
  await server.advance(100);
  assert.equal((await press(server, page)).location, first.location);
  // The page loaded again by the back button asks for the same thing.
  const again = await openPage(server, url, { cookie: page.cookie });
  assert.equal((await press(server, again)).location, first.location);
  await server.advance(50);
  const tokens = await exchange(server, client, first.code, verifier);
  assert.equal(tokens.status, 200);
  const done = await press(server, page);
  assert.equal(done.status, 200);
  assert.match(done.html, /Go back to it; you can close this page/);
  assert.match(String(await whoami(server, tokens.body.access_token)), /^guest-/);

  const late = await openPage(server, good());
  assert.equal((await press(server, late)).status, 303);
  await server.advance(121);
  const answer = await press(server, late);
  assert.equal(answer.status, 400);
  assert.match(answer.html, /too old/);
});

test('presses at the same time make one code', async () => {
  const page = await openPage(server, good());
  const before = await server.counts();
  const answers = await Promise.all(Array.from({ length: 20 }, () => press(server, page)));
  assert.equal(new Set(answers.map(({ location }) => location)).size, 1);
  assert.equal((await server.counts()).presses, before.presses + 1);
});

test('two tabs of one browser', async () => {
  const one = await openPage(server, good());
  const two = await openPage(server, good(), { cookie: one.cookie });
  assert.equal(two.cookie, one.cookie);
  const answers = [await press(server, one), await press(server, two)];
  for (const { status } of answers) assert.equal(status, 303);
  assert.notEqual(answers[0].code, answers[1].code);
});

test('the page of a client that was removed meanwhile', async () => {
  const app = await register(server, { client_name: 'Gone' });
  const page = await openPage(server, authorizeUrl(server, app, { code_challenge: newVerifier().challenge }));
  const row = JSON.parse(await server.command('clients')).find(({ name }) => name === 'Gone');
  assert.equal(await server.command(`revoke client ${row.id}`), '0');
  const answer = await press(server, page);
  assert.equal(answer.status, 400);
  assert.match(answer.html, /Remove the connector/);
});
