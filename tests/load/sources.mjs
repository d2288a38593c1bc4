// Sources of Debian packages, from the mirrors that this machine's apt uses; kept in the test cache.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const cache = join(process.env.BERTH_TEST_CACHE ?? '/var/cache/berth-test', 'sources');
const run = (program, args, options = {}) => execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], ...options });

/** apt with lists of its own, which have the sources; made once in a process. */
let env;
function aptEnv() {
  if (env) return env;
  const dir = join(cache, 'apt');
  for (const part of ['parts', 'lists/partial', 'archives/partial']) mkdirSync(join(dir, part), { recursive: true });
  const targets = run('apt-get', ['indextargets', '--format', '$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)', 'Identifier: Packages']);
  const lines = targets.split('\n').map((line) => line.split(' ')).filter(([, , component, origin]) => component === 'main' && origin === 'Debian');
  writeFileSync(join(dir, 'parts/sources.list'), lines.map(([uri, suite]) => `deb-src ${uri} ${suite} main\n`).join(''));
  writeFileSync(join(dir, 'apt.conf'), [
    'Dir::Etc::sourcelist "/dev/null";', `Dir::Etc::sourceparts "${join(dir, 'parts')}";`,
    `Dir::State::lists "${join(dir, 'lists')}";`, `Dir::Cache "${dir}";`, 'APT::Sandbox::User "root";', '',
  ].join('\n'));
  env = { ...process.env, APT_CONFIG: join(dir, 'apt.conf') };
  run('apt-get', ['-q', 'update'], { env });
  return env;
}

/** The folder with the package's original source, or null where it cannot be had. */
export function debianSource(name) {
  const folder = join(cache, name);
  if (existsSync(folder)) return folder;
  const work = join(cache, `${name}.new`);
  rmSync(work, { recursive: true, force: true });
  mkdirSync(join(work, 'tree'), { recursive: true });
  try {
    run('apt-get', ['-q', 'source', '--download-only', '--only-source', name], { cwd: work, env: aptEnv() });
    for (const archive of readdirSync(work).filter((file) => /\.orig\.tar\.\w+$/.test(file)))
      run('tar', ['-C', join(work, 'tree'), '--strip-components=1', '-xf', join(work, archive)]);
    renameSync(join(work, 'tree'), folder);
    return folder;
  } catch (error) {
    console.log(`${name}: ${String(error.message).split('\n')[0]}`);
    return null;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
