// The page in a real browser. Only this shows what policies and redirects do to a sign-in.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fits, launchChromium, leastContrast, withoutChromium } from './lib/browser.mjs';
import { authorizeUrl, callbackServer, exchange, newVerifier, OauthServer, register, whoami } from './lib/oauth.mjs';

const skip = withoutChromium;
const options = { skip, timeout: 300000 };
const CURSOR = 'cursor://anysphere.cursor-mcp/oauth/callback';
const BUTTON = { name: 'Create my sandbox' };

let server, browser;
before(async () => {
  server = await OauthServer.start();
  if (!skip) browser = await launchChromium();
});
after(async () => {
  await browser?.close();
  await server.stop();
});

/** A page of a fresh browser; `errors` collects what it complains about. */
async function fresh(t, options) {
  const context = await browser.newContext(options);
  t.after(() => context.close());
  const page = await context.newPage();
  const errors = [];
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  page.on('pageerror', (error) => errors.push(String(error)));
  return { context, page, errors };
}

async function app(redirect, parameters = {}, name = 'Browser tests') {
  const client = await register(server, { redirect_uris: [redirect], client_name: name });
  const { verifier, challenge } = newVerifier();
  return { client, verifier, url: authorizeUrl(server, client, { code_challenge: challenge, ...parameters }).href };
}

/**
 * Presses the button of a page whose app has a scheme of its own, so that the browser stays there. Its
 * question about that scheme may lie over the page, so this is no click of the mouse.
 */
async function pressAndStay(page) {
  const answered = page.waitForResponse((response) => response.request().method() === 'POST');
  await page.getByRole('button', BUTTON).dispatchEvent('click');
  const answer = await answered;
  return { status: answer.status(), location: await answer.headerValue('location') };
}

test('a click brings the code to the app on another origin', options, async (t) => {
  const callback = await callbackServer(t);
  const { client, verifier, url } = await app(callback.url);
  const { page, errors } = await fresh(t);
  await page.goto(url);
  await page.getByRole('button', BUTTON).click();
  const { url: back, method, headers } = await callback.arrived;
  assert.equal(method, 'GET');
  assert.equal(headers.referer, undefined);
  assert.equal(back.searchParams.get('state'), 'a state');
  const { status, body } = await exchange(server, client, back.searchParams.get('code'), verifier);
  assert.equal(status, 200);
  assert.match(String(await whoami(server, body.access_token)), /^guest-/);
  assert.deepEqual(errors.filter((text) => !text.includes('favicon')), []);
});

test('the app may hop on to its own scheme', options, async (t) => {
  const callback = await callbackServer(t, (req, res) => {
    res.writeHead(302, { location: 'claude://claude.ai/done' });
    res.end();
  });
  const { url } = await app(callback.url);
  const { page } = await fresh(t);
  const hop = new Promise((done) => page.on('request', (request) => request.url().startsWith('claude:') && done(request.url())));
  await page.goto(url);
  await page.getByRole('button', BUTTON).click();
  await callback.arrived;
  assert.equal(await hop, 'claude://claude.ai/done');
});

test('a custom scheme: the page stays, a second click gives the same code, then "done"', options, async (t) => {
  const { client, verifier, url } = await app(CURSOR);
  const { page } = await fresh(t);
  const opened = new Promise((done) => page.on('request', (request) => request.url().startsWith('cursor:') && done(request.url())));
  await page.goto(url);
  const first = await pressAndStay(page);
  assert.equal(first.status, 303);
  assert.equal(await opened, first.location);
  assert.deepEqual(await pressAndStay(page), first);
  assert.equal((await exchange(server, client, new URL(first.location).searchParams.get('code'), verifier)).status, 200);
  assert.equal((await pressAndStay(page)).status, 200);
  await page.getByRole('heading', { name: 'Your sandbox is yours' }).waitFor();
});

test('a double click', options, async (t) => {
  const before = (await server.counts()).presses;
  const callback = await callbackServer(t);
  const { client, verifier, url } = await app(callback.url);
  const { page } = await fresh(t);
  await page.goto(url);
  await page.getByRole('button', BUTTON).dblclick();
  const { url: back } = await callback.arrived;
  assert.equal((await exchange(server, client, back.searchParams.get('code'), verifier)).status, 200);
  assert.equal((await server.counts()).presses, before + 1);
});

test('the back button', options, async (t) => {
  const before = (await server.counts()).presses;
  const callback = await callbackServer(t);
  const { client, verifier, url } = await app(callback.url);
  const { page } = await fresh(t);
  await page.goto(url);
  await page.getByRole('button', BUTTON).click();
  const { url: back } = await callback.arrived;
  const tokens = await exchange(server, client, back.searchParams.get('code'), verifier);
  await page.waitForURL(/callback/);
  await page.goBack();
  await page.getByRole('button', BUTTON).click();
  await page.getByRole('heading', { name: 'Your sandbox is yours' }).waitFor();
  // What was signed in stays so.
  assert.match(String(await whoami(server, tokens.body.access_token)), /^guest-/);
  assert.equal((await server.counts()).presses, before + 1);
});

