// What must never pass the request gate: each row is a way in which two parsers could disagree.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { connect, exchange, startEcho } from './http-echo.mjs'

let server
before(async () => {
  server = await startEcho()
})
after(async () => {
  assert.deepEqual(await server.stop(), { code: 0, signal: null })
})

const H = 'Host: x\r\n'
const P = `POST /echo HTTP/1.1\r\n${H}`
const C = `${P}Transfer-Encoding: chunked\r\n\r\n`
// If the server took the body of a refused request for a request, it would answer this.
const smuggled = `GET /info/smuggled HTTP/1.1\r\n${H}\r\n`

const refused = [
  ['Content-Length and Transfer-Encoding', `${P}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
  ['two different Content-Length', `${P}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc`, 400],
  ['two equal Content-Length', `${P}Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc`, 400],
  ['Content-Length +5', `${P}Content-Length: +5\r\n\r\nabcde`, 400],
  ['Content-Length list', `${P}Content-Length: 5, 5\r\n\r\nabcde`, 400],
  ['chunk size 0x3', `${C}0x3\r\nabc\r\n0\r\n\r\n`, 400],
  ['chunk extension', `${C}3;x\r\nabc\r\n0\r\n\r\n`, 400],
  ['chunk too long', `${C}3\r\nabcd\r\n0\r\n\r\n`, 400],
  ['trailer', `${C}0\r\nX: y\r\n\r\n`, 400],
  ['Transfer-Encoding xchunked', `${P}Transfer-Encoding: xchunked\r\n\r\n`, 501],
  ['Transfer-Encoding gzip, chunked', `${P}Transfer-Encoding: gzip, chunked\r\n\r\n`, 501],
  ['Transfer-Encoding in HTTP/1.0', `POST /echo HTTP/1.0\r\n${H}Transfer-Encoding: chunked\r\n\r\n`, 400],
  ['bare LF line ends', 'GET /info HTTP/1.1\nHost: x\n\n', 400],
  ['bare LF in the fields', 'GET /info HTTP/1.1\r\nHost: x\nX: y\r\n\r\n', 400],
  ['space before colon', 'GET /info HTTP/1.1\r\nHost : x\r\n\r\n', 400],
  ['folded header', `GET /info HTTP/1.1\r\n${H}X: a\r\n b\r\n\r\n`, 400],
  ['NUL in a value', `GET /info HTTP/1.1\r\n${H}X: a\0b\r\n\r\n`, 400],
  ['control byte in a value', `GET /info HTTP/1.1\r\n${H}X: a\x01b\r\n\r\n`, 400],
  ['no Host', 'GET /info HTTP/1.1\r\n\r\n', 400],
  ['two Host', `GET /info HTTP/1.1\r\n${H}${H}\r\n`, 400],
  ['absolute form', `GET http://x/info HTTP/1.1\r\n${H}\r\n`, 400],
  ['not HTTP', '\x16\x03\x01\x02\x00\x01', 400],
  ['HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  ['HTTP/1.2', `GET /info HTTP/1.2\r\n${H}\r\n`, 505],
  ['long target', `GET /${'a'.repeat(9000)} HTTP/1.1\r\n${H}\r\n`, 414],
  ['many parameters', `GET /info?${'&'.repeat(200)} HTTP/1.1\r\n${H}\r\n`, 414],
  ['200 KiB of headers', `GET /info HTTP/1.1\r\n${H}X: ${'a'.repeat(200 * 1024)}\r\n\r\n`, 431],
  ['many headers', `GET /info HTTP/1.1\r\n${H}${'X: y\r\n'.repeat(200)}\r\n`, 431],
  ['other expectation', `${P}Expect: tea\r\nContent-Length: 1\r\n\r\n`, 417],
]

for (const [name, text, status] of refused)
  test(`refused: ${name}`, async () => {
    const answer = await exchange(server.port, text + smuggled)
    assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `))
    assert.match(answer, /\r\nConnection: close\r\n/)
    assert.match(answer, new RegExp(`\r\n\r\n${status}: .+\n$`))
    assert.equal(answer.match(/HTTP\/1\.1 \d/g).length, 1, answer)
  })

test('refused after good requests on the same connection', async () => {
  const answer = await exchange(server.port, `${P}Content-Length: 2\r\n\r\nok${C}zz\r\n${smuggled}`)
  assert.match(answer, /^HTTP\/1\.1 200 OK[^]*\r\n\r\nokHTTP\/1\.1 400 /)
  assert.doesNotMatch(answer, /smuggled/)
})

test('the largest head that is allowed gets through', async () => {
  const fields = Array.from({ length: 95 }, (_, i) => `X-${i}: ${'v'.repeat(150)}\r\n`).join('')
  const target = `/info/${'a'.repeat(8000)}?${'&'.repeat(100)}`
  const answer = await exchange(server.port, `GET ${target} HTTP/1.1\r\n${H}Connection: close\r\n${fields}\r\n`)
  assert.match(answer, /^HTTP\/1\.1 200 /)
  assert.match(answer, /X-94: v{150}\n/)
})

test('hostile cookies do not stop the server', async () => {
  const answer = await exchange(server.port, `GET /info HTTP/1.1\r\n${H}Connection: close\r\nCookie: ${'a=b;'.repeat(3900)}\r\n\r\n`)
  assert.ok(answer === '' || /^HTTP\/1\.1 \d\d\d /.test(answer), answer.slice(0, 200))
})

test('a request in single bytes', async () => {
  const raw = connect(server.port, { noDelay: true })
  for (const byte of `${C}3\r\nabc\r\n0\r\n\r\n`) await raw.send(byte)
  await raw.match(/\r\n\r\nabc$/)
  raw.socket.destroy()
})

test('HTTP/1.0 is answered and closed', async () => {
  const answer = await exchange(server.port, 'GET /info HTTP/1.0\r\nConnection: keep-alive\r\n\r\n')
  assert.match(answer, /^HTTP\/1\.[01] 200 /)
})

test('pipelined requests are answered in order', async () => {
  const body = (i) => `body-${i};`
  const one = (i) => `${P}Content-Length: ${body(i).length}\r\n\r\n${body(i)}`
  const texts = Array.from({ length: 50 }, (_, i) => one(i)).join('')
  const raw = connect(server.port)
  await raw.send(`${texts}GET /late HTTP/1.1\r\n${H}\r\nGET /sse3 HTTP/1.1\r\n${H}\r\n${one(50)}`)
  await raw.match(/body-50;$/)
  const bodies = raw.text.match(/body-\d+;|late\n|\r\n0\r\n\r\n/g)
  assert.deepEqual(bodies, [...Array.from({ length: 50 }, (_, i) => body(i)), 'late\n', '\r\n0\r\n\r\n', body(50)])
  raw.socket.destroy()
})
