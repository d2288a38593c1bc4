// The start page of a public server, in a real browser without JavaScript.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';
import { fits, launchChromium, leastContrast, withoutChromium } from './lib/browser.mjs';
import { callTool } from './lib/mcp.mjs';

describe('the start page', { skip: withoutBerth || withoutChromium }, () => {
  let berth, browser;
  before(async () => {
    berth = await Berth.start({
      server: { profile: 'public' },
      auth: { methods: 'oauth, token' },
      pool: { slots: 2, queue_hold: 0 },
      sandbox: { allow_unlimited: 'yes', idle: 3600, warm: 0 },
    });
    browser = await launchChromium();
  });
  after(async () => {
    await browser?.close();
    await berth?.stop();
  });

  const call = async (name) => {
    const token = berth.admin('token', 'create', '--name', name, '--owner', name).trim();
    return (await callTool(berth.url, 'run_command', { command: 'true' }, { headers: { Authorization: `Bearer ${token}` } })).content[0].text;
  };
  const open = async (options) => {
    const page = await browser.newPage({ javaScriptEnabled: false, ...options });
    await page.goto(berth.origin);
    return page;
  };
  const figures = async (page) => (await page.locator('.number').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());

  it('tells how many are free, and how long the wait is, as they are now', async () => {
    const page = await open();
    assert.deepEqual(await figures(page), ['2 of 2', 'none']);
    await call('one');
    await page.getByRole('link', { name: 'Look again' }).click();
    assert.deepEqual(await figures(page), ['1 of 2', 'none']);
    await call('two');
    assert.match(await call('three'), /^\[queue\]/);
    await page.reload();
    const [free, wait] = await figures(page);
    assert.equal(free, '0 of 2');
    assert.match(wait, /^\d+ (min|h)$/);
    await page.getByText('All taken: 1 waiting, and the next visitor would wait about').waitFor();
    berth.admin('drain');
    await page.reload();
    await page.getByText('Maintenance').waitFor();
    berth.admin('resume');
  });

  it('looks again by itself', async () => {
    const page = await open();
    assert.equal(await page.locator('meta[http-equiv=refresh]').getAttribute('content'), '30');
  });

  for (const width of [320, 360, 1280])
    it(`fits ${width} pixels and can be read`, async () => {
      for (const colorScheme of ['light', 'dark']) {
        const page = await open({ viewport: { width, height: 700 }, colorScheme });
        for (const summary of await page.locator('summary').all()) await summary.click();
        assert.ok(await fits(page));
        assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1);
        const contrast = await leastContrast(page);
        assert.ok(contrast >= 4.5, `${colorScheme}: ${contrast}`);
        await page.close();
      }
    });
});
