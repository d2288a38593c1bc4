// What a public server allows to people without accounts, at the real server behind its proxy.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { withoutBerth } from './lib/berth.mjs';
import { authorizeUrl, exchange, newVerifier, openPage, press, refresh, register, signIn, token } from './lib/oauth.mjs';
import { Mailbox } from './lib/mailbox.mjs';
import { eventually } from './lib/programs.mjs';
import { bearer, keyOf, PublicBerth } from './lib/public-berth.mjs';

let berth, site;
const serve = (over) => {
  before(async () => {
    berth = await PublicBerth.start(over);
    site = berth.site;
  });
  after(() => berth?.stop());
};

/** Opens a page and presses its button, from an address. */
async function pressFrom(address, fields) {
  const from = site.from(address);
  const client = await register(site, { client_name: 'Limits' });
  const { verifier, challenge } = newVerifier();
  const page = await openPage(from, authorizeUrl(from, client, { code_challenge: challenge }));
  assert.equal(page.status, 200, page.html);
  const answer = await press(from, page, fields);
  return { ...answer, client, verifier, page, tokens: async () => (await exchange(site, client, answer.code, verifier)).body };
}

const rightWork = (page, bits) => {
  for (let n = 0; ; n++) {
    const digest = createHash('sha256').update(`${page.request}.${n}`).digest();
    if (Math.clz32(digest.readUInt32BE()) >= bits) return String(n);
  }
};

describe('one network', { skip: withoutBerth }, () => {
  serve({ pool: { slots: 6 }, abuse: { new_per_hour: 4, held_per_prefix: 2 } });

  it('creates so many sandboxes an hour; it waits, others do not', async () => {
    for (let i = 0; i < 6; i++) {
      const { status, html, headers } = await pressFrom(`192.0.2.${i}`);
      assert.equal(status, i < 4 ? 303 : 429);
      if (status === 303) continue;
      assert.match(html, /Enough new sandboxes for now/);
      assert.match(html, /You can press the button again in \d+ minutes/);
      assert.ok(Number(headers.get('retry-after')) > 60);
    }
    assert.equal((await pressFrom('192.0.3.1')).status, 303);
    for (let i = 0; i < 6; i++) assert.equal((await pressFrom(`2001:db8:7:${i}::${i}`)).status, i < 4 ? 303 : 429);
    assert.equal((await pressFrom('2001:db8:8::1')).status, 303);
    // A visitor behind the proxy does not get a new network by adding hops of his own.
    for (let i = 0; i < 6; i++) assert.equal((await pressFrom(`10.9.${i}.1, 203.0.113.7`)).status, i < 4 ? 303 : 429);
    assert.equal((await berth.metrics()).berth_presses_refused_total, 6);
  });

  it('holds so many slots at once, wherever its calls come from', async () => {
    const people = [];
    for (let i = 0; i < 3; i++) people.push(await (await pressFrom(`198.51.100.${i}`)).tokens());
    const [one, two, three] = people.map(({ access_token: access }) => access);
    assert.match(await berth.runAs(one, 'true'), /\[exit 0\]/);
    assert.match(await berth.runAs(two, 'true'), /\[exit 0\]/);
    assert.match(await berth.runAs(three, 'true'), /too many sandboxes are in use or waited for from your network/);
    // What it has goes on working.
    assert.match(await berth.runAs(one, 'true'), /\[exit 0\]/);
    const refused = await pressFrom('198.51.100.200');
    assert.equal(refused.status, 429);
    assert.match(refused.html, /Your network has its share/);
    const elsewhere = await (await pressFrom('198.51.101.1')).tokens();
    const key = keyOf(await berth.runAs(elsewhere.access_token, 'true'));
    assert.equal((await berth.health()).slots.occupied, 3);
    berth.admin('empty', keyOf(await berth.runAs(one, 'true')));
    assert.match(await berth.runAs(three, 'true'), /\[exit 0\]/);
    assert.equal(keyOf(await berth.runAs(elsewhere.access_token, 'true')), key);
  });
});

