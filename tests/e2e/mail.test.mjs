// "Your sandbox is ready": a visitor who waits leaves an address by the link of the answer, and gets
// one message, through a real SMTP server.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';
import { fits, launchChromium, leastContrast, withoutChromium } from './lib/browser.mjs';
import { Mailbox } from './lib/mailbox.mjs';
import { callTool } from './lib/mcp.mjs';
import { eventually } from './lib/programs.mjs';

const LINK = /https?:\/\/\S+\/mail\/\S+/;

const sh = async (berth, headers) => (await callTool(berth.url, 'run_command', { command: 'true' }, { headers })).content[0].text;

describe('a visitor who waits', { skip: withoutBerth }, () => {
  let berth, box, browser;
  before(async () => {
    box = await Mailbox.start();
    berth = await Berth.start({
      server: { profile: 'public' },
      auth: { methods: 'token' },
      pool: { slots: 1, queue_hold: 0 },
      sandbox: { allow_unlimited: 'yes', idle: 3600, warm: 0 },
      mail: { relay: box.relay, from: 'berth@relay.example' },
    });
    if (!withoutChromium) browser = await launchChromium();
  });
  after(async () => {
    await browser?.close();
    await berth?.stop();
    await box?.stop();
  });

  const visitor = (name) => ({ Authorization: `Bearer ${berth.admin('token', 'create', '--name', name, '--owner', name).trim()}` });
  const messages = () => box.messages;
  const send = (link, email) => fetch(link, { method: 'POST', body: new URLSearchParams({ email }) });
  const keyOf = (text) => text.match(/^\[sandbox ([^\]]+)\]/)[1];
  const linkOf = (text) => text.match(LINK)[0];
  let owner, one, two, link, key;

  it('is given a link in the answer, and who has a sandbox is not', async () => {
    [owner, one, two] = ['owner', 'one', 'two'].map(visitor);
    const text = await sh(berth, owner);
    assert.doesNotMatch(text, LINK);
    key = keyOf(text);
    const answer = await sh(berth, one);
    assert.match(answer, /^\[queue\] position 1 of 1, .*\n\[note\] Nothing was done yet\. .* after 30 minutes without a call it is lost\.\n\[note\] Your user may leave an e-mail address .* valid for 30 minutes: http/);
    link = linkOf(answer);
  });

  it('no other link is one', async () => {
    const bad = [link.replace('owner-one', 'owner-two'), `${link}x`, link.replace(/\/(\d+)\//, (all, n) => `/${Number(n) + 1}/`)];
    for (const url of bad) {
      const answer = await fetch(url);
      assert.equal(answer.status, 404, url);
      assert.match(await answer.text(), /This link does not work/);
    }
    assert.equal((await fetch(link, { method: 'PUT' })).status, 405);
    // Chats like to cut off what looks like punctuation.
    assert.equal((await fetch(link.replace(/\/$/, ''))).status, 200);
  });

  it('what is no address is not taken, and shown as text to be corrected', async () => {
    for (const bad of ['', 'nobody', 'a@b', '"><script>x</script>@example.org', 'a@example.org\r\nBcc: b@example.org', `${'x'.repeat(300)}@example.org`]) {
      const answer = await send(link, bad);
      assert.equal(answer.status, 422, bad);
      const page = await answer.text();
      assert.match(page, /We cannot write to this address/);
      assert.doesNotMatch(page, /<script>/);
    }
    assert.equal((await send(link, 'x'.repeat(10000))).status, 413);
    assert.equal((await fetch(link, { method: 'POST', body: 'email=%zz' })).status, 400);
    assert.match(await sh(berth, one), LINK);
  });

  it('sees a page that fits a phone and can be read', { skip: withoutChromium }, async () => {
    for (const width of [320, 1280])
      for (const colorScheme of ['light', 'dark']) {
        const page = await browser.newPage({ javaScriptEnabled: false, viewport: { width, height: 700 }, colorScheme });
        await page.goto(link);
        assert.ok(await fits(page), `${width}`);
        const contrast = await leastContrast(page);
        assert.ok(contrast >= 4.5, `${colorScheme}: ${contrast}`);
        await page.close();
      }
  });

  it('leaves an address, by the page, without JavaScript', { skip: withoutChromium }, async (t) => {
    const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 360, height: 740 } });
    t.after(() => context.close());
    const page = await context.newPage();
    const errors = [];
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
    await page.goto(link);
    await page.getByText('position 1 of 1').waitFor();
    await page.getByLabel('E-mail').fill('visitor@mail.example');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'We write to you once' }).waitFor();
    assert.deepEqual(errors.filter((text) => !text.includes('favicon')), []);
  });

  it('is told so from then on', async () => {
    if (!browser) await send(link, 'visitor@mail.example');
    const text = await sh(berth, one);
    assert.match(text, /^\[queue\] .*\n\[note\] .* after 1440 minutes without a call it is lost\.\n\[note\] An e-mail tells your user when it is ready\.$/);
    assert.match(await (await fetch(link)).text(), /An address was left already/);
  });

  it('the same page for an address that had its share', async () => {
    const answer = await sh(berth, two);
    assert.match(answer, /position 2 of 2/);
    const page = await send(linkOf(answer), 'visitor@mail.example');
    assert.equal(page.status, 200);
    assert.match(await page.text(), /We write to you once/);
    assert.match(await sh(berth, two), LINK); // it was not taken
  });

  it('nothing is sent before the sandbox is there; then one message is', async () => {
    const waiting = async () => (await (await fetch(`${berth.origin}/metrics`)).text()).match(/^berth_mails_waiting (\d+)$/m)?.[1];
    assert.equal(await waiting(), '1');
    assert.deepEqual(messages(), []);
    berth.admin('empty', key);
    const [message] = await eventually(() => messages().length && messages());
    assert.deepEqual([message.from, message.to], ['berth@relay.example', ['visitor@mail.example']]);
    assert.match(message.text, /^Subject: .*ready/m);
    assert.match(message.text, new RegExp(berth.origin));
    await eventually(async () => (await waiting()) === '0');
  });

  it('the link is of no use any more, and the sandbox waits for its owner', async () => {
    const answer = await fetch(link);
    assert.equal(answer.status, 410);
    assert.match(await answer.text(), /You are not waiting any more/);
    assert.equal((await send(link, 'other@mail.example')).status, 410);
    assert.match(await sh(berth, one), /\[new\] \[exit 0\]\n\[note\] Your sandbox is ready/);
    assert.equal(messages().length, 1);
  });

  it('the address is nowhere on disk nor in the log', () => {
    assert.doesNotMatch(berth.diskText(), /mail\.example/);
    assert.doesNotMatch(berth.log, /mail\.example/);
  });
});

describe('without mail', { skip: withoutBerth }, () => {
  it('there are no such links', async (t) => {
    const berth = await Berth.start({ server: { profile: 'public' }, auth: { methods: 'token' }, pool: { slots: 1, queue_hold: 0 }, sandbox: { allow_unlimited: 'yes' } });
    t.after(() => berth.stop());
    const other = { Authorization: `Bearer ${berth.admin('token', 'create', '--name', 'o', '--owner', 'o').trim()}` };
    const [, answer] = [await sh(berth, berth.headers), await sh(berth, other)];
    assert.match(answer, /^\[queue\] position 1 of 1, [^\n]*\n\[note\] Nothing was done yet[^\n]*$/);
    assert.equal((await fetch(`${berth.origin}/mail/1/x/y/`)).status, 404);
  });
});
