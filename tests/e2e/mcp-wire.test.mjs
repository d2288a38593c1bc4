// What goes over the wire, byte for byte, and one test for each mistake that MCP servers are known for.
import assert from 'node:assert/strict';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { ask, callTool, META, modern, MODERN, post, request } from './lib/mcp.mjs';
import { McpServer } from './lib/programs.mjs';

let server;
let url;
before(async () => {
  server = await McpServer.start();
  url = server.url;
});
after(() => server.stop());

const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'];
const initialize = (protocolVersion, id = 0) =>
  request('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'x', version: '1' } }, id);
const note = (method, params) => ({ jsonrpc: '2.0', method, ...(params ? { params } : {}) });
const askModern = (...args) => ask(url, modern(...args));

// ---- transcripts ----

test('modern discover, byte for byte', async () => {
  const answer = await ask(url, {
    body: `{"jsonrpc":"2.0","id":"server-discover-probe-1","method":"server/discover","params":{"_meta":{"${META}protocolVersion":"2026-07-28","${META}clientInfo":{"name":"x","version":"1"},"${META}clientCapabilities":{}}}}`,
    headers: { 'MCP-Protocol-Version': MODERN, 'Mcp-Method': 'server/discover' },
  });
  assert.equal(answer.status, 200);
  assert.equal(answer.type, 'application/json');
  assert.match(answer.text, /^\{"jsonrpc":"2\.0","id":"server-discover-probe-1","result":\{"resultType":"complete","supportedVersions":\["2026-07-28"\],"capabilities":\{"tools":\{\}\},"instructions":"[^"]*","ttlMs":\d+,"cacheScope":"private","_meta":\{"io\.modelcontextprotocol\/serverInfo":\{"name":"berth","title":"Berth","version":"[^"]+"\}\}\}\}$/);
});

