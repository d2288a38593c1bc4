// The product's own endpoint, as far as it needs no running sandbox: its tools, and the conformance
// suite without any test tool.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { runConformance } from './lib/conformance.mjs';
import { modern, ask, post, request } from './lib/mcp.mjs';
import { node22, withoutNode22 } from './lib/node22.mjs';
import { e2eDir, FrontDoor, run } from './lib/programs.mjs';

let door;
before(async () => {
  door = await FrontDoor.start();
});
after(() => door.stop());

for (const revision of ['2026-07-28', '2025-11-25', '2025-06-18']) {
  test(`conformance ${revision}`, { skip: withoutNode22, timeout: 300000 }, async () => {
    const { ok, output } = await runConformance(door.url, revision, `product-${revision}.yml`);
    assert.ok(ok, output);
  });
}

test('the tools are portable: flat schemas, hints, short names', async () => {
  const { tools } = (await post(door.url, request('tools/list'))).json.result;
  assert.ok(tools.length >= 4);
  for (const { name, title, description, inputSchema, annotations, outputSchema } of tools) {
    assert.match(name, /^[a-z0-9_]{1,32}$/);
    assert.ok(title && description, name);
    assert.equal(outputSchema, undefined);
    for (const hint of ['readOnlyHint', 'destructiveHint', 'openWorldHint']) assert.equal(typeof annotations[hint], 'boolean');
    assert.deepEqual(Object.keys(inputSchema).filter((key) => !['type', 'properties', 'required', 'additionalProperties'].includes(key)), []);
    for (const [key, property] of Object.entries(inputSchema.properties)) {
      assert.ok(['string', 'integer', 'boolean'].includes(property.type) && property.description, `${name}.${key}`);
      for (const word of ['anyOf', 'oneOf', 'allOf', '$ref', 'not']) assert.ok(!(word in property), `${name}.${key}`);
    }
  }
});

/** Words up to 12 letters, numbers up to 3 digits, punctuation in pairs: a tenth more than tokenizers of models count. */
const tokens = (text) => text.match(/\p{L}{1,12}|\p{N}{1,3}|[^\p{L}\p{N}\s]{1,2}/gu).length;

test('the list of tools costs a model less than 3,500 tokens', async () => {
  const { tools } = (await post(door.url, request('tools/list'))).json.result;
  assert.equal(tools.length, 11);
  assert.ok(tools.some(({ inputSchema }) => inputSchema.properties.sandbox), 'the longer list, with labels');
  const n = tokens(JSON.stringify(tools));
  assert.ok(n > 1000 && n < 3500, `${n} tokens`);
});

test('schemas name the numbers of the configuration', async (t) => {
  const numbers = { 'sandbox.command_timeout': 77, 'sandbox.max_timeout': 777, 'sandbox.call_limit': 22 };
  const other = await FrontDoor.start(numbers);
  t.after(() => other.stop());
  for (const [url, timeout, wait] of [
    [door.url, 'default 120 (in background 900), at most 900', 'default 30, at most 45'],
    [other.url, 'default 77 (in background 777), at most 777', 'default 22, at most 22'],
  ]) {
    const { tools } = (await post(url, request('tools/list'))).json.result;
    const says = (tool, property) => tools.find(({ name }) => name === tool).inputSchema.properties[property].description;
    assert.ok(says('run_command', 'timeout_seconds').endsWith(timeout), says('run_command', 'timeout_seconds'));
    assert.ok(says('job', 'wait_seconds').endsWith(wait), says('job', 'wait_seconds'));
  }
});

test("the Inspector's lint finds nothing in the tools", { skip: withoutNode22, timeout: 300000 }, async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'berth-lint-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const inspector = join(e2eDir, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js');
  const args = [inspector, '--cli', door.url, '--transport', 'http', '--method', 'tools/list', '--strict'];
  const { code, stdout, stderr } = await run(node22, args, { env: { PATH: process.env.PATH, HOME: home } });
  assert.equal(code, 0, stdout.slice(-3000) + stderr);
});

test('every tool answers {} and unknown arguments with words, in both eras', async () => {
  const { tools } = (await post(door.url, request('tools/list'))).json.result;
  for (const { name, inputSchema } of tools) {
    const wrong = { name, arguments: { no_such_argument: 1 } };
    for (const answer of [await post(door.url, request('tools/call', wrong)), await ask(door.url, modern('tools/call', wrong))]) {
      assert.equal(answer.json.result.isError, true);
      assert.match(answer.json.result.content[0].text, new RegExp(`no argument "no_such_argument". ${name} takes: `));
    }
    if (!inputSchema.required?.length) continue;
    const { result } = (await post(door.url, request('tools/call', { name, arguments: {} }))).json;
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /argument "\w+" is missing/);
  }
});

test('instructions are there in both eras', async () => {
  const hello = await post(door.url, request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }));
  const { result } = (await ask(door.url, modern('server/discover'))).json;
  assert.ok(result.instructions.length > 100);
  assert.equal(hello.json.result.instructions, result.instructions);
});
