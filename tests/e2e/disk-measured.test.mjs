// A disk without quotas: what sandboxes take is measured, the one that takes more than it may is
// ended and can then only remove files, and neighbours do not notice.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';
import { mounted, without } from './lib/filesystems.mjs';

const first = (text) => text.split('\n')[0];

/** A server on a file system that keeps no quotas. */
const served = (sandbox, use) =>
  mounted('ext4', async (folder) => {
    const berth = await Berth.start({ pool: { slots: 3 }, sandbox: { warm: 0, ...sandbox } }, { under: folder });
    try {
      await use(berth, folder);
    } finally {
      await berth.stop();
    }
  });

/** A job that goes on in a sandbox of this label; gives a function that says whether it still does. */
async function job(berth, label, command = 'sleep 600') {
  const { text } = await berth.sh(command, { label, background: true });
  const [, number] = text.match(/\[running: job (\d+)/);
  return async (wait = 0) => first((await berth.call('job', { job: Number(number), wait_seconds: wait, sandbox: label })).text);
}

describe('a disk that is measured', { skip: withoutBerth || without('ext4') }, () => {
  it('a sandbox over its limit is ended, says so, and can remove files', () => served({ workspace: '32M', layer: '64M' }, async (berth) => {
    const sh = async (command) => (await berth.sh(command, { label: 'full' })).text;
    const neighbour = await job(berth, 'other');
    const { text: page } = await berth.call('request_upload', { sandbox: 'full' });

    // The rest of the command never comes.
    const { text, isError } = await berth.sh('head -c 100M /dev/zero >big; echo written; sleep 600', { label: 'full' });
    assert.ok(isError, text);
    assert.match(text, /^\[sandbox error\] the container ended while the command ran \(\/workspace holds 100 of 32 MiB\): .*files in \/workspace are kept/);
    assert.match(text, /^written$/m);

    // Nothing grows any more, not by root and not by a server that writes for it.
    const full = await sh('wc -c <big; : >empty && ls empty; (echo more >>empty); echo "status $?"; (dd if=/dev/zero of=big bs=1 count=1 seek=200M conv=notrunc); stat -c %s big');
    assert.match(first(full), /\[new\] \[exit 0\]$/);
    assert.match(full, /^\[note\] A fresh container: the earlier one ended \(\/workspace holds 100 of 32 MiB\)/m);
    assert.match(full, /^\[limit\] \/workspace holds 100 of 32 MiB: files can be read and removed, and none can be written/m);
    assert.match(full, /^104857600\nempty\n(.*\n)?status 153\n(.*\n)*104857600$/m);
    assert.match(await sh('ulimit -f unlimited; (echo x >x); stat -c %s x'), /^0$/m);
    const refused = await berth.call('write_file', { path: 'new', content: 'x', sandbox: 'full' });
    assert.ok(refused.isError);
    assert.match(refused.text, /^\[file error\] nothing was written: \/workspace holds 100 of 32 MiB\. Delete something with run_command/);
    const put = await fetch(`${page.match(/http:\S+\/up\/\S+/)[0]}up`, { method: 'PUT', body: 'x' });
    assert.equal(put.status, 507);
    assert.match(await sh('seq 1 100000'), /could not be kept|not kept/);

    // Blocks beyond the end of a file are not its size, but seen.
    assert.match((await berth.sh('fallocate -n -l 60M x; sleep 600', { label: 'full' })).text, /ended while the command ran \(\/workspace holds 160 of 32 MiB\)/);

    // Removing makes room for the very next call, in the same container.
    assert.match(first(await sh('rm big x')), /\[exit 0\]$/);
    const again = await sh('head -c 8M /dev/urandom >fits; stat -c %s fits');
    assert.match(again, /^\[sandbox \S+\] \[exit 0\]\n8388608\n$/);
    assert.match(await neighbour(), /running: job/);
  }));

  it('what is written outside /workspace goes with the container', () => served({ workspace: '32M', layer: '64M' }, async (berth) => {
    const { text, isError } = await berth.sh('head -c 100M /dev/zero >/var/big; sleep 600');
    assert.ok(isError, text);
    assert.match(text, /ended while the command ran \(what was written outside \/workspace takes 1\d\d of 64 MiB\)/);
    assert.match((await berth.sh('ls /var/big')).text, /No such file/);
  }));

  it('a job in the background is ended too, and its number tells why', () => served({ workspace: '32M', layer: '64M' }, async (berth) => {
    const look = await job(berth, 'test', 'head -c 100M /dev/zero >big; sleep 600');
    assert.match(await look(45), /ended while the command ran \(\/workspace holds 100 of 32 MiB\)/);
  }));

  it('when the reserve is touched, the one that grew most is ended', () => served({ workspace: '400M', layer: '400M', min_free: '500M' }, async (berth, folder) => {
    const small = await job(berth, 'small');
    const large = await job(berth, 'large', 'head -c 50M /dev/zero >some; sleep 600');
    // Something else on the host takes the rest.
    execFileSync('fallocate', ['-l', '350M', join(folder, 'other')]);
    assert.match(await large(45), /ended while the command ran \(the server's disk is nearly full, and this sandbox grew most\)/);
    assert.match(await small(), /running: job/);
  }));

  it('is said everywhere', () => served({}, async (berth) => {
    const { enforced } = await (await fetch(`${berth.origin}/health`)).json();
    assert.deepEqual([enforced.storage, enforced.disk_by, enforced.workspace_quota, enforced.layer_quota], ['dir', 'measured', false, false]);
    assert.match((await berth.call('sandbox_info')).text, /\/workspace 2048 MiB \(measured, not enforced by the kernel\), elsewhere 4096 MiB \(measured, not enforced by the kernel\)/);
    assert.match(berth.admin('status'), /^disk .* of .*; what sandboxes take is measured, not enforced by the kernel$/m);
    assert.match(berth.log, /storage dir: the size of \/workspace is measured, NOT enforced by the kernel/);
  }));
});
