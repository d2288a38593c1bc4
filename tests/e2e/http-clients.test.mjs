// Clients that leave, stall, trickle, never read, or come in crowds.
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { connect, exchange, memoryOf, startEcho } from './http-echo.mjs'

const H = 'Host: x\r\n'
let server
before(async () => {
  server = await startEcho({ head: 700, body: 1000, idle: 1500, write: 1500 })
})
after(async () => {
  assert.deepEqual(await server.stop(), { code: 0, signal: null })
})

/** Waits until only this question's own connection is left. */
async function untilAlone() {
  for (;;) {
    const raw = connect(server.port)
    await raw.send(`GET /count HTTP/1.1\r\n${H}Connection: close\r\n\r\n`)
    const answer = await raw.end()
    raw.socket.destroy()
    if (/\r\n\r\n1\n$/.test(answer)) return
  }
}

for (const how of ['destroy', 'resetAndDestroy']) {
  test(`an idle stream's client leaves (${how}): noticed at once`, async () => {
    const raw = connect(server.port)
    await raw.send(`GET /sse HTTP/1.1\r\n${H}\r\n`)
    await raw.match(/hello/)
    const n = server.count('gone stream')
    const since = Date.now()
    raw.socket[how]()
    await server.said('gone stream', n + 1)
    assert.ok(Date.now() - since < 500, `${Date.now() - since} ms`)
  })

  test(`a client leaves before its answer (${how}): noticed at once`, async () => {
    const n = server.count('gone wait')
    const raw = connect(server.port)
    await raw.send(`POST /wait HTTP/1.1\r\n${H}Content-Length: 2\r\n\r\n{}`)
    await server.said('waiting', n + 1)
    const since = Date.now()
    raw.socket[how]()
    await server.said('gone wait', n + 1)
    assert.ok(Date.now() - since < 500, `${Date.now() - since} ms`)
  })

  test(`a client leaves in the middle of an upload (${how})`, async () => {
    const n = server.count('gone upload')
    const raw = connect(server.port)
    await raw.send(`PUT /up HTTP/1.1\r\n${H}Content-Length: 100000\r\n\r\n${'x'.repeat(50000)}`)
    await server.said('uploading', n + 1)
    raw.socket[how]()
    await server.said('gone upload', n + 1)
  })
}

test('a client that only ends its sending side still gets its answer', async () => {
  const raw = connect(server.port, { allowHalfOpen: true })
  await raw.send(`GET /late HTTP/1.1\r\n${H}\r\n`)
  raw.socket.end()
  assert.match(await raw.end(), /^(HTTP\/1\.1 100 Continue\r\n\r\n)?HTTP\/1\.1 200 OK[^]*\r\n\r\nlate\n$/)
  raw.socket.destroy()
})

test('the same with a stream', async () => {
  const raw = connect(server.port, { allowHalfOpen: true })
  await raw.send(`GET /sse HTTP/1.1\r\n${H}\r\n`)
  await raw.match(/hello/)
  const n = server.count('gone stream')
  raw.socket.end()
  await raw.match(/\r\n2\r\n:\n\r\n$/)
  assert.equal(server.count('gone stream'), n)
  raw.socket.destroy()
  await server.said('gone stream', n + 1)
})

test('a client that ends its side in the middle of a request is dropped', async () => {
  const raw = connect(server.port, { allowHalfOpen: true })
  await raw.send(`POST /echo HTTP/1.1\r\n${H}Content-Length: 10\r\n\r\nabc`)
  raw.socket.end()
  assert.equal(await raw.end(), '')
  raw.socket.destroy()
})

test('a head that does not end in time: 408', async () => {
  const raw = connect(server.port)
  const drip = setInterval(() => raw.socket.write('a'), 100)
  await raw.send('GET /info HTTP/1.1\r\nX: ')
  assert.match(await raw.end(), /^HTTP\/1\.1 408 /)
  clearInterval(drip)
  raw.socket.destroy()
})

test('a body of a byte now and then: 408', async () => {
  const raw = connect(server.port)
  await raw.send(`POST /echo HTTP/1.1\r\n${H}Content-Length: 1000\r\n\r\n`)
  const drip = setInterval(() => raw.socket.write('a'), 100)
  assert.match(await raw.end(), /^HTTP\/1\.1 408 /)
  clearInterval(drip)
  raw.socket.destroy()
})

test('a connection without a request is closed', async () => {
  const raw = connect(server.port)
  assert.equal(await raw.end(), '')
  raw.socket.destroy()
})

