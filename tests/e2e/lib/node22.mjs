// Some official tools need Node 22; the test dependencies bring one.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { e2eDir } from './programs.mjs';

const brought = join(e2eDir, `node_modules/node-linux-${process.arch}/bin/node`);

/** Path of a Node of version 22 or later, or undefined. */
export const node22 =
  Number(process.versions.node.split('.')[0]) >= 22 ? process.execPath : existsSync(brought) ? brought : undefined;

/** For `{ skip: ... }` of a test. */
export const withoutNode22 = node22 ? false : 'needs Node 22';
