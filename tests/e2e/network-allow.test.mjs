// network.mode = allow: what the model is told, what it meets, and who keeps the addresses fresh.
// Nothing leaves this machine: the only allowed name is in a range that is always refused.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';

describe('a network of allowed hosts', { skip: withoutBerth }, () => {
  let berth;
  before(async () => {
    berth = await Berth.start({ network: { mode: 'allow', allow_hosts: 'localhost, nowhere.invalid' } });
  });
  after(() => berth?.stop());

  /** Processes of root with this program's command line. */
  function rootsOwn() {
    const out = execFileSync('ps', ['-eo', 'pid=,user=,args='], { encoding: 'utf8' });
    return out.split('\n').filter((line) => /^\s*\d+ root /.test(line) && line.includes(`${berth.programs}/berth serve`));
  }

  it('the model is told which hosts there are', async () => {
    const { text } = await berth.call('sandbox_info', { sandbox: 'test' });
    assert.match(text, /network: Its network reaches only hosts that the operator allowed \(localhost, nowhere\.invalid\); a connection to any other is refused at once/);
  });

  it('any other is refused at once', async () => {
    const { text } = await berth.sh(`for to in 1.2.3.4 10.1.1.1 127.0.0.53; do
      timeout 2 bash -c "exec 3<>/dev/tcp/$to/80" 2>/dev/null; echo "$to ended with $?"; done`);
    // timeout would end with 124.
    assert.equal(text.match(/^[\d.]+ ended with 1$/gm)?.length, 3, text);
  });

  it('one process of root keeps the addresses fresh, and ends with the server', async () => {
    assert.equal(rootsOwn().length, 1);
    await berth.halt('SIGKILL');
    const left = () => [...rootsOwn(), ...['berthd', 'berth-spawner'].flatMap((name) => berth.pids(name))];
    for (let tries = 0; left().length && tries < 200; tries++) await new Promise((done) => setTimeout(done, 50));
    assert.deepEqual(left(), []);
    await berth.serve();
  });
});
