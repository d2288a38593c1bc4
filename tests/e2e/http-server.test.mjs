// The HTTP server with ordinary clients: routes, bodies, files, streams, keep-alive.
import assert from 'node:assert/strict'
import http from 'node:http'
import { after, before, test } from 'node:test'
import { connect, exchange, memoryOf, startEcho } from './http-echo.mjs'

let server
before(async () => {
  server = await startEcho()
})
after(async () => {
  assert.deepEqual(await server.stop(), { code: 0, signal: null })
})

const H = 'Host: x\r\n'
const get = (path, headers = {}) => fetch(server.base + path, { headers })

test('routes', async () => {
  assert.equal((await get('/nothing')).status, 404)
  assert.equal((await get('/echo/')).status, 404)
  const wrong = await fetch(`${server.base}/echo`, { method: 'DELETE' })
  assert.equal(wrong.status, 405)
  assert.equal(wrong.headers.get('allow'), 'POST, PUT, OPTIONS')
  const other = await fetch(`${server.base}/info`, { method: 'PATCH' })
  assert.equal(other.headers.get('allow'), 'GET, HEAD')
  const unknown = await exchange(server.port, `BREW /info HTTP/1.1\r\n${H}Connection: close\r\n\r\n`)
  assert.match(unknown, /^HTTP\/1\.1 405 /)
})

test('path and query stay as they were sent', async () => {
  const text = await (await get('/info/a%2Fb%00/c;d?x=%zz&y=+')).text()
  assert.match(text, /^GET path=\/info\/a%2Fb%00\/c;d query=x=%zz&y=\+ client=127\.0\.0\.1 local=1 https=0\n/)
})

test('HEAD is GET without the body', async () => {
  const answer = await exchange(server.port, `HEAD /info HTTP/1.1\r\n${H}Connection: close\r\n\r\n`)
  assert.match(answer, /^HTTP\/1\.1 200 /)
  assert.match(answer, /\r\nContent-Length: [1-9]/)
  assert.ok(answer.endsWith('\r\n\r\n'))
})

test('preflight', async () => {
  const asked = 'authorization, mcp-param-x'
  const answer = await fetch(`${server.base}/echo`, {
    method: 'OPTIONS',
    headers: { Origin: 'https://app.example', 'Access-Control-Request-Headers': asked },
  })
  assert.equal(answer.status, 204)
  assert.equal(answer.headers.get('access-control-allow-origin'), '*')
  assert.equal(answer.headers.get('access-control-allow-headers'), asked)
  assert.equal(answer.headers.get('access-control-allow-methods'), 'POST, OPTIONS')
})

test('forwarded client and scheme count from a trusted proxy', async () => {
  const headers = { 'X-Forwarded-For': '1.1.1.1, 198.51.100.7, 10.2.3.4', 'X-Forwarded-Proto': 'https' }
  const text = await (await get('/info', headers)).text()
  assert.match(text, / client=198\.51\.100\.7 local=0 https=1\n/)
})

test('keep-alive: one connection for many requests', async () => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const ports = new Set()
  for (let i = 0; i < 20; i++)
    await new Promise((resolve, reject) => {
      const path = i % 5 === 4 ? '/sse3' : '/info'
      const req = http.get(`${server.base}${path}`, { agent }, (res) => {
        ports.add(res.socket.localPort)
        res.resume().on('end', resolve)
      })
      req.on('error', reject)
    })
  assert.equal(ports.size, 1)
  agent.destroy()
})

test('bodies up to the limit of their route', async () => {
  const body = Buffer.alloc(4 * 1024 * 1024, 'x')
  const whole = await fetch(`${server.base}/echo`, { method: 'POST', body })
  assert.equal(whole.status, 200)
  assert.ok(Buffer.from(await whole.arrayBuffer()).equals(body))
})

test('a body that says it is too long is refused before it comes', async () => {
  const raw = connect(server.port)
  await raw.send(`POST /echo HTTP/1.1\r\n${H}Content-Length: 104857600\r\n\r\n`)
  assert.match(await raw.end(), /^HTTP\/1\.1 413 (?=[^]*Access-Control-Allow-Origin: \*\r\n)[^]*Connection: close\r\n/i)
  raw.socket.destroy()
})

test('a chunked body that grows too long is refused in the middle', async () => {
  const raw = connect(server.port)
  await raw.send(`POST /echo HTTP/1.1\r\n${H}Transfer-Encoding: chunked\r\n\r\n`)
  const chunk = `10000\r\n${'x'.repeat(65536)}\r\n`
  for (let i = 0; i < 80 && !raw.ended && !raw.closed; i++) await raw.send(chunk)
  assert.match(await raw.end(), /^HTTP\/1\.1 413 (?=[^]*Access-Control-Allow-Origin: \*\r\n)[^]*Connection: close\r\n/i)
  raw.socket.destroy()
})

