// The upload page with drag and drop and progress bars: one PUT a file. Without this script the form
// does the same in one piece.
'use strict';
(() => {
  const form = document.getElementById('upload');
  const input = document.getElementById('files');
  const drop = document.getElementById('drop');
  const list = document.getElementById('list');
  const replace = document.getElementById('replace');
  const max = Number(form.dataset.max);
  const queue = [];
  let busy = false;

  const row = (file) => {
    const item = document.createElement('li');
    const name = document.createElement('strong');
    const state = document.createElement('span');
    const bar = document.createElement('progress');
    name.textContent = file.name;
    bar.max = 1;
    bar.value = 0;
    bar.setAttribute('aria-label', file.name);
    item.append(name, ' ', state, bar);
    list.append(item);
    return { item, state, bar };
  };

  const end = (view, kind, text) => {
    view.item.className = kind;
    view.state.textContent = text;
    view.bar.remove();
  };

  const offerReplace = (file, view) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'small';
    button.textContent = 'Replace it';
    button.addEventListener('click', () => {
      view.item.remove();
      add([file], true);
    });
    end(view, 'failed', 'A file of this name is there already. ');
    view.item.append(button);
  };

  const send = (file, over, view) => new Promise((resolve) => {
    const request = new XMLHttpRequest();
    const query = over ? '?replace=1' : '';
    request.upload.addEventListener('progress', (event) => {
      if (!event.lengthComputable) return;
      view.bar.value = event.loaded / event.total;
      view.state.textContent = `${Math.round(100 * view.bar.value)} %`;
    });
    request.addEventListener('load', () => {
      if (request.status === 201) end(view, 'done', 'uploaded');
      else if (request.status === 409) offerReplace(file, view);
      else end(view, 'failed', request.responseText.trim() || `failed (${request.status})`);
      resolve();
    });
    request.addEventListener('error', () => {
      end(view, 'failed', 'The connection broke. Check the link and try again.');
      resolve();
    });
    request.open('PUT', location.pathname + encodeURIComponent(file.name) + query);
    request.send(file);
  });

  // The page as it is now says how much room is left.
  const showRoom = async () => {
    try {
      const answer = await fetch(location.pathname, { headers: { Accept: 'text/html' } });
      const room = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('room');
      if (answer.ok && room) document.getElementById('room').textContent = room.textContent;
    } catch {
      // What is there stays: the files were sent.
    }
  };

  const run = async () => {
    if (busy) return;
    busy = true;
    while (queue.length) {
      const { file, over, view } = queue.shift();
      if (max && file.size > max) end(view, 'failed', 'It is larger than this server takes.');
      else await send(file, over, view);
    }
    busy = false;
    showRoom();
  };

  const add = (files, over) => {
    for (const file of files) queue.push({ file, over, view: row(file) });
    run();
  };

  for (const element of document.querySelectorAll('.with-script')) element.hidden = false;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    add([...input.files], replace.checked);
    form.reset();
  });
  for (const name of ['dragenter', 'dragover']) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.add('over');
    });
  }
  for (const name of ['dragleave', 'drop']) {
    drop.addEventListener(name, () => drop.classList.remove('over'));
  }
  drop.addEventListener('drop', (event) => {
    event.preventDefault();
    add([...event.dataTransfer.files], replace.checked);
  });
})();
