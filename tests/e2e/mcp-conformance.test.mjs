// The official conformance suite, on the endpoint with the suite's own tools. (Without them, on the
// product: mcp-berthd.test.mjs.)
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runConformance } from './lib/conformance.mjs';
import { withoutNode22 } from './lib/node22.mjs';
import { McpServer } from './lib/programs.mjs';

// The least number of checks that pass: a suite that reaches no server reports few failures too.
const revisions = { '2026-07-28': 111, '2025-11-25': 50, '2025-06-18': 37 };

describe('conformance', { concurrency: 3, skip: withoutNode22 }, () => {
  for (const [revision, least] of Object.entries(revisions)) {
    test(revision, { timeout: 300000 }, async (t) => {
      const server = await McpServer.start();
      t.after(() => server.stop());
      const { ok, passed, output } = await runConformance(server.url, revision, `fixtures-${revision}.yml`);
      assert.ok(ok, output);
      assert.ok(passed >= least, `${passed} passed:\n${output}`);
    });
  }
});