test('legacy handshake, byte for byte', async () => {
  const hello = await post(url, '{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}},"jsonrpc":"2.0","id":0}');
  assert.equal(hello.status, 200);
  assert.equal(hello.type, 'application/json');
  assert.match(hello.text, /^\{"jsonrpc":"2\.0","id":0,"result":\{"protocolVersion":"2025-11-25","capabilities":\{"tools":\{\}\},"serverInfo":\{[^}]*\},"instructions":"[^"]*"\}\}$/);
  assert.equal(hello.headers['mcp-session-id'], undefined);

  const version = { 'MCP-Protocol-Version': '2025-11-25' };
  const done = await post(url, '{"method":"notifications/initialized","jsonrpc":"2.0"}', version);
  assert.deepEqual([done.status, done.text, done.type, done.headers['content-length']], [202, '', undefined, '0']);

  const get = await ask(url, { method: 'GET', headers: { Accept: 'text/event-stream', ...version } });
  assert.deepEqual([get.status, get.headers.allow], [405, 'POST']);

  const list = await post(url, '{"method":"tools/list","jsonrpc":"2.0","id":1}', version);
  assert.equal(list.status, 200);
  assert.deepEqual(Object.keys(list.json.result), ['tools']);

  const cancelled = await post(url, note('notifications/cancelled', { requestId: 6, reason: 'AbortError: This operation was aborted' }), version);
  assert.equal(cancelled.status, 202);
});

test('error bodies', async () => {
  const headers = { 'MCP-Protocol-Version': MODERN, 'Mcp-Method': 'tools/list' };
  const broken = await post(url, '{');
  assert.equal(broken.status, 400);
  assert.equal(broken.json.error.code, -32700);
  assert.ok(!('id' in broken.json));

  const bare = await post(url, request('tools/list', { _meta: { [`${META}protocolVersion`]: MODERN } }, 9), headers);
  assert.deepEqual([bare.status, bare.json], [400, { jsonrpc: '2.0', id: 9, error: { code: -32602, message: `Missing required _meta key ${META}clientCapabilities` } }]);

  const named = await askModern('tools/call', { name: 'echo' }, { id: 9, headers: { 'Mcp-Name': 'a' } });
  assert.deepEqual([named.status, named.json], [400, { jsonrpc: '2.0', id: 9, error: { code: -32020, message: "Header mismatch: Mcp-Name header value 'a' does not match body value 'echo'" } }]);

  const version = await askModern('tools/list', {}, { id: 9, meta: { [`${META}protocolVersion`]: 'v999.0.0' }, headers: { 'MCP-Protocol-Version': 'v999.0.0' } });
  assert.deepEqual([version.status, version.json], [400, { jsonrpc: '2.0', id: 9, error: { code: -32022, message: 'Unsupported protocol version', data: { supported: [MODERN], requested: 'v999.0.0' } } }]);

  const capability = await askModern('tools/call', { name: 'test_missing_capability' }, { id: 9 });
  assert.deepEqual([capability.status, capability.json.error.code, capability.json.error.data], [400, -32021, { requiredCapabilities: { sampling: {} } }]);

  const ping = await askModern('ping', {}, { id: 9 });
  assert.deepEqual([ping.status, ping.json], [404, { jsonrpc: '2.0', id: 9, error: { code: -32601, message: 'Method not found: ping' } }]);

  const tool = await askModern('tools/call', { name: 'nope' }, { id: 9 });
  assert.deepEqual([tool.status, tool.json], [200, { jsonrpc: '2.0', id: 9, error: { code: -32602, message: 'Unknown tool: nope' } }]);
});

// ---- HTTP ----

for (const path of ['', '/']) {
  for (const method of ['GET', 'HEAD', 'DELETE', 'PUT', 'PATCH']) {
    test(`${method} /mcp${path} is 405 with Allow, whatever is accepted`, async () => {
      for (const Accept of [undefined, '*/*', 'text/event-stream', 'text/html']) {
        const answer = await ask(url + path, { method, headers: { Accept } });
        assert.deepEqual([answer.status, answer.headers.allow, answer.text], [405, 'POST', '']);
      }
    });
  }
}

test('/mcp/ serves what /mcp serves, without redirect', async () => {
  const [one, two] = await Promise.all(['', '/'].map((path) => post(url + path, request('tools/list'))));
  assert.equal(two.status, 200);
  assert.equal(one.text, two.text);
});

test('notifications and stray responses get 202 without body or type', async () => {
  for (const body of [note('notifications/initialized'), note('notifications/roots/list_changed'), note('made/up'),
    { jsonrpc: '2.0', id: 5, result: {} }, { jsonrpc: '2.0', id: 5, error: { code: 1, message: 'x' } }]) {
    const answer = await post(url, body);
    assert.deepEqual([answer.status, answer.text, answer.type], [202, '', undefined]);
  }
});

test('no session is needed, made or minded', async () => {
  const hello = await post(url, initialize('2025-11-25'));
  assert.equal(hello.headers['mcp-session-id'], undefined);
  const list = await post(url, request('tools/list'), { 'Mcp-Session-Id': 'from-another-life', 'Last-Event-ID': '7' });
  assert.equal(list.status, 200);
  assert.equal(list.headers['mcp-session-id'], undefined);
});

test('any Accept will do', async () => {
  for (const Accept of [undefined, '*/*', 'application/*', 'application/json', 'text/event-stream', 'text/event-stream, application/json', '']) {
    for (const options of [{ body: request('tools/list') }, modern('tools/list')]) {
      const answer = await ask(url, { ...options, headers: { ...options.headers, Accept } });
      assert.deepEqual([answer.status, answer.type], [200, 'application/json'], Accept);
    }
  }
});

test('Content-Type is compared as a media type', async () => {
  for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset=UTF-8'])
    assert.equal((await post(url, request('ping'), { 'Content-Type': type })).status, 200);
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', undefined])
    assert.equal((await post(url, request('ping'), { 'Content-Type': type })).status, 415);
});

test('Host and Origin are checked before anything else, for every method', async () => {
  for (const headers of [{ Host: 'evil.example.com' }, { Origin: 'http://evil.example.com' }, { Origin: 'null' }]) {
    for (const method of ['POST', 'GET', 'DELETE', 'OPTIONS']) {
      const answer = await ask(url, { method, headers, body: method === 'POST' ? '{ not read' : undefined });
      assert.equal(answer.status, 403, `${method} ${JSON.stringify(headers)}`);
      assert.equal(answer.headers['access-control-allow-origin'], undefined);
    }
  }
  for (const headers of [{ Host: 'localhost:1' }, { Host: '[::1]:9' }, { Origin: server.origin }, { Origin: 'http://localhost:6274' }])
    assert.equal((await post(url, request('ping'), headers)).status, 200, JSON.stringify(headers));
});

test('preflight needs no sign-in, and credentials are never allowed with a wildcard', async () => {
  const answer = await ask(url, { method: 'OPTIONS', headers: { Origin: server.origin, 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'mcp-method,authorization' } });
  assert.equal(answer.status, 204);
  assert.equal(answer.headers['access-control-allow-methods'], 'GET, POST, DELETE, OPTIONS');
  assert.match(answer.headers['access-control-allow-headers'], /mcp-method/i);
  const ping = await post(url, request('ping'), { Origin: server.origin });
  assert.ok(ping.headers['access-control-allow-origin']);
  assert.equal(ping.headers['access-control-allow-credentials'], undefined);
  assert.equal((await ask(url, { method: 'OPTIONS' })).status, 204);
});

test('sign-in is asked for before the body is read', async () => {
  const answer = await post(url, '{', { 'X-Test-Principal': 'x'.repeat(200) });
  assert.equal(answer.status, 401);
});

test('who may not call hears so before the body comes, and nothing of it is asked for', async () => {
  const refused = async (status, headers) => {
    const socket = net.connect(server.port, '127.0.0.1');
    let text = '';
    const ended = new Promise((done, fail) => socket.on('data', (chunk) => (text += chunk)).on('error', fail).on('end', done));
    socket.write(`POST /mcp HTTP/1.1\r\n${headers}\r\nExpect: 100-continue\r\nContent-Length: 3000000\r\n\r\n`);
    await ended;
    socket.destroy();
    assert.match(text, new RegExp(`^HTTP/1.1 ${status} `), headers);
  };
  const json = 'Host: 127.0.0.1\r\nContent-Type: application/json';
  await refused(401, `${json}\r\nX-Test-Principal: ${'x'.repeat(200)}`);
  await refused(403, json.replace('127.0.0.1', 'evil.example'));
  await refused(403, `${json}\r\nOrigin: https://evil.example`);
  await refused(415, json.replace('application/json', 'text/plain'));
});

test('a body over the limit is refused, one at the limit is not', async () => {
  const fill = (size) => JSON.stringify(request('ping', { _meta: { x: '' } })).replace('"x":""', `"x":"${'x'.repeat(size)}"`);
  assert.equal((await post(url, fill(4 * 1024 * 1024 - 1000))).status, 200);
  const over = await post(url, fill(5 * 1024 * 1024)).catch((error) => error);
  assert.ok(over.status === 413 || over.code === 'EPIPE' || over.code === 'ECONNRESET', String(over));
  assert.equal((await post(url, request('ping'))).status, 200);
});

test('chunked bodies, Expect and kept connections', async () => {
  const body = JSON.stringify(request('ping'));
  const head = `Host: 127.0.0.1\r\nContent-Type: application/json\r\n`;
  const half = Math.floor(body.length / 2);
  const chunked = `${half.toString(16)}\r\n${body.slice(0, half)}\r\n${(body.length - half).toString(16)}\r\n${body.slice(half)}\r\n0\r\n\r\n`;
  const socket = net.connect(server.port, '127.0.0.1');
  let text = '';
  const three = new Promise((done, fail) => {
    socket.on('data', (chunk) => {
      text += chunk;
      if (text.split('"result":{}').length === 4) done();
    });
    socket.on('error', fail);
    socket.on('close', () => fail(new Error(text)));
  });
  socket.write(`POST /mcp HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n${chunked}`);
  socket.write(`POST /mcp HTTP/1.1\r\n${head}Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  socket.write(`POST /mcp HTTP/1.1\r\n${head}Upgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  await three;
  socket.destroy();
});

// ---- versions ----

test('initialize echoes a known version and never returns another era', async () => {
  for (const version of LEGACY) assert.equal((await post(url, initialize(version))).json.result.protocolVersion, version);
  for (const version of [MODERN, 'x', '1999-01-01', '', '2026-12-31'])
    assert.equal((await post(url, initialize(version))).json.result.protocolVersion, '2025-11-25');
});

test('a version header on initialize does no harm', async () => {
  for (const version of [...LEGACY, MODERN, 'nonsense']) {
    const answer = await post(url, initialize('2025-06-18'), { 'MCP-Protocol-Version': version });
    assert.deepEqual([answer.status, answer.json.result.protocolVersion], [200, '2025-06-18']);
  }
});

test('the same tools in every revision, in the same order', async () => {
  const names = (answer) => answer.json.result.tools.map((tool) => tool.name);
  const first = names(await post(url, request('tools/list')));
  for (const version of LEGACY)
    assert.deepEqual(names(await post(url, request('tools/list'), { 'MCP-Protocol-Version': version })), first);
  assert.deepEqual(names(await askModern('tools/list')), first);
});

test('only the version key makes a request modern', async () => {
  const meta = { [`${META}clientInfo`]: { name: 'x', version: '1' }, [`${META}clientCapabilities`]: {} };
  const answer = await post(url, request('tools/call', { name: 'echo', _meta: meta }), { 'MCP-Protocol-Version': '2025-11-25', 'Mcp-Method': 'tools/call' });
  assert.equal(answer.status, 200);
  assert.equal(answer.json.result.resultType, undefined);
});

test('legacy clients need no Mcp-Method and may send a wrong one', async () => {
  assert.equal((await post(url, request('ping'), { 'Mcp-Method': 'initialize', 'Mcp-Name': 'x' })).status, 200);
});

test('header names have no case, values have, blanks around them do not count', async () => {
  const good = await askModern('tools/list', {}, { headers: { 'Mcp-Method': undefined, 'MCP-METHOD': ' \ttools/list\t ' } });
  assert.equal(good.status, 200);
  const bad = await askModern('tools/list', {}, { headers: { 'Mcp-Method': 'TOOLS/LIST' } });
  assert.deepEqual([bad.status, bad.json.error.code], [400, -32020]);
});

test('headers sent twice: the same once more is fine, another is not', async () => {
  const twice = (a, b) => askModern('tools/list', {}, { headers: { 'MCP-Protocol-Version': [a, b] } });
  assert.equal((await twice(MODERN, MODERN)).status, 200);
  const bad = await twice(MODERN, '2025-11-25');
  assert.deepEqual([bad.status, bad.json.error.code], [400, -32020]);
});

test('Mcp-Name in base64, decoded strictly', async () => {
  const call = (value) => askModern('tools/call', { name: 'echo' }, { headers: { 'Mcp-Name': value } });
  assert.equal((await call(`=?base64?${Buffer.from('echo').toString('base64')}?=`)).status, 200);
  for (const value of ['=?base64?ZWNobw?=', '=?base64?ZWNobw=?=', '=?base64?ZWNo bw==?=', '=?base64?ZWNobw==', '=?BASE64?ZWNobw==?=', '=?base64?ZWNo_w==?=']) {
    const answer = await call(value);
    assert.deepEqual([answer.status, answer.json.error.code], [400, -32020], value);
  }
});

test('an old version header in front of a modern body is served', async () => {
  const answer = await askModern('tools/call', { name: 'echo' }, { headers: { 'MCP-Protocol-Version': '2025-11-25', 'Mcp-Method': undefined, 'Mcp-Name': undefined } });
  assert.deepEqual([answer.status, answer.json.result.resultType], [200, 'complete']);
});

test('unknown methods: 404 for modern, 200 for legacy requests', async () => {
  for (const method of ['unknown/method', 'resources/subscribe', 'prompts/list', 'tasks/get', 'subscriptions/listen']) {
    const now = await askModern(method);
    assert.deepEqual([now.status, now.json.error.code], [404, -32601]);
    const then = await post(url, request(method));
    assert.deepEqual([then.status, then.json.error.code], [200, -32601]);
  }
  for (const method of ['initialize', 'ping', 'logging/setLevel']) assert.equal((await askModern(method)).status, 404);
});

// ---- messages ----

test('ids come back with their type and every digit', async () => {
  for (const id of ['0', '1', '-5', '"0"', '"server-discover-probe-1"', '""', '9007199254740993', '9223372036854775807', '"\\u00e4\\""']) {
    const answer = await post(url, `{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
    assert.ok(answer.text === `{"jsonrpc":"2.0","id":${id},"result":{}}` || JSON.parse(id) === answer.json.id, answer.text);
  }
});

test('bad input has one defined answer each, and no extra members', async () => {
  const rows = [
    ['', 400, -32700], ['{', 400, -32700], ['nonsense', 400, -32700], ['{}{}', 400, -32700], ["{'a':1}", 400, -32700],
    ['{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 400, -32700],
    ['\u0000', 400, -32700], [Buffer.from([0x22, 0xff, 0x22]), 400, -32700], ['{"jsonrpc":"2.0","id":1e999,"method":"ping"}', 400, -32700],
    ['\ufeff{"jsonrpc":"2.0","id":1,"method":"ping"}', 400, -32700],
    ['['.repeat(100000), 400, -32700], [`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`, 400, -32700],
    [`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":[${'0,'.repeat(50000)}0]}}`, 400, -32700],
    ['5', 400, -32600], ['"text"', 400, -32600], ['null', 400, -32600], ['true', 400, -32600], ['{}', 400, -32600],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600], ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', 400, -32600],
    ['{"jsonrpc":"2.0","id":{},"method":"ping"}', 400, -32600], ['{"jsonrpc":"2.0","id":"\\u0000","method":"ping"}', 400, -32600],
    [`{"jsonrpc":"2.0","id":"${'x'.repeat(10000)}","method":"ping"}`, 400, -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32600], ['{"id":1,"method":"ping"}', 400, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":7}', 400, -32600], ['{"jsonrpc":"2.0","id":1}', 400, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', 400, -32600], ['{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', 400, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"pi\\u0000ng"}', 200, -32601], [`{"jsonrpc":"2.0","id":1,"method":"${'m'.repeat(100000)}"}`, 200, -32601],
  ];
  for (const [body, status, code] of rows) {
    const answer = await post(url, body);
    const shown = String(body).slice(0, 80);
    assert.deepEqual([answer.status, answer.json.error.code, answer.type], [status, code, 'application/json'], shown);
    for (const key of Object.keys(answer.json)) assert.ok(['jsonrpc', 'id', 'error'].includes(key), shown);
    assert.ok(answer.json.id !== null && answer.text.length < 1000, shown);
  }
});

test('batches: of 2025-03-26 only, bounded', async () => {
  const ping = (id) => request('ping', undefined, id);
  const good = await post(url, [ping(1), note('notifications/initialized'), request('tools/call', { name: 'echo' }, 'a')]);
  assert.equal(good.status, 200);
  assert.deepEqual(good.json.map((message) => message.id).sort(), [1, 'a']);
  assert.equal((await post(url, [ping(1)], { 'MCP-Protocol-Version': '2025-03-26' })).status, 200);
  const quiet = await post(url, [note('notifications/initialized')]);
  assert.deepEqual([quiet.status, quiet.text, quiet.type], [202, '', undefined]);
  for (const [body, headers] of [[[], {}], [[ping(1)], { 'MCP-Protocol-Version': '2025-06-18' }], [[ping(1)], { 'MCP-Protocol-Version': '2025-11-25' }],
    [[ping(1)], { 'MCP-Protocol-Version': MODERN }], [[modern('tools/list').body], {}], [[initialize('2025-03-26')], {}], [[1], {}], [[[ping(1)]], {}],
    [Array.from({ length: 1000 }, (_, id) => ping(id)), {}]]) {
    const answer = await post(url, body, headers);
    assert.deepEqual([answer.status, answer.json.error.code], [400, -32600]);
  }
});

test('every modern result has resultType and serverInfo, lists have ttlMs and cacheScope', async () => {
  for (const [method, params] of [['server/discover', {}], ['tools/list', {}], ['tools/call', { name: 'echo' }]]) {
    const { result } = (await askModern(method, params)).json;
    assert.equal(result.resultType, 'complete');
    assert.equal(result._meta[`${META}serverInfo`].name, 'berth');
    if (method !== 'tools/call') assert.ok(Number.isInteger(result.ttlMs) && ['public', 'private'].includes(result.cacheScope));
  }
});

test('nothing is advertised that is not there', async () => {
  assert.deepEqual((await post(url, initialize('2025-11-25'))).json.result.capabilities, { tools: {} });
  assert.deepEqual((await askModern('server/discover')).json.result.capabilities, { tools: {} });
});

test('supported versions of an error are those of discover', async () => {
  const { supportedVersions } = (await askModern('server/discover')).json.result;
  const refused = await askModern('tools/list', {}, { meta: { [`${META}protocolVersion`]: 'x' }, headers: { 'MCP-Protocol-Version': 'x' } });
  assert.deepEqual(refused.json.error.data.supported, supportedVersions);
});

test('a cursor is unknown, the empty one too', async () => {
  for (const cursor of ['', 'x']) {
    assert.equal((await post(url, request('tools/list', { cursor }))).json.error.code, -32602);
    const answer = await askModern('tools/list', { cursor });
    assert.deepEqual([answer.status, answer.json.error.code], [200, -32602]);
  }
});

test('the tool list is portable', async () => {
  const { tools } = (await post(url, request('tools/list'), { 'X-Test-Principal': 'labels' })).json.result;
  assert.deepEqual(tools.map((tool) => tool.name), [...new Set(tools.map((tool) => tool.name))]);
  for (const tool of tools.filter(({ name }) => !name.startsWith('test_') && !name.startsWith('json_schema'))) {
    assert.match(tool.name, /^[a-z0-9_]{1,32}$/);
    assert.ok(tool.description && tool.title);
    const { annotations, inputSchema } = tool;
    for (const hint of ['readOnlyHint', 'destructiveHint', 'openWorldHint']) assert.equal(typeof annotations[hint], 'boolean');
    assert.equal(inputSchema.type, 'object');
    for (const key of Object.keys(inputSchema)) assert.ok(['type', 'properties', 'required', 'additionalProperties'].includes(key));
    for (const property of Object.values(inputSchema.properties)) assert.ok(typeof property.type === 'string' && property.description);
    assert.equal(tool.outputSchema, undefined);
    assert.ok(tool._meta['anthropic/maxResultSizeChars'] <= 500000);
  }
});

test('the label parameter is listed for principals that may use it', async () => {
  const echo = async (principal) => (await post(url, request('tools/list'), { 'X-Test-Principal': principal })).json.result.tools.find((tool) => tool.name === 'echo');
  assert.ok('sandbox' in (await echo('labels')).inputSchema.properties);
  assert.ok(!('sandbox' in (await echo('one')).inputSchema.properties));
});

// ---- calls ----

test('arguments may be absent or null, "" means absent, other members are ignored', async () => {
  for (const params of [{ name: 'echo' }, { name: 'echo', arguments: null }, { name: 'echo', arguments: {} }, { name: 'echo', arguments: { text: '' } },
    { name: 'echo', arguments: { text: null } }, { name: 'echo', task: { ttl: 5 }, _meta: { 'vscode.requestId': 'x' }, extra: [] }]) {
    const { result } = (await post(url, request('tools/call', params))).json;
    assert.deepEqual(result, { content: [{ type: 'text', text: '(nothing)' }] });
  }
});

test('wrong arguments are results that a model can act on', async () => {
  for (const [tool, args, text] of [
    ['echo', { txt: 1, 'über': 2 }, '[call error] no argument "txt", "über". echo takes: text. Nothing was done.'],
    ['echo', { text: 5 }, 'text must be a string'],
    ['echo', { text: 'a\u0000b' }, 'text must not contain a NUL character: there is one at byte 1'],
    ['echo', { sandbox: 'a' }, '[call error] no argument "sandbox". echo takes: text. Nothing was done.'],
    ['sleep', { ms: 'soon' }, 'ms must be a whole number from 0 to 600000'],
    ['counts', { x: 1 }, '[call error] no argument "x". counts takes: no arguments. Nothing was done.'],
  ]) {
    for (const answer of [await post(url, request('tools/call', { name: tool, arguments: args })), await askModern('tools/call', { name: tool, arguments: args })]) {
      assert.equal(answer.status, 200);
      assert.equal(answer.json.result.isError, true);
      assert.deepEqual(answer.json.result.content, [{ type: 'text', text }]);
    }
  }
  assert.deepEqual(await callTool(url, 'sleep', { ms: '1' }), { content: [{ type: 'text', text: 'slept' }] });
});

test('malformed tools/call params are protocol errors', async () => {
  for (const params of [undefined, {}, { name: 5 }, { name: null }, { name: 'echo', arguments: [] }, { name: 'echo', arguments: 'x' }, { name: '' }, { name: 'echo\u0000' }]) {
    const answer = await post(url, request('tools/call', params));
    assert.deepEqual([answer.status, answer.json.error.code], [200, -32602], JSON.stringify(params));
  }
});

test('output is valid UTF-8 on one line, whatever the tool gave', async () => {
  const answer = await post(url, request('tools/call', { name: 'bytes' }));
  assert.equal(answer.json.result.content[0].text, '\ufffd\ufffd bad \u2400 \u001b[31mred\u001b[0m \u2028 \ufffd\ufffd\ufffd end');
  assert.ok(!/[\u0000-\u001f\u2028]/.test(answer.text));
});

test('a result is never over a million characters', async () => {
  const answer = await post(url, request('tools/call', { name: 'long' }));
  assert.ok(answer.text.length <= 1000000);
  assert.match(answer.json.result.content[0].text, /\[the rest was too long to be sent\]$/);
});

test('credentials do not come back', async () => {
  const { content } = await callTool(url, 'whoami', {}, { headers: { Authorization: 'Bearer secret-1', Cookie: 'a=secret-2', 'User-Agent': 'some-client/3', 'X-Test-Principal': 'me' } });
  assert.match(content[0].text, /^some-client\/3\nme\n/);
  assert.match(content[0].text, /authorization: \(hidden\)/i);
  assert.doesNotMatch(content[0].text, /secret/);
});

test('the era and the client make no difference to what a tool does', async () => {
  const text = 'same';
  const legacy = await callTool(url, 'echo', { text });
  const now = (await askModern('tools/call', { name: 'echo', arguments: { text } })).json.result;
  assert.deepEqual(now.content, legacy.content);
  const anybody = await callTool(url, 'echo', { text }, { headers: { 'User-Agent': undefined } });
  assert.deepEqual(anybody, legacy);
});

test('200 clients at once', async () => {
  const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => callTool(url, 'echo', { text: `n${i}` }, { id: i % 3 })));
  answers.forEach((result, i) => assert.equal(result.content[0].text, `n${i}`));
});