describe('one network, whose sign-ins may have several sandboxes', { skip: withoutBerth }, () => {
  serve({ pool: { slots: 6, sandboxes_per_principal: 0 }, abuse: { held_per_prefix: 3 } });

  it('holds so many slots, not so many sign-ins', async () => {
    const people = [];
    for (let i = 0; i < 2; i++) people.push((await (await pressFrom(`198.51.100.${i}`)).tokens()).access_token);
    const [one, two] = people;
    assert.match(await berth.runAs(one, 'true', 'a'), /\[exit 0\]/);
    assert.match(await berth.runAs(one, 'true', 'b'), /\[exit 0\]/);
    assert.match(await berth.runAs(two, 'true', 'a'), /\[exit 0\]/);
    assert.match(await berth.runAs(one, 'true', 'c'), /in use or waited for from your network/);
    assert.match(await berth.runAs(two, 'true', 'b'), /in use or waited for from your network/);
    assert.match(await berth.runAs(one, 'true', 'b'), /\[exit 0\]/);
    assert.equal((await berth.health()).slots.occupied, 3);
  });
});

describe('one network in the queue', { skip: withoutBerth }, () => {
  serve({ pool: { slots: 1 }, sandbox: { warm: 0 }, abuse: { held_per_prefix: 2 } });

  it('takes no more places than it may hold slots', async () => {
    const owner = await (await pressFrom('192.0.2.1')).tokens();
    await berth.runAs(owner.access_token, 'true');
    const crowd = [];
    for (let i = 0; i < 3; i++) crowd.push((await (await pressFrom(`198.51.100.${i}`)).tokens()).access_token);
    assert.match(await berth.runAs(crowd[0], 'true'), /^\[queue\] position 1 of 1/);
    assert.match(await berth.runAs(crowd[1], 'true'), /^\[queue\] position 2 of 2/);
    assert.match(await berth.runAs(crowd[2], 'true'), /in use or waited for from your network/);
    assert.equal((await pressFrom('198.51.100.9')).status, 429);
    const other = await (await pressFrom('203.0.113.1')).tokens();
    assert.match(await berth.runAs(other.access_token, 'true'), /^\[queue\] position 3 of 3/);
    // Those who wait keep their places however often they ask.
    assert.match(await berth.runAs(crowd[0], 'true'), /^\[queue\] position 1 of 3/);
    assert.equal((await berth.health()).queue.length, 3);
  });
});

describe('X-Forwarded-For of somebody who is no proxy of ours', { skip: withoutBerth }, () => {
  serve({ server: { trusted_proxies: '192.0.2.1' }, abuse: { new_per_hour: 2 } });

  it('is not believed', async () => {
    for (let i = 0; i < 4; i++) assert.equal((await pressFrom(`10.${i}.0.1`)).status, i < 2 ? 303 : 429);
  });
});

