// Discovery, the challenge of the protected resource, CORS.
import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { after, before, test } from 'node:test';
import { OauthServer, signIn, whoami } from './lib/oauth.mjs';

let server;
before(async () => (server = await OauthServer.start()));
after(() => server.stop());

const PRM = '/.well-known/oauth-protected-resource/mcp';
const AS = '/.well-known/oauth-authorization-server';

/** A request with headers that fetch would not send: [status, headers, body]. */
function raw(path, { method = 'GET', headers = {} } = {}) {
  return new Promise((done, fail) => {
    const req = httpRequest(new URL(path, server.origin), { method, headers }, (res) => {
      let text = '';
      res.setEncoding('utf8').on('data', (chunk) => (text += chunk));
      res.on('end', () => done({ status: res.statusCode, headers: res.headers, text }));
    });
    req.on('error', fail);
    req.end();
  });
}

function walk(value, path = '$') {
  assert.notEqual(value, null, path);
  assert.notEqual(value, '', path);
  if (typeof value === 'object') for (const [key, inner] of Object.entries(value)) walk(inner, `${path}.${key}`);
}

test('protected resource metadata, the same in every form', async () => {
  const texts = new Set();
  for (const path of [PRM, `${PRM}/`, '/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/',
    '/mcp/.well-known/oauth-protected-resource']) {
    const answer = await server.fetch(path);
    assert.equal(answer.status, 200, path);
    assert.equal(answer.headers.get('content-type'), 'application/json');
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    texts.add(await answer.text());
  }
  assert.equal(texts.size, 1);
  const prm = JSON.parse([...texts][0]);
  assert.equal(prm.resource, server.url);
  assert.deepEqual(prm.authorization_servers, [server.issuer]);
  assert.deepEqual(prm.scopes_supported, ['sandbox']);
  walk(prm);
});

test('authorization server metadata', async () => {
  const as = await (await server.fetch(AS)).json();
  assert.equal(as.issuer, server.issuer);
  assert.deepEqual(as.code_challenge_methods_supported, ['S256']);
  assert.deepEqual(as.token_endpoint_auth_methods_supported, ['none']);
  assert.deepEqual(as.response_types_supported, ['code']);
  assert.equal(as.authorization_response_iss_parameter_supported, true);
  assert.ok(as.scopes_supported.includes('offline_access'));
  assert.equal(as.client_id_metadata_document_supported, undefined);
  for (const [name, value] of Object.entries(as))
    if (name.endsWith('_endpoint')) assert.ok(value.startsWith(`${server.issuer}/`), name);
  assert.equal(await (await server.fetch(`${AS}/`)).text(), JSON.stringify(as));
  walk(as);
});

test('what is not there is 404 in JSON, never a redirect', async () => {
  for (const path of [`${AS}/mcp`, '/.well-known/openid-configuration', '/.well-known/openid-configuration/mcp',
    '/mcp/.well-known/openid-configuration', '/mcp/.well-known/oauth-authorization-server', '/.well-known/x']) {
    const answer = await server.fetch(path);
    assert.equal(answer.status, 404, path);
    assert.equal(answer.headers.get('content-type'), 'application/json');
    assert.equal((await answer.json()).error, 'not_found');
  }
});

test('Host and X-Forwarded-Host do not reach the metadata', async () => {
  for (const path of [PRM, AS]) {
    const { text } = await raw(path, { headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' } });
    assert.ok(!text.includes('evil'));
  }
});

test('methods', async () => {
  const post = await server.fetch(PRM, { method: 'POST' });
  assert.equal(post.status, 405);
  assert.match(post.headers.get('allow'), /GET/);
  assert.ok((await post.json()).error);
  const head = await server.fetch(AS, { method: 'HEAD' });
  assert.equal(head.status, 200);
  assert.equal(await head.text(), '');
  for (const path of ['/token', '/register', '/revoke']) {
    const get = await server.fetch(path);
    assert.equal(get.status, 405, path);
    assert.match(get.headers.get('allow'), /POST/);
    assert.ok((await get.json()).error);
  }
  assert.equal((await server.fetch('/authorize', { method: 'DELETE' })).status, 405);
});

test('CORS: preflight of everything that machines use, and nothing for the page', async () => {
  for (const [path, method] of [[PRM, 'GET'], [AS, 'GET'], ['/register', 'POST'], ['/token', 'POST'], ['/revoke', 'POST'], ['/mcp', 'POST']]) {
    const answer = await server.fetch(path, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://inspector.example', 'access-control-request-method': method,
        'access-control-request-headers': 'mcp-protocol-version, mcp-param-x, authorization',
      },
    });
    assert.equal(answer.status, 204, path);
    assert.equal(answer.headers.get('access-control-allow-origin'), '*');
    assert.match(answer.headers.get('access-control-allow-headers'), /mcp-param-x/);
    assert.match(answer.headers.get('access-control-allow-methods'), new RegExp(method));
    assert.equal(answer.headers.get('access-control-allow-credentials'), null);
  }
  assert.equal((await server.fetch('/authorize')).headers.get('access-control-allow-origin'), null);
  const refused = await server.fetch('/token', { method: 'POST' });
  assert.equal(refused.headers.get('access-control-allow-origin'), '*');
});

