// Debian's nginx and Caddy, with the configurations of packaging/.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, Program, repoDir } from './programs.mjs';

/** A key and a certificate for localhost, in `dir`: { key, cert }, paths. */
export function certificate(dir) {
  const files = { key: join(dir, 'key.pem'), cert: join(dir, 'cert.pem') };
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost',
    '-addext', 'subjectAltName=DNS:localhost', '-keyout', files.key, '-out', files.cert], { stdio: 'ignore' });
  return files;
}

/** A site of packaging/ for nginx as an operator adapts it, inside a main configuration without root. */
function nginxConfig(dir, { site, port, backend, key, cert, secret = '', adapt = (text) => text }) {
  const adapted = readFileSync(join(repoDir, 'packaging', site), 'utf8')
    .replaceAll('@host@', 'localhost')
    .replaceAll('@secret@', secret)
    .replace('server 127.0.0.1:8000;', `server ${backend};`)
    .replace('listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`)
    .replace(/^.*listen \[::\].*\n/gm, '')
    .replace('listen 80;', `listen unix:${dir}/plain.sock;`)
    .replace('/etc/ssl/berth/fullchain.pem', cert)
    .replace('/etc/ssl/berth/privkey.pem', key)
    .replace('/var/log/nginx/berth.log', `${dir}/access.log`);
  const temps = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${dir}/${name};`).join('\n');
  const file = join(dir, 'nginx.conf');
  writeFileSync(join(dir, 'site.conf'), adapt(adapted));
  writeFileSync(file, `user root;\nworker_processes 1;\npid ${dir}/pid;\nerror_log ${dir}/error.log;\nevents {}\nhttp {\n${temps}\ninclude ${dir}/site.conf;\n}\n`);
  return file;
}

/** A site for Caddy likewise, with a certificate of ours and nothing outside `dir`. */
function caddyConfig(dir, { site, port, backend, key, cert, secret = '' }) {
  const adapted = readFileSync(join(repoDir, 'packaging', site), 'utf8')
    .replace(/^@host@ \{/m, `https://localhost:${port} {\n\tbind 127.0.0.1\n\ttls ${cert} ${key}`)
    .replace(/^http:\/\/@host@ \{/m, `http://localhost {\n\tbind unix/${dir}/plain.sock`)
    .replaceAll('@host@', 'localhost')
    .replaceAll('@secret@', secret)
    .replaceAll('127.0.0.1:8000', backend)
    .replace('/var/log/caddy/berth.log', `${dir}/access.log`);
  const file = join(dir, 'Caddyfile');
  writeFileSync(file, `{\n\tadmin off\n\tauto_https off\n\tstorage file_system ${dir}/storage\n}\n${adapted}`);
  return file;
}

/** What can stand in front of Berth: `site` is for a server with a token, `publicSite` for sign-in. */
export const PROXIES = [
  {
    name: 'nginx',
    program: '/usr/sbin/nginx',
    site: 'nginx.conf',
    publicSite: 'nginx-public.conf',
    start: async (dir, options) => {
      const program = new Program('/usr/sbin/nginx', ['-p', dir, '-e', `${dir}/error.log`, '-c', nginxConfig(dir, options), '-g', 'daemon off;']);
      await eventually(() => existsSync(join(dir, 'pid')));
      return program;
    },
    complaints: (dir) => readFileSync(join(dir, 'error.log'), 'utf8'),
  },
  {
    name: 'Caddy',
    program: '/usr/bin/caddy',
    site: 'Caddyfile',
    publicSite: 'Caddyfile-public',
    start: async (dir, options) => {
      const program = new Program('/usr/bin/caddy', ['run', '--adapter', 'caddyfile', '--config', caddyConfig(dir, options)], { env: { ...process.env, HOME: dir } });
      await program.waitFor(/serving initial configuration/, { from: 'stderr' });
      return program;
    },
    complaints: () => '',
  },
];