describe('rates', { skip: withoutBerth }, () => {
  serve({ pool: { slots: 2 } });

  /** Asks until it is too much: the answer, and how often it was not. */
  async function until429(ask, most) {
    // The bucket fills while it is emptied.
    for (let n = 0; n <= 3 * most + 20; n++) {
      const answer = await ask(n);
      if (answer.status === 429) return { answer, n };
      await answer.arrayBuffer();
    }
    return assert.fail(`never too much, after ${most} requests`);
  }

  it('each endpoint has one, and says so in its own way; others are served meanwhile', { timeout: 300000 }, async () => {
    const me = await signIn(berth.newcomer());
    const client = me.client.client_id;
    const json = { 'content-type': 'application/json' };
    const rows = [
      ['/.well-known/oauth-authorization-server', 600, (from) => from.fetch('/.well-known/oauth-authorization-server')],
      ['/register', 600, (from) => from.fetch('/register', { method: 'POST', headers: { ...from.headers, ...json }, body: '{}' })],
      ['/revoke', 600, (from) => from.post('/revoke', { token: 'x', client_id: client })],
      ['/token', 300, (from) => from.fetch('/token', { method: 'POST' })],
      ['/token of others’ tokens', 60, (from) => from.post('/token', { grant_type: 'refresh_token', refresh_token: 'sbr_x', client_id: client })],
      ['new clients', 30, (from, n) => from.fetch('/register', {
        method: 'POST', headers: { ...from.headers, ...json }, body: JSON.stringify({ redirect_uris: ['https://a.example/cb'], client_name: `n${n}` }),
      })],
      ['/authorize', 60, (from) => from.fetch('/authorize')],
      ['the button', 20, (from) => from.post('/authorize', { request: 'x' })],
    ];
    for (const [name, most, ask] of rows) {
      const from = berth.newcomer();
      const { answer, n } = await until429((round) => ask(from, round), most);
      assert.ok(n >= most, `${name}: ${n}`);
      assert.ok(Number(answer.headers.get('retry-after')) >= 1, name);
      const text = await answer.text();
      if (/authorize|button/.test(name)) assert.match(text, /A little slower, please/);
      else assert.equal(JSON.parse(text).error, 'temporarily_unavailable', name);
      assert.notEqual((await ask(berth.newcomer(), n + 1)).status, 429, name);
    }
    // Registered before: welcome however many came, and the owner's tokens are renewed.
    assert.equal((await register(berth.newcomer(), me.client)).client_id, client);
    assert.equal((await refresh(berth.newcomer(), me.client, me.refresh_token)).status, 200);
    const started = Date.now();
    assert.equal((await site.fetch('/health')).status, 200);
    assert.ok(Date.now() - started < 2000);
    assert.ok((await berth.metrics()).berth_rate_limited_total >= rows.length);
  });
});

describe('a thousand connections that send nothing more', { skip: withoutBerth }, () => {
  serve({ pool: { slots: 2 } });

  it('in the middle of a head or of a body, on every endpoint: others sign in and work meanwhile', { timeout: 300000 }, async (t) => {
    const { hostname, port } = new URL(site.origin);
    const sockets = [];
    t.after(() => sockets.forEach((socket) => socket.destroy()));
    const starts = ['/token', '/register', '/revoke', '/authorize', '/mcp', '/health', '/.well-known/oauth-authorization-server'].flatMap((path) => [
      `POST ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-`,
      `POST ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\ngrant_type=`,
      'GET / HT',
      '',
    ]);
    for (let i = 0; i < 1000; i++) {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => {});
      socket.write(starts[i % starts.length]);
      sockets.push(socket);
    }
    await eventually(async () => (await berth.health()).connections > 500);
    const started = Date.now();
    const me = await signIn(berth.newcomer());
    assert.match(await berth.runAs(me.access_token, 'true'), /\[exit 0\]/);
    assert.ok(Date.now() - started < 10000);
  });
});

describe('registrations', { skip: withoutBerth }, () => {
  serve({ abuse: { max_clients: 100 } });

  it('have a bound, and those in use stay', async () => {
    const me = await signIn(berth.newcomer());
    for (let i = 0; i < 99; i++) await register(i % 20 ? site.from(`10.200.${i >> 4}.1`) : berth.newcomer(), { client_name: `flood ${i}` });
    await assert.rejects(register(berth.newcomer(), { client_name: 'one too many' }), ({ answer, body }) => {
      assert.equal(answer.status, 429);
      assert.ok(Number(answer.headers.get('retry-after')) > 0);
      assert.equal(body.error, 'temporarily_unavailable');
      return true;
    });
    assert.equal((await berth.metrics()).berth_oauth_clients, 100);
    assert.ok(statSync(`${berth.dir}/server/berth.db`).size < 1 << 20);
    assert.equal((await refresh(site, me.client, me.refresh_token)).status, 200);
    await signIn(berth.newcomer(), { client: me.client });
  });
});