test('a client that sends 100 MB regardless still reads the refusal', async () => {
  const before = await memoryOf(server.pid)
  const status = await new Promise((resolve, reject) => {
    const req = http.request(`${server.base}/echo`, { method: 'POST', headers: { 'Content-Length': 100e6 } }, (res) => {
      res.resume()
      resolve(res.statusCode)
    })
    let answered = false
    req.on('response', () => (answered = true))
    req.on('error', (error) => answered || reject(error))
    const block = Buffer.alloc(1e6)
    // Where the server takes it as fast as it comes, writing alone would leave no turn for reading.
    const more = (i) => (i < 100 && !req.destroyed ? req.write(block, () => setImmediate(more, i + 1)) : req.end())
    more(0)
  })
  assert.equal(status, 413)
  assert.ok((await memoryOf(server.pid)) - before < 8e6)
})

test('a 100 MB upload streams through bounded memory', async () => {
  const before = await memoryOf(server.pid)
  async function* blocks() {
    for (let i = 0; i < 100; i++) yield Buffer.alloc(1e6, i)
  }
  const answer = await fetch(`${server.base}/up`, { method: 'PUT', body: blocks(), duplex: 'half' })
  assert.equal(answer.status, 201)
  assert.equal(await answer.text(), '100000000\n')
  assert.ok((await memoryOf(server.pid)) - before < 8e6)
})

test('Expect: 100-continue, and a refusal in its place', async () => {
  const raw = connect(server.port)
  await raw.send(`PUT /up HTTP/1.1\r\n${H}Expect: 100-continue\r\nContent-Length: 3\r\n\r\n`)
  await raw.match(/^HTTP\/1\.1 100 Continue\r\n\r\n$/)
  await raw.send('abc')
  await raw.match(/HTTP\/1\.1 201 [^]*\r\n\r\n3\n$/)
  raw.socket.destroy()
  const no = connect(server.port)
  await no.send(`PUT /up HTTP/1.1\r\n${H}X-Refuse: 1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n`)
  assert.match(await no.end(), /^HTTP\/1\.1 403 [^]*refused at the head\n$/)
  no.socket.destroy()
})

test('an upload refused in the middle', async () => {
  const raw = connect(server.port)
  await raw.send(`PUT /up HTTP/1.1\r\n${H}X-Refuse-Body: 1\r\nContent-Length: 1000000\r\n\r\n`)
  await raw.send('x'.repeat(500000))
  assert.match(await raw.end(), /^HTTP\/1\.1 507 [^]*Connection: close\r\n[^]*refused in the middle\n$/i)
  assert.equal(server.count('gone upload'), 0)
  raw.socket.destroy()
})

test('files: whole, ranges, validators', async () => {
  const size = 1000000
  const rows = [
    [{}, 200, size, null],
    [{ Range: 'bytes=5-9' }, 206, 5, `bytes 5-9/${size}`],
    [{ Range: 'bytes=-10' }, 206, 10, `bytes ${size - 10}-${size - 1}/${size}`],
    [{ Range: `bytes=${size}-` }, 416, 0, `bytes */${size}`],
    [{ Range: 'bytes=0-1,5-6' }, 200, size, null],
    [{ Range: 'bytes=5-9', 'If-Range': '"abc"' }, 206, 5, `bytes 5-9/${size}`],
    [{ Range: 'bytes=5-9', 'If-Range': '"old"' }, 200, size, null],
    [{ 'If-None-Match': '"abc"' }, 304, 0, null],
    [{ 'If-None-Match': 'W/"x", W/"abc"', Range: 'bytes=5-9' }, 304, 0, null],
    [{ 'If-None-Match': '"x"' }, 200, size, null],
    [{ 'If-Modified-Since': 'Sun, 06 Nov 1994 08:49:37 GMT' }, 304, 0, null],
  ]
  const before = server.count('file done')
  for (const [headers, status, length, range] of rows) {
    const answer = await get('/file', headers)
    const text = await answer.text()
    assert.equal(answer.status, status, JSON.stringify(headers))
    assert.equal(text.length, length)
    assert.equal(answer.headers.get('content-range'), range)
    assert.equal(answer.headers.get('etag'), '"abc"')
    if (range && status === 206) assert.equal(text[0], String(Number(range.match(/\d+/)[0]) % 10))
  }
  await server.said('file done', before + rows.length)
  const head = await fetch(`${server.base}/file`, { method: 'HEAD' })
  assert.equal(head.headers.get('content-length'), String(size))
  assert.equal(head.headers.get('accept-ranges'), 'bytes')
})

test('a file that shrank ends the connection early', async () => {
  await assert.rejects(async () => (await get('/shrunk')).text())
})

test('a page', async () => {
  const answer = await get('/page')
  assert.match(await answer.text(), /<h1>&lt;Title&gt;<\/h1>\n<p[^>]*>a &amp; b<\/p>/)
  assert.match(answer.headers.get('content-security-policy'), /^default-src 'none'/)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
})

test('a stream that ends', async () => {
  const answer = await get('/sse3')
  assert.equal(answer.headers.get('content-type'), 'text/event-stream')
  assert.equal(await answer.text(), 'data: x\n\n'.repeat(3))
})

test('a stream to HTTP/1.0 ends with the connection', async () => {
  const answer = await exchange(server.port, 'GET /sse3 HTTP/1.0\r\n\r\n')
  assert.doesNotMatch(answer, /chunked/)
  assert.ok(answer.endsWith(`\r\n\r\n${'data: x\n\n'.repeat(3)}`))
})
