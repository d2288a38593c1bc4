// The official clients, each through the same paces; the server is killed and started again between
// two of their calls, and none may notice.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { node22, withoutNode22 } from './lib/node22.mjs';
import { e2eDir, eventually, McpServer, run } from './lib/programs.mjs';

const me = { name: 'tests', version: '1' };
const modules = join(e2eDir, 'node_modules');

let server;
let home; // mcp-remote keeps files there
before(async () => {
  home = mkdtempSync(join(tmpdir(), 'berth-clients-'));
  server = await McpServer.start({ streamAfter: 200, keepalive: 200, cancelGrace: 500 });
});
after(async () => {
  await server.stop();
  rmSync(home, { recursive: true, force: true });
});

const viaHttp = (Client, Http, options) => async () => {
  const client = new Client(me, options);
  await client.connect(new Http(new URL(server.url)));
  return client;
};

async function viaRemote() {
  const client = new ClientV1(me);
  await client.connect(new StdioClientTransport({
    command: node22,
    args: [join(modules, 'mcp-remote/dist/proxy.js'), server.url, '--allow-http', '--header', 'X-Test-Principal: remote'],
    env: { PATH: process.env.PATH, HOME: home, MCP_REMOTE_CONFIG_DIR: home },
    stderr: 'ignore',
  }));
  return client;
}

const negotiated = (mode) => viaHttp(ClientV2, HttpV2, { versionNegotiation: { mode } });
const clients = [
  ['sdk 1.x', viaHttp(ClientV1, HttpV1), { call: callV1 }],
  ['client 2.x, legacy', negotiated('legacy'), {}],
  ['client 2.x, auto', negotiated('auto'), { modern: true }],
  ['client 2.x, pinned', negotiated({ pin: '2026-07-28' }), { modern: true }],
  ['mcp-remote', viaRemote, { call: callV1, skip: withoutNode22 }],
];

function callV1(client, name, args, options) {
  return client.callTool({ name, arguments: args }, undefined, options);
}

function callV2(client, name, args, options) {
  return client.callTool({ name, arguments: args }, options);
}

const textOf = (result) => result.content[0].text;

for (const [name, connect, { call = callV2, modern = false, skip = false }] of clients) {
  test(name, { skip, timeout: 300000 }, async (t) => {
    const client = await connect();
    t.after(() => client.close());

    await t.test('lists and calls', async () => {
      const { tools } = await client.listTools();
      assert.equal(tools[0].name, 'echo');
      assert.equal(textOf(await call(client, 'echo', { text: 'äöü €' })), 'äöü €');
      assert.match(client.getInstructions() ?? '', /A server for tests/);
    });

    await t.test('gets errors as errors and failures as results', async () => {
      await assert.rejects(call(client, 'nope', {}), /Unknown tool: nope/);
      const result = await call(client, 'echo', { wrong: 1 });
      assert.equal(result.isError, true);
      assert.match(textOf(result), /no argument "wrong"/);
    });

    await t.test('sees every kind of content', async () => {
      const { content } = await call(client, 'test_multiple_content_types', {});
      assert.deepEqual(content.map(({ type }) => type), ['text', 'image', 'resource']);
    });

    await t.test('waits for a long call and sees its progress', async () => {
      const seen = [];
      const result = await call(client, 'sleep', { ms: 900 }, { onprogress: (progress) => seen.push(progress), timeout: 10000 });
      assert.equal(textOf(result), 'slept');
      assert.ok(seen.length >= 2);
      assert.equal(seen[0].message, 'sleeping');
    });

    await t.test('outlives its own time-out by the progress of the call', async () => {
      const options = { onprogress: () => {}, timeout: 1500, resetTimeoutOnProgress: true, maxTotalTimeout: 60000 };
      assert.equal(textOf(await call(client, 'sleep', { ms: 2500 }, options)), 'slept');
    });

    await t.test('cancels', async () => {
      const cancelled = async () => Number(textOf(await call(client, 'counts', {})).match(/cancelled (\d+)/)[1]);
      const before = await cancelled();
      const abort = new AbortController();
      const sleep = call(client, 'sleep', { ms: 600000 }, { signal: abort.signal, onprogress: () => abort.abort() });
      await assert.rejects(sleep);
      await eventually(async () => (await cancelled()) === before + 1);
    });

    await t.test('does not notice that the server was restarted', async () => {
      await server.crash();
      assert.equal(textOf(await call(client, 'echo', { text: 'again' })), 'again');
      assert.equal((await client.listTools()).tools[0].name, 'echo');
    });

    await t.test('hears of a shutdown in the middle of a call at once', async () => {
      let started;
      const running = new Promise((done) => (started = done));
      const sleep = call(client, 'sleep', { ms: 600000 }, { onprogress: started, timeout: 120000 });
      await running;
      await server.stop();
      const result = await sleep;
      await server.start();
      assert.match(textOf(result), /restarting/);
    });

    if (modern) {
      await t.test('speaks the modern revision', async () => {
        const result = await call(client, 'whoami', {});
        assert.match(textOf(result), /^tests\/1\n/);
        assert.match(textOf(result), /mcp-protocol-version: 2026-07-28/i);
      });
    }
  });
}

const inspector = join(modules, '@modelcontextprotocol/inspector/clients/launcher/build/index.js');

/** Runs the Inspector's command line; returns its parsed output. */
async function inspect(era, ...args) {
  const { code, stdout, stderr } = await run(
    node22,
    [inspector, '--cli', server.url, '--transport', 'http', '--protocol-era', era, ...args],
    { env: { PATH: process.env.PATH, HOME: home }, timeout: 240000 },
  );
  assert.equal(code, 0, stdout + stderr);
  return JSON.parse(stdout);
}

test('Inspector, in every era', { skip: withoutNode22, timeout: 300000 }, async () => {
  const eras = ['legacy', 'auto', 'modern'];
  const lists = await Promise.all(eras.map((era) => inspect(era, '--method', 'tools/list')));
  for (const list of lists) assert.equal(list.tools[0].name, 'echo');
  await server.crash();
  const call = ['--method', 'tools/call', '--tool-name', 'echo', '--tool-args-json', '{"text":"hi"}'];
  for (const result of await Promise.all(eras.map((era) => inspect(era, ...call)))) assert.equal(textOf(result), 'hi');
});
