// File systems of a suite's own, in a file.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cache } from './berth.mjs';

const run = (program, ...args) => execFileSync(program, args, { stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' });

/** For `{ skip: … }` of what needs this type. */
export function without(type) {
  if (!readFileSync('/proc/filesystems', 'utf8').split('\n').includes(`\t${type}`)) return `needs ${type} in the kernel`;
  return existsSync(`/sbin/mkfs.${type}`) ? false : `needs mkfs.${type}`;
}

/** Calls `use(folder)` with a fresh file system of this type mounted there. */
export async function mounted(type, use) {
  const top = mkdtempSync(join(cache, `${type}-`));
  const image = join(top, 'image');
  const folder = join(top, 'mnt');
  try {
    chmodSync(top, 0o755); // for the server's user
    run('truncate', '-s', '1G', image);
    run(`/sbin/mkfs.${type}`, '-q', image);
    run('mkdir', folder);
    run('mount', '-o', 'loop', image, folder);
    try {
      await use(folder);
    } finally {
      run('umount', folder);
    }
  } finally {
    rmSync(top, { recursive: true });
  }
}