test('two tabs at once, both sign in', options, async (t) => {
  const { context } = await fresh(t);
  const tabs = [];
  for (let i = 0; i < 2; i++) {
    const callback = await callbackServer(t);
    const one = await app(callback.url, {}, `Tab ${i}`);
    const page = await context.newPage();
    await page.goto(one.url);
    tabs.push({ ...one, page, callback });
  }
  const principals = new Set();
  for (const { page, callback, client, verifier } of tabs) {
    await page.getByRole('button', BUTTON).click();
    const { url: back } = await callback.arrived;
    const { status, body } = await exchange(server, client, back.searchParams.get('code'), verifier);
    assert.equal(status, 200);
    principals.add(await whoami(server, body.access_token));
  }
  assert.equal(principals.size, 2);
});

test('opened from another site: the cookie of the first tab is kept', options, async (t) => {
  const { context } = await fresh(t);
  const callback = await callbackServer(t, (req, res) => {
    res.setHeader('content-type', 'text/html');
    res.end(req.url === '/start' ? `<a id="go" target="_blank" href="${second.url.replaceAll('&', '&amp;')}">sign in</a>` : 'done');
  });
  const first = await app(callback.url, {}, 'First');
  const second = await app(callback.url, {}, 'Second');
  const one = await context.newPage();
  await one.goto(first.url);
  const site = await context.newPage();
  await site.goto(`${callback.origin.replace('127.0.0.1', 'localhost')}/start`);
  const [two] = await Promise.all([context.waitForEvent('page'), site.click('#go')]);
  await two.getByRole('button', BUTTON).waitFor();
  await one.getByRole('button', BUTTON).click();
  await callback.arrived;
  await two.getByRole('button', BUTTON).click();
  await two.waitForURL(/callback/);
});

test('a page that waited too long', options, async (t) => {
  const { url } = await app(CURSOR);
  const { page } = await fresh(t);
  await page.goto(url);
  await server.advance(601);
  await page.getByRole('button', BUTTON).click();
  await page.getByRole('heading', { name: 'This page is too old' }).waitFor();
  await page.getByText('Go back to your app and start again').waitFor();
});

test('cookies off', options, async (t) => {
  const { url } = await app(CURSOR);
  const { page, context } = await fresh(t);
  await page.goto(url);
  await context.clearCookies();
  await page.getByRole('button', BUTTON).click();
  await page.getByRole('heading', { name: 'Your browser did not keep the cookie' }).waitFor();
});

test('no JavaScript, only the keyboard', options, async (t) => {
  const callback = await callbackServer(t);
  const { url } = await app(callback.url);
  const { page } = await fresh(t, { javaScriptEnabled: false });
  await page.goto(url);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await callback.arrived;
});

test('another site cannot press the button, nor frame the page', options, async (t) => {
  const { url } = await app(CURSOR);
  const { page: mine } = await fresh(t);
  await mine.goto(url);
  const request = await mine.locator('input[name=request]').inputValue();
  const { page, context } = await fresh(t);
  const evil = await callbackServer(t, (req, res) => {
    res.setHeader('content-type', 'text/html');
    res.end(req.url.startsWith('/frame')
      ? `<iframe src="${url.replaceAll('&', '&amp;')}"></iframe>`
      : `<form method="post" action="${server.origin}/authorize"><input name="request" value="${request}"><button>Win a prize</button></form>`);
  });
  const { presses } = await server.counts();
  // Even in a browser that has a cookie of ours.
  await page.goto(url);
  await page.goto(evil.origin.replace('127.0.0.1', 'localhost'));
  await page.getByRole('button').click();
  await page.getByRole('heading', { name: 'This did not come from our page' }).waitFor();
  await page.goto(`${evil.origin}/frame`);
  const frame = page.frames()[1];
  assert.equal(await frame.getByRole('button', BUTTON).count(), 0);
  assert.equal((await server.counts()).presses, presses);
  await context.close();
});

test('names and states that try to be HTML', options, async (t) => {
  const { url } = await app(CURSOR, { state: '"><script>document.title="owned"</script>' }, '<img src=x onerror="document.title=\'owned\'">');
  const { page, errors } = await fresh(t);
  await page.goto(url);
  await page.getByText('<img src=x').first().waitFor();
  assert.doesNotMatch(await page.title(), /owned/);
  assert.equal(await page.locator('img').count(), 0);
  assert.deepEqual(errors.filter((text) => !text.includes('favicon')), []);
});

