// The real server as a public one: visitors sign in, and the proxy on loopback says where from.
import { Berth, merge } from './berth.mjs';
import { callTool, post, request } from './mcp.mjs';
import { Site } from './oauth.mjs';

const DEFAULTS = {
  server: { profile: 'public' },
  pool: { queue_hold: 0 },
  sandbox: { allow_unlimited: 'yes', idle: 3600, warm: 1, memory: '256M', processes: 64 },
  // Out of the way of tests of something else.
  abuse: { new_per_hour: 0, held_per_prefix: 0 },
};

export const bearer = (token) => ({ Authorization: `Bearer ${token}` });

/** The key of the sandbox that answered. */
export const keyOf = (text) => text.match(/^\[sandbox ([^\]]+)\]/)[1];

export class PublicBerth extends Berth {
  visitors = 0;

  static start(over = {}, options) {
    return super.start(merge(DEFAULTS, over), options);
  }

  /** For the steps of sign-in (lib/oauth.mjs). */
  get site() {
    return new Site(this.origin);
  }

  /** The site as a visitor sees it who comes from a network of his own. */
  newcomer() {
    this.visitors++;
    return this.site.from(`10.${this.visitors >> 8}.${this.visitors & 255}.7`);
  }

  /** run_command with a token: the text; its first line is "[sandbox …] … [exit 0]". */
  async runAs(token, command, sandbox) {
    return (await callTool(this.url, 'run_command', { command, sandbox }, { headers: bearer(token) })).content[0].text;
  }

  /** 200, 401, … of a call with this token, over a connection of its own. */
  async statusOf(token) {
    return (await post(this.url, request('tools/list'), bearer(token))).status;
  }

  async health() {
    return (await this.site.fetch('/health')).json();
  }

  /** berth_… of /metrics as { 'name{label}': number }. */
  async metrics() {
    const text = await (await this.site.fetch('/metrics')).text();
    const rows = text.split('\n').filter((line) => line && !line.startsWith('#'));
    return Object.fromEntries(rows.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
  }

  /** Who has a sandbox. */
  guests() {
    return [...new Set(this.admin('status', '--json').match(/guest-[0-9a-f]{40}/g))];
  }
}
