// Sign-in by hand: the test server, and each step of the flow as a function.
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Program, program } from './programs.mjs';

/** Limits out of the way, for tests of something else. */
const RELAXED = {
  new_per_hour: 0, held_per_prefix: 0, requests_per_minute: 0, pages_per_minute: 0, presses_per_minute: 0,
  tokens_per_minute: 0, token_failures_per_minute: 0, clients_per_hour: 0, clients_per_hour_all: 0,
};

/** Where a server that one can sign in at answers; each step of the flow takes one. */
export class Site {
  /** `headers` go with every request, for example those of a proxy. */
  constructor(origin, { issuer = origin, headers = {} } = {}) {
    this.origin = origin;
    this.issuer = issuer;
    this.url = `${origin}/mcp`;
    this.headers = headers;
  }

  /** The same site as a trusted proxy brings a visitor of this address to it. */
  from(address) {
    return new Site(this.origin, { issuer: this.issuer, headers: { ...this.headers, 'x-forwarded-for': address } });
  }

  fetch(path, { headers = {}, ...options } = {}) {
    return fetch(new URL(path, this.origin), { redirect: 'manual', headers: { ...this.headers, ...headers }, ...options });
  }

  post(path, form, headers = {}) {
    return this.fetch(path, { method: 'POST', body: new URLSearchParams(form), headers });
  }
}

/** tests/servers/oauth_server.c. Options are its NAME=VALUE pairs. */
export class OauthServer extends Site {
  constructor() {
    super('http://127.0.0.1');
  }

  static async start(options = {}, { relaxed = true } = {}) {
    const server = new OauthServer();
    server.dir = mkdtempSync(join(tmpdir(), 'berth-oauth-'));
    server.options = { ...(relaxed ? RELAXED : {}), ...options };
    server.log = '';
    server.port = 0;
    await server.start();
    return server;
  }

  async start() {
    const args = Object.entries({ ...this.options, port: this.port }).map(([name, value]) => `${name}=${value}`);
    this.program = new Program(program('tests/servers/oauth_server'), [join(this.dir, 'state.db'), ...args]);
    this.program.child.stdin.on('error', () => {});
    const [line, port] = await this.program.waitFor(/listening on 127\.0\.0\.1:(\d+)\n/);
    this.seen = this.program.stdout.indexOf(line) + line.length;
    this.port = Number(port);
    this.origin = `http://127.0.0.1:${port}`;
    this.issuer = this.options.issuer ?? this.origin;
    this.url = `${this.origin}/mcp`;
    this.queue = Promise.resolve();
  }

  /** One command of its standard input; resolves to the answer. Events are skipped. */
  command(text) {
    this.queue = this.queue.then(() => this.#command(text));
    return this.queue;
  }

  async #command(text) {
    this.program.child.stdin.write(`${text}\n`);
    for (;;) {
      const [, line] = await this.program.waitFor(new RegExp(`^[^]{${this.seen}}([^\\n]*)\\n`));
      this.seen += line.length + 1;
      if (!line.startsWith('*')) return line;
    }
  }

  /** What it said by itself so far: ["ended guest-…", "mail a@b guest-…"]. */
  get events() {
    return this.program.stdout.split('\n').filter((line) => line.startsWith('* ')).map((line) => line.slice(2));
  }

  async counts() {
    return JSON.parse(await this.command('counts'));
  }

  async advance(seconds) {
    await this.command(`advance ${seconds}`);
  }

  async end(signal) {
    await this.program.stop(signal);
    this.log += this.program.stdout + this.program.stderr;
    this.seen = 0;
  }

  /** Killed without a last word, then started again on the same state and port. */
  async crash() {
    await this.end('SIGKILL');
    await this.start();
  }

  async stop() {
    this.program.child.stdin.end();
    await this.end('SIGTERM');
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** Everything on disk, as one string of bytes. */
  diskText() {
    return readdirSync(this.dir).map((name) => readFileSync(join(this.dir, name), 'latin1')).join('\n');
  }

  diskModes() {
    return readdirSync(this.dir).map((name) => [name, statSync(join(this.dir, name)).mode & 0o777]);
  }
}

export const CALLBACK = 'http://127.0.0.1:9999/callback';

/** Registers and returns the answer's JSON; `status` must be 201. */
export async function register(server, metadata = {}, headers = {}) {
  const answer = await server.fetch('/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof metadata === 'string' ? metadata : JSON.stringify({ redirect_uris: [CALLBACK], client_name: 'Tests', ...metadata }),
  });
  const body = await answer.json();
  if (answer.status !== 201) throw Object.assign(new Error(`register: ${answer.status} ${body.error}`), { answer, body });
  return body;
}

