// The official conformance suite, with a baseline of what is not expected to pass.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { node22 } from './node22.mjs';
import { e2eDir, run } from './programs.mjs';

const suite = join(e2eDir, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

/**
 * Runs the server scenarios of one revision. `baseline` names a file in conformance/. A listed
 * scenario that passes is reported as much as another one that fails.
 * Returns { ok, passed, failed, output }.
 */
export async function runConformance(url, revision, baseline) {
  const out = mkdtempSync(join(tmpdir(), 'berth-conformance-'));
  try {
    const { code, stdout, stderr } = await run(
      node22,
      [suite, 'server', '--url', url, '--suite', 'all', '--spec-version', revision, '-o', out,
        '--expected-failures', join(e2eDir, 'conformance', baseline)],
      { timeout: 240000 },
    );
    const [, passed, failed] = stdout.match(/Total: (\d+) passed, (\d+) failed/) ?? [];
    return { ok: code === 0, passed: Number(passed), failed: Number(failed), output: stdout.slice(-8000) + stderr };
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}
