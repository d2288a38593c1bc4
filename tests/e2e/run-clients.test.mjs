// The official clients run commands in real sandboxes; berthd is killed and started again between
// two of their calls, and none may notice more than a fresh container.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Berth, withoutBerth } from './lib/berth.mjs';
import { node22, withoutNode22 } from './lib/node22.mjs';
import { e2eDir, run } from './lib/programs.mjs';

const modules = join(e2eDir, 'node_modules');
const me = { name: 'tests', version: '1' };
const textOf = (result) => result.content[0].text;

describe('official clients in real sandboxes', { skip: withoutBerth }, () => {
  let berth;
  let home;
  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'berth-clients-'));
    berth = await Berth.start({ pool: { slots: 8 }, sandbox: { call_limit: 10 } });
  });
  after(async () => {
    await berth?.stop();
    rmSync(home, { recursive: true, force: true });
  });

  const viaHttp = (Client, Http, options) => async () => {
    const client = new Client(me, options);
    await client.connect(new Http(new URL(berth.url), { requestInit: { headers: berth.headers } }));
    return client;
  };
  const negotiated = (mode) => viaHttp(ClientV2, HttpV2, { versionNegotiation: { mode } });

  async function viaRemote() {
    const client = new ClientV1(me);
    await client.connect(new StdioClientTransport({
      command: node22,
      args: [join(modules, 'mcp-remote/dist/proxy.js'), berth.url, '--allow-http', '--header', `Authorization: Bearer ${berth.token}`],
      env: { PATH: process.env.PATH, HOME: home, MCP_REMOTE_CONFIG_DIR: home },
      stderr: 'ignore',
    }));
    return client;
  }

  const callV1 = (client, params, options) => client.callTool(params, undefined, options);
  const callV2 = (client, params, options) => client.callTool(params, options);

  for (const [name, connect, call, skip] of [
    ['sdk 1.x', viaHttp(ClientV1, HttpV1), callV1],
    ['client 2.x, legacy', negotiated('legacy'), callV2],
    ['client 2.x, auto', negotiated('auto'), callV2],
    ['client 2.x, pinned', negotiated({ pin: '2026-07-28' }), callV2],
    ['mcp-remote', viaRemote, callV1, withoutNode22],
  ]) {
    it(name, { skip, timeout: 300000 }, async (t) => {
      const client = await connect();
      t.after(() => client.close());
      const sandbox = name.replaceAll(/\W+/g, '-');
      const sh = async (command, options) => textOf(await call(client, { name: 'run_command', arguments: { command, sandbox } }, options));

      const { tools } = await client.listTools();
      for (const tool of ['run_command', 'job', 'sandbox_info', 'reset_sandbox']) assert.ok(tools.some((one) => one.name === tool), tool);
      assert.match(client.getInstructions(), /sandbox/);

      assert.match(await sh('echo precious >kept; echo "hällo"; exit 3'), /^\[sandbox \S+\] \[new\] \[exit 3\]\n[^]*^hällo$/m);
      // Long enough to be answered by a stream, with progress on the way.
      const seen = [];
      assert.match(await sh('sleep 6; echo slept', { onprogress: (progress) => seen.push(progress), timeout: 30000 }), /^slept$/m);
      assert.ok(seen.some(({ message }) => /running for \d+ s/.test(message)), JSON.stringify(seen));

      await berth.crash();
      const after = await sh('cat kept');
      assert.match(after, /^\[sandbox \S+\] \[new\] \[exit 0\]\n\[note\] /);
      assert.match(after, /^precious$/m);
      assert.match(await sh('cat kept'), /^\[sandbox \S+\] \[exit 0\]\nprecious$/m);

      // Cancelled, it takes its command along.
      const abort = new AbortController();
      const endless = sh('sleep 4711 | cat', { signal: abort.signal, onprogress: () => abort.abort(), timeout: 30000 });
      await assert.rejects(endless);
      assert.match(await sh('for i in $(seq 600); do pgrep -f "[s]leep 4711" >/dev/null || { echo gone; break; }; sleep 0.1; done', { timeout: 90000 }), /^gone$|running: job/m);
    });
  }

  it('the Inspector\'s command line', { skip: withoutNode22, timeout: 300000 }, async () => {
    const inspector = join(modules, '@modelcontextprotocol/inspector/clients/launcher/build/index.js');
    for (const era of ['legacy', 'auto', 'modern']) {
      const inspect = async (...args) => {
        const { code, stdout, stderr } = await run(
          node22,
          [inspector, '--cli', berth.url, '--transport', 'http', '--protocol-era', era, '--header', `Authorization: Bearer ${berth.token}`, ...args],
          { env: { PATH: process.env.PATH, HOME: home }, timeout: 240000 },
        );
        assert.equal(code, 0, stdout + stderr);
        return JSON.parse(stdout);
      };
      assert.ok((await inspect('--method', 'tools/list')).tools.length >= 4);
      const command = (text) => inspect('--method', 'tools/call', '--tool-name', 'run_command', '--tool-args-json', JSON.stringify({ command: text, sandbox: `inspector-${era}` }));
      assert.match(textOf(await command('echo precious >kept')), /\[new\] \[exit 0\]/);
      await berth.crash();
      assert.match(textOf(await command('cat kept')), /^precious$/m);
    }
  });
});
