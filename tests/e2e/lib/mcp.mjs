// MCP by hand: exact requests, and answers as they came.
import http from 'node:http';

export const MODERN = '2026-07-28';
export const META = 'io.modelcontextprotocol/';

/** A legacy request object. */
export function request(method, params, id = 1) {
  return { jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) };
}

/** A modern request with its headers: { body, headers }, for post(). */
export function modern(method, params = {}, { id = 1, meta = {}, headers = {} } = {}) {
  const body = request(
    method,
    {
      ...params,
      _meta: {
        [`${META}protocolVersion`]: MODERN,
        [`${META}clientCapabilities`]: {},
        [`${META}clientInfo`]: { name: 'tests', version: '1' },
        ...meta,
      },
    },
    id,
  );
  const named = params.name === undefined ? {} : { 'Mcp-Name': params.name };
  return { body, headers: { 'MCP-Protocol-Version': MODERN, 'Mcp-Method': method, ...named, ...headers } };
}

/** Splits the text of an event stream into { comments, events: [{ field: value }] }. */
export function parseStream(text) {
  const comments = [];
  const events = [];
  for (const block of text.split('\n\n').filter((part) => part !== '')) {
    const event = {};
    for (const line of block.split('\n')) {
      if (line.startsWith(':')) comments.push(line);
      else {
        const colon = line.indexOf(': ');
        event[line.slice(0, colon)] = line.slice(colon + 2);
      }
    }
    if (Object.keys(event).length) events.push(event);
  }
  return { comments, events };
}

/** An answer whose head is there. `text` grows until `ended`. */
class Answer {
  constructor(req, res) {
    this.req = req;
    this.status = res.statusCode;
    this.headers = res.headers;
    this.text = '';
    this.listeners = new Set();
    res.setEncoding('utf8').on('data', (chunk) => {
      this.text += chunk;
      for (const listener of [...this.listeners]) listener();
    });
    this.ended = new Promise((done) => {
      res.on('end', () => done('complete'));
      res.on('error', () => done('broken'));
      res.on('close', () => done('broken'));
    });
  }

  /** Resolves when `text` holds `pattern`. */
  until(pattern) {
    return new Promise((done, fail) => {
      const look = () => {
        if (!pattern.test(this.text)) return;
        this.listeners.delete(look);
        done(this.text);
      };
      this.listeners.add(look);
      this.ended.then(() => fail(new Error(`the answer ended without ${pattern}: ${this.text}`)));
      look();
    });
  }

  get type() {
    return this.headers['content-type'];
  }

  get json() {
    return JSON.parse(this.text);
  }

  get stream() {
    return parseStream(this.text);
  }

  /** The messages of the stream, parsed. */
  get messages() {
    return this.stream.events.map((event) => JSON.parse(event.data));
  }

  /** Leaves without waiting for the rest. */
  leave() {
    this.req.destroy();
    return this.ended;
  }
}

/**
 * Sends a request and resolves to the Answer as soon as its head is there. `body` is text, bytes or
 * a value to be made JSON. A header of value undefined is not sent; an array is sent as several.
 */
export function send(url, { method = 'POST', body, headers = {}, signal } = {}) {
  const all = {
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    Accept: 'application/json, text/event-stream',
    ...headers,
  };
  const wanted = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  const bytes = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  return new Promise((done, fail) => {
    const req = http.request(url, { method, headers: wanted, signal, agent: false }, (res) => done(new Answer(req, res)));
    req.on('error', fail);
    req.end(bytes);
  });
}

/** The same, and waits for the end. */
export async function ask(url, options) {
  const answer = await send(url, options);
  await answer.ended;
  return answer;
}

/** A legacy POST of a body. */
export const post = (url, body, headers) => ask(url, { body, headers });

/** A legacy tools/call; resolves to its result. */
export async function callTool(url, name, args, { id = 1, headers, meta } = {}) {
  const answer = await post(url, request('tools/call', { name, arguments: args, _meta: meta }, id), headers);
  const message = answer.type === 'application/json' ? answer.json : answer.messages.at(-1);
  if (message.error) throw new Error(JSON.stringify(message.error));
  return message.result;
}
