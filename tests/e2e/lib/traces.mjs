// What a server has on its host while it runs, to see that nothing of it stays.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The tag of a server's state directory: instance_tag() of src/base/instance.h. */
function instanceTag(dir) {
  let hash = 2166136261;
  for (const byte of Buffer.from(dir)) hash = Math.imul(hash ^ byte, 16777619) >>> 0;
  return (((hash >>> 16) ^ hash) & 0xffff).toString(16).padStart(4, '0');
}

const entries = (dir) => (existsSync(dir) ? readdirSync(dir).sort() : []);

/** The control groups that setup made for it, of either version. */
export function ownGroups(dir) {
  const root = '/sys/fs/cgroup';
  return ['', ...entries(root)].map((controller) => join(root, controller, `berth-${instanceTag(dir)}`)).filter(existsSync);
}

/** One folder a container, and one a keeper, in them. */
function groupsOfSlots(dir) {
  return ownGroups(dir).flatMap((parent) => entries(parent).filter((name) => /^(box|keeper)-/.test(name)).map((name) => join(parent, name)));
}

/**
 * { mounts, groups, namespaces, sockets } of a Berth (lib/berth.mjs), each a sorted list. Mounts are
 * those of the host; what programs mounted in namespaces of their own is gone with them.
 */
export function traces(berth) {
  const run = join(berth.dir, 'run');
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n').map((line) => line.split(' ')[4] ?? '');
  return {
    mounts: mounts.filter((path) => path.startsWith(`${berth.dir}/`)).sort(),
    groups: groupsOfSlots(berth.dir),
    namespaces: entries(join(run, 'slots')),
    sockets: entries(run).filter((name) => name.endsWith('.sock')),
  };
}
