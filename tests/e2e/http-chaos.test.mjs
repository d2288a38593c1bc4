// Clients that do anything, from one seed: afterwards nothing is left, and nothing leaked.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect, startEcho } from './http-echo.mjs'

/** A small deterministic generator (mulberry32). */
function generator(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const H = 'Host: x\r\n'
const requests = [
  `GET /info?a=b HTTP/1.1\r\n${H}\r\n`,
  `HEAD /file HTTP/1.1\r\n${H}\r\n`,
  `GET /file HTTP/1.1\r\n${H}Range: bytes=-100\r\n\r\n`,
  `GET /shrunk HTTP/1.1\r\n${H}\r\n`,
  `GET /large HTTP/1.1\r\n${H}\r\n`,
  `GET /late HTTP/1.1\r\n${H}\r\n`,
  `GET /wait HTTP/1.1\r\n${H}\r\n`,
  `GET /sse HTTP/1.1\r\n${H}\r\n`,
  `GET /sse3 HTTP/1.1\r\n${H}\r\n`,
  `GET /sse3 HTTP/1.0\r\n\r\n`,
  `GET /flood HTTP/1.1\r\n${H}\r\n`,
  `GET /nothing HTTP/1.1\r\n${H}Connection: close\r\n\r\n`,
  `POST /echo HTTP/1.1\r\n${H}Content-Length: 5\r\n\r\nhello`,
  `POST /echo HTTP/1.1\r\n${H}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  `POST /echo HTTP/1.1\r\n${H}Content-Length: 99999999\r\n\r\nhello`,
  `POST /nothing HTTP/1.1\r\n${H}Content-Length: 5\r\n\r\nhello`,
  `PUT /up HTTP/1.1\r\n${H}Content-Length: 5\r\nExpect: 100-continue\r\n\r\nhello`,
  `PUT /up HTTP/1.1\r\n${H}X-Refuse: 1\r\nContent-Length: 5\r\n\r\nhello`,
  `PUT /up HTTP/1.1\r\n${H}X-Refuse-Body: 1\r\nContent-Length: 200000\r\n\r\n${'x'.repeat(200000)}`,
  `GET / HTTP/1.1\r\n\r\n`,
  `\x00\x01\x02`,
]

test('chaos', async (t) => {
  const server = await startEcho({ head: 500, body: 500, idle: 500, write: 500 })
  t.after(() => server.stop())
  const random = generator(20261129)
  const pick = (list) => list[Math.floor(random() * list.length)]

  async function client() {
    const raw = connect(server.port, { allowHalfOpen: random() < 0.5 })
    if (random() < 0.2) raw.socket.pause()
    let text = ''
    for (let n = 1 + Math.floor(random() * 4); n > 0; n--) text += pick(requests)
    if (random() < 0.2) text = text.slice(0, Math.floor(random() * text.length))
    while (text && !raw.closed) {
      const n = random() < 0.3 ? 1 + Math.floor(random() * 40) : text.length
      raw.socket.write(text.slice(0, n), 'latin1')
      text = text.slice(n)
      if (random() < 0.5) await new Promise(setImmediate)
    }
    const end = random()
    if (end < 0.3) await new Promise((resolve) => setTimeout(resolve, random() * 30))
    if (end < 0.5) raw.socket.end()
    if (end < 0.4) await new Promise((resolve) => setTimeout(resolve, random() * 30))
    // (After end(), resetAndDestroy() leaves the descriptor open.)
    if (end > 0.75) raw.socket.resetAndDestroy()
    else raw.socket.destroy()
  }

  async function crowd(clients) {
    for (let i = 0; i < clients; i++) await client()
  }
  await Promise.all(Array.from({ length: 20 }, () => crowd(25)))
  const latest = Date.now() + 30000
  for (;;) {
    assert.ok(Date.now() < latest, 'connections are left')
    const raw = connect(server.port)
    await raw.send(`GET /count HTTP/1.1\r\n${H}Connection: close\r\n\r\n`)
    const answer = await raw.end()
    raw.socket.destroy()
    assert.match(answer, /^HTTP\/1\.1 200 /)
    if (/\r\n\r\n1\n$/.test(answer)) break
  }
  // Every handler that kept a request heard that it was gone.
  await server.said('gone wait', server.count('waiting'))
  assert.deepEqual(await server.stop(), { code: 0, signal: null })
  assert.equal(server.count('gone wait'), server.count('waiting'))
})
