// Long calls: the event stream, progress, cancellation in both eras, restarts.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ask, callTool, modern, post, request, send } from './lib/mcp.mjs';
import { eventually, McpServer } from './lib/programs.mjs';

const STREAM_AFTER = 200;
const KEEPALIVE = 200;
const GRACE = 600;
const times = { streamAfter: STREAM_AFTER, keepalive: KEEPALIVE, cancelGrace: GRACE };

let server;
let url;
before(async () => {
  server = await McpServer.start(times);
  url = server.url;
});
after(() => server.stop());

const sleep = (ms, { meta, id = 2 } = {}) => request('tools/call', { name: 'sleep', arguments: { ms }, ...(meta ? { _meta: meta } : {}) }, id);
const modernSleep = (ms, meta) => modern('tools/call', { name: 'sleep', arguments: { ms } }, { id: 2, meta });

/** [how many sleeps were cancelled, how many calls are under way] */
async function counts() {
  const { content } = await callTool(url, 'counts', {});
  const [, cancelled, calls] = content[0].text.match(/cancelled (\d+), calls (\d+)/);
  return [Number(cancelled), Number(calls) - 1];
}

const nothingRuns = () => eventually(async () => (await counts())[1] === 0);

test('a quick result is JSON', async () => {
  const answer = await post(url, sleep(10));
  assert.equal(answer.type, 'application/json');
});

for (const [era, options] of [['legacy', { body: sleep(1000) }], ['modern', modernSleep(1000)]]) {
  test(`a slow ${era} result is a stream: a byte at once, then signs of life, then the response`, async () => {
    const answer = await ask(url, options);
    assert.equal(answer.status, 200);
    assert.deepEqual(
      [answer.type, answer.headers['cache-control'], answer.headers['x-accel-buffering'], answer.headers['transfer-encoding'], answer.headers['content-length'], answer.headers['content-encoding']],
      ['text/event-stream', 'no-cache, no-transform', 'no', 'chunked', undefined, undefined],
    );
    assert.ok(answer.text.startsWith(': ka\n\n'));
    assert.ok(answer.stream.comments.length >= 3, answer.text);
    assert.equal(answer.stream.events.length, 1);
    assert.deepEqual(Object.keys(answer.stream.events[0]), ['event', 'data']);
    assert.equal(answer.messages[0].id, 2);
    assert.equal(answer.messages[0].result.content[0].text, 'slept');
    assert.ok(answer.text.endsWith('\n\n') && !answer.text.includes('\r'));
    assert.equal(await answer.ended, 'complete');
  });
}

test('a client that takes only JSON gets no stream', async () => {
  const answer = await ask(url, { body: sleep(600), headers: { Accept: 'application/json' } });
  assert.equal(answer.type, 'application/json');
});

test('no progress without a token', async () => {
  assert.ok(!(await ask(url, { body: sleep(600) })).text.includes('notifications/'));
});

for (const token of [0, 'progress-test-1', '']) {
  test(`progress carries the token ${JSON.stringify(token)} as it is, rises, and ends before the result`, async () => {
    const requests = [{ body: sleep(600, { meta: { progressToken: token } }) }, modernSleep(600, { progressToken: token })];
    for (const { messages } of await Promise.all(requests.map((options) => ask(url, options)))) {
      const notes = messages.slice(0, -1);
      assert.ok(notes.length >= 2, JSON.stringify(messages));
      assert.ok('result' in messages.at(-1));
      notes.forEach((message, i) => {
        assert.equal(message.method, 'notifications/progress');
        assert.strictEqual(message.params.progressToken, token);
        assert.equal(typeof message.params.message, 'string');
        if (i) assert.ok(message.params.progress > notes[i - 1].params.progress);
      });
    }
  });
}

test('calls run beside each other, each with its own answer', async () => {
  const [slow, quick] = [ask(url, { body: sleep(700, { id: 1 }) }), callTool(url, 'echo', { text: 'quick' })];
  assert.equal((await quick).content[0].text, 'quick');
  assert.equal((await slow).messages.at(-1).id, 1);
});

for (const streaming of [false, true]) {
  const phase = streaming ? 'on the stream' : 'before the first byte';
  test(`modern: leaving ${phase} cancels at once`, async () => {
    const [cancelled] = await counts();
    const abort = new AbortController();
    const answer = send(url, { ...modernSleep(600000), signal: abort.signal });
    answer.catch(() => {});
    if (streaming) await (await answer).until(/ka/);
    else await eventually(async () => (await counts())[1] === 1);
    abort.abort();
    await eventually(async () => (await counts())[0] === cancelled + 1);
    assert.deepEqual(await counts(), [cancelled + 1, 0]);
  });

  test(`legacy: leaving ${phase} cancels after a grace only`, async () => {
    const [cancelled] = await counts();
    const abort = new AbortController();
    const answer = send(url, { body: sleep(600000), signal: abort.signal });
    answer.catch(() => {});
    if (streaming) await (await answer).until(/ka/);
    else await eventually(async () => (await counts())[1] === 1);
    const left = Date.now();
    abort.abort();
    await eventually(async () => (await counts())[0] === cancelled + 1);
    assert.ok(Date.now() - left >= GRACE * 0.9);
  });
}

