// GET /metrics of the real server, as Prometheus reads it.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { get } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';

const promtool = process.env.BERTH_PROMTOOL ?? 'promtool';
const withoutPromtool = spawnSync(promtool, ['--version']).error ? 'needs promtool (of the package prometheus, or set BERTH_PROMTOOL)' : false;

const SAMPLE = /^([a-z_]+)(\{[a-z]+="[^"\\\n]+"(,[a-z]+="[^"\\\n]+")*\})? (-?\d+(\.\d+)?(e[+-]?\d+)?|NaN|\+Inf)$/;

describe('/metrics', { skip: withoutBerth }, () => {
  let berth, answer, text;
  before(async () => {
    berth = await Berth.start();
    await berth.sh('true');
    answer = await fetch(`${berth.origin}/metrics`);
    text = await answer.text();
  });
  after(() => berth?.stop());

  it('is of the type that Prometheus asks for', () => {
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get('content-type'), /^text\/plain; version=0\.0\.4/);
    assert.ok(text.endsWith('\n'));
  });

  it('has help, a type and samples for each name, together, each once', () => {
    const seen = new Set();
    const samples = new Set();
    let family;
    for (const line of text.trimEnd().split('\n')) {
      const comment = line.match(/^# (HELP|TYPE) (berth_[a-z_]+) (.+)$/);
      if (comment?.[1] === 'HELP') {
        family = { name: comment[2] };
        assert.ok(!seen.has(family.name), `${family.name} comes twice`);
        seen.add(family.name);
      } else if (comment) {
        assert.equal(comment[2], family.name);
        assert.match(comment[3], /^(gauge|counter)$/);
        assert.equal(comment[3] === 'counter', family.name.endsWith('_total'), `${family.name} is a ${comment[3]}`);
      } else {
        const sample = line.match(SAMPLE);
        assert.ok(sample, line);
        assert.equal(sample[1], family.name);
        const id = line.slice(0, line.lastIndexOf(' '));
        assert.ok(!samples.has(id), `${id} comes twice`);
        samples.add(id);
      }
    }
    assert.ok(samples.has('berth_up'));
    assert.ok(seen.size > 20);
  });

  it('promtool finds nothing to say about it', { skip: withoutPromtool }, () => {
    const said = execFileSync(promtool, ['check', 'metrics'], { input: text, encoding: 'utf8' });
    assert.equal(said, '');
  });

  it('is not for a page whose name leads to loopback', async () => {
    const status = (host) =>
      new Promise((done, fail) => {
        get(`${berth.origin}/metrics`, { headers: { Host: host } }, (res) => done(res.resume().statusCode)).on('error', fail);
      });
    assert.equal(await status('rebound.example:8000'), 401);
    assert.equal(await status('localhost'), 200);
  });

  it('is for loopback without a proxy, or for an operator', async () => {
    const from = { 'X-Forwarded-For': '192.0.2.7' };
    assert.equal((await fetch(`${berth.origin}/metrics`, { headers: from })).status, 401);
    assert.equal((await fetch(`${berth.origin}/metrics`, { headers: { ...from, ...berth.headers } })).status, 200);
  });
});
