// What processes use.
import { readFileSync, readdirSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

const statFields = (pid) => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
};

/** Seconds of CPU that a process has used. */
export function cpuSeconds(pid) {
  const fields = statFields(pid);
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** How long a process has been running. */
export function ageSeconds(pid) {
  const up = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);
  return up - Number(statFields(pid)[19]) / TICKS_PER_SECOND;
}

/** KiB of a process that are its own, with its share of what several map. */
export function proportional(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').match(/^Pss:\s+(\d+)/m)[1]);
  } catch {
    return 0; // it has just ended
  }
}

/** Pids of all that descends from a process. */
export function descendants(root) {
  const children = new Map();
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const parent = Number(statFields(entry)[1]);
      children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
    } catch {
      // it has just ended
    }
  }
  const all = [];
  for (const todo = [root]; todo.length; ) {
    const mine = children.get(todo.pop()) ?? [];
    all.push(...mine);
    todo.push(...mine);
  }
  return all;
}

/** KiB that are in use on the whole machine and cannot be given back. */
export function usedByMachine() {
  const of = (name) => Number(readFileSync('/proc/meminfo', 'utf8').match(new RegExp(`^${name}:\\s+(\\d+)`, 'm'))[1]);
  return of('MemTotal') - of('MemAvailable');
}