describe('proof of work', { skip: withoutBerth }, () => {
  const BITS = 10;
  serve({ abuse: { proof_of_work_bits: BITS } });

  it('none, wrong, of another page: refused with words; once done, one sandbox', async () => {
    const client = await register(site);
    const open = () => openPage(site, authorizeUrl(site, client, { code_challenge: newVerifier().challenge }));
    const [one, two] = [await open(), await open()];
    assert.match(one.html, /Please turn on JavaScript for it, or come back later/);
    const work = rightWork(one, BITS);
    for (const fields of [{}, { work: '' }, { work: 'x' }, { work: '9'.repeat(21) }]) {
      const { status, html } = await press(site, one, fields);
      assert.equal(status, 403);
      assert.match(html, /small computation/);
    }
    const other = rightWork(two, BITS);
    if (other !== work) assert.equal((await press(site, two, { work })).status, 403);
    const first = await press(site, one, { work });
    assert.equal(first.status, 303);
    assert.equal((await press(site, one, { work })).location, first.location);
    assert.equal((await berth.metrics()).berth_presses_total, 1);
  });
});

describe('the e-mail field', { skip: withoutBerth }, () => {
  let box;
  before(async () => (box = await Mailbox.start()));
  after(() => box?.stop());

  describe('with mail', () => {
    before(async () => {
      berth = await PublicBerth.start({
        pool: { slots: 1 }, sandbox: { warm: 0 }, mail: { relay: box.relay, from: 'berth@relay.example', per_hour: 1 },
      });
      site = berth.site;
    });
    after(() => berth?.stop());
    const ADDRESS = 'visitor.name@mail.example';
    const OTHER = 'another.name@mail.example';
    let owner, one, two;

    it('is not there while a sandbox is free', async () => {
      const answer = await pressFrom('192.0.2.1', { email: 'uninvited@mail.example' });
      assert.equal(answer.status, 303);
      assert.doesNotMatch(answer.page.html, /E-mail/);
      owner = await answer.tokens();
      await berth.runAs(owner.access_token, 'true');
    });

    it('is there when all are taken, and takes nothing but a plain address', async () => {
      for (const email of ['a@b', 'a@b.example\r\nBcc: x@y.example', 'a@b.example%0d%0aBcc:x@y.example', 'a@b.example,c@d.example', '<x@y.example>',
        '"x"@y.example', 'x@[127.0.0.1]', `${'a'.repeat(300)}@b.example`, 'ü@b.example']) {
        const { status, html } = await pressFrom('192.0.2.2', { email });
        assert.equal(status, 422, email);
        assert.match(html, /We cannot write to this address/);
      }
      one = await pressFrom('192.0.3.1', { email: ADDRESS });
      assert.equal(one.status, 303);
      assert.match(one.page.html, /E-mail/);
      assert.match(one.page.html, /All sandboxes are taken/);
      one = await one.tokens();
      assert.match(await berth.runAs(one.access_token, 'true'), /^\[queue\] position 1 of 1/);
    });

    it('says the same whatever becomes of the address', async () => {
      two = await pressFrom('192.0.4.1', { email: ADDRESS.toUpperCase() });
      assert.equal(two.status, 303);
      two = await two.tokens();
      assert.match(await berth.runAs(two.access_token, 'true'), /^\[queue\] position 2 of 2/);
      assert.equal((await berth.metrics()).berth_mails_waiting, 1);
    });

    it('keeps the address in locked memory only', () => {
      assert.ok(berth.remembers('berthd', 'sandbox')); // it is found if it is there
      assert.ok(!berth.remembers('berthd', ADDRESS.split('@')[0]));
    });

    it('leads to one message when the sandbox is there, to one recipient, with nothing of the app in it', async () => {
      assert.equal(box.messages.length, 0);
      berth.admin('revoke', 'principal', berth.guests()[0]);
      const [message] = await eventually(() => box.messages.length && box.messages);
      assert.deepEqual(message.to, [ADDRESS]);
      assert.equal(message.from, 'berth@relay.example');
      assert.doesNotMatch(message.text, /Limits|guest-|sba_/);
      assert.match(await berth.runAs(one.access_token, 'true'), /\[exit 0\]/);
      assert.equal((await berth.metrics()).berth_mails_waiting, 0);
    });

    it('is gone when the hour’s messages are used up', async () => {
      const answer = await pressFrom('192.0.5.1', { email: OTHER });
      assert.equal(answer.status, 303);
      assert.doesNotMatch(answer.page.html, /E-mail/);
      assert.equal((await berth.metrics()).berth_mails_waiting, 0);
      // The next in the queue gets the sandbox, and nobody a message.
      berth.admin('revoke', 'principal', berth.guests()[0]);
      await eventually(async () => /\[exit 0\]/.test(await berth.runAs(two.access_token, 'true')));
      assert.equal(box.messages.length, 1);
    });

    it('leaves the address nowhere', () => {
      for (const [where, text] of [['log', berth.log], ['disk', berth.diskText()]])
        for (const address of [ADDRESS, OTHER, 'uninvited@mail.example', ADDRESS.split('@')[0]])
          assert.ok(!text.toLowerCase().includes(address), `${address} is in the ${where}`);
    });
  });

  describe('after a restart', () => {
    before(async () => {
      berth = await PublicBerth.start({ pool: { slots: 1 }, sandbox: { warm: 0 }, mail: { relay: box.relay, from: 'berth@relay.example' } });
      site = berth.site;
    });
    after(() => berth?.stop());

    it('addresses are gone, places are not', async () => {
      const owner = await (await pressFrom('192.0.2.1')).tokens();
      await berth.runAs(owner.access_token, 'true');
      const waiting = await (await pressFrom('192.0.3.1', { email: 'forgotten@mail.example' })).tokens();
      assert.match(await berth.runAs(waiting.access_token, 'true'), /^\[queue\]/);
      assert.equal((await berth.metrics()).berth_mails_waiting, 1);
      const before = box.messages.length;
      await berth.crash();
      assert.equal((await berth.metrics()).berth_mails_waiting, 0);
      assert.match(await berth.runAs(waiting.access_token, 'true'), /^\[queue\] position 1 of 1/);
      assert.ok(!berth.diskText().includes('forgotten@'));
      berth.admin('revoke', 'principal', berth.guests()[0]);
      await eventually(async () => /\[exit 0\]/.test(await berth.runAs(waiting.access_token, 'true')));
      assert.equal(box.messages.length, before);
    });
  });

  describe('without mail', () => {
    serve({ pool: { slots: 1 }, sandbox: { warm: 0 } });

    it('is never there', async () => {
      const owner = await (await pressFrom('192.0.2.1')).tokens();
      await berth.runAs(owner.access_token, 'true');
      const answer = await pressFrom('192.0.3.1', { email: 'nobody@mail.example' });
      assert.equal(answer.status, 303);
      assert.doesNotMatch(answer.page.html, /E-mail/);
    });
  });
});