test('legacy: notifications/cancelled ends the call and its stream, without a response', async () => {
  const [cancelled] = await counts();
  const answer = await send(url, { body: sleep(60000, { id: 77 }) });
  const cancel = (headers, requestId = 77) => post(url, { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason: 'x' } }, headers);
  // Somebody else's, another id, another type of id.
  assert.equal((await cancel({ 'X-Test-Principal': 'other' })).status, 202);
  assert.equal((await cancel({}, 78)).status, 202);
  assert.equal((await cancel({}, '77')).status, 202);
  assert.equal((await counts())[0], cancelled);
  assert.equal((await cancel({})).status, 202);
  assert.equal(await answer.ended, 'complete');
  assert.equal(answer.stream.events.length, 0);
  assert.deepEqual(await counts(), [cancelled + 1, 0]);
});

test('two clients with the same id: a cancel that could mean either means neither', async () => {
  const [cancelled] = await counts();
  const both = await Promise.all([1, 2].map(() => send(url, { body: sleep(900, { id: 5 }) })));
  await post(url, { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } });
  await Promise.all(both.map((answer) => answer.ended));
  assert.equal((await counts())[0], cancelled);
  for (const answer of both) assert.equal(answer.messages.at(-1).id, 5);
});

test('modern: notifications/cancelled is accepted and does nothing', async () => {
  const answer = await send(url, modernSleep(900));
  const note = await post(url, { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } }, { 'MCP-Protocol-Version': '2026-07-28' });
  assert.equal(note.status, 202);
  await answer.ended;
  assert.equal(answer.messages.at(-1).result.content[0].text, 'slept');
});

test('a batch answers as JSON when quick, as a stream when slow', async () => {
  const quick = await post(url, [sleep(1, { id: 1 }), request('ping', undefined, 2)]);
  assert.deepEqual(quick.json.map((message) => message.id).sort(), [1, 2]);
  const slow = await post(url, [sleep(700, { id: 1 }), request('ping', undefined, 2)]);
  assert.deepEqual(slow.messages.flat().map((message) => message.id).sort(), [1, 2]);
});

test('a client may have 32 calls under way, and is told so', async () => {
  const abort = new AbortController();
  const open = Array.from({ length: 32 }, (_, id) => send(url, { ...modern('tools/call', { name: 'sleep', arguments: { ms: 600000 } }, { id }), signal: abort.signal }));
  open.forEach((answer) => answer.catch(() => {}));
  const mine = { 'X-Test-Principal': 'other' };
  await eventually(async () => {
    const text = (await callTool(url, 'counts', {}, { headers: mine })).content[0].text;
    return text.endsWith('calls 33');
  });
  const over = await callTool(url, 'echo', {});
  assert.equal(over.isError, true);
  assert.match(over.content[0].text, /You have 32 calls under way/);
  abort.abort();
  await eventually(async () => (await callTool(url, 'counts', {}, { headers: mine })).content[0].text.endsWith('calls 1'));
});

test('a reader that never reads does not disturb the others', async () => {
  const answer = await send(url, { body: sleep(800) });
  answer.req.socket.pause();
  assert.equal((await callTool(url, 'echo', { text: 'a' })).content[0].text, 'a');
  answer.leave();
  await nothingRuns();
});

test('leaving in the middle of a big answer harms nobody', async () => {
  for (let i = 0; i < 5; i++) (await send(url, { body: request('tools/call', { name: 'long' }) })).leave();
  assert.equal((await callTool(url, 'echo', { text: 'a' })).content[0].text, 'a');
  await nothingRuns();
});

test('shutdown gives every open call a last word; nothing is left running', async () => {
  const other = await McpServer.start(times);
  const streamed = await send(other.url, { body: sleep(60000, { id: 1 }) });
  const waiting = ask(other.url, { body: sleep(60000, { id: 'w' }), headers: { Accept: 'application/json' } });
  await eventually(async () => /calls 3/.test((await callTool(other.url, 'counts', {})).content[0].text));
  const end = other.stop();
  assert.equal(await streamed.ended, 'complete');
  for (const message of [streamed.messages.at(-1), (await waiting).json]) {
    assert.equal(message.result.isError, true);
    assert.match(message.result.content[0].text, /restarting/);
  }
  assert.deepEqual(await end, { code: 0, signal: null });
});

test('after a crash everything goes on, whatever was open', async () => {
  const lost = await send(url, { body: sleep(600000) });
  await server.crash();
  await lost.ended;
  assert.equal((await callTool(url, 'echo', { text: 'again' })).content[0].text, 'again');
  assert.equal((await post(url, request('tools/list'), { 'Mcp-Session-Id': 'old', 'MCP-Protocol-Version': '2025-11-25' })).status, 200);
});
