// project_map on large projects: six families of languages of 15,000 files each, one of 100,000 files
// with others at work meanwhile, and the sources of Debian packages where a mirror is in reach. Needs
// root and the image that run-tests makes; takes minutes. Prints what it measures, and a line
// "ok NAME" for each thing that holds ("skip NAME" for sources that cannot be had).
//
//   node tests/load/project-map.mjs [files]      0: the packages alone
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { Berth, withoutBerth } from '../e2e/lib/berth.mjs';
import { ask } from '../e2e/lib/mcp.mjs';
import { FAMILIES, makeProject } from '../e2e/lib/projects.mjs';
import { proportional } from './measure.mjs';
import { debianSource } from './sources.mjs';

const FILES = Number(process.argv[2] ?? 100000);
// Of berthd's CPU time, in one piece: slices are 2 ms, and every other kind of work is in this too.
const LONGEST_TURN = 0.02;
// KiB that may stay in berthd when a sandbox with a large map is emptied.
const MOST_LEFT = 2048;

/** Source packages: of what language most is, a file that many import, and the most imports that may seem to miss. */
const SOURCES = [
  { name: 'zlib', language: 'C', important: /\nzlib\/zlib\.h \(imported by \d+\)/, misses: 5 },
  { name: 'redis', language: 'C', important: /\nredis\/src\/server\.h \(imported by \d+\)/, misses: 8 },
  { name: 'jinja2', language: 'Python', important: /\njinja2\/src\/jinja2\/utils\.py \(imported by \d+\)/, misses: 2 },
  { name: 'mercurial', language: 'Python', important: /\nmercurial\/mercurial\/i18n\.py \(imported by \d+\)/, misses: 20 },
  { name: 'node-typescript', language: 'TypeScript', important: /\nnode-typescript\/src\/tsserver\/server\.ts/, misses: Infinity },
  { name: 'golang-github-spf13-cobra', language: 'Go', important: /\/active_help\.go \(imported by \d+\)/, misses: 0 },
  { name: 'golang-1.19', language: 'Go', important: /\ngolang-1\.19\/src\//, misses: Infinity },
  { name: 'rust-clap', language: 'Rust', important: /\nrust-clap\/src\/builder\/mod\.rs \(imported by \d+\)/, misses: 0 },
  { name: 'guava-libraries', language: 'Java', important: /\/base\/Preconditions\.java \(imported by \d+\)/, misses: 0 },
];

const metric = async (berth) => {
  const { text } = await ask(`${berth.origin}/metrics`, { method: 'GET', headers: { ...berth.headers, Accept: '*/*' } });
  return Number(/loop_longest_turn_seconds\{clock="cpu"\} (\S+)/.exec(text)[1]);
};

async function map(berth, args) {
  const start = performance.now();
  const { text, isError } = await berth.call('project_map', { sandbox: 'map', ...args });
  assert.ok(!isError, text);
  return { text, seconds: (performance.now() - start) / 1000 };
}

async function stage(name, run) {
  try {
    console.log(`${await run()} ${name}`);
  } catch (error) {
    console.log(`not ok ${name}\n${error.stack}`);
    process.exitCode = 1;
  }
}

/** Every import that misses is a line, and what "and N others" counts. */
function misses(text) {
  const [, list = ''] = text.split('\nImports that resolve to nothing:\n');
  const lines = list.split('\n').filter((line) => line.includes(' -> ')).length;
  return lines + Number(/^… and (\d+) others$/m.exec(list)?.[1] ?? 0);
}

async function family(berth, name) {
  const { target, missing } = FAMILIES[name];
  let files;
  await berth.put(name, (folder) => { files = makeProject(folder, name, 15000); }, { label: 'map' });
  const first = await map(berth, { path: name });
  const again = await map(berth, { path: name });
  assert.ok(first.text.includes(`${name}: ${files} files, `), first.text);
  assert.ok(first.text.includes(`${name}/${missing}\n`), first.text);
  assert.ok(first.text.includes(`${name}/${target} (imported by 15000)`), first.text);
  assert.equal(misses(first.text), 1);
  console.log(`${name}: ${files} files, ${first.seconds.toFixed(1)} s, again ${again.seconds.toFixed(1)} s`);
  await berth.sh(`rm -rf /workspace/${name}`, { label: 'map' });
  return 'ok';
}

/** The slowest of another sandbox's commands while `work` is going on, in ms. */
async function othersWait(berth, work) {
  let going = true;
  let worst = 0;
  const other = (async () => {
    while (going) {
      const start = performance.now();
      const { text } = await berth.sh('true', { label: 'other' });
      assert.match(text, /\[exit 0\]/);
      worst = Math.max(worst, performance.now() - start);
    }
  })();
  const result = await work().finally(() => { going = false; });
  await other;
  return { result, worst };
}

async function large(berth) {
  await berth.put('large', (folder) => makeProject(folder, 'c', FILES), { label: 'map' });
  await berth.sh('true', { label: 'other' });
  const [daemon] = berth.pids('berthd');
  const before = proportional(daemon);
  for (const round of ['first', 'again', 'a name']) {
    const { result, worst } = await othersWait(berth, () => map(berth, { path: 'large', ...(round === 'a name' ? { query: 'fn_777' } : {}) }));
    if (round !== 'a name') assert.equal(misses(result.text), 1);
    console.log(`${FILES} files, ${round}: ${result.seconds.toFixed(1)} s; others waited ${worst.toFixed(0)} ms at most`);
  }
  const longest = await metric(berth);
  console.log(`the loop was held for ${(longest * 1000).toFixed(1)} ms of CPU time at most`);
  assert.ok(longest < LONGEST_TURN, `${longest} s`);
  await berth.call('reset_sandbox', { what: 'everything', sandbox: 'map' });
  const left = proportional(daemon) - before;
  console.log(`${left} KiB more in berthd when it was gone`);
  assert.ok(left < MOST_LEFT, `${left} KiB`);
  return 'ok';
}

async function source(berth, { name, language, important, misses: most }) {
  const folder = debianSource(name);
  if (!folder) return 'skip';
  await berth.put(name, (to) => cpSync(folder, to, { recursive: true, verbatimSymlinks: true }), { label: 'map' });
  const first = await map(berth, { path: name });
  const again = await map(berth, { path: name });
  const [, files] = new RegExp(`\n${name}: (\\d+) files`).exec(first.text);
  console.log(`${name}: ${files} files, ${first.seconds.toFixed(1)} s, again ${again.seconds.toFixed(1)} s; ${misses(first.text)} imports seem to miss`);
  assert.match(first.text, new RegExp(`\nLanguages: (?:other [^,]*, )?${language} `));
  assert.match(first.text, important);
  assert.ok(misses(first.text) <= most, first.text);
  assert.ok(first.text.length < 16000, `${first.text.length} characters`);
  await berth.sh(`rm -rf /workspace/${name}`, { label: 'map', timeout_seconds: 600 });
  return 'ok';
}

if (withoutBerth) {
  console.log(`not ok project-map: ${withoutBerth}`);
  process.exit(1);
}
const berth = await Berth.start({ sandbox: { memory: '2G', workspace: '4G' } });
try {
  if (FILES) for (const name of Object.keys(FAMILIES)) await stage(`map of ${name}`, () => family(berth, name));
  if (FILES) await stage('large map', () => large(berth));
  for (const row of SOURCES) await stage(`map of ${row.name}'s source`, () => source(berth, row));
} finally {
  await berth.stop();
}
