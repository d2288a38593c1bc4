// Anonymous visitors of a public server: each signs in from an address of its own, behind a proxy,
// and works in the one sandbox it gets.
import { connect } from 'node:net';
import { join } from 'node:path';
import { callTool } from '../e2e/lib/mcp.mjs';
import { OauthServer, register, signIn } from '../e2e/lib/oauth.mjs';

/** Runs `job` for each of `items`, `atOnce` at a time. */
export async function each(items, job, atOnce = 16) {
  const todo = [...items];
  const work = async () => {
    while (todo.length) await job(todo.shift());
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

/** In random order. */
export function shuffled(items) {
  const all = [...items];
  for (let i = all.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [all[i], all[j]] = [all[j], all[i]];
  }
  return all;
}

/** A command of the administration socket; rejects when there is no answer, or it is a failure. */
export function admin(berth, command, more = {}) {
  return new Promise((done, fail) => {
    let text = '';
    const socket = connect(join(berth.dir, 'run/admin.sock'), () => socket.write(`${JSON.stringify({ command, ...more })}\n`));
    socket.setEncoding('utf8').on('data', (chunk) => (text += chunk).endsWith('\n') && socket.end());
    socket.on('error', fail);
    socket.on('close', () => {
      try {
        const answer = JSON.parse(text);
        if (!answer.ok) throw new Error(answer.error);
        done(answer);
      } catch (error) {
        fail(error);
      }
    });
  });
}

/** The application's side of sign-in, from a visitor's address. */
function from(berth, address) {
  const headers = { 'x-forwarded-for': address };
  return {
    origin: berth.origin,
    issuer: berth.origin,
    post: OauthServer.prototype.post,
    fetch: (path, options = {}) =>
      fetch(new URL(path, berth.origin), { redirect: 'manual', ...options, headers: { ...options.headers, ...headers } }),
    headers,
  };
}

export class Visitor {
  constructor(berth, number, token, address) {
    this.berth = berth;
    this.name = `v${number}`;
    this.headers = { Authorization: `Bearer ${token}`, 'X-Forwarded-For': address };
  }

  /** `count` of them, signed in. */
  static async arrive(berth, count) {
    const client = await register(from(berth, '10.255.255.1'));
    const all = [];
    await each(Array.from({ length: count }, (_, i) => i), async (i) => {
      const address = `10.${i >> 8}.${i & 255}.1`;
      const server = from(berth, address);
      const { access_token: token } = await signIn(server, { client, headers: server.headers });
      all.push(new Visitor(berth, i, token, address));
    });
    return all;
  }

  /**
   * Says what it finds of others in its sandbox, and leaves its own mark everywhere:
   * { position, length } while it waits, else { key, found: [names] }.
   */
  async call() {
    const command = `cat /workspace/mark /root/mark /tmp/mark 2>/dev/null; for d in /workspace /root /tmp; do echo ${this.name} >$d/mark; done; true`;
    const result = await callTool(this.berth.url, 'run_command', { command }, { headers: this.headers });
    const { text } = result.content[0];
    const place = text.match(/^\[queue\] position (\d+) of (\d+), /);
    if (place) return { position: Number(place[1]), length: Number(place[2]) };
    const box = text.match(/^\[sandbox ([^\]]+)\].* \[exit 0\]\n/);
    if (!box) throw new Error(text);
    this.key = box[1];
    return { key: this.key, found: text.split('\n').filter((line) => /^v\d+$/.test(line) && line !== this.name) };
  }

  /** Its sandbox is taken from it. */
  leave() {
    return admin(this.berth, 'empty', { key: this.key });
  }
}
