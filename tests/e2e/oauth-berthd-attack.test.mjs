// Attempts to get into somebody else's sandbox at the real server, and what a run leaves behind.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { withoutBerth } from './lib/berth.mjs';
import { Mailbox } from './lib/mailbox.mjs';
import { callTool, META, modern, post, request } from './lib/mcp.mjs';
import { authorizeUrl, exchange, newVerifier, openPage, press, refresh, register, signIn } from './lib/oauth.mjs';
import { eventually } from './lib/programs.mjs';
import { bearer, keyOf, PublicBerth } from './lib/public-berth.mjs';

const MARK = 'the-secret-of-the-victim';

let berth, site;
const serve = (over) => {
  before(async () => {
    berth = await PublicBerth.start(over);
    site = berth.site;
  });
  after(() => berth?.stop());
};

/** A tool call: its text, or the protocol's error as text. */
const tool = (token, name, args, options = {}) =>
  callTool(berth.url, name, args, { ...options, headers: { ...bearer(token), ...options.headers } }).then(
    ({ content }) => content.map((part) => part.text ?? '').join('\n'), (error) => String(error));
const linkOf = (text, kind) => text.match(new RegExp(`http:\\S+/${kind}/\\S+`))?.[0] ?? assert.fail(text);

/** Somebody with a sandbox that holds a secret, a job and links. */
async function victim() {
  const me = await signIn(berth.newcomer());
  const access = me.access_token;
  const key = keyOf(await berth.runAs(access, `echo ${MARK} >/workspace/secret.txt`));
  const job = await tool(access, 'run_command', { command: 'sleep 1000', background: true });
  const [, number] = job.match(/job (\d+)/i);
  return {
    ...me, key, job: Number(number),
    download: linkOf(await tool(access, 'present_file', { path: 'secret.txt' }), 'dl'),
    upload: linkOf(await tool(access, 'request_upload', {}), 'up'),
    stillFine: async () => assert.equal(keyOf(await berth.runAs(access, `grep -q ${MARK} /workspace/secret.txt`)), key),
  };
}

