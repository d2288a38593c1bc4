// What a model gets back, and how long it waits, for typical work on code: the file tools against the
// same work by run_command. Needs root, a build, and an image with ripgrep and ctags
// (BERTH_TEST_CACHE names the folder that holds it as minimal/rootfs). Prints a table for docs/TOOLS.md.
import { Berth } from '../tests/e2e/lib/berth.mjs';

const FUNCTIONS = 250;
const source = (seed) =>
  Array.from({ length: FUNCTIONS }, (_, i) =>
    [
      `/* Step ${i} of ${seed}: takes what the step before gave and hands on a sum. */`,
      `static int ${seed}_step_${i}(const struct input *in, int *out)`,
      '{',
      '\tint total = 0;',
      '',
      '\tfor (int i = 0; i < in->count; i++) {',
      `\t\tif (in->values[i] > ${i})`,
      '\t\t\ttotal += in->values[i];',
      '\t\telse',
      `\t\t\ttotal -= ${i};`,
      '\t}',
      '\tif (total < 0)',
      '\t\treturn -EINVAL;',
      '',
      '\t*out = total;',
      `\tshared_note("${seed}", ${i});`,
      '\treturn 0;',
      '}',
      '',
      '',
    ].join('\n'),
  ).join('');

const berth = await Berth.start();
const tool = async (name, args) => (await berth.call(name, { sandbox: 'bench', ...args }));
const sh = (command) => tool('run_command', { command, cwd: '/workspace' });

/** Runs the calls of one way to do a task: sum of bytes returned and of milliseconds. */
async function way(calls) {
  let bytes = 0;
  const start = performance.now();
  for (const call of calls) {
    const { text, isError } = await call();
    if (isError) throw new Error(text);
    bytes += Buffer.byteLength(text);
  }
  return { calls: calls.length, bytes, ms: performance.now() - start };
}

const row = (cells) => console.log(`| ${cells.join(' | ')} |`);
const show = ({ calls, bytes, ms }) => `${calls} calls, ${bytes.toLocaleString('en')} bytes, ${ms.toFixed(0)} ms`;

try {
  for (const name of ['alpha', 'beta', 'gamma']) await tool('write_file', { path: `src/${name}.c`, content: source(name) });
  await sh('cp -r src copy');
  await tool('read_file', { path: 'src/beta.c:beta_step_7' });

  row(['task', 'file tools', 'run_command']);
  row(['---', '---', '---']);
  row([
    'read one function of a 5,000-line file',
    show(await way([() => tool('read_file', { path: 'src/alpha.c:alpha_step_117' })])),
    show(await way([() => sh('cat copy/alpha.c')])),
  ]);
  row([
    'the same, by grep and sed',
    '',
    show(await way([() => sh('grep -n alpha_step_117 copy/alpha.c'), () => sh('sed -n 2340,2365p copy/alpha.c')])),
  ]);
  row([
    'fix one line and see it',
    show(await way([() => tool('edit_file', { path: 'src/alpha.c:alpha_step_117', old_text: 'total < 0', new_text: 'total <= 0' })])),
    show(await way([() => sh("sed -i '2342,2360s/total < 0/total <= 0/' copy/alpha.c"), () => sh('sed -n 2340,2365p copy/alpha.c')])),
  ]);
  row([
    'find the files of a kind, and the lines with a text',
    show(await way([() => tool('find_files', { path: 'src', name: '*.c' }), () => tool('find_files', { path: 'src', text: 'step_11[0-9]\\(' })])),
    show(await way([() => sh("find copy -name '*.c' | xargs ls -l"), () => sh("grep -rnE 'step_11[0-9]\\(' copy")])),
  ]);
  row([
    'where a name is defined and used in three files',
    show(await way([() => tool('project_map', { path: 'src', query: 'beta_step_12' })])),
    show(await way([() => sh('grep -rnw beta_step_12 copy')])),
  ]);
  const rename = ['alpha', 'beta', 'gamma'].flatMap((name) => [
    () => tool('read_file', { path: `src/${name}.c`, limit: 1 }),
    () => tool('edit_file', { path: `src/${name}.c`, old_text: 'shared_note', new_text: 'note_step', replace_all: true }),
  ]);
  row([
    'rename a function in 750 places of three files, and look',
    show(await way(rename)),
    show(await way([() => sh('sed -i s/shared_note/note_step/ copy/*.c'), () => sh('grep -rn note_step copy')])),
  ]);
  row([
    'the shape of the project',
    show(await way([() => tool('project_map', { path: 'src' })])),
    show(await way([() => sh('find copy -type f | xargs wc -l; grep -n "^[a-z].*(" copy/*.c')])),
  ]);
} finally {
  await berth.stop();
}
