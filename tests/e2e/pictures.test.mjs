// Pictures that are too large for a model get a smaller copy, made inside the sandbox: with Debian's
// Pillow, and with programs in its place that mean harm.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { crc32, deflateSync } from 'node:zlib';
import { Berth, withoutBerth } from './lib/berth.mjs';

const LIMIT = 64 * 1024;
const modules = '/usr/lib/python3/dist-packages';
const withoutPillow = existsSync(`${modules}/PIL`) ? false : `needs ${modules}/PIL`;

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), body.length + 4);
  return out;
}

/** A PNG of `colour(x, y)`: three bytes a pixel, or four with transparency. */
function png(width, height, colour) {
  const n = colour(0, 0).length;
  const rows = Buffer.alloc(height * (1 + width * n));
  for (let y = 0, at = 0; y < height; y++) {
    rows[at++] = 0;
    for (let x = 0; x < width; x++) for (const byte of colour(x, y)) rows[at++] = byte;
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width);
  head.writeUInt32BE(height, 4);
  head.set([8, n === 4 ? 6 : 2, 0, 0, 0], 8);
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', head), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))]);
}

const plain = () => [20, 120, 220];
let seed = 1;
const noise = () => [0, 0, 0].map(() => (seed = (seed * 48271) % 2147483647) & 255);
const clear = (x) => [x & 255, 0, 0, 128];