export function newVerifier() {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** The URL that an app opens in the browser. A parameter that is null is left out. */
export function authorizeUrl(server, client, parameters = {}) {
  const url = new URL('/authorize', server.origin);
  const all = {
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: client.redirect_uris?.[0] ?? CALLBACK,
    code_challenge_method: 'S256',
    state: 'a state',
    resource: `${server.issuer}/mcp`,
    ...parameters,
  };
  for (const [name, value] of Object.entries(all)) if (value !== null) url.searchParams.set(name, value);
  return url;
}

const unescapeHtml = (text) =>
  text.replace(/&(amp|quot|lt|gt|#39|#x27);/g, (_, name) => ({ amp: '&', quot: '"', lt: '<', gt: '>', '#39': "'", '#x27': "'" })[name]);

/** The button page as a browser gets it: { status, html, request, cookie, headers }. */
export async function openPage(server, url, headers = {}) {
  const answer = await server.fetch(url, { headers });
  const html = await answer.text();
  const request = html.match(/name="request" value="([^"]*)"/)?.[1];
  return {
    status: answer.status,
    headers: answer.headers,
    html,
    request: request && unescapeHtml(request),
    cookie: answer.headers.getSetCookie().map((line) => line.split(';')[0]).join('; ') || headers.cookie,
  };
}

/** Presses the button of a page. `fields` and `headers` override what a browser would send. */
export async function press(server, page, fields = {}, headers = {}) {
  const sent = { cookie: page.cookie, origin: server.issuer, 'sec-fetch-site': 'same-origin', ...headers };
  const answer = await server.post(
    '/authorize',
    { request: page.request, ...fields },
    Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== null && value !== undefined)),
  );
  const location = answer.headers.get('location');
  return {
    status: answer.status,
    headers: answer.headers,
    html: await answer.text(),
    location,
    parameters: location ? new URL(location).searchParams : undefined,
    code: location ? new URL(location).searchParams.get('code') : undefined,
  };
}

/** POST /token: { status, body, headers }. */
export async function token(server, form, headers = {}) {
  const answer = await server.post('/token', form, headers);
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: JSON.parse(text), text };
}

export function exchange(server, client, code, verifier, more = {}) {
  return token(server, {
    grant_type: 'authorization_code', code, code_verifier: verifier, client_id: client.client_id,
    redirect_uri: client.redirect_uris[0], ...more,
  });
}

export function refresh(server, client, refreshToken, more = {}) {
  return token(server, {
    grant_type: 'refresh_token', refresh_token: refreshToken, client_id: client.client_id, ...more,
  });
}

/** From nothing to a code: { client, verifier, page, code, location }. */
export async function pressed(server, { client, parameters, headers } = {}) {
  const { verifier, challenge } = newVerifier();
  const app = client ?? (await register(server));
  const page = await openPage(server, authorizeUrl(server, app, { code_challenge: challenge, ...parameters }), headers);
  if (page.status !== 200) throw new Error(`page: ${page.status} ${page.html}`);
  const answer = await press(server, page, {}, headers);
  if (answer.status !== 303) throw new Error(`press: ${answer.status} ${answer.html}`);
  return { client: app, verifier, page, code: answer.code, location: answer.location };
}

/** From nothing to tokens: { client, access_token, refresh_token, … }. */
export async function signIn(server, options) {
  const at = await pressed(server, options);
  const answer = await exchange(server, at.client, at.code, at.verifier);
  if (answer.status !== 200) throw new Error(`token: ${answer.status} ${answer.text}`);
  return { ...at, ...answer.body };
}

/** POST /mcp with a token: the principal that the server saw, or the status. */
export async function whoami(server, accessToken, headers = {}) {
  const answer = await server.fetch('/mcp', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(accessToken ? { authorization: `Bearer ${accessToken}` } : {}),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami', arguments: {} } }),
  });
  const text = await answer.text();
  if (answer.status !== 200) return answer.status;
  const json = JSON.parse(text.startsWith('{') ? text : text.split('\n').find((line) => line.startsWith('data: ')).slice(6));
  return json.result.content[0].text;
}

/** Plays the browser of a real client: opens the page, presses, returns the Location. */
export async function drive(url, server = new Site(new URL(url).origin)) {
  const page = await openPage(server, url);
  if (page.status !== 200) throw new Error(`page: ${page.status} ${page.html}`);
  const answer = await press(server, page);
  if (answer.status !== 303) throw new Error(`press: ${answer.status} ${answer.html}`);
  return answer.location;
}

/** An app that waits on loopback: { url, arrived }, `arrived` resolves to the callback's URL. */
export async function callbackServer(t, reply = (req, res) => res.end('You can close this tab.')) {
  const server = createServer();
  const arrived = new Promise((done) => {
    server.on('request', (req, res) => {
      if (req.url.startsWith('/callback')) done({ url: new URL(req.url, origin), method: req.method, headers: req.headers });
      reply(req, res);
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const origin = `http://127.0.0.1:${server.address().port}`;
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin, url: `${origin}/callback`, arrived };
}
