// The OAuth provider that an application gives to the official TypeScript clients, with its memory in
// plain sight.

export class Provider {
  constructor(redirectUrl = 'http://127.0.0.1:9999/callback') {
    this.redirectUrl = redirectUrl;
    this.events = [];
    this.saved = {};
    this.clientMetadata = {
      client_name: 'Provider of the tests',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  state() {
    return `st-${Math.random().toString(36).slice(2)}`;
  }

  clientInformation() {
    return this.saved.client;
  }

  saveClientInformation(client) {
    this.saved.client = client;
    this.events.push('client');
  }

  tokens() {
    return this.saved.tokens;
  }

  saveTokens(tokens) {
    this.saved.tokens = tokens;
    this.events.push('tokens');
  }

  codeVerifier() {
    return this.saved.verifier;
  }

  saveCodeVerifier(verifier) {
    this.saved.verifier = verifier;
  }

  discoveryState() {
    return this.saved.discovery;
  }

  saveDiscoveryState(discovery) {
    this.saved.discovery = discovery;
  }

  redirectToAuthorization(url) {
    this.authorizationUrl = url;
    this.events.push('redirect');
  }

  invalidateCredentials(kind) {
    this.events.push(`invalidate ${kind}`);
    if (kind === 'all' || kind === 'client') delete this.saved.client;
    if (kind === 'all' || kind === 'tokens') delete this.saved.tokens;
    if (kind === 'all' || kind === 'verifier') delete this.saved.verifier;
    if (kind === 'all' || kind === 'discovery') delete this.saved.discovery;
  }
}
