// Many users at once, each with a token of its own: none ever sees a file of another.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Berth, withoutBerth } from './lib/berth.mjs';

const USERS = 32;
const CALLS_AT_ONCE = 32; // of one user: as many as are allowed

describe('users', { skip: withoutBerth }, () => {
  let berth;
  let users;
  before(async () => {
    berth = await Berth.start({ pool: { slots: USERS }, sandbox: { warm: 0 } });
    users = Array.from({ length: USERS }, (_, i) => {
      const token = berth.admin('token', 'create', '--name', `user-${i}`, '--owner', `user-${i}`).trim();
      return { name: `user-${i}`, headers: { Authorization: `Bearer ${token}` } };
    });
  });
  after(() => berth?.stop());

  const call = (user, name, args) => berth.call(name, args, { headers: user.headers });
  const each = (what) => Promise.all(users.map(what));

  test('a thousand calls at once never see each other', async () => {
    const keys = await each(async (user) => {
      const { text, isError } = await call(user, 'write_file', { path: 'mine', content: `${user.name}\n` });
      assert.ok(!isError, text);
      return /^\[sandbox (\S+)\]/.exec(text)[1];
    });
    // The same name of a sandbox, the same path, another user: another file.
    await each((user, i) =>
      Promise.all(
        Array.from({ length: CALLS_AT_ONCE }, async () => {
          const { text, isError } = await call(user, 'read_file', { path: 'mine' });
          assert.ok(!isError && text.startsWith(`[sandbox ${keys[i]}]`) && text.endsWith(`\n1\t${user.name}\n`), text);
        }),
      ),
    );
  });

  test('nor do edits and undos, or what was read', async () => {
    await each(async (user) => {
      const { text } = await call(user, 'edit_file', { path: 'mine', old_text: user.name, new_text: `${user.name} edited` });
      assert.match(text, /1 replacement/);
    });
    await each(async (user, i) => {
      if (i % 2) assert.match((await call(user, 'edit_file', { path: 'mine', undo: 'last' })).text, /Undid 1 edit/);
    });
    await each(async (user, i) => {
      const { text } = await call(user, 'read_file', { path: 'mine' });
      assert.ok(text.endsWith(`1\t${user.name}${i % 2 ? '' : ' edited'}\n`), text);
    });
  });
});
