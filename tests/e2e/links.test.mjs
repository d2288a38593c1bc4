// Links out of a workspace, on the real server: any name, any kind of file, any moment.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';
import { eventually } from './lib/programs.mjs';

/** The link in a result. */
const linkOf = ({ text }) => text.match(/http:\S+\/dl\/\S+/)?.[0] ?? assert.fail(text);
const first = (text) => text.split('\n')[0];

/** A request exactly as written, which fetch() would clean up first. */
function get(link, { method = 'GET', headers = {} } = {}) {
  const [, host, port, path] = link.match(/^http:\/\/([^:/]+):(\d+)(.*)$/);
  return new Promise((done, fail) => {
    const req = http.request({ host, port, path, method, headers, agent: false }, async (res) => {
      const chunks = [];
      let broken = false;
      try {
        for await (const chunk of res) chunks.push(chunk);
      } catch {
        broken = true;
      }
      done({ status: res.statusCode, headers: res.headers, body: Buffer.concat(chunks), broken });
    });
    req.on('error', fail).end();
  });
}

/** Percent-encodes every byte but the unreserved ones and '/'. */
const encode = (bytes) =>
  [...bytes].map((b) => (/[A-Za-z0-9._~/-]/.test(String.fromCharCode(b)) ? String.fromCharCode(b) : `%${b.toString(16).toUpperCase().padStart(2, '0')}`)).join('');

/** A POSIX shell word of any bytes, for printf. */
const octal = (bytes) => [...bytes].map((b) => `\\${b.toString(8).padStart(3, '0')}`).join('');

const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==', 'base64');
const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
const WEBP = Buffer.from('UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==', 'base64');
/** The segments that are looked at, around no pixels. */
const JPEG = Buffer.concat([
  Buffer.from('ffd8ffe000104a46494600010100000100010000', 'hex'),
  Buffer.from('ffdb0043', 'hex'), Buffer.alloc(65, 1),
  Buffer.from('ffc0000b080001000101011100', 'hex'),
  Buffer.from('ffda0008010100003f007fffd9', 'hex'),
]);

