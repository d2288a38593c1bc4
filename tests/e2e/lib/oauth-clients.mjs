// Sign-in by the clients that people use, each with its own OAuth code, from the bare URL of a server
// to something that calls it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as modern from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { drive } from './oauth.mjs';
import { e2eDir, freePort, Program } from './programs.mjs';

/** The official TypeScript clients: what differs between them. */
export const KINDS = {
  '@modelcontextprotocol/client': {
    client: () => new modern.Client({ name: 'tests', version: '1' }),
    transport: (url, authProvider) => new modern.StreamableHTTPClientTransport(url, { authProvider }),
    finish: (transport, location) => transport.finishAuth(new URL(location).searchParams),
  },
  '@modelcontextprotocol/sdk': {
    client: () => new OldClient({ name: 'tests', version: '1' }),
    transport: (url, authProvider) => new OldTransport(url, { authProvider }),
    finish: (transport, location) => transport.finishAuth(new URL(location).searchParams.get('code')),
  },
};

/** Refused, through the page, connected: the client. `provider` is one of oauth-provider.mjs. */
export async function connect(kind, mcpUrl, provider) {
  const url = new URL(mcpUrl);
  const first = kind.transport(url, provider);
  const refusal = await kind.client().connect(first).then(() => undefined, (error) => error);
  if (!/[Uu]nauthorized/.test(refusal)) throw refusal ?? new Error('connected without signing in');
  await kind.finish(first, await drive(provider.authorizationUrl));
  const client = kind.client();
  await client.connect(kind.transport(url, provider));
  return client;
}

export const insecure = { [oauth.allowInsecureRequests]: true };

/** oauth4webapi: { as, client, tokens, additionalParameters } for what comes after. */
export async function signInByOauth4webapi(mcpUrl) {
  const mcp = new URL(mcpUrl);
  const callback = 'http://127.0.0.1:9998/callback';
  const resource = await oauth.processResourceDiscoveryResponse(mcp, await oauth.resourceDiscoveryRequest(mcp, insecure));
  const issuer = new URL(resource.authorization_servers[0]);
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }));
  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(as, { redirect_uris: [callback] }, insecure));
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const url = new URL(as.authorization_endpoint);
  const parameters = {
    client_id: client.client_id, redirect_uri: callback, response_type: 'code', code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256', state, scope: 'sandbox', resource: resource.resource,
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  const answer = oauth.validateAuthResponse(as, client, new URL(await drive(url)), state);
  const additionalParameters = { resource: resource.resource };
  const tokens = await oauth.processAuthorizationCodeResponse(as, client,
    await oauth.authorizationCodeGrantRequest(as, client, oauth.None(), answer, callback, verifier, { additionalParameters, ...insecure }));
  return { as, client, tokens, additionalParameters };
}

/** openid-client: { config, tokens }. */
export async function signInByOpenidClient(origin) {
  const callback = 'http://127.0.0.1:9997/callback';
  const config = await openid.dynamicClientRegistration(new URL(origin),
    { redirect_uris: [callback], client_name: 'oc', token_endpoint_auth_method: 'none' }, openid.None(),
    { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] });
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const expectedState = openid.randomState();
  const resource = `${origin}/mcp`;
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: callback, code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier), code_challenge_method: 'S256',
    state: expectedState, scope: 'sandbox', resource,
  });
  const tokens = await openid.authorizationCodeGrant(config, new URL(await drive(url)), { pkceCodeVerifier, expectedState }, { resource });
  return { config, tokens };
}

/** mcp-remote as a child process, past `initialize`; MCP over its standard input and output. */
export class McpRemote {
  static async connect(t, mcpUrl) {
    const remote = new McpRemote();
    const dir = mkdtempSync(join(tmpdir(), 'berth-mcp-remote-'));
    const port = await freePort();
    remote.id = 0;
    remote.program = new Program(process.execPath, [join(e2eDir, 'node_modules/mcp-remote/dist/proxy.js'), mcpUrl, String(port)], {
      env: { ...process.env, MCP_REMOTE_CONFIG_DIR: dir, BROWSER: '/bin/true', DISPLAY: '' },
    });
    t.after(async () => {
      await remote.program.stop('SIGKILL');
      rmSync(dir, { recursive: true, force: true });
    });
    const hello = remote.request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'tests', version: '1' } });
    const [url] = await remote.program.waitFor(/http:\/\/127\.0\.0\.1:\d+\/authorize\?\S+(?=\s)/, { from: 'stderr' });
    const answer = await fetch(await drive(url));
    if (answer.status !== 200) throw new Error(`mcp-remote answered its callback with ${answer.status}`);
    await hello;
    remote.#send({ method: 'notifications/initialized' });
    return remote;
  }

  #send(message) {
    this.program.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  /** Resolves to the result. */
  async request(method, params) {
    const id = ++this.id;
    this.#send({ id, method, params });
    const [line] = await this.program.waitFor(new RegExp(`^.*"id":${id}[,}].*$`, 'm'));
    const { result, error } = JSON.parse(line);
    if (error) throw new Error(JSON.stringify(error));
    return result;
  }

  async callTool({ name, arguments: args }) {
    return this.request('tools/call', { name, arguments: args });
  }
}