test('an idle stream outlives every time-out', async () => {
  const raw = connect(server.port)
  await raw.send(`GET /sse HTTP/1.1\r\n${H}\r\n`)
  await raw.match(/hello/)
  // By then each time-out of a connection without a stream has passed: this one was opened later.
  await connect(server.port).end()
  await connect(server.port).end()
  assert.equal(raw.closed || raw.ended, false)
  raw.socket.destroy()
})

test('a client that never reads costs a bounded buffer and is dropped', async () => {
  const before = await memoryOf(server.pid)
  const n = server.count('gone stream')
  const clients = []
  for (const path of ['/flood', '/large', '/file', '/flood', '/large']) {
    const raw = connect(server.port)
    raw.socket.pause()
    await raw.send(`GET ${path} HTTP/1.1\r\n${H}\r\n`.repeat(path === '/large' ? 20 : 1))
    clients.push(raw)
  }
  await server.said('flood full', 2)
  assert.ok((await memoryOf(server.pid)) - before < 16e6)
  await server.said('gone stream', n + 2)
  await untilAlone()
  for (const raw of clients) raw.socket.destroy()
})

test('200 clients at once, half of them for streams', async () => {
  const clients = await Promise.all(
    Array.from({ length: 200 }, async (_, i) => {
      const raw = connect(server.port)
      const path = i % 2 ? '/sse' : '/late'
      await raw.send(`GET ${path} HTTP/1.1\r\n${H}\r\n`)
      await raw.match(i % 2 ? /hello/ : /late\n$/)
      return raw
    }),
  )
  const n = server.count('gone stream')
  for (const raw of clients) raw.socket.destroy()
  await server.said('gone stream', n + 100)
  await untilAlone()
})

test('at most so many connections: the rest wait, idle ones make room', async (t) => {
  const own = await startEcho({ connections: 3 })
  t.after(() => own.stop())
  const open = async (path, pattern) => {
    const raw = connect(own.port)
    await raw.send(`GET ${path} HTTP/1.1\r\n${H}\r\n`)
    if (pattern) await raw.match(pattern)
    return raw
  }
  const streams = [await open('/sse', /hello/), await open('/sse', /hello/)]
  const idle = await open('/count', /3\n$/)
  // The fourth gets its turn because the idle one has to go, the fifth when a stream ends.
  const fourth = await open('/sse', /hello/)
  assert.ok(idle.closed || idle.ended)
  const fifth = await open('/count')
  streams[0].socket.destroy()
  await fifth.match(/3\n$/)
  for (const raw of [...streams, idle, fourth, fifth]) raw.socket.destroy()
  assert.deepEqual(await own.stop(), { code: 0, signal: null })
})

test('a kept connection still works after its link was given up', async (t) => {
  const own = await startEcho()
  t.after(() => own.stop())
  const raw = connect(own.port)
  const descriptors = async () => (await readdir(`/proc/${own.pid}/fd`)).length
  await raw.send(`GET /count HTTP/1.1\r\n${H}\r\n`)
  await raw.match(/\r\n\r\n1\n$/)
  const busy = await descriptors()
  while ((await descriptors()) > busy - 2);
  raw.text = ''
  await raw.send(`GET /count HTTP/1.1\r\n${H}\r\n`)
  await raw.match(/\r\n\r\n1\n$/)
  raw.socket.destroy()
  await own.stop()
})

test('a quiet server finishes what it has', async (t) => {
  const own = await startEcho()
  t.after(() => own.stop())
  const [late, stream, idle] = [connect(own.port), connect(own.port), connect(own.port)]
  await late.send(`GET /late HTTP/1.1\r\n${H}\r\n`)
  await stream.send(`GET /sse HTTP/1.1\r\n${H}\r\n`)
  await stream.match(/hello/)
  await idle.send(`GET /count HTTP/1.1\r\n${H}\r\n`)
  await idle.match(/3\n$/)
  assert.match(await exchange(own.port, `POST /quiesce HTTP/1.1\r\n${H}Content-Length: 0\r\n\r\n`), /Connection: close/i)
  await idle.end()
  assert.match(await late.end(), /Connection: close\r\n[^]*late\n$/i)
  const refused = connect(own.port)
  await refused.end()
  assert.equal(refused.error?.code, 'ECONNREFUSED')
  assert.equal(stream.ended, false)
  // The end of the server ends the stream, and its owner hears of it.
  assert.deepEqual(await own.stop(), { code: 0, signal: null })
  assert.equal(own.count('gone stream'), 1)
  for (const raw of [late, stream, idle]) raw.socket.destroy()
})
