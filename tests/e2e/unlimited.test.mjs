// A host without control groups for the server: a public one serves nobody and says so everywhere, unless
// its operator allowed that; a personal one serves, and says what is not limited.
import assert from 'node:assert/strict';
import { rmdirSync, writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { Berth, iniText, merge, withoutBerth } from './lib/berth.mjs';
import { ownGroups } from './lib/traces.mjs';

describe('a server without control groups', { skip: withoutBerth }, () => {
  let berth;
  before(async () => (berth = await Berth.start({ server: { profile: 'public' }, auth: { methods: 'token' } })));
  after(() => berth?.stop());

  const health = async () => {
    const answer = await fetch(`${berth.origin}/health`);
    return { code: answer.status, ...(await answer.json()) };
  };
  async function servedAgain(over) {
    berth.config = merge(berth.config, over);
    writeFileSync(berth.configFile, iniText(berth.config));
    await berth.serve();
  }

  it('public: serves nobody, and says so', async (t) => {
    await berth.halt();
    // With version 2 and systemd they are not setup's.
    const groups = ownGroups(berth.dir);
    if (!groups.length) return t.skip('this host has none that are made by setup');
    groups.forEach((group) => rmdirSync(group));
    await servedAgain({});
    const { code, status, enforced } = await health();
    assert.deepEqual([code, status, enforced.memory, enforced.cpu, enforced.processes], [503, 'unavailable', false, false, false]);
    assert.match(berth.log, /error: memory, CPU or processes of sandboxes cannot be limited: nobody is served/);
    const { isError, text } = await berth.call('run_command', { command: 'true' });
    assert.ok(isError);
    assert.match(text, /cannot limit memory, CPU and processes.*sandbox\.allow_unlimited/s);
  });

  it('public, allowed by name: serves, and says what is not limited', async (t) => {
    if (ownGroups(berth.dir).length) return t.skip('this host has other control groups');
    await berth.halt();
    await servedAgain({ sandbox: { allow_unlimited: 'yes' } });
    assert.equal((await health()).status, 'ok');
    assert.match(berth.log, /warning: memory, CPU or processes of sandboxes are NOT limited by control groups/);
    assert.match((await berth.call('run_command', { command: 'echo served' })).text, /^served$/m);
    assert.match((await berth.call('sandbox_info', {})).text, /memory.*NOT enforced on this host/);
  });
});