describe('pictures that are too large', { skip: withoutBerth }, () => {
  let berth;
  let link;
  const sh = async (command) => (await berth.sh(command)).text;
  const put = async (name, data) => assert.equal((await fetch(`${link}${name}?replace=1`, { method: 'PUT', body: data })).status, 201);
  const present = async (name, data) => {
    await put(name, data);
    const { text, content, isError } = await berth.call('present_file', { path: name, sandbox: 'test' });
    assert.equal(isError, false, text);
    assert.match(text, /Link for the user: http/);
    return { text, image: content[1] && { mime: content[1].mimeType, bytes: Buffer.from(content[1].data, 'base64') } };
  };

  before(async () => {
    berth = await Berth.start({ links: { image_max: '64K' } });
    await sh('true');
    link = (await berth.call('request_upload', { sandbox: 'test' })).text.match(/http:\S+\/up\/\S+/)[0];
  });
  after(() => berth?.stop());

  describe('without a program that could scale them', () => {
    it('too many bytes: a link, and what to do', async () => {
      const { text, image } = await present('noise.png', png(200, 200, noise));
      assert.equal(image, undefined);
      assert.match(text, /too large to be attached.*make a smaller copy/);
    });
    it('more pixels than are of use: attached as it is', async () => {
      const whole = png(2000, 1000, plain);
      assert.deepEqual((await present('wide.png', whole)).image?.bytes, whole);
    });
    it('far too many: a link', async () => {
      assert.equal((await present('long.png', png(9000, 10, plain))).image, undefined);
    });
  });

  describe('with Pillow', { skip: withoutPillow }, () => {
    before(async () => {
      // What Debian's package and those it depends on would bring.
      const libraries = execFileSync('sh', ['-c', `ldd ${modules}/PIL/*.so | awk '$2 == "=>" { print $3 }' | sort -u | grep -v '/lib[cm]\\.so'`], { encoding: 'utf8' });
      const files = libraries.trim().split('\n').concat(`${modules}/PIL`);
      await put('pillow.tar', execFileSync('tar', ['-chf', '-', '--exclude=__pycache__', ...files], { maxBuffer: 200 * 1024 * 1024, stdio: ['ignore', 'pipe', 'ignore'] }));
      assert.match(await sh('tar -xf pillow.tar -C / && rm pillow.tar && ldconfig && python3 -I -c "import PIL; print(PIL.__version__)"'), /\[exit 0\]/);
    });

    it('too many pixels: a copy of as many as are seen, and the whole behind the link', async () => {
      const whole = png(4000, 2000, plain);
      const { text, image } = await present('wide.png', whole);
      assert.match(text, /4000 x 2000 pixels/);
      assert.match(text, /copy scaled down to 1568 x 784 pixels; the link has the whole/);
      assert.equal(image.mime, 'image/png');
      assert.ok(image.bytes.length <= LIMIT);
      assert.deepEqual(Buffer.from(await (await fetch(text.match(/http:\S+\/dl\/\S+/)[0])).arrayBuffer()), whole);
    });
    it('too many bytes: JPEG, or fewer pixels', async () => {
      const { text, image } = await present('noise.png', png(500, 400, noise));
      assert.equal(image?.mime, 'image/jpeg', text);
      assert.ok(image.bytes.length <= LIMIT);
    });
    it('transparency is kept', async () => {
      const { text, image } = await present('clear.png', png(1700, 1700, clear));
      assert.equal(image?.mime, 'image/png', text);
      assert.equal(image.bytes[25], 6);
    });
    it('one that fits is handed over as it is', async () => {
      const whole = png(300, 300, plain);
      const { text, image } = await present('fits.png', whole);
      assert.deepEqual(image.bytes, whole);
      assert.doesNotMatch(text, /scaled/);
    });
    it('one that only says that it is large: not decoded', async () => {
      const bomb = png(1, 1, plain);
      bomb.writeUInt32BE(60000, 16);
      bomb.writeUInt32BE(60000, 20);
      assert.equal((await present('bomb.png', bomb)).image, undefined);
    });
    it('a broken one: a link', async () => {
      const broken = png(2000, 1000, plain);
      broken.fill(0, 50, broken.length - 20);
      assert.equal((await present('broken.png', Buffer.concat([broken, Buffer.alloc(LIMIT)]))).image, undefined);
    });
    it('without a container none is started for it', async () => {
      await berth.call('reset_sandbox', { what: 'container', sandbox: 'test' });
      assert.equal((await present('noise.png', png(500, 400, noise))).image, undefined);
    });
  });

  describe('with something else in its place: a link', () => {
    const large = png(200, 200, noise);
    const small = (width, height) => png(width, height, plain).toString('base64');
    const out = (code) => `import base64,sys\nw=sys.stdout.buffer.write\n${code}\nsys.stdout.flush()\nimport os\nos._exit(0)`;
    before(() => sh(`rm -rf ${modules}/PIL; mkdir -p ${modules}/PIL`));
    for (const [what, code] of [
      ['a page', out("w(b'<!doctype html><script>alert(1)</script>')")],
      ['nothing', out('pass')],
      ['half a picture', out(`w(base64.b64decode('${small(9, 9)}')[:-9])`)],
      ['a picture of too many pixels', out(`w(base64.b64decode('${small(1569, 1)}'))`)],
      ['too many bytes', out(`w(base64.b64decode('${small(9, 9)}')); w(bytes(70000))`)],
      ['bytes without end', out("while True: w(b'x' * 65536)")],
      ['a failure', `${out(`w(base64.b64decode('${small(9, 9)}'))`)}`.replace('_exit(0)', '_exit(1)')],
      ['a signal', 'import os\nos.kill(os.getpid(), 11)'],
    ]) {
      it(what, async () => {
        await put('evil.py', code);
        assert.match(await sh(`mv evil.py ${modules}/PIL/__init__.py`), /\[exit 0\]/);
        const { text, image } = await present('noise.png', large);
        assert.equal(image, undefined);
        assert.match(text, /too large to be attached/);
      });
    }
    it('but a picture is taken from it', async () => {
      await put('evil.py', out(`w(base64.b64decode('${small(9, 9)}'))`));
      await sh(`mv evil.py ${modules}/PIL/__init__.py`);
      assert.match((await present('noise.png', large)).text, /scaled down to 9 x 9 pixels/);
    });
  });
});