test('the e-mail field is there when it is wanted, and helps with typos', options, async (t) => {
  const { url } = await app(CURSOR);
  const { page } = await fresh(t);
  await page.goto(url);
  assert.equal(await page.getByLabel('E-mail').count(), 0);
  await server.command('mail on');
  t.after(() => server.command('mail off'));
  await page.goto(url);
  await page.getByLabel('E-mail').fill('some%one@example.org');
  await page.getByRole('button', BUTTON).click();
  await page.getByRole('alert').waitFor();
  const field = page.getByLabel('E-mail');
  assert.equal(await field.inputValue(), 'some%one@example.org');
  assert.equal(await field.getAttribute('aria-invalid'), 'true');
  await field.fill('someone@example.org');
  const opened = new Promise((done) => page.on('request', (request) => request.url().startsWith('cursor:') && done()));
  await page.getByRole('button', BUTTON).click();
  await opened;
  assert.ok(server.events.some((event) => /^mail someone@example\.org guest-/.test(event)));
});

test('proof of work, and only then a page with a script', options, async (t) => {
  const strict = await OauthServer.start({ proof_of_work_bits: 12 });
  t.after(() => strict.stop());
  const callback = await callbackServer(t);
  const client = await register(strict, { redirect_uris: [callback.url] });
  const url = () => authorizeUrl(strict, client, { code_challenge: newVerifier().challenge }).href;
  const { page, errors } = await fresh(t);
  await page.goto(url());
  await page.getByRole('button', BUTTON).click();
  await callback.arrived;
  assert.deepEqual(errors.filter((text) => !text.includes('favicon')), []);
  const { page: plain } = await fresh(t, { javaScriptEnabled: false });
  await plain.goto(url());
  await plain.getByRole('button', BUTTON).click();
  await plain.getByRole('heading', { name: 'Your browser has to do a small computation' }).waitFor();
});

test('proof of work: the button works again afterwards, and says what is wrong', options, async (t) => {
  const strict = await OauthServer.start({ proof_of_work_bits: 8 });
  t.after(() => strict.stop());
  const client = await register(strict, { redirect_uris: [CURSOR] });
  const url = () => authorizeUrl(strict, client, { code_challenge: newVerifier().challenge }).href;
  const { page } = await fresh(t);
  await page.goto(url());
  const first = await pressAndStay(page);
  assert.equal(first.status, 303);
  await page.waitForFunction(() => !document.querySelector('button').disabled);
  assert.equal(await page.locator('#work-state').textContent(), '');
  assert.deepEqual(await pressAndStay(page), first);
  // Where the page is not secure there is no such function.
  const { page: bare } = await fresh(t);
  await bare.addInitScript(() => Object.defineProperty(Crypto.prototype, 'subtle', { get: () => undefined }));
  await bare.goto(url());
  await bare.getByRole('button', BUTTON).click();
  await bare.getByText('cannot do this computation').waitFor();
  assert.ok(await bare.getByRole('button', BUTTON).isEnabled());
});

const LONG = `A${'very'.repeat(20)}longname`;
const LOOKS = {
  button: async (page) => page.goto((await app(CURSOR, {}, LONG)).url),
  'e-mail field': async (page) => {
    await server.command('mail on');
    await page.goto((await app(CURSOR, {}, LONG)).url);
    await page.getByLabel('E-mail').fill(`${'x'.repeat(60)}%@example.org`);
    await page.getByRole('button', BUTTON).click();
    await page.getByRole('alert').waitFor();
    await server.command('mail off');
  },
  error: async (page) => page.goto(`${server.origin}/authorize?client_id=unknown`),
  done: async (page) => {
    const { client, verifier, url } = await app(CURSOR);
    await page.goto(url);
    const { location } = await pressAndStay(page);
    await exchange(server, client, new URL(location).searchParams.get('code'), verifier);
    await pressAndStay(page);
    await page.getByRole('heading', { name: 'Your sandbox is yours' }).waitFor();
  },
};

for (const [name, show] of Object.entries(LOOKS))
  test(`${name}: fits a phone and a desk, light and dark, and loads nothing from elsewhere`, options, async (t) => {
    for (const width of [320, 360, 1280])
      for (const colorScheme of ['light', 'dark']) {
        const { page, context } = await fresh(t, { viewport: { width, height: 700 }, colorScheme });
        const foreign = [];
        page.on('request', (request) => {
          if (!/^(data|cursor):/.test(request.url()) && new URL(request.url()).origin !== server.origin) foreign.push(request.url());
        });
        await show(page);
        assert.ok(await fits(page), `${width}`);
        assert.equal(await page.locator('html').getAttribute('lang'), 'en');
        assert.equal(await page.getByRole('main').count(), 1);
        assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1);
        assert.ok((await page.title()).endsWith(' – Berth'));
        const contrast = await leastContrast(page);
        assert.ok(contrast >= 4.5, `${width} ${colorScheme}: ${contrast}`);
        assert.deepEqual(foreign, []);
        await context.close();
      }
  });