describe('a slot', { skip: withoutBerth }, () => {
  serve({ pool: { slots: 1 }, sandbox: { idle: 10, warm: 0 } });

  it('is not kept by refreshing alone', { timeout: 300000 }, async () => {
    let me = await signIn(berth.newcomer());
    const { client } = me;
    const key = keyOf(await berth.runAs(me.access_token, 'echo mine >marker'));
    const next = await signIn(berth.newcomer());
    assert.match(await berth.runAs(next.access_token, 'true'), /^\[queue\]/);
    await eventually(async () => {
      me = (await refresh(site, client, me.refresh_token)).body;
      return (await token(site, { grant_type: 'x', client_id: client.client_id })).status === 400 &&
        !(await berth.runAs(next.access_token, 'true')).startsWith('[queue]');
    }, { every: 500 });
    assert.match(await berth.runAs(me.access_token, 'true'), /^\[queue\]/);
    berth.admin('revoke', 'principal', berth.guests()[0]);
    const text = await eventually(async () => {
      const answer = await berth.runAs(me.access_token, 'cat marker 2>&1');
      return answer.startsWith('[queue]') ? undefined : answer;
    });
    // The same key, since it is made from the principal, but nothing is left of what was there.
    assert.equal(keyOf(text), key);
    assert.match(text, /No such file/);
    assert.equal((await site.fetch('/mcp', { method: 'DELETE', headers: bearer(me.access_token) })).status, 405);
  });
});
