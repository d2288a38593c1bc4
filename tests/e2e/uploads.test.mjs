// Files into a workspace: curl, a form without JavaScript, and the page in Chromium.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { chromium } from 'playwright-core';
import { Berth, withoutBerth } from './lib/berth.mjs';
import { eventually } from './lib/programs.mjs';

const first = (text) => text.split('\n')[0];
const body = (text) => text.split('\n').filter((line) => !/^\[(sandbox|note)/.test(line)).join('\n');
const MAX = 2 * 1024 * 1024;

/** Whether this process has a file open that has no name and has grown so far. */
const writesAFile = (pid, size) => readdirSync(`/proc/${pid}/fd`).some((fd) => {
  const path = `/proc/${pid}/fd/${fd}`;
  try {
    return readlinkSync(path).endsWith('(deleted)') && statSync(path).size >= size;
  } catch {
    return false;
  }
});

describe('uploads', { skip: withoutBerth }, () => {
  let berth;
  let link;

  const sh = async (command) => body((await berth.sh(command)).text).trim();
  const newLink = async (directory) => {
    const { text } = await berth.call('request_upload', { sandbox: 'test', ...(directory ? { directory } : {}) });
    return text.match(/http:\S+\/up\/\S+/)?.[0] ?? assert.fail(text);
  };
  const put = async (name, data, query = '', to = link) => {
    const answer = await fetch(to + encodeURIComponent(name) + query, { method: 'PUT', body: data });
    return { status: answer.status, text: await answer.text() };
  };
  /** Nothing unfinished lies about. */
  const names = () => sh('ls -A1 | sort');

  before(async () => {
    berth = await Berth.start({ links: { upload_max: '2M' } });
    await berth.sh('true');
    link = await newLink();
  });
  after(() => berth?.stop());

  describe('PUT', () => {
    it('writes a file as if it had been made inside', async () => {
      const { status, text } = await put('hello.txt', 'hello\n');
      assert.equal(status, 201);
      assert.match(text, /hello\.txt: 6 bytes/);
      assert.equal(await sh("stat -c '%U %G %a %s' hello.txt; cat hello.txt"), 'root root 644 6\nhello');
    });
    it('does not replace without being asked to', async () => {
      const { status, text } = await put('hello.txt', 'other');
      assert.equal(status, 409);
      assert.match(text, /\?replace=1/);
      assert.equal(await sh('cat hello.txt'), 'hello');
      assert.equal((await put('hello.txt', 'other', '?replace=1')).status, 201);
      assert.equal(await sh('cat hello.txt'), 'other');
    });
    it('an empty file, and one of binary data', async () => {
      assert.equal((await put('empty', '')).status, 201);
      const data = Buffer.from(Array.from({ length: 100000 }, (_, i) => (i * 7) & 255));
      assert.equal((await put('binary', data)).status, 201);
      assert.equal(await sh('stat -c %s empty binary'), '0\n100000');
    });
    it('into a folder that is not there yet', async () => {
      const to = await newLink('new/deep folder');
      assert.equal((await put('x', 'y', '', to)).status, 201);
      assert.equal(await sh("cat 'new/deep folder/x'"), 'y');
    });
    it('names are made harmless', async () => {
      for (const [name, expected] of [
        ['../../etc/cron.d/x', 'x'], ['a\nb', 'a_b'], ['C:\\tmp\\w.txt', 'w.txt'], ['🦦.txt', '🦦.txt'],
        ['-rf', '-rf'], ['.env', '.env'], ['#%?;&', '#%?;&'], ['x'.repeat(300), 'x'.repeat(255)],
      ]) {
        const { status, text } = await put(name, 'n', '?replace=1');
        assert.equal(status, 201, text);
        assert.ok(text.startsWith(`${expected}: `), text);
      }
      // Blanks around a name are a slip of the hand; bytes that are no characters cannot be kept.
      assert.match((await put(' notes.txt ', 'blank')).text, /^notes\.txt: /);
      assert.equal((await fetch(`${link}%FFlatin%E9`, { method: 'PUT', body: 'n' })).status, 201);
      assert.match(await names(), /^[^a-z]*latin[^a-z]*$/m);
      assert.equal((await put('..', 'n')).status >= 400, true);
      assert.match(await names(), /^a_b$/m);
    });
    it('over a symlink: it is a name that is taken; replaced is the link, never what it leads to', async () => {
      await sh('echo kept >target; ln -sfn target alias; ln -sfn /etc/motd motd; ln -sfn nowhere dangling');
      for (const name of ['alias', 'motd', 'dangling']) {
        assert.equal((await put(name, 'x')).status, 409);
        assert.equal(await sh(`test -L ${name} && echo still`), 'still');
        assert.equal((await put(name, name, '?replace=1')).status, 201);
        assert.equal(await sh(`test ! -L ${name} && cat ${name}`), name);
      }
      assert.equal(await sh('cat target; grep -cx motd /etc/motd; ls nowhere 2>&1 | wc -l'), 'kept\n0\n1');
    });
    it('through a linked folder: refused', async () => {
      await sh('ln -sfn /tmp tmplink');
      const { text, isError } = await berth.call('request_upload', { sandbox: 'test', directory: 'tmplink' });
      if (!isError) {
        const { status } = await put('x', 'y', '', text.match(/http:\S+\/up\/\S+/)[0]);
        assert.ok(status >= 400, String(status));
      }
      assert.equal(await sh('ls -A /tmp'), '');
    });
    it('too large: refused in words, nothing is left', async () => {
      const before = await names();
      const { status, text } = await put('large', Buffer.alloc(MAX + 1));
      assert.equal(status, 507);
      assert.match(text, /larger than this server takes/);
      assert.equal(await names(), before);
      assert.equal((await put('just', Buffer.alloc(MAX))).status, 201);
    });
    it('cut in the middle: nothing is left', async () => {
      const before = await names();
      await new Promise((done) => {
        const req = http.request(`${link}cut`, { method: 'PUT', headers: { 'Content-Length': 1000000 }, agent: false });
        req.on('error', done);
        req.on('close', done);
        req.write(Buffer.alloc(300000), () => setImmediate(() => req.destroy()));
      });
      await eventually(async () => (await names()) === before);
    });
    it('when what writes it is killed in the middle: nothing is left either', async () => {
      const before = await names();
      for (const victim of ['berth-keeper', 'berthd']) {
        const req = http.request(`${link}killed`, { method: 'PUT', headers: { 'Content-Length': 1000000 }, agent: false });
        const gone = new Promise((done) => req.on('error', done).on('response', done));
        req.write(Buffer.alloc(300000));
        await eventually(() => berth.pids('berthd').some((pid) => writesAFile(pid, 200000)));
        assert.ok(berth.kill(victim) > 0, victim);
        if (victim !== 'berthd') req.end(Buffer.alloc(700000));
        const answer = await gone;
        assert.notEqual(answer.statusCode, 201);
        req.destroy();
        await eventually(async () => (await names().catch(() => undefined)) === before);
      }
      assert.equal((await put('killed', 'z')).status, 201);
      assert.equal(await sh('cat killed'), 'z');
    });
    it('while the container is recycled', async () => {
      await berth.call('reset_sandbox', { what: 'container', sandbox: 'test' });
      assert.equal((await put('later', 'z')).status, 201);
      assert.equal(await sh('cat later'), 'z');
    });
    it('a person is told so on a page', async () => {
      const answer = await fetch(link.replace(/\/up\/\d+/, '/up/99999999999'), { headers: { Accept: 'text/html,*/*' } });
      assert.equal(answer.status, 404);
      assert.match(answer.headers.get('content-type'), /text\/html/);
      assert.match(await answer.text(), /<h1>There is nothing here<\/h1>[^]*Ask in your chat for a new one/);
      assert.match((await fetch(link.replace(/\/up\/\d+/, '/up/99999999999'))).headers.get('content-type'), /text\/plain/);
    });
    it('a wrong, a tampered and a bare link', async () => {
      assert.equal((await put('x', 'y', '', link.replace(/\/up\/\d+/, '/up/99999999999'))).status, 404);
      assert.equal((await fetch(link, { method: 'PUT', body: 'x' })).status, 400);
      assert.equal((await fetch(`${link}a/b`, { method: 'PUT', body: 'x' })).status, 400);
      assert.equal((await fetch(link.replace('/up/', '/dl/'))).status, 404);
    });
  });

  describe('the form without JavaScript', () => {
    const post = async (files, fields = {}) => {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) form.append(name, value);
      for (const [name, data] of files) form.append('files', new Blob([data]), name);
      const answer = await fetch(link, { method: 'POST', body: form });
      return { status: answer.status, text: await answer.text() };
    };
    it('several files', async () => {
      const { status, text } = await post([['one.txt', '1'], ['two <b>.txt', '22']]);
      assert.equal(status, 200, text);
      assert.match(text, /<strong>one\.txt<\/strong> 1 byte</);
      assert.match(text, /<span id="room">1\.9 GiB of 2 GiB are free\.<\/span> One file may have 2 MiB/);
      assert.match(text, /two &lt;b&gt;\.txt/);
      assert.equal(await sh("cat one.txt 'two <b>.txt'"), '122');
    });
    it('one that is there, then with the box ticked', async () => {
      const { status, text } = await post([['one.txt', 'new'], ['three.txt', '3']]);
      assert.equal(status, 409);
      assert.match(text, /class="failed"><strong>one\.txt<\/strong> a file of this name is there already/);
      assert.match(text, /class="done"><strong>three\.txt/);
      assert.equal((await post([['one.txt', 'new']], { replace: '1' })).status, 200);
      assert.equal(await sh('cat one.txt'), 'new');
    });
    it('none chosen', async () => {
      assert.match((await post([['', '']])).text, /No file was chosen/);
    });
    it('one too large beside one that is not', async () => {
      const { status, text } = await post([['big', Buffer.alloc(MAX + 1)], ['small', 's']]);
      assert.equal(status, 422);
      assert.match(text, /class="done"><strong>small/);
      assert.equal(await sh('ls big 2>/dev/null; cat small'), 's');
    });
    it('more than one form may bring: the rest is named', async () => {
      const { status, text } = await post(Array.from({ length: 102 }, (_, i) => [`many-${i} &.txt`, String(i)]));
      assert.equal(status, 422);
      assert.match(text, /class="done"><strong>many-99 &amp;\.txt/);
      assert.match(text, /class="failed"><strong>many-100 &amp;\.txt, many-101 &amp;\.txt<\/strong> 2 of the files were left out: one form brings 100 at most/);
      assert.equal(await sh('ls | grep -c ^many-; rm many-*'), '100');
    });
    it('what is no form', async () => {
      assert.equal((await fetch(link, { method: 'POST', body: 'x' })).status, 400);
      const headers = { 'Content-Type': 'multipart/form-data; boundary=b' };
      assert.equal((await fetch(link, { method: 'POST', body: '--b\r\nrubbish\r\n\r\n', headers })).status, 400);
      assert.equal((await fetch(link, { method: 'POST', body: '--b\r\nContent-Disposition: form-data; name=f; filename=cutform\r\n\r\nx', headers })).status, 400);
      assert.doesNotMatch(await names(), /cutform/);
    });
  });

  const executablePath = process.env.BERTH_CHROMIUM ?? '/usr/bin/chromium';
  describe('the page', { skip: existsSync(executablePath) ? false : `needs Chromium (${executablePath}, or set BERTH_CHROMIUM)`, timeout: 120000 }, () => {
    let browser;
    before(async () => {
      browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
    });
    after(() => browser?.close());

    const open = async (t, options = {}) => {
      const context = await browser.newContext(options);
      t.after(() => context.close());
      const page = await context.newPage();
      const errors = [];
      page.on('pageerror', (error) => errors.push(String(error)));
      page.on('console', (message) => message.type() === 'error' && !/409|favicon/.test(message.text()) && errors.push(message.text()));
      await page.goto(link);
      return { page, errors };
    };
    const file = (name, text) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });

    it('chosen files are sent, a conflict can be settled', async (t) => {
      const { page, errors } = await open(t);
      await page.setInputFiles('#files', [file('chosen.txt', 'first'), file('one.txt', 'from the page')]);
      await page.getByRole('button', { name: 'Upload' }).click();
      await page.locator('li.done', { hasText: 'chosen.txt' }).waitFor();
      await page.locator('li.failed', { hasText: 'one.txt' }).waitFor();
      await page.evaluate(() => (document.getElementById('room').textContent = ''));
      assert.equal(await sh('cat chosen.txt one.txt'), 'firstnew');
      await page.getByRole('button', { name: 'Replace it' }).click();
      await page.locator('li.done', { hasText: 'one.txt' }).waitFor();
      assert.equal(await sh('cat one.txt'), 'from the page');
      // How much room is left is told anew after each batch.
      await page.locator('#room', { hasText: '1.9 GiB of 2 GiB are free.' }).waitFor();
      assert.deepEqual(errors, []);
    });

    it('the words below the button keep their distance from it', async (t) => {
      const { page } = await open(t);
      const button = await page.getByRole('button', { name: 'Upload' }).boundingBox();
      const words = await page.locator('p.hint').last().boundingBox();
      assert.ok(words.y - (button.y + button.height) >= 12, JSON.stringify([button, words]));
    });
    it('dropped files are sent', async (t) => {
      const { page, errors } = await open(t);
      const transfer = await page.evaluateHandle(() => {
        const data = new DataTransfer();
        data.items.add(new File(['dropped'], 'dropped #1.txt'));
        return data;
      });
      await page.dispatchEvent('#drop', 'dragover', { dataTransfer: transfer });
      await page.dispatchEvent('#drop', 'drop', { dataTransfer: transfer });
      await page.locator('li.done', { hasText: 'dropped #1.txt' }).waitFor();
      assert.equal(await sh("cat 'dropped #1.txt'"), 'dropped');
      assert.deepEqual(errors, []);
    });

    it('one that is too large is not even sent', async (t) => {
      const { page } = await open(t);
      await page.setInputFiles('#files', [{ name: 'huge', mimeType: 'x/y', buffer: Buffer.alloc(MAX + 1) }]);
      await page.getByRole('button', { name: 'Upload' }).click();
      await page.locator('li.failed', { hasText: 'larger than this server takes' }).waitFor();
    });

    it('works without JavaScript', async (t) => {
      const { page } = await open(t, { javaScriptEnabled: false });
      await page.setInputFiles('#files', [file('plain.txt', 'no script')]);
      await page.getByRole('button', { name: 'Upload' }).click();
      await page.locator('li.done', { hasText: 'plain.txt' }).waitFor();
      assert.equal(await sh('cat plain.txt'), 'no script');
    });

    for (const width of [360, 1280]) {
      for (const colorScheme of ['light', 'dark']) {
        it(`fits ${width} pixels, ${colorScheme}`, async (t) => {
          const { page } = await open(t, { viewport: { width, height: 800 }, colorScheme });
          const long = `${'a very long name of a file '.repeat(6)}.txt`;
          await page.setInputFiles('#files', [file(`${width}-${colorScheme}.txt`, 'x'), file('one.txt', 'y'), file(`${colorScheme}${width}${long}`, 'z')]);
          await page.getByRole('button', { name: 'Upload' }).click();
          await page.getByRole('button', { name: 'Replace it' }).waitFor();
          await page.locator('li.done', { hasText: 'very long' }).waitFor();
          const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
          assert.equal(overflow, 0);
          if (process.env.BERTH_SCREENSHOTS) {
            mkdirSync(process.env.BERTH_SCREENSHOTS, { recursive: true });
            await page.screenshot({ path: join(process.env.BERTH_SCREENSHOTS, `upload-${width}-${colorScheme}.png`), fullPage: true });
          }
        });
      }
    }
  });

  it('a full quota or a gone sandbox is said in words', async () => {
    await berth.call('reset_sandbox', { what: 'everything', sandbox: 'test' });
    const key = first((await berth.sh('true')).text).match(/\[sandbox ([^\]]+)\]/)[1];
    berth.admin('empty', key);
    await eventually(async () => (await put('x', 'y')).status === 404);
  });
});
