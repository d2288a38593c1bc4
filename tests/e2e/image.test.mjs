// `berth image import`: a root file system from a folder, a tar archive in any compression and an OCI
// archive becomes the image, and commands run in it. What is hostile or no root file system is
// refused in words, and the image that was there stays.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Berth, withoutBerth } from './lib/berth.mjs';

const source = join(process.env.BERTH_TEST_CACHE ?? '/var/cache/berth-test', 'minimal/rootfs');
const first = (text) => text.split('\n')[0];

/** A few programs of the test image with what they load: the smallest tree that bash runs in. */
function makeTree(to, programs) {
  const paths = programs.map((name) => `/usr/bin/${name}`);
  const libraries = execFileSync('chroot', [source, 'ldd', ...paths], { encoding: 'utf8' }).match(/\/lib\S+\.so\S*/g);
  for (const path of new Set([...paths, ...libraries])) {
    const real = execFileSync('chroot', [source, 'realpath', path], { encoding: 'utf8' }).trim();
    mkdirSync(join(to, dirname(path)), { recursive: true });
    cpSync(join(source, real), join(to, path));
  }
  symlinkSync('usr/bin', join(to, 'bin'));
}

/** An OCI archive of layers (tar files), as `podman save --format oci-archive` makes it. */
function makeArchive(work, file, layers) {
  const layout = mkdtempSync(join(work, 'oci-'));
  mkdirSync(join(layout, 'blobs/sha256'), { recursive: true });
  const blob = (bytes, mediaType) => {
    const hex = createHash('sha256').update(bytes).digest('hex');
    writeFileSync(join(layout, 'blobs/sha256', hex), bytes);
    return { mediaType, digest: `sha256:${hex}`, size: bytes.length };
  };
  const json = (value, type) => blob(Buffer.from(JSON.stringify(value)), `application/vnd.oci.image.${type}.v1+json`);
  const plain = layers.map((layer) => readFileSync(layer));
  const config = json({
    architecture: 'amd64', os: 'linux',
    rootfs: { type: 'layers', diff_ids: plain.map((bytes) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`) },
  }, 'config');
  const described = plain.map((bytes) => blob(gzipSync(bytes), 'application/vnd.oci.image.layer.v1.tar+gzip'));
  const manifest = json({ schemaVersion: 2, config, layers: described }, 'manifest');
  writeFileSync(join(layout, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [manifest] }));
  writeFileSync(join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  execFileSync('tar', ['-C', layout, '-cf', file, '.']);
}

describe('berth image import', { skip: withoutBerth }, () => {
  let berth;
  let work;
  before(async () => {
    work = mkdtempSync(join(tmpdir(), 'berth-image-'));
    berth = await Berth.start({ pool: { slots: 2 } });
    makeTree(join(work, 'tree'), ['bash', 'cat', 'ls', 'rm', 'id']);
    writeFileSync(join(work, 'tree/mark'), 'imported\n');
  });
  after(async () => {
    await berth?.stop();
    rmSync(work, { recursive: true, force: true });
  });

  const current = () => readlinkSync(join(berth.dir, 'image/current'));
  const importIt = (path) => berth.run('berth', 'image', 'import', path, '--config', berth.configFile);

  /** What a fresh container of the new image says. */
  async function inIt(command) {
    await berth.halt();
    berth.run('berth-slots', '--config', berth.configFile);
    await berth.serve();
    return (await berth.sh(command)).text;
  }

  for (const [what, make] of [
    ['a folder', () => join(work, 'tree')],
    ['a tar archive', (to) => execFileSync('tar', ['-C', join(work, 'tree'), '-cf', to, '.'])],
    ['a tar archive by gzip', (to) => execFileSync('tar', ['-C', join(work, 'tree'), '-czf', to, '.'])],
    ['a tar archive by zstd', (to) => execFileSync('tar', ['-C', join(work, 'tree'), '--zstd', '-cf', to, '.'])],
    ['an OCI archive', (to) => {
      mkdirSync(join(work, 'upper'), { recursive: true });
      writeFileSync(join(work, 'upper/second'), 'layer\n');
      writeFileSync(join(work, 'upper/.wh.gone'), '');
      writeFileSync(join(work, 'tree/gone'), 'of the lower layer');
      for (const [layer, dir] of [['lower.tar', 'tree'], ['upper.tar', 'upper']]) execFileSync('tar', ['-C', join(work, dir), '-cf', join(work, layer), '.']);
      rmSync(join(work, 'tree/gone'));
      makeArchive(work, to, [join(work, 'lower.tar'), join(work, 'upper.tar')]);
    }],
  ]) {
    it(`${what} becomes the image`, async () => {
      const was = current();
      const made = join(work, 'archive');
      const path = make(made);
      assert.match(importIt(typeof path === 'string' ? path : made), /the image is current/);
      assert.notEqual(current(), was);
      const text = await inIt('cat /mark; ls /; id -u; ls -d /proc/1 /tmp /workspace');
      assert.match(first(text), /\[exit 0\]$/);
      assert.match(text, /^imported$/m);
      if (what === 'an OCI archive') {
        assert.match(text, /^second$/m);
        assert.doesNotMatch(text, /^gone$/m);
      }
    });
  }

  it('one without bash runs its commands by /bin/sh, which is said at once and in results', async () => {
    makeTree(join(work, 'small'), ['dash', 'cat']);
    symlinkSync('dash', join(work, 'small/usr/bin/sh'));
    const { status, stderr } = spawnSync(join(berth.programs, 'berth'), ['image', 'import', join(work, 'small'), '--config', berth.configFile], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.match(stderr, /the image has no bash: commands run in \/bin\/sh/);
    assert.match(await inIt('echo $0; exit 3'), /\[exit 3\]\n[^]*\[note\] there is no bash: \/bin\/sh runs this\n\/bin\/sh$/m);
  });

  describe('refused in words, and the image stays', () => {
    const tar = (lines) => {
      const file = join(work, 'hostile.tar');
      execFileSync('python3', ['-c', `import io, tarfile
t = tarfile.open(${JSON.stringify(file)}, 'w')
def add(name, type=tarfile.REGTYPE, link='', data=b'owned', **more):
  i = tarfile.TarInfo(name); i.type = type; i.linkname = link; i.size = len(data) if type == tarfile.REGTYPE else 0; i.mode = 0o755
  for k, v in more.items(): setattr(i, k, v)
  t.addfile(i, io.BytesIO(data))
add('bin/bash')
${lines}
t.close()`]);
      return file;
    };
    for (const [why, make, pattern] of [
      ['nothing of that name', () => join(work, 'nowhere'), /nowhere/],
      ['no archive', () => { writeFileSync(join(work, 'text'), 'this is no archive'); return join(work, 'text'); }, /archive|format/i],
      ['no root file system', () => { mkdirSync(join(work, 'empty')); return join(work, 'empty'); }, /neither \/bin\/bash nor \/bin\/sh/],
      ['a device', () => '/dev/null', /neither a file nor a directory/],
      ['a name that leaves upwards', () => tar("add('../../../../../../tmp/berth-escaped')"), /./],
      ['an absolute name through a link', () => tar("add('l', tarfile.SYMTYPE, '/tmp')\nadd('l/berth-escaped')"), /./],
      ['a hard link to the host', () => tar("add('h', tarfile.LNKTYPE, '../../../../../../etc/passwd')"), /./],
      ['an archive that ends in the middle', () => {
        const file = join(work, 'cut.tar');
        execFileSync('sh', ['-c', `tar -C ${join(work, 'tree')} -cf - . | head -c 300000 >${file}`]);
        return file;
      }, /truncated|end|unexpected/i],
    ]) {
      it(why, () => {
        const was = { current: current(), images: readdirSync(join(berth.dir, 'image')).sort() };
        const path = make();
        const { status, stderr } = spawnSync(join(berth.programs, 'berth'), ['image', 'import', path, '--config', berth.configFile], { encoding: 'utf8' });
        const escaped = '/tmp/berth-escaped';
        try {
          assert.ok(!existsSync(escaped), 'it wrote to the host');
        } finally {
          rmSync(escaped, { force: true });
        }
        assert.notEqual(status, 0);
        assert.match(stderr, /^berth(: | image: )/m);
        assert.match(stderr, pattern);
        assert.deepEqual({ current: current(), images: readdirSync(join(berth.dir, 'image')).sort() }, was);
      });
    }
  });
});