test('the challenge', async () => {
  for (const path of ['/mcp', '/mcp/'])
    for (const method of ['POST', 'GET', 'HEAD', 'DELETE']) {
      const { status, headers } = await raw(path, { method });
      assert.equal(status, 401, `${method} ${path}`);
      assert.match(headers['www-authenticate'],
        /^Bearer error="invalid_token", error_description="[^"]+", resource_metadata="([^"]+)", scope="sandbox"$/);
      assert.equal(headers['access-control-allow-origin'], '*');
      assert.match(headers['access-control-expose-headers'], /WWW-Authenticate/);
    }
  const where = (await server.fetch('/mcp', { method: 'POST' })).headers.get('www-authenticate').match(/resource_metadata="([^"]+)"/)[1];
  assert.equal((await (await fetch(where)).json()).resource, server.url);
});

test('the challenge comes before the body is read', async () => {
  const { status } = await raw('/mcp', { method: 'POST', headers: { 'content-length': '999999999' } });
  assert.ok(status === 401 || status === 413, String(status));
});

test('tokens anywhere but in one Authorization header do not count', async () => {
  const { access_token: good } = await signIn(server);
  assert.match(String(await whoami(server, good)), /^guest-[0-9a-f]{40}$/);
  assert.match(String(await whoami(server, undefined, { authorization: `bearer ${good}` })), /^guest-/);
  for (const authorization of [`Basic ${good}`, 'Bearer', 'Bearer ', `Bearer ${good} x`, `Bearer ${good}, Bearer ${good}`,
    `Bearer ${'a'.repeat(10000)}`, `Bearer ${good.slice(0, -1)}`, `Bearer ${good}0`, `Bearer ${good.toUpperCase()}`, good])
    assert.equal(await whoami(server, undefined, { authorization }), 401, authorization.slice(0, 20));
  for (const value of [`Bearer ${'a'.repeat(100000)}`, 'Bearer \u00ff\u00fe', `Bearer ${good}\u00a0`])
    assert.ok([400, 401, 431].includes((await raw('/mcp', { method: 'POST', headers: { authorization: value } })).status), value.slice(0, 20));
  assert.equal((await server.fetch(`/mcp?access_token=${good}`, { method: 'POST' })).status, 401);
  assert.equal((await server.post('/mcp', { access_token: good })).status, 401);
  const twice = await raw('/mcp', { method: 'POST', headers: { authorization: [`Bearer ${good}`, `Bearer ${good}`] } });
  assert.ok([400, 401].includes(twice.status), String(twice.status));
  const get = await raw('/mcp', { headers: { authorization: `Bearer ${good}` } });
  assert.equal(get.status, 405);
});

test('errors are JSON that loose parsers do not stumble over', async () => {
  for (const [path, options] of [
    ['/token', { method: 'POST', body: 'x' }],
    ['/token', { method: 'POST', body: 'a=%zz', headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
    ['/register', { method: 'POST', body: '{"redirect_uris":["scope=\\"x\\\\"]}', headers: { 'content-type': 'application/json' } }],
    ['/register', { method: 'POST', body: '{"error=": \u0001', headers: { 'content-type': 'application/json' } }],
    ['/revoke', { method: 'POST', body: 'x'.repeat(20000) }],
    ['/mcp', { method: 'POST' }],
  ]) {
    const answer = await server.fetch(path, options);
    assert.ok(answer.status >= 400 && answer.status < 500);
    assert.equal(answer.headers.get('content-type'), 'application/json');
    const { error, error_description: text } = await answer.json();
    assert.ok(error);
    assert.match(text, /^[\x20-\x7e]+$/);
    assert.doesNotMatch(text, /["\\]|scope=|error=|resource_metadata=/);
  }
});