describe('links', { skip: withoutBerth }, () => {
  let berth;
  let key;

  /** A link as the server would sign it. */
  function sign(path, { expiry = Math.floor(Date.now() / 1000) + 600, sandbox = key } = {}) {
    const secret = readFileSync(join(berth.dir, 'server/link.key'));
    const bytes = Buffer.from(path);
    const mac = createHmac('sha256', secret)
      .update(`berth-link-1\0/dl/${expiry}\0${sandbox}\0`)
      .update(bytes)
      .digest('base64url');
    return `${berth.origin}/dl/${expiry}/${mac}/${sandbox}/${encode(bytes)}`;
  }

  const present = (path) => berth.call('present_file', { path, sandbox: 'test' });
  /** Runs a command that must succeed. */
  async function sh(command) {
    const { text } = await berth.sh(command);
    assert.match(first(text), /\[exit 0\]$/, text);
    return text;
  }
  const put = (name, bytes) => sh(`base64 -d >${name} <<'END'\n${bytes.toString('base64')}\nEND`);

  before(async () => {
    berth = await Berth.start({ links: { image_max: '64K' }, sandbox: { call_limit: 120 } });
    key = first(await sh('true')).match(/\[sandbox ([^\]]+)\]/)[1];
    await sh("printf 0123456789 >digits; mkdir -p folder");
  });
  after(() => berth?.stop());

  describe('any name', () => {
    for (const name of [
      'two words.txt', 'line\nbreak', '#%?;&=+', 'quo"te\'s\\', '-rf', '--help', 'trailing  ', '\ttab', '%2e%2e%2f', '🦦.txt',
      'café', 'a'.repeat(255), '…'.repeat(85), '*', '$(id)', '<b>.html', '...', '.hidden',
    ]) {
      it(JSON.stringify(name.slice(0, 30)), async () => {
        await sh(`printf '%b' 'it is me' >"$(printf '${octal(Buffer.from(name))}_' | head -c -1)"`);
        const result = await present(name);
        assert.equal(result.isError, false, result.text);
        const link = linkOf(result);
        assert.ok(link.endsWith(`/${encode(Buffer.from(name))}`), link);
        const { status, body, headers } = await get(link);
        assert.equal(status, 200);
        assert.equal(body.toString(), 'it is me');
        const exact = headers['content-disposition'].match(/filename\*=UTF-8''(\S*)$/)[1];
        assert.equal(decodeURIComponent(exact), name);
      });
    }

    it('is one word of the text, with what it is and the caption', async () => {
      await sh("mkdir -p sub; echo hello >$'sub/two\\nlines'");
      const { text } = await berth.call('present_file', { path: 'sub/two\nlines', caption: 'What I found', sandbox: 'test' });
      const [head, what, caption, link, until] = text.split('\n');
      assert.equal(head, `[sandbox ${key}]`);
      assert.equal(what, "$'two\\nlines' ($'/workspace/sub/two\\nlines'): text, 6 bytes");
      assert.equal(caption, 'What I found');
      assert.ok(link.startsWith(`Link for the user: ${berth.origin}/dl/`));
      assert.match(until, /^Valid until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \((600|599) seconds from now\)$/);
    });

    it('dots on the way are not in the link, which fetch() would take out', async () => {
      await sh('mkdir -p sub/deep; echo here >dots; echo there >sub/dots');
      for (const [path, text] of [['sub/../dots', 'here\n'], ['/workspace/sub/./deep//../dots', 'there\n'], ['./sub/deep/../../dots', 'here\n']]) {
        const link = linkOf(await present(path));
        assert.equal(await (await fetch(link)).text(), text, link);
      }
      for (const path of ['../etc/passwd', 'sub/../../etc/passwd'])
        assert.match((await present(path)).text, /^\[present error\] .*outside \/workspace/);
      const page = (await berth.call('request_upload', { directory: 'sub/../sub/deep/./', sandbox: 'test' })).text.match(/http:\S+\/up\/\S+/)[0];
      assert.equal((await fetch(`${page}new`, { method: 'PUT', body: 'x' })).status, 201);
      await sh('test -e sub/deep/new');
    });

    it('bytes that are no UTF-8', async () => {
      const name = Buffer.from([0x66, 0xff, 0xfe, 0x80]);
      await sh(`echo odd >"$(printf '${octal(name)}')"`);
      assert.equal((await get(sign(name))).body.toString(), 'odd\n');
    });
  });

  describe('HTTP', () => {
    it('HEAD, ranges, validators', async () => {
      const link = linkOf(await present('digits'));
      const head = await get(link, { method: 'HEAD' });
      assert.equal(head.status, 200);
      assert.equal(head.headers['content-length'], '10');
      assert.equal(head.headers['accept-ranges'], 'bytes');
      assert.equal(head.body.length, 0);
      const { etag } = head.headers;
      assert.match(etag, /^"[^"]+"$/);
      for (const [range, status, text] of [
        ['bytes=2-4', 206, '234'],
        ['bytes=7-', 206, '789'],
        ['bytes=-3', 206, '789'],
        ['bytes=0-1', 206, '01'],
        ['bytes=0-', 206, '0123456789'],
        ['bytes=-500', 206, '0123456789'],
        ['bytes=0-99', 206, '0123456789'],
        ['bytes=10-', 416, undefined],
        ['bytes=4-2', 200, '0123456789'],
        ['lines=1-2', 200, '0123456789'],
      ]) {
        const answer = await get(link, { headers: { Range: range } });
        assert.equal(answer.status, status, range);
        if (text !== undefined) assert.equal(answer.body.toString(), text, range);
        if (status === 416) assert.equal(answer.headers['content-range'], 'bytes */10');
        if (status === 206) assert.match(answer.headers['content-range'], /^bytes \d+-\d+\/10$/);
      }
      const same = await get(link, { headers: { Range: 'bytes=1-1', 'If-Range': etag } });
      assert.equal(same.status, 206);
      const other = await get(link, { headers: { Range: 'bytes=1-1', 'If-Range': '"other"' } });
      assert.equal(other.status, 200);
      const known = await get(link, { headers: { 'If-None-Match': etag } });
      assert.equal(known.status, 304);
      assert.equal(known.body.length, 0);
      await sh('printf 0123456780 >digits');
      assert.equal((await get(link, { headers: { 'If-None-Match': etag } })).status, 200);
    });

    it('says nothing to caches and other origins', async () => {
      const { headers } = await get(linkOf(await present('digits')));
      assert.match(headers['cache-control'], /private/);
      assert.equal(headers['x-content-type-options'], 'nosniff');
      assert.equal(headers['referrer-policy'], 'no-referrer');
      assert.match(headers['content-security-policy'], /^sandbox; default-src 'none'/);
    });

    it('an empty file', async () => {
      await sh(': >empty');
      const { status, body, headers } = await get(linkOf(await present('empty')));
      assert.deepEqual([status, body.length, headers['content-length']], [200, 0, '0']);
    });
  });

  describe('active content is saved, not shown', () => {
    for (const [name, text] of [
      ['page.txt', '<!doctype html><script>alert(1)</script>'],
      ['picture.png', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'],
      ['doc.pdf', '%PDF-1.7 x'],
    ]) {
      it(name, async () => {
        await put(name, Buffer.from(text));
        const result = await present(name);
        assert.equal(result.content.length, 1);
        assert.match((await get(linkOf(result))).headers['content-disposition'], /^attachment/);
      });
    }
  });

  describe('pictures', () => {
    for (const [name, bytes, mime] of [
      ['a.dat', PNG, 'image/png'], ['b.txt', GIF, 'image/gif'], ['c', WEBP, 'image/webp'], ['d.png', JPEG, 'image/jpeg'],
    ]) {
      it(`${mime} is attached by its content, called ${name}`, async () => {
        await put(name, bytes);
        const { content, text } = await present(name);
        assert.equal(content.length, 2, text);
        assert.equal(content[0].type, 'text');
        assert.equal(content[1].mimeType, mime);
        assert.deepEqual(Buffer.from(content[1].data, 'base64'), bytes);
        assert.match(text, /1 x 1 pixels/);
      });
      it(`a broken one is a link only: ${mime}`, async () => {
        await put('broken', bytes.subarray(0, bytes.length - 9));
        const { content, isError } = await present('broken');
        assert.deepEqual([content.length, isError], [1, false]);
      });
    }
    it('a large one is a link, with what to do', async () => {
      await put('big.png', PNG);
      await sh("{ head -c -12 big.png; head -c 70000 /dev/zero; tail -c 12 big.png; } >bigger.png");
      const { content, text } = await present('bigger.png');
      assert.equal(content.length, 1);
      assert.match(text, /too large to be attached.*\n/);
    });
  });

  describe('refused', () => {
    for (const [what, make, path] of [
      ['a FIFO', 'mkfifo -m 666 fifo', 'fifo'],
      ['a socket', "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'", 'sock'],
      ['a folder', 'true', 'folder'],
      ['a link to a device', 'ln -sfn /dev/zero zero', 'zero'],
      ['a link to a file outside', 'ln -sfn /etc/passwd out', 'out'],
      ['a link to a file inside', 'ln -sfn digits in', 'in'],
      ['a linked folder on the way', 'ln -sfn /etc etc', 'etc/passwd'],
      ['a loop', 'ln -sfn loop loop', 'loop'],
      ['what is not there', 'true', 'nothing'],
      ['the parent', 'true', '../etc/passwd'],
      ['an absolute path elsewhere', 'true', '/etc/passwd'],
    ]) {
      it(what, async () => {
        await sh(make);
        const { text, isError } = await present(path);
        assert.ok(isError, text);
        assert.match(text, /\[present error\]/);
        // Even with a right signature.
        assert.equal((await get(sign(path))).status, 404);
      });
    }

    it('a tampered link: 404', async () => {
      const link = linkOf(await present('digits'));
      const [, head, expiry, mac, sandbox, path] = link.match(/^(.*\/dl\/)([^/]+)\/([^/]+)\/([^/]+)\/(.*)$/);
      for (const changed of [
        `${head}${Number(expiry) + 1}/${mac}/${sandbox}/${path}`,
        `${head}${expiry}/${mac.replace(/^./, (c) => (c === 'A' ? 'B' : 'A'))}/${sandbox}/${path}`,
        `${head}${expiry}/${mac}/x${sandbox}/${path}`,
        `${head}${expiry}/${mac}/${sandbox}/${path}x`,
        `${head}${expiry}/${mac}/${sandbox}/./${path}`,
        `${head}${expiry}/${mac}/${sandbox}/`,
        `${head}${expiry}//${sandbox}/${path}`,
        `${head}`,
      ]) assert.equal((await get(changed)).status, 404, changed);
    });

    it('an expired link: 410 in words', async () => {
      const { status, body } = await get(sign('digits', { expiry: Math.floor(Date.now() / 1000) - 1 }));
      assert.equal(status, 410);
      assert.match(body.toString(), /expired.*Ask in your chat/);
      const page = await get(sign('digits', { expiry: Math.floor(Date.now() / 1000) - 1 }), { headers: { Accept: 'text/html' } });
      assert.equal(page.status, 410);
      assert.match(page.body.toString(), /<h1>This link has expired<\/h1>/);
    });

    it("another sandbox's file", async () => {
      assert.equal((await get(sign('digits', { sandbox: 'other-000000' }))).status, 404);
    });

    it('other methods', async () => {
      assert.equal((await get(sign('digits'), { method: 'POST' })).status, 405);
    });
  });

  describe('files that are special', () => {
    it('10 GB of nothing are served lazily', async () => {
      await sh('truncate -s 10G sparse');
      const link = linkOf(await present('sparse'));
      assert.equal((await get(link, { method: 'HEAD' })).headers['content-length'], String(10 * 2 ** 30));
      const { status, body } = await get(link, { headers: { Range: `bytes=${9 * 2 ** 30}-${9 * 2 ** 30 + 9}` } });
      assert.deepEqual([status, body.length], [206, 10]);
    });

    it('a reader that stops costs nothing and stops nobody', async () => {
      const link = sign('sparse');
      const { req, res } = await new Promise((done, fail) => {
        const request = http.get(link, { agent: false }, (response) => done({ req: request, res: response }));
        request.on('error', fail);
      });
      res.pause();
      await sh('echo alive');
      const [pid] = berth.pids('berthd');
      const rss = Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]);
      assert.ok(rss < 200 * 1024, `${rss} kB`);
      res.on('error', () => {});
      req.on('error', () => {}).destroy();
    });

    it('one that shrinks while it is sent breaks the answer instead of inventing bytes', async () => {
      await sh('head -c 50000000 /dev/zero >shrinks');
      const link = linkOf(await present('shrinks'));
      const { broken, bytes } = await new Promise((done, fail) => {
        http.get(link, { agent: false }, (res) => {
          let count = 0;
          res.once('data', async (chunk) => {
            count += chunk.length;
            res.pause();
            await sh('truncate -s 1000 shrinks');
            res.on('data', (more) => (count += more.length)).resume();
          });
          res.on('end', () => done({ broken: !res.complete, bytes: count }));
          res.on('error', () => done({ broken: true, bytes: count }));
        }).on('error', fail);
      });
      assert.ok(broken && bytes < 50000000, `${broken} ${bytes}`);
      await sh('echo alive');
    });

    /** How many bytes come when that command runs after the first of them. */
    const bytesSentWhile = (link, command) => new Promise((done, fail) => {
      http.get(link, { agent: false }, (res) => {
        let count = 0;
        res.once('data', async (chunk) => {
          count += chunk.length;
          res.pause();
          await sh(command);
          res.on('data', (more) => (count += more.length)).resume();
        });
        res.on('end', () => done(count)).on('error', fail);
      }).on('error', fail);
    });

    it('one that grows while it is sent ends where it ended when it was opened', async () => {
      await sh('head -c 20000000 /dev/zero >grows');
      const link = linkOf(await present('grows'));
      const bytes = await bytesSentWhile(link, 'head -c 20000000 /dev/urandom >>grows');
      assert.equal(bytes, 20000000);
    });

    it('one of 100,000 in a folder, and the folder itself', async () => {
      // Names are what counts: of few files, which is quicker.
      await sh("mkdir -p many && cd many && touch f0 f1 f2 f3 && python3 -c 'import os\nfor i in range(4, 99999): os.link(\"f%d\" % (i % 4), \"f%d\" % i)' && echo me >me");
      assert.equal((await get(linkOf(await present('many/me')))).body.toString(), 'me\n');
      const { text } = await berth.call('find_files', { path: 'many', sandbox: 'test' });
      assert.match(text, /100,000 entries/);
      assert.ok(text.length < 40000, String(text.length));
      const up = (await berth.call('request_upload', { directory: 'many', sandbox: 'test' })).text.match(/http:\S+\/up\/\S+/)[0];
      assert.equal((await fetch(`${up}new`, { method: 'PUT', body: 'x' })).status, 201);
      assert.match((await berth.call('find_files', { path: 'many', name: 'n*', sandbox: 'test' })).text, /many\/new/);
    });

    it('one that is deleted while it is sent arrives whole', async () => {
      await sh('head -c 20000000 /dev/zero >vanishes');
      const link = linkOf(await present('vanishes'));
      const bytes = await bytesSentWhile(link, 'rm vanishes');
      assert.equal(bytes, 20000000);
      assert.equal((await get(link)).status, 404);
    });

    it('one that is swapped for a symlink all the time never leads out', async () => {
      await sh('echo mine >swap; (while :; do ln -sfn /etc/passwd s1; mv -T s1 swap; echo mine >s2; mv -T s2 swap; done) >/dev/null 2>&1 &');
      const link = sign('swap');
      const seen = new Set();
      for (let i = 0; i < 200; i++) {
        const { status, body } = await get(link);
        assert.ok(status === 404 || (status === 200 && ['mine\n', ''].includes(body.toString())), `${status} ${body}`);
        seen.add(status);
      }
      assert.ok(seen.has(200));
      await berth.call('reset_sandbox', { what: 'container', sandbox: 'test' });
    });
  });

  describe('many at once', () => {
    const MAX = 16;
    /** A download or an upload that has begun and does not go on. */
    const download = (link) => new Promise((done, fail) => {
      const req = http.get(link, { agent: false }, (res) => done({ req, res: res.pause().on('error', () => {}) })).on('error', fail);
    });

    it('so many of a sandbox and no more, which is said; then there is room again', async () => {
      await sh('truncate -s 10G sparse');
      const link = sign('sparse');
      const up = (await berth.call('request_upload', { sandbox: 'test' })).text.match(/http:\S+\/up\/\S+/)[0];
      const open = await Promise.all(Array.from({ length: MAX }, () => download(link)));
      for (const options of [{}, { method: 'HEAD' }, { headers: { Accept: 'text/html' } }]) {
        const { status, headers, body } = await get(link, options);
        assert.equal(status, 503);
        assert.match(headers['retry-after'], /^\d+$/);
        if (options.method !== 'HEAD') assert.match(body.toString(), /16 files are on their way from or to this sandbox.*Try again/);
      }
      assert.equal((await fetch(`${up}one-more`, { method: 'PUT', body: 'x' })).status, 503);
      // The page takes nothing, and another sandbox has its own.
      assert.equal((await fetch(up)).status, 200);
      await berth.call('write_file', { path: 'f', content: 'x', sandbox: 'other' });
      assert.equal((await get(linkOf(await berth.call('present_file', { path: 'f', sandbox: 'other' })))).status, 200);
      open.pop().req.destroy();
      await eventually(async () => (await get(link, { method: 'HEAD' })).status === 200);
      assert.equal((await fetch(`${up}one-more`, { method: 'PUT', body: 'x' })).status, 201);
      for (const { req } of open) req.destroy();
    });

    it('the operator empties the sandbox: none of them ends as if it were whole', async () => {
      await berth.sh('truncate -s 10G sparse', { label: 'emptied' });
      const result = await berth.call('present_file', { path: 'sparse', sandbox: 'emptied' });
      const open = await Promise.all(Array.from({ length: 3 }, () => download(linkOf(result))));
      const ends = open.map(({ res }) => new Promise((done) => res.on('close', () => done(res.complete)).resume()));
      berth.admin('empty', linkOf(result).split('/')[6]);
      assert.deepEqual(await Promise.all(ends), [false, false, false]);
    });
  });

  describe('without a container', () => {
    it('after a recycle', async () => {
      const link = linkOf(await present('folder/../digits'));
      await berth.call('reset_sandbox', { what: 'container', sandbox: 'test' });
      assert.equal((await get(link)).status, 200);
      const { sandboxes } = JSON.parse(berth.admin('status', '--json'));
      assert.equal(sandboxes.find((sandbox) => sandbox.key === key).container, false);
    });

    it('after kill -9 of berthd', async () => {
      const link = linkOf(await present('digits'));
      berth.kill('berthd');
      const answer = await eventually(async () => {
        try {
          const given = await get(link);
          return given.status === 200 && given;
        } catch {
          return false;
        }
      });
      assert.equal(answer.body.toString(), '0123456780');
    });

    it('when the sandbox was emptied there is nothing', async () => {
      const link = linkOf(await present('digits'));
      await berth.call('reset_sandbox', { what: 'everything', sandbox: 'test' });
      assert.equal((await get(link)).status, 404);
    });
  });

  it('the key is for the server alone, and not shown', () => {
    const file = join(berth.dir, 'server/link.key');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const bytes = readFileSync(file);
    const shown = berth.admin('serve', '--check') + berth.server.stderr;
    for (const form of ['hex', 'base64', 'base64url', 'latin1']) assert.ok(!shown.includes(bytes.toString(form)), form);
  });

  it('the log of the server holds no link', () => {
    const log = berth.server.stderr + berth.server.stdout;
    assert.match(log, /serving/);
    assert.doesNotMatch(log, /\/(dl|up)\/\d/);
  });
});
