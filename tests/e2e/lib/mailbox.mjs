// An SMTP server that keeps what arrives (tests/mail/box.py).
import { join } from 'node:path';
import { freePort, Program, repoDir } from './programs.mjs';

export class Mailbox {
  static async start() {
    const box = new Mailbox();
    const port = await freePort();
    box.program = new Program('/usr/bin/python3', [join(repoDir, 'tests/mail/box.py'), String(port)]);
    await box.program.waitFor(/^ready$/m);
    box.relay = `smtp://127.0.0.1:${port}`;
    return box;
  }

  /** [{ from, to: […], text }] */
  get messages() {
    return this.program.stdout.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
  }

  stop() {
    return this.program.stop();
  }
}
