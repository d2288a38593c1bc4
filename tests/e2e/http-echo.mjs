// The test server (tests/servers/http_echo.c) and raw clients for it.
import { spawn } from 'node:child_process'
import net from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const build = process.env.BERTH_BUILD ?? fileURLToPath(new URL('../../build', import.meta.url))

/** Resolves with the first value of `find` that is not undefined, looked for at each `wake`. */
class Waiter {
  #waiting = new Set()

  wake() {
    for (const check of this.#waiting) check()
  }

  until(find, what, ms = 10000) {
    return new Promise((resolve, reject) => {
      const check = () => {
        const value = find()
        if (value === undefined) return
        clearTimeout(timer)
        this.#waiting.delete(check)
        resolve(value)
      }
      const timer = setTimeout(() => {
        this.#waiting.delete(check)
        reject(new Error(`timed out: ${what()}`))
      }, ms)
      this.#waiting.add(check)
      check()
    })
  }
}

/** Starts the server; time-outs in milliseconds as { head, body, idle, write }. */
export async function startEcho({ head = 0, body = 0, idle = 0, write = 0, connections = 1000 } = {}) {
  const child = spawn(`${build}/tests/servers/http_echo`, [head, body, idle, write, connections].map(String), {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = []
  const waiter = new Waiter()
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    waiter.wake()
  })
  // Not 'exit': what the server said last may then still be in the pipe.
  const exit = new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal })))
  const until = (find, what) => waiter.until(find, what)
  const first = await until(() => lines.find((l) => l.startsWith('port ')), () => 'no port')
  const port = Number(first.slice(5))
  return {
    pid: child.pid,
    port,
    base: `http://127.0.0.1:${port}`,
    /** Waits for the n-th line of that text. */
    said: (text, n = 1) =>
      until(
        () => (lines.filter((l) => l === text).length >= n ? true : undefined),
        () => `no ${n}. "${text}" in ${JSON.stringify(lines)}`,
      ),
    count: (text) => lines.filter((l) => l === text).length,
    /** Resolves with how it ended, when all that it said has been read. May be called again. */
    async stop() {
      child.stdin.end()
      return exit
    },
  }
}

/** A raw connection that keeps what it gets. */
export function connect(port, options = {}) {
  const socket = net.connect({ port, host: '127.0.0.1', ...options })
  const waiter = new Waiter()
  const raw = {
    socket,
    text: '',
    ended: false,
    closed: false,
    error: undefined,
    send: (data) => new Promise((resolve) => socket.write(data, 'latin1', resolve)),
    /** Waits until what came matches; returns the match. */
    match: (pattern) =>
      waiter.until(
        () => raw.text.match(pattern) ?? undefined,
        () => `no ${pattern} in ${JSON.stringify(raw.text.slice(0, 2000))}`,
      ),
    /** Waits for the end of the connection; returns all that came. */
    end: () =>
      waiter.until(() => (raw.ended || raw.closed ? raw.text : undefined), () => `no end after ${raw.text.length}`),
  }
  socket.setEncoding('latin1')
  socket.on('data', (data) => {
    raw.text += data
    waiter.wake()
  })
  socket.on('end', () => {
    raw.ended = true
    waiter.wake()
  })
  socket.on('close', () => {
    raw.closed = true
    waiter.wake()
  })
  socket.on('error', (error) => {
    raw.error = error
  })
  return raw
}

/** Sends one text and returns all that comes until the server closes. */
export async function exchange(port, text) {
  const raw = connect(port)
  await raw.send(text)
  const answer = await raw.end()
  raw.socket.destroy()
  return answer
}

/** Resident memory of a process in bytes. The address sanitizer keeps what is freed: then 0. */
export async function memoryOf(pid) {
  if (process.env.BERTH_SANITIZED) return 0
  const { readFile } = await import('node:fs/promises')
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(status.match(/VmRSS:\s+(\d+) kB/)[1]) * 1024
}