describe('from outside', { skip: withoutBerth }, () => {
  let me, thief;
  serve({ pool: { slots: 8 } });
  before(async () => {
    if (withoutBerth) return;
    me = await victim();
    thief = await signIn(berth.newcomer());
    await berth.runAs(thief.access_token, 'true');
  });

  it('the victim’s key, job and files, asked for with another token', async () => {
    const mine = thief.access_token;
    for (const [name, args] of [
      ['run_command', { command: 'cat secret.txt', sandbox: me.key }],
      ['read_file', { path: 'secret.txt', sandbox: me.key }],
      ['read_file', { path: `../../${me.key}/workspace/secret.txt` }],
      ['read_file', { path: '/../../../secret.txt' }],
      ['present_file', { path: 'secret.txt' }],
      ['read_file', { path: 'secret.txt' }],
      ['job', { job: me.job }],
      ['job', { job: me.job, action: 'stop' }],
      ['job', { job: me.job, action: 'stdin', stdin: 'x' }],
      ['reset_sandbox', { what: 'everything', sandbox: me.key }],
      ['grep', { pattern: 'secret', path: '/' }],
      ['sandbox_info', {}],
    ]) {
      const text = await tool(mine, name, args);
      assert.ok(!text.includes(MARK), `${name}: ${text}`);
    }
    await me.stillFine();
    assert.match(await tool(me.access_token, 'job', { job: me.job, wait_seconds: 0 }), /running|still/i);
  });

  it('claims to be the victim, in headers, sessions and metadata', async () => {
    const who = berth.guests();
    const own = keyOf(await berth.runAs(thief.access_token, 'true'));
    for (const name of who)
      for (const headers of [
        { 'Mcp-Session-Id': name }, { 'X-Principal': name }, { 'X-Forwarded-User': name }, { Cookie: `berth=${me.page.cookie}` },
        { 'X-Forwarded-For': '127.0.0.1' }, { 'Mcp-Param-Sandbox': me.key }, { 'X-Original-Authorization': `Bearer ${me.access_token}` },
        { 'Proxy-Authorization': `Bearer ${me.access_token}` },
      ])
        assert.equal(keyOf(await tool(thief.access_token, 'run_command', { command: 'true' }, { headers })), own);
    for (const meta of [{ principal: who[0] }, { [`${META}principal`]: who[0], [`${META}sandbox`]: me.key }])
      assert.equal(keyOf(await tool(thief.access_token, 'run_command', { command: 'true' }, { meta })), own);
    const { body, headers } = modern('tools/call', { name: 'run_command', arguments: { command: 'true' } }, { meta: { [`${META}principal`]: who[0] } });
    assert.ok((await post(berth.url, body, { ...headers, ...bearer(thief.access_token) })).text.includes(own));
  });

  it('what is no access token of the victim, and tokens where none belong', async () => {
    const access = me.access_token;
    const [principal] = berth.guests();
    for (const token of [me.refresh_token, principal, me.key, me.client.client_id, me.code, access.slice(0, -1), `${access}0`, access.toUpperCase(),
      `sba_${randomBytes(32).toString('hex')}`, berth.token, access.slice(4), `${access} `, ''])
      if (token.trim() !== access) assert.equal(await berth.statusOf(token), 401, token);
    const list = request('tools/list');
    for (const url of [`${berth.url}?access_token=${access}`, `${berth.url}?token=${access}`]) assert.equal((await post(url, list)).status, 401);
    assert.equal((await post(berth.url, list, { Cookie: `access_token=${access}` })).status, 401);
    assert.equal((await post(berth.url, { ...list, access_token: access })).status, 401);
    for (const Authorization of [`Basic ${Buffer.from(`x:${access}`).toString('base64')}`, `Token ${access}`, access,
      [`Bearer ${thief.access_token}`, `Bearer ${access}`]])
      assert.ok([400, 401].includes((await post(berth.url, list, { Authorization })).status), String(Authorization));
    assert.equal((await post(`${berth.url}/`, list, { Authorization: `Bearer ${access}`, Host: 'evil.example' })).status, 403);
    assert.equal((await post(berth.url, list, { Authorization: `Bearer ${access}`, Origin: 'https://evil.example' })).status, 403);
  });

  it('links: another’s key, path and time under a good signature', async () => {
    await berth.runAs(thief.access_token, 'echo thief >/workspace/secret.txt');
    const own = linkOf(await tool(thief.access_token, 'present_file', { path: 'secret.txt' }), 'dl');
    const mine = keyOf(await berth.runAs(thief.access_token, 'true'));
    const [, expiry, signature] = own.match(/\/dl\/(\d+)\/([^/]+)\//);
    const [, , theirs] = me.download.match(/\/dl\/(\d+)\/([^/]+)\//);
    for (const url of [own.replace(mine, me.key), own.replace(`/${mine}/`, `/${mine}/../${me.key}/`), own.replace(expiry, `${Number(expiry) + 1}`),
      me.download.replace(theirs, signature), me.download.replace('/dl/', '/up/'), own.replace(mine, `${mine}%2f..%2f${me.key}`)]) {
      const answer = await fetch(url);
      assert.notEqual(answer.status, 200, url);
      assert.ok(!(await answer.text()).includes(MARK));
    }
    assert.equal(await (await fetch(me.download)).text(), `${MARK}\n`);
    const upload = linkOf(await tool(thief.access_token, 'request_upload', {}), 'up');
    assert.notEqual((await fetch(`${upload.replace(mine, me.key)}evil.txt`, { method: 'PUT', body: 'x' })).status, 201);
    await me.stillFine();
  });

  it('refresh and revocation with somebody else’s client, a guess, a family that is known', async () => {
    const other = await register(berth.newcomer(), { client_name: 'Thief' });
    const [, family] = me.refresh_token.split('_');
    for (const client of [other, me.client])
      for (const guess of [`sbr_${family}_${randomBytes(32).toString('hex')}`, `sbr_${family}_${thief.refresh_token.slice(-64)}`, me.access_token]) {
        assert.equal((await refresh(berth.newcomer(), client, guess)).body.error, 'invalid_grant');
        if (client === other || guess.startsWith('sbr_')) await site.post('/revoke', { token: guess, client_id: client.client_id });
      }
    assert.equal((await refresh(berth.newcomer(), other, me.refresh_token)).body.error, 'invalid_grant');
    await site.post('/revoke', { token: me.refresh_token, client_id: other.client_id });
    await site.post('/revoke', { token: me.access_token, client_id: other.client_id });
    await me.stillFine();
  });

  it('the press: another browser’s page, another’s code, another’s verifier', async () => {
    const client = await register(site, { client_name: 'Press' });
    const { verifier, challenge } = newVerifier();
    const page = await openPage(site, authorizeUrl(site, client, { code_challenge: challenge }));
    const own = newVerifier();
    const foreign = await openPage(site, authorizeUrl(site, client, { code_challenge: own.challenge }));
    assert.equal((await press(site, { ...page, cookie: foreign.cookie })).status, 403);
    assert.equal((await press(site, page, {}, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' })).status, 403);
    const { code } = await press(site, page);
    assert.equal((await exchange(site, client, code, own.verifier)).body.error, 'invalid_grant');
    const theirs = (await exchange(site, client, code, verifier)).body;
    const key = keyOf(await berth.runAs(theirs.access_token, 'true'));
    assert.ok(![me.key, keyOf(await berth.runAs(thief.access_token, 'true'))].includes(key));
  });

  it('many at once, each with several calls and renewals under way: nobody meets anybody', { timeout: 300000 }, async () => {
    const people = await Promise.all(Array.from({ length: 4 }, async (_, i) => ({ ...(await signIn(berth.newcomer())), mark: `mark-${i}` })));
    await Promise.all(people.map((one) => berth.runAs(one.access_token, `echo ${one.mark} >/workspace/mark`)));
    const keys = await Promise.all(people.map(async (one) => {
      const seen = new Set();
      for (let round = 0; round < 3; round++) {
        const [renewed, ...texts] = await Promise.all([
          refresh(site, one.client, one.refresh_token), ...[1, 2, 3].map(() => berth.runAs(one.access_token, 'cat /workspace/mark')),
        ]);
        Object.assign(one, renewed.body);
        for (const text of texts) {
          assert.match(text, new RegExp(`^${one.mark}$`, 'm'));
          seen.add(keyOf(text));
        }
      }
      return [...seen];
    }));
    assert.deepEqual(keys.map((list) => list.length), [1, 1, 1, 1]);
    assert.equal(new Set(keys.flat()).size, 4);
    await me.stillFine();
  });
});

describe('the next owner of a slot', { skip: withoutBerth }, () => {
  serve({ pool: { slots: 1 }, sandbox: { warm: 0 } });

  it('finds nothing of the one before, who keeps nothing of it', async () => {
    const me = await victim();
    await tool(me.access_token, 'run_command', { command: `while :; do echo ${MARK} >>/workspace/secret.txt; touch /tmp/${MARK}; sleep 0.05; done`, background: true });
    const waiting = fetch(me.download.replace(/\/dl\//, '/dl/'));
    await (await waiting).arrayBuffer();
    berth.admin('revoke', 'principal', berth.guests()[0]);
    const next = await signIn(berth.newcomer());
    const text = await eventually(async () => {
      const answer = await berth.runAs(next.access_token, `ls -A /workspace /tmp; ps -e -o args; grep -rs ${MARK.slice(0, 9)} /workspace /tmp /root /var/tmp`);
      return answer.startsWith('[queue]') ? undefined : answer;
    });
    assert.ok(!text.replace(/grep -rs \S+/g, '').includes(MARK.slice(0, 9)), text);
    assert.doesNotMatch(text, /sleep/);
    assert.notEqual(keyOf(text), me.key);
    // The old tokens, links and jobs lead nowhere, least of all into the new sandbox.
    await berth.runAs(next.access_token, 'echo theirs >/workspace/secret.txt');
    assert.equal(await berth.statusOf(me.access_token), 401);
    assert.equal((await refresh(site, me.client, me.refresh_token)).body.error, 'invalid_grant');
    for (const [url, options] of [[me.download], [`${me.upload}x.txt`, { method: 'PUT', body: 'x' }], [me.upload]]) {
      const answer = await fetch(url, options);
      assert.ok([404, 410].includes(answer.status), `${answer.status} ${url}`);
      assert.ok(!(await answer.text()).includes('theirs'));
    }
    for (const job of [me.job, me.job + 1]) assert.ok(!(await tool(next.access_token, 'job', { job })).includes(me.key));
    assert.match(await berth.runAs(next.access_token, 'ls -A /workspace'), /^secret\.txt$/m);
  });
});

describe('what a run leaves behind', { skip: withoutBerth }, () => {
  let box;
  before(async () => (box = await Mailbox.start()));
  after(() => box?.stop());
  before(async () => {
    berth = await PublicBerth.start({
      server: { log_level: 'debug' }, auth: { methods: 'oauth,token' }, pool: { slots: 1 }, sandbox: { warm: 0 },
      mail: { relay: box.relay, from: 'berth@relay.example' },
    });
    site = berth.site;
  });
  after(() => berth?.stop());

  const secrets = new Map();
  const keep = (what, ...values) => values.forEach((value) => secrets.set(value, what));

  it('no token, code, cookie, verifier or address, neither in the log nor on disk', async () => {
    const visitor = '203.0.113.77';
    keep('visitor', visitor);
    for (let i = 0; i < 3; i++) {
      const me = await signIn(site.from(visitor), { parameters: { state: `state-${i}-${randomBytes(8).toString('hex')}` } });
      await berth.runAs(me.access_token, 'true');
      const next = (await refresh(site.from(visitor), me.client, me.refresh_token)).body;
      await berth.runAs(next.access_token, 'true');
      await refresh(site.from(visitor), me.client, me.refresh_token.slice(0, -3));
      if (i === 1) await exchange(site.from(visitor), me.client, me.code, me.verifier);
      if (i === 2) await site.from(visitor).post('/revoke', { token: next.refresh_token, client_id: me.client.client_id });
      keep('state', new URL(me.location).searchParams.get('state'));
      keep('code', me.code);
      keep('verifier', me.verifier);
      keep('cookie', me.page.cookie.split('=')[1]);
      keep('page', me.page.request.slice(0, 60));
      keep('access token', me.access_token, next.access_token, me.access_token.slice(4), next.access_token.slice(4));
      keep('refresh token', me.refresh_token, next.refresh_token, me.refresh_token.slice(-64), next.refresh_token.slice(-64));
      keep('client', me.client.client_id);
    }
    const from = site.from(visitor);
    await post(berth.url, request('tools/list'), { ...bearer(`sba_${'0'.repeat(64)}`), ...from.headers });
    await post(berth.url, request('tools/list'), { ...bearer(berth.token), ...from.headers, Host: 'evil.example' });
    await openPage(from, `${berth.origin}/authorize?client_id=x`);
    const client = await register(site);
    const email = 'visitor.name@secret.example';
    const { verifier, challenge } = newVerifier();
    const page = await openPage(from, authorizeUrl(from, client, { code_challenge: challenge }));
    assert.match(page.html, /E-mail/);
    const { code } = await press(from, page, { email });
    const { body } = await exchange(from, client, code, verifier);
    await berth.runAs(body.access_token, 'true');
    keep('e-mail', email, 'visitor.name', code, body.access_token, body.refresh_token);
    keep('static token', berth.token, berth.token.slice(4));
    const info = await tool(berth.token, 'sandbox_info', {});
    assert.ok(!info.includes(berth.token.slice(4)));
    const where = { log: berth.log, disk: berth.diskText() };
    await berth.crash();
    Object.assign(where, { 'log after a crash': berth.log, 'disk after a crash': berth.diskText() });
    for (const [name, text] of Object.entries(where))
      for (const [secret, what] of secrets) {
        assert.ok(!text.includes(secret), `${what} in the ${name}`);
        if (/^([0-9a-f]{2})+$/.test(secret)) assert.ok(!text.includes(Buffer.from(secret, 'hex').toString('latin1')), `${what} as bytes in the ${name}`);
      }
    // What the operator needs is there: the network, the endpoint, the error.
    assert.match(where.log, /oauth: POST "\/mcp" from 203\.0\.113\.0\/24 gets 401: invalid_token/);
    assert.match(where.log, /oauth: POST "\/token" from 203\.0\.113\.0\/24 gets 400: invalid_grant/);
    assert.match(where.log, /guest-[0-9a-f]{40} signed in, client [0-9a-f]{12}\n/);
    assert.doesNotMatch(where.log, /sb[art]_[0-9a-f]{8}|code=|state=|Bearer /);
    for (const name of ['server/berth.db', 'server/link.key']) assert.equal(statSync(`${berth.dir}/${name}`).mode & 0o077, 0, name);
    assert.equal(statSync(`${berth.dir}/server`).mode & 0o077, 0);
  });

  it('no core file, and no other process of the same user looks into its memory', async () => {
    const [pid] = berth.pids('berthd');
    const user = Number(readFileSync(`/proc/${pid}/status`, 'latin1').match(/^Uid:\s+(\d+)/m)[1]);
    assert.notEqual(user, 0);
    // What the kernel thinks may not be dumped is root's.
    assert.equal(statSync(`/proc/${pid}/mem`).uid, 0);
    for (const file of ['mem', 'maps', 'environ', 'fd/0'])
      assert.throws(() => execFileSync('setpriv', [`--reuid=${user}`, '--clear-groups', 'head', '-c1', `/proc/${pid}/${file}`], { stdio: 'pipe' }),
        /Permission denied|Operation not permitted/, file);
    // Where the host lets us: a limit of 0 would prevent it, too.
    spawnSync('prlimit', ['--core=unlimited', '--pid', String(pid)]);
    process.kill(pid, 'SIGABRT');
    // 6 is the signal; with 128 a core would have been written.
    await berth.server.waitFor(/berthd ended \(signal 6\)/, { from: 'stderr' });
    await eventually(async () => (await site.fetch('/health').catch(() => ({}))).status === 200);
  });
});
